package vm

import (
	"slices"

	"bailiff/vm/match"
)

// A guard is in front of tests of one slot that follow each other, each where the one before does not hold: several
// denied hosts, say, or blocked commands. Tests of other slots, whose values are usually missing, may be between them
// (hosts as they were sent); the guard tells nothing where one of those is there.
type guard struct {
	*match.Guard
	others []uint16 // the other slots
}

// opGuard is not an operation of programs, but a [guard] in front of tests.
const opGuard = opCount

const (
	// minGuarded is from how many tests on a guard pays, also if it now and then does not tell.
	minGuarded = 3
	// maxOthers is how many other slots a guard looks at.
	maxOthers = 2
)

// guarded returns how a test is guarded, those that compare endings alike; 0 where it is not.
func guarded(op Op) match.By {
	switch op {
	case OpIn, OpEnds, OpHost:
		return match.End
	case OpContains:
		return match.Inside
	}
	return 0
}

// A chain is tests of one slot that follow each other, each where the one before does not hold.
type chain struct {
	tests  []uint16
	others []uint16 // the slots of the tests between them
	end    uint16   // where it goes on behind the last one
}

// chain returns the tests from pc on that one guard can be in front of.
func (r *router) chain(pc uint16) chain {
	first := r.p.code[pc]
	c := chain{end: pc}
	var others []uint16 // those of a test that may still come, too
	for at := pc; r.outcomes[at] == 0 && guarded(r.p.code[at].Op) != 0; {
		in, here := r.p.code[at], at
		if at++; in.A&bitUnless != 0 {
			at = in.D
		}
		at = r.follow(at)
		switch {
		case in.B == first.B && guarded(in.Op) == guarded(first.Op):
			r.inGuard[here] = true
			c.tests, c.others, c.end = append(c.tests, here), others, at
		case in.B == first.B:
			return c
		case !slices.Contains(others, in.B):
			if len(others) == maxOthers {
				return c
			}
			others = append(others, in.B)
		}
	}
	return c
}

// guardStep makes the guard for the tests from pc on, if there are enough of them. It goes on behind the last of them, or
// at pc.
func (r *router) guardStep(pc int) (s step, ok bool) {
	first := r.p.code[pc]
	if r.inGuard[pc] || guarded(first.Op) == 0 {
		return step{}, false
	}
	c := r.chain(uint16(pc))
	if len(c.tests) < minGuarded {
		return step{}, false
	}
	s = step{Instruction: Instruction{Op: opGuard, B: first.B, D: c.end}, next: uint16(pc), pc: uint16(pc), run: (*Machine).guard}
	s.guard = r.guardOf(&c)
	return s, s.guard != nil
}

// guardOf returns the guard for a chain, which routes share, or nil where it would tell little.
func (r *router) guardOf(c *chain) *guard {
	r.key = r.key[:0]
	for _, pc := range append(c.tests, c.end) {
		r.key = append(r.key, byte(pc>>8), byte(pc))
	}
	g, ok := r.guards[string(r.key)]
	if !ok {
		var sets []*match.Set
		for _, pc := range c.tests {
			sets = append(sets, &r.p.constants[r.p.code[pc].C].set)
		}
		if tells := match.NewGuard(guarded(r.p.code[c.tests[0]].Op), sets...); tells != nil {
			g = &guard{tells, c.others}
		}
		r.guards[string(r.key)] = g
	}
	return g
}

// guard goes on behind the tests that it guards if none of them holds.
func (m *Machine) guard(s *step) *step {
	v := m.value(s.B)
	switch {
	case v.Kind&textual != 0:
		if !s.guard.Excludes(v.Text) {
			return s.no
		}
	case v.Kind&(Invalid|List) != 0:
		return s.no
	}
	for _, other := range s.guard.others {
		if kind := m.value(other).Kind; kind != Missing && kind != Null {
			return s.no
		}
	}
	return s.yes
}
