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

// The outcomes. Denied is the zero value, so that a result that nobody filled in allows nothing.
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
	Slot    uint16 // the slot that was looked at last, or NoSlot
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
	// What the last test looked at, for the violation that may follow.
	slot    uint16
	element int32
	loaded  [2]uint16 // the slots that the registers were read from
	// What was held against bounds, in mode All.
	compared []Comparison
	// What the last scan found.
	hits         []uint64 // a bit for each entry
	hitElements  []int32  // the element of the entry's first find; valid where the bit is set
	scanSlot     uint16
	scanFound    bool
	scanInvalid  bool
	spoilElement int32 // where scanInvalid is set: the first element that could not be looked into
}

// Run runs p over frame, whose values stand at the indexes of [Program.Fields]; what a short frame lacks is
// missing. Any program and any frame give a result. It belongs to the machine and is valid until the next
// run, and it refers to nothing of the frame. A machine grows as its largest result needs; beyond that, Run
// allocates nothing.
func (m *Machine) Run(p *Program, frame []Value, mode Mode) *Result {
	m.reset(frame)
	m.run(p, p.route(frame).steps, mode)
	m.frame = nil
	return m.result.settle()
}

// reset forgets the last run.
func (m *Machine) reset(frame []Value) {
	r := &m.result
	r.Status, r.Class = Denied, NoClass
	r.Violations = r.Violations[:0]
	r.Holds = r.Holds[:0]
	r.Notes = r.Notes[:0]
	r.Reservations = r.Reservations[:0]
	m.compared = m.compared[:0]
	for i := range r.Amounts {
		if r.Amounts[i].Set {
			r.Amounts[i] = Register{}
		}
	}
	m.frame, m.slot, m.element = frame, NoSlot, NoElement
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

// run is the machine. Every case either goes on at a later step or returns, and the verifier has seen to it that what
// goes on stays inside the code, so that the loop ends.
func (m *Machine) run(p *Program, steps []step, mode Mode) {
	r := &m.result
	for at := uint16(0); ; {
		s := &steps[at]
		switch s.Op {
		case OpIn:
			at = m.in(s)
		case OpContains:
			at = m.contains(s)
		case OpStarts, OpEnds, OpHost, OpPath, OpMatch, OpGlob:
			at = m.test(s)
		case OpKind:
			at = m.kind(s)
		case OpSwitch:
			at = m.branch(s)
		case OpJump:
			at = s.D
		case opLook:
			m.slot, m.element = s.B, NoElement
			at = s.D
		case OpScan:
			at = m.scan(s)
		case OpHit:
			at = m.hit(s)
		case OpAmount:
			at = m.load(s)
		case OpGreater, OpAtLeast:
			at = m.compare(s, mode)
		case OpClass:
			r.Class = Class(s.A)
			at = s.next
		case OpHold:
			r.Holds = append(r.Holds, s.C)
			at = s.next
		case OpNote:
			r.Notes = append(r.Notes, s.C)
			at = s.next
		case OpReserve:
			if !m.reserve(&p.counters[s.C], s) && mode == First {
				return
			}
			at = s.next
		case OpDeny:
			m.violate(s.C, s.pc)
			if mode == First {
				return
			}
			at = s.D
		case OpReject:
			m.reject(s.C, s.pc)
			return
		case OpEnd:
			r.Status = Allowed
			return
		default: // the verifier lets nothing else through; if it did, nothing would be allowed
			return
		}
	}
}

// missing is what a slot outside the frame holds.
var missing Value

// textual are the kinds that have a text.
const textual = String | Number | Bool

// value returns the value of a slot and remembers that it was looked at.
func (m *Machine) value(slot uint16) *Value {
	m.slot, m.element = slot, NoElement
	if int(slot) < len(m.frame) {
		return &m.frame[slot]
	}
	return &missing
}

// text returns the text of a slot, if it has one.
func (m *Machine) text(slot uint16) (text string, ok bool) {
	v := m.value(slot)
	return v.Text, v.Kind&textual != 0
}

// violate records a violation by what was looked at last.
func (m *Machine) violate(rule, pc uint16) {
	m.result.Violations = append(m.result.Violations,
		Violation{Rule: rule, Slot: m.slot, PC: pc, Element: m.element})
}

// reject refuses the request, unless a rule before it already has.
func (m *Machine) reject(rule, pc uint16) {
	if len(m.result.Violations) > 0 {
		return
	}
	m.violate(rule, pc)
	m.result.Status = Rejected
}

// branch returns where a switch goes on.
func (m *Machine) branch(s *step) uint16 {
	if text, ok := m.text(s.B); ok {
		if target := s.table.find(text); target != 0 {
			return target
		}
	}
	return s.D
}

// load reads an amount into a register.
func (m *Machine) load(s *step) uint16 {
	n := s.A & bitRegister / bitRegister
	register := &m.result.Amounts[n]
	m.loaded[n] = s.B
	register.Decimals = uint8(s.C)
	if register.Set = parseAmount(&register.Value, m.value(s.B), uint8(s.C)); !register.Set {
		*register = Register{}
		return s.next
	}
	return s.D
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

// compare holds a register against an amount.
func (m *Machine) compare(s *step, mode Mode) uint16 {
	if mode == All {
		m.recordComparison(s)
	}
	n, bound := s.A&bitRegister/bitRegister, &s.constant.amount
	register := &m.result.Amounts[n]
	m.slot, m.element = m.loaded[n], NoElement
	if !register.Set {
		return s.next
	}
	if s.Op == OpGreater {
		return s.jump(amount.Less(bound, &register.Value))
	}
	return s.jump(!amount.Less(&register.Value, bound))
}

// reserve plans to advance a counter, or records that it can't be told by how much or for whom.
func (m *Machine) reserve(c *Counter, s *step) bool {
	r := &m.result
	n := len(r.Reservations)
	if n == cap(r.Reservations) {
		r.Reservations = append(r.Reservations, Reservation{})[:n]
	}
	one, known := &r.Reservations[:n+1][n], true
	one.Counter = s.C
	if c.Op == Count {
		one.Amount = amount.Amount{1}
	} else {
		known = m.counted(&one.Amount, c)
	}
	if known && c.Group != NoSlot {
		_, known = m.text(c.Group)
	}
	if known && c.Subgroup != NoSlot {
		_, known = m.text(c.Subgroup)
	}
	if !known {
		m.violate(c.Rule, s.pc)
		return false
	}
	r.Reservations = r.Reservations[:n+1]
	return true
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
