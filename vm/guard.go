package vm

import "slices"

// A guard is in front of tests of one slot that follow each other, each where the one before does not hold: several
// denied hosts, say, or blocked commands. It tells most texts for which none of them holds, at about the cost of one
// test. Where it can't tell, the tests run. Tests of other slots, whose values are usually missing, may be between them
// (hosts as they were sent); the guard tells nothing where one of those is there.
type guard struct {
	others []uint16 // the other slots
	// For tests by whole texts or by endings: the entries' last bytes, as guardBit has them of a tail without its lowest
	// bits. No entry has less than those.
	ends    uint64
	without uint8
	// For tests of the text in a text: all entries.
	inside *pairs
}

const (
	// minGuarded is from how many tests on a guard pays, also if it now and then does not tell.
	minGuarded = 3
	// maxGuarded is how many entries a guard has at most: the more, the more texts seem to have one.
	maxGuarded = 16
	// maxOthers is how many other slots a guard looks at.
	maxOthers = 2
	// maxGuardBytes is how many last bytes of entries a guard looks at.
	maxGuardBytes = 4
)

// guardBit means the last bytes of a text, in capitals or not.
func guardBit(last uint64) uint64 {
	return 1 << ((last &^ 0x2020202020202020) * mixFactor >> 58)
}

// newGuard returns the guard for tests whose entries are set, or nil where it would tell little. The tests are guarded as
// op.
func newGuard(op Op, set []entry) *guard {
	if len(set) > maxGuarded {
		return nil
	}
	if op == OpContains {
		p := newPairs(set)
		if p == nil {
			return nil
		}
		return &guard{inside: p}
	}
	bytes := maxGuardBytes
	for i := range set {
		bytes = min(bytes, len(set[i].text))
	}
	g := &guard{without: uint8(64 - 8*bytes)}
	for i := range set {
		g.ends |= guardBit(set[i].tail >> g.without)
	}
	return g
}

// excludes reports whether none of the tests holds for a text. It may miss that.
func (g *guard) excludes(text string) bool {
	if g.inside != nil {
		in, left := g.inside.search(text, true)
		return in|left == 0
	}
	return g.ends&guardBit(tailWord(text)>>g.without) == 0
}

// guarded returns how a test is guarded: by its operation, tests by endings alike; 0 where it is not.
func guarded(op Op) Op {
	switch op {
	case OpIn, OpEnds, OpHost:
		return OpEnds
	case OpContains:
		return OpContains
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
	c := chain{r.tests[:0], nil, pc}
	var others []uint16 // those of a test that may still come, too
	for at := pc; r.outcomes[at] == 0; {
		in, here := r.p.code[at], at
		if at = r.ways.jump[here]; in.A&bitUnless == 0 {
			at = r.ways.next[here]
		}
		at = r.follow(at)
		switch {
		case in.B == first.B && guarded(in.Op) == guarded(first.Op):
			r.inGuard[here] = true
			c.tests, c.others, c.end = append(c.tests, here), others, at
		case in.B == first.B || guarded(in.Op) == 0:
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
	if r.tests = c.tests; len(c.tests) < minGuarded {
		return step{}, false
	}
	s = step{Instruction: Instruction{Op: opGuard, B: first.B, D: c.end}, next: uint16(pc), pc: uint16(pc), run: (*Machine).guard}
	s.guard = r.guardOf(&c)
	return s, s.guard != nil
}

// guardOf returns the guard for a chain, which routes share.
func (r *router) guardOf(c *chain) *guard {
	r.key = r.key[:0]
	for _, pc := range append(c.tests, c.end) {
		r.key = append(r.key, byte(pc>>8), byte(pc))
	}
	g, ok := r.guards[string(r.key)]
	if !ok {
		var set []entry
		for _, pc := range c.tests {
			set = append(set, r.p.constants[r.p.code[pc].C].set...)
		}
		if g = newGuard(guarded(r.p.code[c.tests[0]].Op), set); g != nil {
			g.others = c.others
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
		if !s.guard.excludes(v.Text) {
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
