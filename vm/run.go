package vm

import "bailiff/vm/amount"

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
	hits         []uint64 // a bit for each entry
	hitElements  []int32  // the element of the entry's first find; valid where the bit is set
	scanSlot     uint16
	scanFound    bool
	scanInvalid  bool
	spoilElement int32 // where scanInvalid is set: the first element that could not be looked into
}

// Run runs p over frame, whose values are at the indexes of [Program.Fields]; what a short frame lacks is
// missing. Any program and any frame give a result. It belongs to the machine and is valid until the next
// run, and it refers to nothing of the frame. A machine grows as its largest result needs; beyond that, Run
// allocates nothing.
func (m *Machine) Run(p *Program, frame []Value, mode Mode) *Result {
	m.reset(frame, mode)
	r := p.route(frame)
	m.result.Class = r.class
	for s := r.start; s != nil; {
		s = s.run(m, s)
	}
	m.frame = nil
	return m.result.settle()
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

// handlers are how the operations run: each does its step and returns the next one, or nil where the run ends. Every step
// goes on at a later one, which the verifier has seen to, so that a run ends.
var handlers = [...]func(*Machine, *step) *step{
	OpIn: (*Machine).in, OpStarts: (*Machine).starts, OpEnds: (*Machine).ends, OpContains: (*Machine).contains, OpHost: (*Machine).host,
	OpPath: (*Machine).path, OpGlob: (*Machine).glob, OpMatch: (*Machine).match,
	OpKind: (*Machine).kind, OpSwitch: (*Machine).branch, OpJump: (*Machine).jump,
	OpScan: (*Machine).scan, OpHit: (*Machine).hit, OpAmount: (*Machine).load, OpGreater: (*Machine).greater, OpAtLeast: (*Machine).atLeast,
	OpClass: (*Machine).class, OpHold: (*Machine).hold, OpNote: (*Machine).note, OpReserve: (*Machine).reserve,
	OpDeny: (*Machine).deny, OpReject: (*Machine).reject, OpEnd: (*Machine).end,
}

func (m *Machine) jump(s *step) *step { return s.yes }

func (m *Machine) class(s *step) *step {
	m.result.Class = Class(s.A)
	return s.no
}

func (m *Machine) hold(s *step) *step {
	m.result.Holds = append(m.result.Holds, s.C)
	return s.no
}

func (m *Machine) note(s *step) *step {
	m.result.Notes = append(m.result.Notes, s.C)
	return s.no
}

// deny ends the run in mode First.
func (m *Machine) deny(s *step) *step {
	element := int32(NoElement)
	if s.A&bitElement != 0 && m.tested == s.B {
		element = m.element
	}
	m.violate(s.C, s.B, element, s.pc)
	if m.mode == First {
		return nil
	}
	return s.yes
}

// reject refuses the request, unless a rule before it already has.
func (m *Machine) reject(s *step) *step {
	if len(m.result.Violations) == 0 {
		m.violate(s.C, s.B, NoElement, s.pc)
		m.result.Status = Rejected
	}
	return nil
}

func (m *Machine) end(*step) *step {
	m.result.Status = Allowed
	return nil
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

// branch returns where a switch goes on.
func (m *Machine) branch(s *step) *step {
	v := m.value(s.B)
	if v.Kind&s.accepts == 0 {
		return s.unfit()
	}
	return s.at(s.table.find(v.Text))
}

// branchFew is branch for a table of few cases.
func (m *Machine) branchFew(s *step) *step {
	v := m.value(s.B)
	if v.Kind&s.accepts == 0 {
		return s.unfit()
	}
	return s.at(s.table.findInTurn(v.Text))
}

// at returns the step that a switch found, 0 where it found none.
func (s *step) at(target uint16) *step {
	if target == 0 {
		return s.yes
	}
	return &s.table.steps[target]
}

// branchOne is branch for a table of one text.
func (m *Machine) branchOne(s *step) *step {
	v, c := m.value(s.B), &s.table.cases[0]
	switch {
	case v.Kind&s.accepts == 0:
		return s.unfit()
	case v.Text == c.text:
		return &s.table.steps[c.target]
	}
	return s.yes
}

// unfit returns where a switch goes on for a value that it is not for.
func (s *step) unfit() *step {
	if s.aside != nil {
		return s.aside
	}
	return s.yes
}

// load reads an amount into a register, and holds it against a limit if that comes next: it mostly does. What parseAmount
// does is written out, which spares a policy of ten rules a twentieth of its time.
func (m *Machine) load(s *step) *step {
	n := s.A & bitRegister / bitRegister
	register := &m.result.Amounts[n]
	v, decimals := m.value(s.B), uint8(s.C)
	if s.aside != nil && v.Kind&(String|Number) == 0 {
		return s.aside
	}
	m.loaded[n] = s.B
	if v.BaseUnits {
		decimals = 0
	}
	if v.Kind&(String|Number) == 0 || register.Value.Set(v.Text, decimals) != nil {
		*register = Register{}
		return s.no
	}
	register.Decimals, register.Set = uint8(s.C), true
	if s.limit == nil || m.mode == All {
		return s.yes
	}
	return s.yes.after(amount.Less(s.limit, &register.Value))
}

// parseAmount reads the text of v as an amount into a, which spares copies of 32 bytes on the hot path.
func parseAmount(a *amount.Amount, v *Value, decimals uint8) bool {
	if v.Kind&(String|Number) == 0 {
		return false
	}
	if v.BaseUnits {
		decimals = 0
	}
	return a.Set(v.Text, decimals) == nil
}

// greater holds a register against an amount.
func (m *Machine) greater(s *step) *step {
	register := m.compared(s)
	switch {
	case !register.Set:
		return s.behind()
	case amount.Less(&s.constant.amount, &register.Value):
		return s.yes
	}
	return s.no
}

// atLeast holds a register against an amount.
func (m *Machine) atLeast(s *step) *step {
	register := m.compared(s)
	switch {
	case !register.Set:
		return s.behind()
	case amount.Less(&register.Value, &s.constant.amount):
		return s.no
	}
	return s.yes
}

// compared returns the register of a comparison.
func (m *Machine) compared(s *step) *Register {
	if m.mode == All {
		m.recordComparison(s)
	}
	return &m.result.Amounts[s.A&bitRegister/bitRegister]
}

// reserve plans to advance a counter, and goes on while others follow, or records that it can't be told by how much or for
// whom.
func (m *Machine) reserve(s *step) *step {
	for r := &m.result; ; {
		n := len(r.Reservations)
		if n == cap(r.Reservations) {
			r.Reservations = append(r.Reservations, Reservation{})[:n]
		}
		one, c := &r.Reservations[:n+1][n], s.counter
		one.Counter = s.C
		if blamed := m.unreserved(c, &one.Amount); blamed == NoSlot {
			r.Reservations = r.Reservations[:n+1]
		} else if m.violate(c.Rule, blamed, NoElement, s.pc); m.mode == First {
			return nil
		}
		if s = s.no; s.Op != OpReserve {
			return s
		}
	}
}

// unreserved works out by how much a counter advances, and returns the slot that keeps it from doing so, or NoSlot.
func (m *Machine) unreserved(c *Counter, by *amount.Amount) (blamed uint16) {
	if c.Op == Count {
		*by = amount.Amount{1}
	} else if !m.counted(by, c) {
		return c.Amount
	}
	switch {
	case !m.grouped(c.Group):
		return c.Group
	case !m.grouped(c.Subgroup):
		return c.Subgroup
	}
	return NoSlot
}

// grouped reports whether a group can be told, or there is none.
func (m *Machine) grouped(slot uint16) bool {
	return slot == NoSlot || m.value(slot).Kind&textual != 0
}

// counted reads what a sum advances by or a maximum rises to; a missing amount is zero.
func (m *Machine) counted(by *amount.Amount, c *Counter) bool {
	v := m.value(c.Amount)
	if v.Kind == Missing || v.Kind == Null {
		*by = amount.Amount{}
		return true
	}
	return parseAmount(by, v, c.Decimals)
}
