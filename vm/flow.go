package vm

import (
	"fmt"
	"iter"
)

// A state is what is known before an instruction, whatever way led there.
type state struct {
	reached bool
	// scan is the constant that the last scan looked for, or noScan if there was none, or not always the same.
	scan int32
	// decimals holds for each register a bit for each number of decimals that its amount can have, and the bit
	// unset if it may hold none.
	decimals [2]uint64
}

const (
	noScan = -1
	unset  = 1 << 63
)

// join adds what is known on another way.
func (s *state) join(other state) {
	if !s.reached {
		*s = other
		return
	}
	if s.scan != other.scan {
		s.scan = noScan
	}
	s.decimals[0] |= other.decimals[0]
	s.decimals[1] |= other.decimals[1]
}

// checkFlow follows the code, which goes forward only, once from its start to its end. Every way ends in a
// verdict, every instruction is on one, and hits and comparisons have the scan and the amount they need.
func (p *Program) checkFlow() error {
	states := make([]state, len(p.code))
	states[0] = state{reached: true, scan: noScan, decimals: [2]uint64{unset, unset}}
	for pc, in := range p.code {
		err := error(nil)
		if !states[pc].reached {
			err = fmt.Errorf("nothing leads to it")
		}
		if err == nil {
			err = p.checkState(in, &states[pc])
		}
		if err == nil {
			err = p.spread(pc, states)
		}
		if err != nil {
			return fmt.Errorf("instruction %d (%s): %w", pc, in.Op, err)
		}
	}
	return nil
}

// checkState verifies that an instruction has what it needs.
func (p *Program) checkState(in Instruction, s *state) error {
	switch specs[in.Op].c {
	case cHit:
		if s.scan == noScan {
			return fmt.Errorf("no scan is before it on every way, or not always of the same set")
		}
		if n := len(p.constants[s.scan].entries); int(in.C) >= n {
			return fmt.Errorf("operand C: entry %d of %d", in.C, n)
		}
	case cAmount:
		have := s.decimals[in.A&bitRegister/bitRegister] &^ unset
		decimals := p.constants[in.C].decimals
		if have == 0 {
			return fmt.Errorf("no way that leads to it sets its register")
		}
		if have != 1<<decimals {
			return fmt.Errorf("its register may have other decimals than the %d of constant %d", decimals, in.C)
		}
	}
	return nil
}

// spread joins what is known behind an instruction into the places where it goes on.
func (p *Program) spread(pc int, states []state) error {
	in, after := p.code[pc], states[pc]
	jumped := after
	switch in.Op {
	case OpScan:
		after.scan = int32(in.C)
		jumped.scan = after.scan
	case OpAmount:
		register := in.A & bitRegister / bitRegister
		after.decimals[register] = unset
		jumped.decimals[register] = 1 << in.C
	}
	if in.falls() {
		if pc+1 == len(p.code) {
			return fmt.Errorf("the program ends behind it without a verdict")
		}
		states[pc+1].join(after)
	}
	for target := range p.targets(pc) {
		if err := p.checkTarget(target, pc); err != nil {
			return err
		}
		states[target].join(jumped)
	}
	return nil
}

// falls reports whether an instruction may go on at the next one.
func (in Instruction) falls() bool {
	f := specs[in.Op].flow
	return f == flowNext || f == flowTest
}

// targets yields where an instruction may jump to.
func (p *Program) targets(pc int) iter.Seq[uint16] {
	return func(yield func(uint16) bool) {
		in := p.code[pc]
		if specs[in.Op].flow == flowSwitch {
			for i := range p.tables[in.C].Cases {
				if !yield(p.tables[in.C].Cases[i].Target) {
					return
				}
			}
		}
		if specs[in.Op].d == dTarget {
			yield(in.D)
		}
	}
}

// checkTarget verifies that a jump goes forward and stays inside the code.
func (p *Program) checkTarget(target uint16, pc int) error {
	if int(target) <= pc {
		return fmt.Errorf("it goes to %d: jumps go forward", target)
	}
	if int(target) >= len(p.code) {
		return fmt.Errorf("it goes to %d: the program has %d instructions", target, len(p.code))
	}
	return nil
}
