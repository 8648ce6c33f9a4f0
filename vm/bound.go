package vm

import "bailiff/vm/amount"

// A Comparison is an amount that a run held against a bound.
type Comparison struct {
	PC   uint16 // the instruction; [Program.Bound] returns the bound
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

// Register returns the register that the instruction at pc compares. It is ok for `gt` and `ge` only. pc must be less than
// [Program.Len].
func (p *Program) Register(pc uint16) (register int, ok bool) {
	in := &p.code[pc]
	return int(in.A & bitRegister / bitRegister), in.Op == OpGreater || in.Op == OpAtLeast
}

// Bound returns what the instruction at pc holds an amount against, in base units of 10^-decimals. It is ok for `gt`
// and `ge` only. pc must be less than [Program.Len].
func (p *Program) Bound(pc uint16) (bound amount.Amount, decimals uint8, ok bool) {
	in := &p.code[pc]
	if in.Op != OpGreater && in.Op != OpAtLeast {
		return amount.Amount{}, 0, false
	}
	c := &p.constants[in.C]
	return c.amount, c.decimals, true
}
