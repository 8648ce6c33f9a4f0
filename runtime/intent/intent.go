package intent

import (
	"iter"
	"strconv"
	"strings"

	"bailiff/vm"
	"bailiff/vm/form/calldata"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/form/httpurl"
	"bailiff/vm/slot"
)

// An Intent is one request, decoded, checked and normalised. It and all that is taken from it belong to its
// Decoder, until the next Decode.
type Intent struct {
	tape
	known
	options Options
	tokens  *Tokens // of the policy by which the intent is judged

	declared  calldata.Call // what calldata says, where callRead
	elements  []vm.Value    // memory of list values
	joined    []byte        // memory of all texts
	caseless  []byte        // memory of those without case
	respelled []respelling  // of them, those that are in no string as they are
	order     []int32       // memory for sorting members
	form      []byte        // memory of the canonical form, for its hash
	faults    []Error       // the faults of the request
}

// known has the facts about the request that are not on its tape.
type known struct {
	at    places           // where each field is on the tape, 0 where it is absent
	atTop [slot.Count]bool // it is at the top level

	action       string // in lower case
	url          httpurl.URL
	server, tool string // of an MCP action, in lower case
	usage        usageReader
	hasUsage     bool
	callRead     bool
	atFault      uint32 // a bit for each field with a fault
	digest       digest
}

// reset forgets the last request but keeps its memory, where that is not unusually much.
func (in *Intent) reset() {
	in.tape.reset()
	in.known, in.tokens = known{}, nil
	clear(in.faults)
	in.faults = in.faults[:0]
	in.elements = emptied(in.elements, keptNodes)
	in.order = emptied(in.order, keptNodes)
	in.joined = emptied(in.joined, keptBytes)
	in.caseless = emptied(in.caseless, keptBytes)
	in.respelled = emptied(in.respelled, keptNodes)
	in.form = emptied(in.form, keptBytes)
}

// emptied returns the memory of a slice for new elements, or nil where it has room for more than limit of them.
func emptied[E any](used []E, limit int) []E {
	if cap(used) > limit {
		return nil
	}
	return used[:0]
}

// Has reports whether the request has the field f, at whichever place.
func (in *Intent) Has(f slot.Field) bool { return in.at[f] != 0 }

// Text returns the normalised text of f: of a string the string, of chainId its digits. It is "" where f is
// absent, an object or an array; Has tells an absent field from an empty one.
func (in *Intent) Text(f slot.Field) string {
	if in.at[f] == 0 {
		return ""
	}
	return in.nodes[in.at[f]].text
}

// Task returns the normal form of task_id, by which counters and usage are kept apart: "" where the request has none.
func (in *Intent) Task() string {
	task := in.Text(slot.TaskID)
	if len(task) < evmaddr.Length {
		return task
	}
	return evmaddr.FoldLiterals(task)
}

// ChainID returns the chain, and false where the request names none.
func (in *Intent) ChainID() (int64, bool) {
	if !in.Has(slot.ChainID) {
		return 0, false
	}
	id, err := strconv.ParseInt(in.Text(slot.ChainID), 10, 64)
	return id, err == nil
}

// ActionLower returns the action in lower case, by which the kind of an intent is found.
func (in *Intent) ActionLower() string { return in.action }

// Recipients yields the recipients of the field `to`, one or many, addresses in lower case.
func (in *Intent) Recipients() iter.Seq[string] {
	return func(yield func(string) bool) {
		at := in.at[slot.To]
		for i := at; at != 0 && i < in.nodes[at].next; i++ {
			if in.nodes[i].kind == vm.String && !yield(evmaddr.FoldLiterals(in.nodes[i].text)) {
				return
			}
		}
	}
}

// AmountInBaseUnits reports whether the amount is an integer in base units: because amount_unit says so, or
// because the service reads amounts without a point that way. An absent amount is not.
func (in *Intent) AmountInBaseUnits() bool {
	if !in.Has(slot.Amount) {
		return false
	}
	return in.inBaseUnits(in.Text(slot.Amount))
}

func (in *Intent) inBaseUnits(amount string) bool {
	return in.Has(slot.AmountUnit) || in.options.IntegerAmountsBase && strings.IndexByte(amount, '.') < 0
}

// WebURL returns the parts of the field `url`, and false where it is absent.
func (in *Intent) WebURL() (httpurl.URL, bool) { return in.url, in.Has(slot.URL) }

// MCP returns server and tool of an MCP action, in lower case, and false for other actions.
func (in *Intent) MCP() (server, tool string, ok bool) { return in.server, in.tool, in.server != "" }

// ModelUsage returns metadata.model_usage, and false where it is absent.
func (in *Intent) ModelUsage() (Usage, bool) { return in.usage.Usage, in.hasUsage }

// kind returns the kind of what is as f.
func (in *Intent) kind(f slot.Field) vm.Kind {
	if in.at[f] == 0 {
		return vm.Missing
	}
	return in.nodes[in.at[f]].kind
}

// member returns the node of an object's member, or 0. Object 0 means an absent object.
func (in *Intent) member(object int32, name string) int32 {
	if object == 0 || in.nodes[object].kind != vm.Object {
		return 0
	}
	for i := object + 1; i < in.nodes[object].next; i = in.nodes[i].next {
		if in.nodes[i].name == name {
			return i
		}
	}
	return 0
}

// lower returns text with its ASCII letters in lower case, without allocating where it is so already.
func (in *Intent) lower(text string) string {
	first := 0
	for first < len(text) && !isUpper(text[first]) {
		first++
	}
	if first == len(text) {
		return text
	}
	start := len(in.text)
	for i := range len(text) {
		c := text[i]
		if isUpper(c) {
			c += 'a' - 'A'
		}
		in.text = append(in.text, c)
	}
	return borrow(in.text[start:])
}
