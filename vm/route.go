package vm

import (
	"slices"
)

// A route is a program as it runs for some actions: what can't be reached is left out, and so are jumps and the tests
// of the action, whose outcomes are known.
type route struct {
	steps []step
	start *step
	class Class   // what start need not set, since all that is before it does
	reads SlotSet // the slots that a run can read
}

// size returns how many steps and cases a route has.
func (r *route) size() int {
	size := len(r.steps)
	for i := range r.steps {
		if t := r.steps[i].table; t != nil {
			size += len(t.Cases)
		}
	}
	return size
}

// A router lays out the routes of a program.
type router struct {
	p *Program
	// Of the route that is being laid out: where each test goes on that is decided, 0 elsewhere; what can be reached;
	// and which step that is.
	outcomes []uint16
	reached  []bool
	at       []uint16
	steps    []step
	inGuard  []bool // what a guard in front of an earlier test was tried for
	// Of all routes: the guards, by their tests.
	guards map[string]*guard
	key    []byte
}

func newRouter(p *Program) *router {
	n := len(p.code)
	return &router{p: p, reached: make([]bool, n), at: make([]uint16, n), steps: make([]step, 0, n), inGuard: make([]bool, n), guards: map[string]*guard{}}
}

// route lays out the route for outcomes.
func (r *router) route(outcomes []uint16) route {
	clear(r.reached)
	clear(r.inGuard)
	r.outcomes = outcomes
	reads := make(SlotSet, (len(r.p.fields)+63)/64)
	reads.add(r.p.actionSlot)
	r.steps = r.steps[:0]
	r.reached[r.follow(0)] = true
	for pc, in := range r.p.code {
		if !r.reached[pc] {
			continue
		}
		r.at[pc] = uint16(len(r.steps))
		if s, ok := r.guardStep(pc); ok {
			r.steps = append(r.steps, s)
		}
		r.steps = append(r.steps, r.step(pc))
		r.p.addReads(reads, in)
	}
	steps := slices.Clone(r.steps)
	for i := range steps {
		steps[i].link(steps, r.at)
	}
	found := route{reads: reads}
	found.take(steps)
	return found
}

// take gives a route its steps.
func (r *route) take(steps []step) {
	r.steps, r.start, r.class = steps, &steps[0], NoClass
	for ; r.start.Op == OpClass; r.start = r.start.no {
		r.class = Class(r.start.A)
	}
}

// follow returns where a way that leads to pc really goes on.
func (r *router) follow(pc uint16) uint16 {
	for {
		switch target := r.outcomes[pc]; {
		case r.p.code[pc].Op == OpJump:
			pc = r.p.code[pc].D
		case target != 0:
			pc = target
		default:
			return pc
		}
	}
}

// step makes the step for an instruction, with the program's targets, and marks them as reached.
func (r *router) step(pc int) step {
	s := step{Instruction: r.p.code[pc], pc: uint16(pc)}
	if s.falls() {
		s.next = r.reach(uint16(pc + 1))
	}
	if s.Op == OpSwitch {
		s.table = &switchTable{Table: r.p.tables[s.C].Clone()}
		for i := range s.table.Cases {
			c := &s.table.Cases[i]
			c.Target = r.reach(c.Target)
		}
	}
	if specs[s.Op].d == dTarget {
		s.D = r.reach(r.afterScan(s.Op, s.D))
	}
	s.settle(r.p)
	return s
}

// reach marks where a way goes on as reached, and returns it.
func (r *router) reach(pc uint16) uint16 {
	pc = r.follow(pc)
	r.reached[pc] = true
	return pc
}

// afterScan returns where a scan goes on that found nothing: behind all hits, which would look at its slot and find
// nothing, too.
func (r *router) afterScan(op Op, pc uint16) uint16 {
	if op != OpScan {
		return pc
	}
	for pc = r.follow(pc); r.p.code[pc].Op == OpHit; pc = r.follow(pc) {
		if r.p.code[pc].A&bitUnless == 0 {
			pc++
		} else {
			pc = r.p.code[pc].D
		}
	}
	return pc
}

// settle gives a step what its operation needs of the program.
func (s *step) settle(p *Program) {
	s.run = handlers[s.Op]
	switch space, _ := specs[s.Op].c.space(); space {
	case constantSpace:
		s.constant = &p.constants[s.C]
	case counterSpace:
		s.counter = &p.counters[s.C]
	}
	switch {
	case s.Op == OpContains && s.constant.set.One():
		s.run = (*Machine).containsOne
	case s.Op == OpScan && s.constant.set.One():
		s.run = (*Machine).scanOne
	case s.Op == OpSwitch && len(s.table.Cases) == 1 && !s.table.Cases[0].Prefix:
		s.run = (*Machine).branchOne
	case s.Op == OpSwitch && s.table.Few():
		s.run = (*Machine).branchFew
	}
}

// link makes a step go on at the steps of a route, of which at says which is which instruction's.
func (s *step) link(steps []step, at []uint16) {
	if s.table != nil {
		s.table.steps = steps
		for i := range s.table.Cases {
			c := &s.table.Cases[i]
			c.Target = at[c.Target]
		}
	}
	s.yes, s.no = &steps[at[s.D]], &steps[at[s.next]]
	if s.Op == opGuard {
		s.no = &steps[at[s.next]+1] // the test itself
		return
	}
	if specs[s.Op].tests() && s.A&bitUnless != 0 {
		s.yes, s.no = s.no, s.yes
	}
	if s.Op == OpAmount && s.yes.Op == OpGreater && (s.yes.A^s.A)&bitRegister == 0 {
		s.limit = &s.yes.constant.amount
	}
}

// addReads adds the slots that an instruction reads.
func (p *Program) addReads(set SlotSet, in Instruction) {
	if specs[in.Op].b != noB {
		set.add(in.B)
	}
	if specs[in.Op].c == cCounter {
		set.add(p.counters[in.C].Amount)
		set.add(p.counters[in.C].Group)
		set.add(p.counters[in.C].Subgroup)
	}
}
