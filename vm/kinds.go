package vm

import "slices"

// A tracker works out which tests of kinds need not run, since tests before them decide them: the rules of a section begin
// with much the same ones. Where a way leads to a test that is decided on this way, it goes on behind that test.
type tracker struct {
	p *Program
	// shift is where the kinds of a slot are in what is possible, for the slots that are tracked.
	shift map[uint16]int
	// possible holds for each instruction which kinds the tracked slots can have where it is reached, whatever way led
	// there: a bit each, as in the mask of a test. 0 is for what is not reached.
	possible []uint64
	// Of a route: where each decided test goes on, 0 elsewhere, and where all others go on, at the next instruction or by
	// a jump.
	outcomes, next, jump []uint16
}

// trackedSlots is how many slots are tracked at most, those that are tested most often.
const trackedSlots = 8

func newTracker(p *Program) *tracker {
	tests, slots := make([]int, len(p.fields)), []uint16(nil)
	for _, in := range p.code {
		if in.Op == OpKind {
			if tests[in.B]++; tests[in.B] == 2 {
				slots = append(slots, in.B)
			}
		}
	}
	slices.SortStableFunc(slots, func(a, b uint16) int { return tests[b] - tests[a] })
	n := len(p.code)
	t := &tracker{p: p, shift: map[uint16]int{}, possible: make([]uint64, n),
		outcomes: make([]uint16, n), next: make([]uint16, n), jump: make([]uint16, n)}
	for i, slot := range slots[:min(len(slots), trackedSlots)] {
		t.shift[slot] = 8 * i
	}
	return t
}

// track works out a route for which outcomes says of some tests where they go on.
func (t *tracker) track(outcomes []uint16) {
	copy(t.outcomes, outcomes)
	clear(t.possible)
	t.possible[0] = ^uint64(0)
	for pc, in := range t.p.code {
		t.next[pc], t.jump[pc] = uint16(min(pc+1, len(t.p.code)-1)), in.D
		possible := t.possible[pc]
		if possible == 0 {
			continue
		}
		target, holds, fails := t.decide(uint16(pc), possible)
		if target != 0 {
			if target = t.reach(target, possible); in.Op != OpJump {
				t.outcomes[pc] = target
			}
			continue
		}
		if in.A&bitUnless != 0 {
			holds, fails = fails, holds
		}
		if in.falls() {
			t.next[pc] = t.reach(t.next[pc], fails)
		}
		if specs[in.Op].d == dTarget {
			t.jump[pc] = t.reach(in.D, holds)
		}
		if in.Op == OpSwitch {
			for i := range t.p.tables[in.C].cases {
				t.possible[t.p.tables[in.C].cases[i].target] |= possible
			}
		}
	}
}

// decide returns where an instruction goes on, if that is known where only some kinds are possible, or else 0 and what is
// possible behind it: where it holds and where it does not, if it is a test of a kind.
func (t *tracker) decide(pc uint16, possible uint64) (target uint16, holds, fails uint64) {
	in := t.p.code[pc]
	if target = t.outcomes[pc]; target == 0 && in.Op == OpJump {
		target = in.D
	}
	if target != 0 {
		return target, 0, 0
	}
	shift, ok := t.shift[in.B]
	if in.Op != OpKind || !ok {
		return 0, possible, possible
	}
	kinds, mask := uint64(0xff)<<shift, uint64(in.C&0xff)<<shift
	holds, fails = possible&^(kinds&^mask), possible&^mask
	switch jumps := in.A&bitUnless == 0; {
	case fails&kinds == 0 && jumps, holds&kinds == 0 && !jumps:
		return in.D, 0, 0
	case fails&kinds == 0, holds&kinds == 0:
		return pc + 1, 0, 0
	}
	return 0, holds, fails
}

// reach follows a way that leads to pc, and on which only some kinds are possible, to where it really goes on.
func (t *tracker) reach(pc uint16, possible uint64) uint16 {
	for {
		target, _, _ := t.decide(pc, possible)
		if target == 0 {
			t.possible[pc] |= possible
			return pc
		}
		pc = target
	}
}
