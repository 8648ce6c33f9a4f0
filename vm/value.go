package vm

// Kind says what a slot holds. The values are bits, so that the operation `kind` can test for several.
type Kind uint8

// The kinds of slots. Missing is the zero value: a frame starts with every slot missing.
const (
	Missing Kind = 0         // the request has no such field
	Null    Kind = 1 << iota // a JSON null inside metadata or arguments; judged as Missing by every test but `kind`
	Invalid                  // present but unreadable (a command that does not parse, a text too long to match)
	String                   // Text is the decoded string
	Number                   // Text is the number in RFC 8785 form
	Bool                     // Text is "true" or "false"
	List                     // Elems are the elements, in order
	Object                   // a JSON object; it has no text and equals nothing
)

// Value is what one slot holds for one request. Text and Elems point into memory of the code that filled the
// frame and are only read by the machine.
type Value struct {
	// Kind is one of the kinds above. Several at once, which nothing fills in, do not panic, but what tests then say is
	// not settled: a machine leaves out tests that earlier ones decide.
	Kind Kind
	// BaseUnits marks an amount that is an integer in base units, whatever decimals the rule has.
	BaseUnits bool
	// Text is the text of a String, Number or Bool; "" otherwise.
	Text string
	// Elems are the elements of a List; a list never holds a List with elements of its own (nested lists
	// are given as Object, which equals nothing).
	Elems []Value
}

// Class is the kind of an intent: which section of a policy judges it (decisions, section 2, "Kinds of intents").
type Class uint8

// The classes of intents. NoClass is the zero value: the program has not classified the intent.
const (
	NoClass Class = iota
	EVM
	Tool
	MCP
	Model
)

// String returns the class as the attestation's claim `kind` spells it, or "" for what is no class.
func (c Class) String() string {
	if c > Model {
		return ""
	}
	return [...]string{"", "evm", "tool", "mcp", "model"}[c]
}

// A KindMask is a set of kinds.
type KindMask uint8

// missingBit is in a mask for Missing, which has no bit of its own.
const missingBit = 1 << 0

// Kinds returns the set of those kinds.
func Kinds(kinds ...Kind) (mask KindMask) {
	for _, k := range kinds {
		if k == Missing {
			k = missingBit
		}
		mask |= KindMask(k)
	}
	return mask
}

// A SlotSet is a set of slots, a bit for each: slot s is bit s%64 of word s/64.
type SlotSet []uint64

// Has reports whether the set holds a slot.
func (s SlotSet) Has(slot uint16) bool {
	return int(slot/64) < len(s) && s[slot/64]&(1<<(slot%64)) != 0
}

// add puts a slot into the set, unless it is NoSlot.
func (s SlotSet) add(slot uint16) {
	if slot != NoSlot {
		s[slot/64] |= 1 << (slot % 64)
	}
}

// shownEntries is how many entries of a set a listing spells out.
const shownEntries = 8
