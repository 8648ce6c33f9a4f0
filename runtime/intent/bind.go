package intent

import (
	"fmt"
	"math"
	"strings"

	"bailiff/vm"
	"bailiff/vm/form"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/slot"
)

// A Binding fills the slots of a program's frame from requests. It is made once per program, never changes, and
// may be used by many requests at once.
type Binding struct {
	sources []source
	tokens  *Tokens
}

// A source says where the value of one slot comes from.
type source struct {
	value func(*Intent, Provenance) vm.Value // nil for a field, or a member, that holds plain texts
	field slot.Field
	path  []string // the members to walk through, below the field
}

// NewBinding resolves the names of a program's slots: paths of fields as policies write them ("action",
// "metadata.team", without the leading "intent."), and derived values (see Derived). A name that means nothing
// is an error, and so is a path below a field that has no members. A path gives the normal form of what is there, for
// which the tokens of the policy are needed; behind [EachPrefix] and sentPrefix it is read as denials do besides.
func NewBinding(names []string, tokens []vm.Token) (*Binding, error) {
	if len(names) > math.MaxUint16 {
		return nil, fmt.Errorf("intent: %d slots are more than a program can have", len(names))
	}
	binding := &Binding{sources: make([]source, len(names)), tokens: newTokens(tokens)}
	for i, name := range names {
		resolved, err := resolve(name)
		if err != nil {
			return nil, err
		}
		binding.sources[i] = resolved
	}
	return binding, nil
}

// Tokens returns the tokens that the binding was made with.
func (b *Binding) Tokens() *Tokens { return b.tokens }

// resolve finds the source of one name.
func resolve(name string) (source, error) {
	if path, ok := strings.CutPrefix(name, EachPrefix); ok {
		return resolvePath(path, false, true)
	}
	if path, ok := strings.CutPrefix(name, sentPrefix); ok {
		return resolvePath(path, true, true)
	}
	if !strings.HasPrefix(name, "@") {
		return resolvePath(name, false, false)
	}
	if value := derivations[name]; value != nil {
		return source{value: value}, nil
	}
	return source{}, fmt.Errorf("intent: no derived value is named %s", quote(name))
}

// resolvePath finds the source of a path.
func resolvePath(name string, sent, walks bool) (source, error) {
	segments := strings.Split(name, ".")
	f := fieldOf(segments[0])
	if f == slot.NoField {
		return source{}, fmt.Errorf("intent: a request has no field %s", quote(segments[0]))
	}
	found := source{field: f, path: segments[1:]}
	if len(found.path) > 0 && f.Row().Type&slot.Members == 0 {
		return source{}, fmt.Errorf("intent: %s has no members, so %s can't exist", f, quote(name))
	}
	row := slot.At(name)
	if sent || walks || row.When != slot.Never || row.Form != form.Text && !normalised(row.Form) {
		found.value = formed(f, found.path, name, row, sent, walks)
	}
	return found, nil
}

// normalised reports whether the decoder leaves only normal texts of a form.
func normalised(as form.Form) bool {
	return as == form.Lower || as == form.Address || as == form.Hex
}

// fieldOf returns the field of either place that name names, or NoField. Names are unique over both.
func fieldOf(name string) slot.Field {
	if f := insideNames.find(name); f != slot.NoField {
		return f
	}
	if f := topNames.find(name); f != slot.IntentObject {
		return f
	}
	return slot.NoField
}

// Fill writes the value of every slot into frame, which has at least as many elements as the binding has names.
// need says which slots the program reads for this action (vm.Program.Needs); values outside of it that take more than
// a look are not read, and are vm.Invalid, so that a machine that reads one all the same denies. A nil need reads all. The
// values belong to the intent's decoder, and one request must be filled by one goroutine at a time.
func (b *Binding) Fill(in *Intent, from Provenance, need vm.SlotSet, frame []vm.Value) {
	in.tokens = b.tokens
	for i := range b.sources {
		src := &b.sources[i]
		switch {
		case src.value == nil:
			frame[i] = in.walk(src.field, src.path)
		case need != nil && !need.Has(uint16(i)):
			frame[i] = vm.Value{Kind: vm.Invalid}
		default:
			frame[i] = src.value(in, from)
		}
	}
}

// Value returns what a slot of that name holds, as Fill does. It resolves the name each time.
func (in *Intent) Value(name string, from Provenance) (vm.Value, error) {
	binding, err := NewBinding([]string{name}, nil)
	if err != nil {
		return vm.Value{}, err
	}
	var frame [1]vm.Value
	binding.Fill(in, from, nil, frame[:])
	return frame[0], nil
}

// walk returns the value of a field that holds plain texts, or of what lies below it. Only objects are walked through.
func (in *Intent) walk(f slot.Field, path []string) vm.Value {
	at := in.find(f, path)
	if at == 0 {
		return vm.Value{}
	}
	n := &in.nodes[at]
	if n.kind == vm.List || n.kind == vm.String && len(n.text) >= evmaddr.Length {
		return in.read(at, reading{})
	}
	return vm.Value{Kind: n.kind, Text: n.text}
}

// find returns the node of a field, or of what lies below it, or 0.
func (in *Intent) find(f slot.Field, path []string) int32 {
	at := in.at[f]
	for _, name := range path {
		at = in.member(at, name)
	}
	return at
}
