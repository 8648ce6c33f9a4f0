package vm

import (
	"crypto/sha256"
	"math"

	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// MachineVersion is the version of the encoding and of the operations' meaning. A program carries it, and a
// machine of another version refuses the program, so that a cache of compiled programs is keyed by it, and by what its
// compiler made of texts then (compiler.Revision).
const MachineVersion = 6

// NoSlot is where a slot could be named and none is.
const NoSlot = math.MaxUint16

// NoElement is the element of a violation that no single element of a list decided.
const NoElement = -1

// actionField is the name of the field by whose text a program's branches are told apart when it is loaded: the action in
// lower case, by which the kind of an intent is found.
const actionField = "@action"

// A Program is verified code with its tables. It can be had from [Builder.Program], [Decode] and [Assemble]
// only, which verify; it never changes, and any number of machines may run it at once.
type Program struct {
	policy    string // version of the policy format
	fields    []string
	rules     []Rule
	constants []constant
	tables    []match.Table
	counters  []Counter
	tokens    []Token
	code      []Instruction
	debug     []Span // nil, or one for each instruction
	lists     []WordList
	listed    []wordsAt    // in the order of instructions
	tests     []AmountTest // the same

	// What follows is derived when the program is loaded.
	canonical []byte
	hash      [sha256.Size]byte
	cost      Cost
	memory    int
	limit     Limit // of its making
	slots     map[string]uint16
	actions   actions
	// actionSlot is the slot of actionField, or NoSlot.
	actionSlot uint16
}

// A Rule is what a violation, a hold or a note names.
type Rule struct {
	Name    string // `matched_rule`: "evm.allowed_chains"
	Code    string // `error_code`: "SVC_POLICY_VIOLATION_CHAIN_NOT_ALLOWED"
	Message string // for people
}

// A Window is the time, or the task, over which a counter counts.
type Window uint8

// The windows of counters.
const (
	Hour Window = 1 + iota
	Day
	Task
	windowCount
)

var windowNames = [windowCount]string{Hour: "hour", Day: "day", Task: "task"}

// String returns the name that policies use: "hour", "day", "task", or "" for what is no window.
func (w Window) String() string {
	if w >= windowCount {
		return ""
	}
	return windowNames[w]
}

// A CounterOp says what a use does to a counter.
type CounterOp uint8

// What a use does. Zero is none of them, so that a use that is not named is an error.
const (
	Count CounterOp = 1 + iota // advances by one
	Sum                        // advances by the amount in the counter's slot
	Max                        // rises to the amount in the counter's slot where it was lower: a cumulative figure
	counterOpCount
)

var counterOpNames = [counterOpCount]string{Count: "count", Sum: "sum", Max: "max"}

// String returns the name that the assembler uses: "count", "sum", "max", or "" for what is none.
func (o CounterOp) String() string {
	if o >= counterOpCount {
		return ""
	}
	return counterOpNames[o]
}

// A Counter is a limit on how often, or on how much, within a window. Its identity is its name: two programs
// whose counters have the same name share what was counted.
type Counter struct {
	Name string
	Rule uint16 // the rule that a refusal names
	Op   CounterOp
	// Limit is the largest total that is allowed: uses, or base units of 10^-Decimals.
	Limit    amount.Amount
	Unit     string // what Limit is in, for messages: "tool calls", "USD", the symbol of a token
	Decimals uint8  // of a sum or a maximum; 0 of a count
	Amount   uint16 // the slot whose amount a sum or a maximum reads; NoSlot of a count
	Window   Window
	Group    uint16 // the slot by whose text totals are kept apart, or NoSlot
	// GroupName is the path of the group as the policy spells it; "" without a group.
	GroupName string
	// Subgroup is the slot by whose text each group is divided again, or NoSlot, and SubgroupName its path. A counter
	// of a task that is grouped by a field has the task as its group and the field as its subgroup.
	Subgroup     uint16
	SubgroupName string
}

// A Span says which part of the policy's text an instruction was made from. The zero Span is unknown.
type Span struct {
	Start, End int32 // byte offsets, End excluded
	Line       int32 // counted from 1
}

// A Cost is what a run takes at most, in simple steps of about a nanosecond: Fixed + PerByte·b, where b is the
// number of bytes in all slots (a list's elements count one more each). It is an upper bound, not a forecast.
type Cost struct {
	Fixed   int
	PerByte int
}

// Policy returns the version of the policy format that the program was compiled from, such as "2.1.0".
func (p *Program) Policy() string { return p.policy }

// Fields returns the names of the slots, in order; a frame holds their values at the same indexes. The
// caller must not change the slice.
func (p *Program) Fields() []string { return p.fields }

// Slot returns the index of the slot with that name.
func (p *Program) Slot(name string) (slot uint16, ok bool) {
	slot, ok = p.slots[name]
	return slot, ok
}

// Rules returns how many rules the program has.
func (p *Program) Rules() int { return len(p.rules) }

// Rule returns rule i, which must be less than [Program.Rules].
func (p *Program) Rule(i uint16) Rule { return p.rules[i] }

// Counters returns how many counters the program has.
func (p *Program) Counters() int { return len(p.counters) }

// Counter returns counter i, which must be less than [Program.Counters]. The caller must not change it.
func (p *Program) Counter(i uint16) *Counter { return &p.counters[i] }

// Len returns the number of instructions.
func (p *Program) Len() int { return len(p.code) }

// Instruction returns the instruction at pc, which must be less than [Program.Len].
func (p *Program) Instruction(pc uint16) Instruction { return p.code[pc] }

// Span returns the part of the policy that the instruction at pc was made from; it is zero for a program
// without debug section. pc must be less than [Program.Len].
func (p *Program) Span(pc uint16) Span {
	if p.debug == nil {
		return Span{}
	}
	return p.debug[pc]
}

// Hash returns the SHA-256 of the canonical bytes. The debug section is no part of them.
func (p *Program) Hash() [sha256.Size]byte { return p.hash }

// Cost returns the bound on what a run takes.
func (p *Program) Cost() Cost { return p.cost }

// Needs returns the slots that a run can read for an intent with this action. It allocates nothing.
func (p *Program) Needs(action string) SlotSet { return p.actions.of(action).reads }

// A WordList is a list of the policy in the words of its author, for answers to a denial that is about it. No run reads
// it: like spans it is part of the debug section.
type WordList struct {
	Allows bool // the value has to be on the list; otherwise it must not be
	Count  int  // of the words in the policy; of a list that allows only the first MaxAllowedWords are here
	// Texts are the words as they are written, each cut to MaxWord bytes, in the order of the policy.
	Texts []string
	// Forms are the words as the machine compares them, index by index; nil for a list that allows. A form for a test of how
	// texts start ends in `*`, or means what is below it at a slash.
	Forms []string
}

// Bounds of lists of words.
const (
	MaxAllowedWords = 10 // of a list that allows: an answer shows no more
	MaxWord         = 64 // bytes of a word's text
	MaxWords        = maxEntries
)

// wordsAt says to which instruction a list belongs.
type wordsAt struct{ pc, list uint16 }

// A Token is what a policy says of one token: by what a request may name it, and how its amounts scale. The machine does
// not look at it. Code that fills frames needs it to give tokens and amounts their one form.
type Token struct {
	Symbol   string // lower case
	Decimals uint8
	Pins     []Pin // the contracts that the policy pins for the symbol
}

// A Pin is the address of a token's contract.
type Pin struct {
	Chain   string // the chain's id in decimal, or "" for all chains
	Address string // lower case
}

// Tokens returns the tokens of the policy. The caller must not change them.
func (p *Program) Tokens() []Token { return p.tokens }
