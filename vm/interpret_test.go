package vm

import (
	"slices"
	"strings"

	"bailiff/vm/match"
)

// An interpreter runs a program as the table of operations says, instruction by instruction. It shares nothing with the
// machine but constants and what runs patterns: no routes, no steps, no memory of earlier runs.
type interpreter struct {
	p        *Program
	frame    []Value
	mode     Mode
	pc       uint16
	ended    bool
	result   Result
	compared []Comparison
	// The list that was tested last and the element that decided the test, and where the registers were read from.
	tested  uint16
	element int32
	loaded  [2]uint16
	// What the last scan found: entries, and the elements in which they are first.
	hits      map[uint16]int32
	scanned   uint16
	spoiled   bool
	spoiledAt int32
}

// interpret runs a program, and returns what it found and what it held against bounds.
func interpret(p *Program, frame []Value, mode Mode) (Result, []Comparison) {
	m := &interpreter{p: p, frame: frame, mode: mode, tested: NoSlot, element: NoElement, loaded: [2]uint16{NoSlot, NoSlot}}
	for !m.ended {
		m.step(p.code[m.pc])
	}
	return snapshot(m.result.settle()), m.compared
}

func (m *interpreter) step(in Instruction) {
	switch in.Op {
	case OpReserve:
		m.reserve(in)
	case OpKind:
		v := m.value(in.B)
		m.jumpIf(in, Kinds(v.Kind)&KindMask(in.C) != 0)
	case OpSwitch:
		m.pc = m.branch(in)
	case OpScan:
		m.scan(in)
	case OpHit:
		m.hit(in)
	case OpAmount:
		m.load(in)
	case OpGreater, OpAtLeast:
		m.compare(in)
	case OpJump:
		m.pc = in.D
	default:
		if specs[in.Op].a == aQuantified {
			m.test(in)
		} else {
			m.record(in)
		}
	}
}

// record is what neither tests nor jumps.
func (m *interpreter) record(in Instruction) {
	r := &m.result
	switch in.Op {
	case OpEnd:
		r.Status, m.ended = Allowed, true
	case OpClass:
		r.Class = Class(in.A)
	case OpHold:
		r.Holds = append(r.Holds, in.C)
	case OpNote:
		r.Notes = append(r.Notes, in.C)
	case OpReject:
		if m.ended = true; len(r.Violations) == 0 {
			m.violate(in.C, in.B, NoElement)
			r.Status = Rejected
		}
	case OpDeny:
		element := int32(NoElement)
		if in.A&bitElement != 0 && m.tested == in.B {
			element = m.element
		}
		if m.violate(in.C, in.B, element); m.mode == All {
			m.pc = in.D
			return
		}
	}
	m.pc++
}

// violate records a violation, at which a run in mode First ends.
func (m *interpreter) violate(rule, slot uint16, element int32) {
	m.result.Violations = append(m.result.Violations, Violation{rule, slot, m.pc, element})
	m.ended = m.ended || m.mode == First
}

func (m *interpreter) value(slot uint16) Value {
	if int(slot) < len(m.frame) {
		return m.frame[slot]
	}
	return Value{}
}

// jumpIf goes on at D if the test holds, or unless it does, and else at the next instruction.
func (m *interpreter) jumpIf(in Instruction, holds bool) {
	if m.pc++; holds != (in.A&bitUnless != 0) {
		m.pc = in.D
	}
}

func (m *interpreter) reserve(in Instruction) {
	c, one, known, blamed := &m.p.counters[in.C], Reservation{Counter: in.C}, true, uint16(NoSlot)
	if c.Op == Count {
		one.Amount[0] = 1
	} else if v := m.value(c.Amount); v.Kind != Missing && v.Kind != Null {
		var register Register
		register, known = amountOf(v, c.Decimals)
		one.Amount, blamed = register.Value, c.Amount
	}
	for _, slot := range []uint16{c.Group, c.Subgroup} {
		if known && slot != NoSlot {
			known, blamed = m.value(slot).Kind&textual != 0, slot
		}
	}
	if known {
		m.result.Reservations = append(m.result.Reservations, one)
	} else {
		m.violate(c.Rule, blamed, NoElement)
	}
	m.pc++
}

// amountOf reads an amount.
func amountOf(v Value, decimals uint8) (r Register, ok bool) {
	read := decimals
	if v.BaseUnits {
		read = 0
	}
	if v.Kind&(String|Number) == 0 || r.Value.Set(v.Text, read) != nil {
		return Register{}, false
	}
	r.Decimals, r.Set = decimals, true
	return r, true
}

// branch returns where a switch goes on: at its exact case, else at the longest that the text starts with, else at D.
func (m *interpreter) branch(in Instruction) (to uint16) {
	v, longest := m.value(in.B), -1
	if to = in.D; v.Kind&textual == 0 {
		return to
	}
	for _, c := range m.p.tables[in.C].Cases {
		switch {
		case !c.Prefix && c.Text == v.Text:
			return c.Target
		case c.Prefix && strings.HasPrefix(v.Text, c.Text) && len(c.Text) > longest:
			to, longest = c.Target, len(c.Text)
		}
	}
	return to
}

func (m *interpreter) scan(in Instruction) {
	v := m.value(in.B)
	m.hits, m.scanned, m.spoiled = map[uint16]int32{}, in.B, false
	m.tested, m.element = in.B, NoElement
	look := func(v Value, at int32) {
		for i, e := range m.p.constants[in.C].entries {
			if _, known := m.hits[uint16(i)]; !known && v.Kind&textual != 0 && holdsNaively(OpContains, e, v.Text) {
				m.hits[uint16(i)] = at
			}
		}
		if v.Kind == Invalid && !m.spoiled {
			m.spoiled, m.spoiledAt = true, at
		}
	}
	look(v, NoElement)
	for i, e := range v.Elems {
		look(e, int32(i))
	}
	if m.pc++; len(m.hits) == 0 && !m.spoiled {
		m.pc = in.D
	}
}

func (m *interpreter) hit(in Instruction) {
	at, found := m.hits[in.C]
	switch m.tested, m.element = m.scanned, NoElement; {
	case found:
		m.element = at
	case m.spoiled:
		m.element = m.spoiledAt
	}
	if m.spoiled {
		m.pc++
	} else {
		m.jumpIf(in, found)
	}
}

func (m *interpreter) load(in Instruction) {
	n := in.A & bitRegister / bitRegister
	register, ok := amountOf(m.value(in.B), uint8(in.C))
	m.loaded[n], m.result.Amounts[n] = in.B, register
	if m.pc++; ok {
		m.pc = in.D
	}
}

func (m *interpreter) compare(in Instruction) {
	n := in.A & bitRegister / bitRegister
	register := m.result.Amounts[n]
	if m.mode == All {
		m.compared = append(m.compared, Comparison{m.pc, m.loaded[n], register})
	}
	if !register.Set {
		m.pc++
		return
	}
	order := register.Value.Cmp(m.p.constants[in.C].amount)
	m.jumpIf(in, order > 0 || order == 0 && in.Op == OpAtLeast)
}

// test tests a text, or the elements of a list by the quantifier. What holds something invalid goes on at the next
// instruction.
func (m *interpreter) test(in Instruction) {
	v, all, decided := m.value(in.B), in.A&bitAll != 0, int32(NoElement)
	if v.Kind != List {
		if m.pc++; !m.invalid(in, v) {
			m.pc--
			m.jumpIf(in, m.holds(in, v))
		}
		return
	}
	m.tested, m.element = in.B, NoElement
	for i, e := range v.Elems {
		if decided != NoElement && all != (in.A&bitUnless != 0) {
			break // the test falls through, whatever follows
		}
		if m.invalid(in, e) {
			m.element = int32(i)
			m.pc++
			return
		}
		if decided == NoElement && m.holds(in, e) != all {
			decided = int32(i)
		}
	}
	if decided != NoElement {
		m.element = decided
		m.jumpIf(in, !all)
		return
	}
	m.jumpIf(in, all && len(v.Elems) > 0)
}

// invalid reports whether a test can't judge a value, or a reading of an element.
func (m *interpreter) invalid(in Instruction, v Value) bool {
	if v.Kind == List {
		return slices.ContainsFunc(v.Elems, func(e Value) bool { return e.Kind != List && m.invalid(in, e) })
	}
	return v.Kind == Invalid || in.Op == OpMatch && v.Kind&textual != 0 && len(v.Text) > MaxSubject
}

// holds reports whether a test holds for a value, or for a reading of an element.
func (m *interpreter) holds(in Instruction, v Value) bool {
	if v.Kind == List {
		return slices.ContainsFunc(v.Elems, func(e Value) bool { return e.Kind != List && m.holds(in, e) })
	}
	c := &m.p.constants[in.C]
	switch in.Op {
	case OpIn, OpStarts, OpEnds, OpContains:
		return v.Kind&textual != 0 && slices.ContainsFunc(c.entries, func(e match.Entry) bool { return holdsNaively(in.Op, e, v.Text) })
	case OpHost:
		return v.Kind&textual != 0 && slices.ContainsFunc(c.entries, func(e match.Entry) bool { return match.CoversHost(e.Text, v.Text) })
	}
	return v.Kind&textual != 0 && predicates[in.Op](c, v.Text)
}
