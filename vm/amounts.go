package vm

import "bailiff/vm/amount"

// load reads an amount into a register, and holds it against a limit if that comes next: it mostly does. What parseAmount
// does is written out, which spares a policy of ten rules a twentieth of its time.
func (m *Machine) load(s *step) *step {
	n := s.A & bitRegister / bitRegister
	register := &m.result.Amounts[n]
	v, decimals := m.value(s.B), uint8(s.C)
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
