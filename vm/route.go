package vm

import (
	"slices"

	"bailiff/vm/amount"
)

// A step is an instruction as it runs.
type step struct {
	run func(*Machine, *step) *step // does it, and returns the next step
	// Where it goes on: a test where it holds and where it does not; all others at D (yes) or at the next step (no).
	yes, no     *step
	constant    *constant      // of a test
	table       *table         // of a switch; its targets are steps of the route
	counter     *Counter       // of a reservation
	limit       *amount.Amount // of an amount: what the next step holds it against, if it does
	guard       *guard
	aside       *step  // a test of kinds in whose place it is: where it goes on for values that it is not for
	accepts     Kind   // of a switch: the kinds of texts that it is for
	Instruction        // D is an instruction of the program, as is
	next        uint16 // the one behind it
	pc          uint16 // where the instruction is in the program
}

// after returns where a test goes on.
func (s *step) after(holds bool) *step {
	if holds {
		return s.yes
	}
	return s.no
}

// behind returns the step behind a test, where it goes on if it can't be judged.
func (s *step) behind() *step {
	if s.A&bitUnless != 0 {
		return s.yes
	}
	return s.no
}

// opGuard is not an operation of programs, but a [guard] in front of tests.
const opGuard = opCount

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
			size += len(t.cases)
		}
		if r.steps[i].aside != nil {
			size++
		}
	}
	return size
}

// A router lays out the routes of a program.
type router struct {
	p *Program
	// ways says where instructions go on.
	ways *tracker
	// guards are those of all routes, by their tests.
	guards map[string]*guard
	key    []byte
	// Of the route that is being laid out: where each test goes on that is decided, 0 elsewhere; what can be reached;
	// and which step that is.
	outcomes []uint16
	reached  []bool
	inGuard  []bool   // what a guard in front of an earlier test was tried for
	tests    []uint16 // those of the last guard
	at       []uint16
	steps    []step
}

func newRouter(p *Program) *router {
	n := len(p.code)
	r := &router{p: p, guards: map[string]*guard{}, reached: make([]bool, n), inGuard: make([]bool, n), at: make([]uint16, n),
		steps: make([]step, 0, n)}
	r.ways = newTracker(p)
	return r
}

// route lays out the route for outcomes.
func (r *router) route(outcomes []uint16) route {
	clear(r.reached)
	clear(r.inGuard)
	r.ways.track(outcomes)
	r.outcomes = r.ways.outcomes
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
	asides(steps)
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
		s.next = r.reach(r.ways.next[pc])
	}
	if s.Op == OpSwitch {
		s.table = r.p.tables[s.C].clone()
		for i := range s.table.cases {
			c := &s.table.cases[i]
			c.target = r.reach(c.target)
		}
	}
	if specs[s.Op].d == dTarget {
		s.D = r.reach(r.afterScan(s.Op, r.ways.jump[pc]))
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
			pc = r.ways.next[pc]
		} else {
			pc = r.ways.jump[pc]
		}
	}
	return pc
}

// settle gives a step what its operation needs of the program.
func (s *step) settle(p *Program) {
	s.run, s.accepts = handlers[s.Op], textual
	switch space, _ := specs[s.Op].c.space(); space {
	case constantSpace:
		s.constant = &p.constants[s.C]
	case counterSpace:
		s.counter = &p.counters[s.C]
	}
	switch {
	case s.Op == OpContains && len(s.constant.set) == 1:
		s.run = (*Machine).containsOne
	case s.Op == OpScan && len(s.constant.set) == 1:
		s.run = (*Machine).scanOne
	case s.Op == OpSwitch && len(s.table.cases) == 1 && !s.table.cases[0].prefix:
		s.run = (*Machine).branchOne
	case s.Op == OpSwitch && s.table.few():
		s.run = (*Machine).branchFew
	}
}

// link makes a step go on at the steps of a route, of which at says which is which instruction's.
func (s *step) link(steps []step, at []uint16) {
	if s.table != nil {
		s.table.steps = steps
		for i := range s.table.cases {
			c := &s.table.cases[i]
			c.target = at[c.target]
		}
	}
	s.yes, s.no = &steps[at[s.D]], &steps[at[s.next]]
	if s.Op == opGuard {
		s.no = &steps[at[s.next]+1] // the test itself
	}
	if s.Op < opCount && specs[s.Op].tests() && s.A&bitUnless != 0 {
		s.yes, s.no = s.no, s.yes
	}
	if s.Op == OpAmount && s.yes.Op == OpGreater && (s.yes.A^s.A)&bitRegister == 0 {
		s.limit = &s.yes.constant.amount
	}
}
