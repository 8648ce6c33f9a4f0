package intent

import (
	"bytes"
	"cmp"

	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form"
	"bailiff/vm/slot"
)

// Options are the settings of the service that change how a request is read.
type Options struct {
	// IntegerAmountsBase reads amounts without a point as base units (SVC_INTEGER_AMOUNTS=base).
	IntegerAmountsBase bool
}

// A Decoder reads requests, one after the other, and reuses its memory: for a typical body it allocates nothing.
// It is not safe for concurrent use; callers keep a pool of decoders.
type Decoder struct {
	reader reader
	intent Intent
}

// NewDecoder returns a decoder.
func NewDecoder(options Options) *Decoder {
	return &Decoder{intent: Intent{options: options}}
}

// Decode reads the body of an authorize or test-run request. The intent, and every text taken from it, belongs
// to the decoder and is valid until the next call; body itself is copied. The error, if any, is an *Error.
func (d *Decoder) Decode(body []byte) (*Intent, error) {
	in := &d.intent
	if cap(in.body) > keptBytes {
		d.reader = reader{} // the tokenizer keeps memory, too
	}
	in.reset()
	if len(body) > MaxBody {
		return nil, refuse(errcode.BodyTooLarge, "", "the body is larger than 100,000 bytes; send less")
	}
	if err := d.reader.read(&in.tape, body); err != nil {
		return nil, err
	}
	for _, step := range steps {
		step(in)
	}
	if len(in.faults) > 0 {
		return nil, faultsOf(in.faults)
	}
	return in, nil
}

// steps are the checks of a request that can be read, in order: the first fault that they find names the answer's code,
// and the others are listed after it.
var steps = [...]func(*Intent){
	(*Intent).assign,
	(*Intent).checkFields,
	(*Intent).checkPresence,
	(*Intent).checkCommitment,
	(*Intent).checkPaths,
	(*Intent).checkWeb,
	(*Intent).checkMCP,
	(*Intent).checkUsage,
}

// places says at which node each field is, 0 where it is missing: node 0 is the body.
type places [slot.Count]int32

// assign finds the fields on the tape and makes sure that there are no others.
func (in *Intent) assign() {
	var top, inside places
	in.members(0, slot.Top, topNames, &top)
	if at := top[slot.IntentObject]; at != 0 {
		in.members(at, slot.Inside, insideNames, &inside)
	}
	for f := range in.at {
		in.at[f] = inside[f]
		if in.at[f] == 0 {
			in.at[f], in.atTop[f] = top[f], true
		}
	}
	in.action = in.lower(in.Text(slot.Action))
	for _, f := range [...]slot.Field{slot.Action, slot.Amount, slot.To} {
		if top[f] != 0 && inside[f] != 0 && !in.same(f, top[f], inside[f]) {
			in.fault(f, invalid(in.path(f, slot.Top), "differs from "+in.path(f, slot.Inside)+"; send it once"))
		}
	}
	in.assignArguments()
}

// assignArguments takes metadata.arguments for the field `arguments`: they are one.
func (in *Intent) assignArguments() {
	inner := in.member(in.at[slot.Metadata], slot.Arguments.String())
	if inner == 0 {
		return
	}
	if outer := in.at[slot.Arguments]; outer != 0 {
		a := in.appendNode(in.form[:0], inner)
		b := in.appendNode(a, outer)
		if in.form = b; !bytes.Equal(a, b[len(a):]) {
			in.fault(slot.Arguments, invalid("intent.metadata.arguments", "differs from intent.arguments; send it once"))
		}
		return
	}
	in.at[slot.Arguments], in.atTop[slot.Arguments] = inner, false
}

// members enters the members of one object into at. One of another type is left out, and no later check is about it.
func (in *Intent) members(object int32, place slot.Place, names *nameIndex, at *places) {
	for i := object + 1; i < in.nodes[object].next && len(in.faults) < MaxFaults; i = in.nodes[i].next {
		n := &in.nodes[i]
		f := names.find(n.name)
		if f == slot.NoField {
			meant, advice := hint(n.name, place)
			in.fault(meant, invalid(prefix(place)+shown(n.name), "is not a field of a request; "+advice))
			continue
		}
		if problem := in.checkType(i, f.Row().Type); problem != "" {
			in.fault(f, invalid(in.path(f, place), problem))
			continue
		}
		at[f] = i
	}
}

// shown is a member's name in a message: an empty one would not be seen.
func shown(name string) string {
	if name == "" {
		return `""`
	}
	return name
}

// checkType describes the fault of the type of a field's value, or returns "".
func (in *Intent) checkType(i int32, accepted slot.Type) string {
	switch n := &in.nodes[i]; n.kind {
	case vm.String:
		if accepted&slot.Text != 0 {
			return ""
		}
	case vm.Number:
		if accepted&slot.Integer != 0 && isInteger(n.text) {
			return ""
		}
	case vm.Object:
		if accepted&slot.Members != 0 {
			return ""
		}
	case vm.List:
		if accepted&slot.Texts != 0 && in.allStrings(i) {
			return ""
		}
	case vm.Null:
		return "is null; it must be of type " + accepted.String() + ", or, where it need not be there, be left out"
	}
	return "is " + typeWord(in.nodes[i].kind) + "; it must be of type " + accepted.String()
}

// typeWord names a JSON value's type with its article.
func typeWord(kind vm.Kind) string {
	switch kind {
	case vm.String:
		return "a string"
	case vm.Number:
		return "a number"
	case vm.Object:
		return "an object"
	case vm.List:
		return "an array"
	}
	return "a boolean"
}

// allStrings reports whether every element of a list is a string.
func (in *Intent) allStrings(list int32) bool {
	for i := list + 1; i < in.nodes[list].next; i++ {
		if in.nodes[i].kind != vm.String {
			return false
		}
	}
	return true
}

// same reports whether two values of a field have the same normal form.
func (in *Intent) same(f slot.Field, a, b int32) bool {
	size := in.nodes[a].next - a
	if size != in.nodes[b].next-b {
		return false
	}
	for k := range size {
		x, y := &in.nodes[a+k], &in.nodes[b+k]
		if x.kind != y.kind || !in.sameText(f, x.text, y.text) {
			return false
		}
	}
	return true
}

// sameText is same for two texts. The unit of amounts may depend on how they are written.
func (in *Intent) sameText(f slot.Field, a, b string) bool {
	if a == b {
		return true
	}
	if check := f.Row().Check; check != nil { // of the other the table's checks follow
		if _, problem := check(a); problem != "" {
			return false
		}
	}
	if f == slot.Amount {
		x, readable := form.ShortDecimal(a)
		y, _ := form.ShortDecimal(b)
		return readable && x == y && in.inBaseUnits(a) == in.inBaseUnits(b)
	}
	as := in.formOf(f.Row())
	x, readable := in.normal(as, a)
	y, other := in.normal(as, b)
	return readable && other && x == y
}

// checkFields runs the checks of the table and puts normal forms on the tape.
func (in *Intent) checkFields() {
	for f := slot.NoField + 1; f < slot.Count; f++ {
		if in.at[f] != 0 && f.Row().Check != nil {
			in.checkField(f)
		}
	}
}

// checkField is checkFields for one field, up to the first of its texts that is at fault.
func (in *Intent) checkField(f slot.Field) {
	for i := in.at[f]; i < in.nodes[in.at[f]].next; i++ {
		if in.nodes[i].kind == vm.List {
			continue
		}
		normal, problem := f.Row().Check(in.nodes[i].text)
		if problem != "" {
			in.fault(f, refuse(cmp.Or(f.Row().Refusal, errcode.ValidationSchema), in.fieldPath(f), quote(in.nodes[i].text)+" "+problem))
			return
		}
		in.nodes[i].text = normal
	}
}

// checkPresence makes sure that nothing required is missing. The fields of which one is needed are judged by
// checkCommitment.
func (in *Intent) checkPresence() {
	for f := slot.NoField + 1; f < slot.Count; f++ {
		if f.Row().Presence == slot.Required && in.at[f] == 0 && !in.faulty(f) && !(f.Row().Place == slot.Either && in.faulty(slot.IntentObject)) {
			in.fault(f, invalid(in.path(f, f.Row().Place), "is missing; send a "+f.Row().Type.String()+": "+f.Row().Bound))
		}
	}
}

// checkCommitment makes sure that the intent commits to one thing: a transaction, or a user operation. Which of them it
// needs depends on the action, which may be at fault itself.
func (in *Intent) checkCommitment() {
	if in.faulty(slot.TxCommit) || in.faulty(slot.UserOpHash) {
		return
	}
	known := !in.faulty(slot.Action) && !in.faulty(slot.IntentObject)
	switch tx, op := in.Has(slot.TxCommit), in.Has(slot.UserOpHash); {
	case tx && op:
		in.fault(slot.UserOpHash, invalid("userOpHash", "is sent together with txCommit; send exactly one of the two"))
	case op && known && in.action != slot.UserOpAction:
		in.fault(slot.UserOpHash, invalid("userOpHash", "goes with the action "+slot.UserOpAction+" only; send txCommit instead"))
	case !tx && !op && in.action == slot.UserOpAction:
		in.fault(slot.UserOpHash, invalid("userOpHash", "is missing; send 0x and 64 hexadecimal digits, or txCommit"))
	case !tx && !op:
		in.fault(slot.TxCommit, invalid("txCommit", "is missing; send the SHA-256 in 64 lower-case hexadecimal digits (with the action "+slot.UserOpAction+": or userOpHash)"))
	}
}

// path returns the path of f as messages show it.
func (in *Intent) path(f slot.Field, place slot.Place) string { return prefix(place) + f.String() }

// fieldPath returns the path at which f is in the request.
func (in *Intent) fieldPath(f slot.Field) string {
	if in.atTop[f] {
		return in.path(f, slot.Top)
	}
	return in.path(f, slot.Inside)
}

func prefix(place slot.Place) string {
	if place&slot.Inside != 0 {
		return "intent."
	}
	return ""
}
