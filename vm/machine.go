package vm

import (
	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// A Mode says how far a run goes.
type Mode uint8

// The modes.
const (
	First Mode = iota // stops at the first violation: the hot path
	All               // goes on and collects every violated rule: test runs and explanations
)

// A Status is the outcome of a run. Allowed still depends on the holds and counters that the caller keeps.
type Status uint8

// The outcomes. Denied is the zero value, so that an empty result allows nothing.
const (
	Denied   Status = iota // a rule was violated
	Rejected               // the request is not valid under this policy
	Pending                // no rule was violated, and a person has to decide
	Allowed                // no rule was violated
)

// String returns the status in lower case.
func (s Status) String() string {
	if s > Allowed {
		return ""
	}
	return [...]string{"denied", "rejected", "pending", "allowed"}[s]
}

// A Violation says which rule was violated and which value did it.
type Violation struct {
	Rule    uint16
	Slot    uint16 // the slot that the instruction blames
	PC      uint16 // the instruction that found it
	Element int32  // the element of the slot's list, or NoElement
}

// A Register holds an amount that the program read.
type Register struct {
	Value    amount.Amount // base units of 10^-Decimals
	Decimals uint8
	Set      bool
}

// A Reservation is a counter to check and advance.
type Reservation struct {
	Counter uint16
	Amount  amount.Amount // by how much: 1 for a count; for a maximum, to how much
}

// A Result is what a run found.
type Result struct {
	Status Status
	Class  Class
	// Violations are in the order in which they were found: at most one in mode First. For Rejected it is the
	// one rule that refused the request.
	Violations []Violation
	Holds      []uint16 // rules, in order
	Notes      []uint16 // rules, in order
	// Reservations are in order, and empty for Denied and Rejected.
	Reservations []Reservation
	Reached      []Reservation // all that the run came to, of Denied too
	Amounts      [2]Register
}

// A Machine is the state of a run, to be used again for the next one. The zero Machine is ready. A machine
// runs one program at a time; callers keep a pool.
type Machine struct {
	result Result
	frame  []Value
	mode   Mode
	// The list that was tested last, and the element that decided the test, or NoElement.
	tested  uint16
	element int32
	loaded  [2]uint16 // the slots that the registers were read from
	// What was held against bounds, in mode All.
	comparisons []Comparison
	// What the last scan found.
	hits         match.Hits
	scanSlot     uint16
	scanInvalid  bool
	spoilElement int32 // where scanInvalid is set: the first element that could not be looked into
}

// reset forgets the last run.
func (m *Machine) reset(frame []Value, mode Mode) {
	r := &m.result
	r.Status, r.Class = Denied, NoClass
	r.Violations = r.Violations[:0]
	r.Holds = r.Holds[:0]
	r.Notes = r.Notes[:0]
	r.Reservations = r.Reservations[:0]
	m.comparisons = m.comparisons[:0]
	r.Amounts = [2]Register{}
	m.frame, m.mode, m.tested, m.element = frame, mode, NoSlot, NoElement
	m.loaded = [2]uint16{NoSlot, NoSlot}
}

// settle makes the status and the plan follow from what the run recorded.
func (r *Result) settle() *Result {
	switch {
	case r.Status == Allowed && len(r.Violations) > 0:
		r.Status = Denied
	case r.Status == Allowed && len(r.Holds) > 0:
		r.Status = Pending
	}
	r.Reached = r.Reservations
	if r.Status <= Rejected {
		r.Reservations = r.Reservations[:0]
	}
	return r
}

// missing is what a slot outside the frame holds.
var missing Value

// textual are the kinds that have a text.
const textual = String | Number | Bool

// value returns the value of a slot.
func (m *Machine) value(slot uint16) *Value {
	if int(slot) < len(m.frame) {
		return &m.frame[slot]
	}
	return &missing
}

// violate records a violation.
func (m *Machine) violate(rule, slot uint16, element int32, pc uint16) {
	m.result.Violations = append(m.result.Violations, Violation{Rule: rule, Slot: slot, PC: pc, Element: element})
}

// A Comparison is an amount that a run held against a bound.
type Comparison struct {
	PC   uint16 // the instruction; [Program.AmountTestAt] returns the bound
	Slot uint16 // where the amount was read from
	Register
}

// Compared returns what the last run held against bounds, in order. Only mode All collects it. It is valid until the
// next run.
func (m *Machine) Compared() []Comparison { return m.comparisons }

// recordComparison keeps what a step compares, for explanations.
func (m *Machine) recordComparison(s *step) {
	n := s.A & bitRegister / bitRegister
	m.comparisons = append(m.comparisons, Comparison{PC: s.pc, Slot: m.loaded[n], Register: m.result.Amounts[n]})
}
