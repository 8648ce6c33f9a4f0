package vm

import "slices"

// A step is an instruction as it runs: with both places where it goes on, and what operand C names at hand.
type step struct {
	Instruction        // D is a step of the route
	next        uint16 // the step behind it
	pc          uint16 // where the instruction stands in the program
	constant    *constant
	table       *table // its targets are steps of the route
}

// opLook is no operation of programs. It is what is left of a test of the action whose outcome is known: it looks at
// slot B, which a violation behind it may have to name, and goes on at D.
const opLook = opCount

// A route is a program as it runs for some actions: what can't be reached is left out, and so are jumps and the tests
// of the action, whose outcomes are known.
type route struct {
	steps []step
	reads SlotSet // the slots that a run can read
}

// size returns how many steps and cases a route has.
func (r *route) size() int {
	size := len(r.steps)
	for i := range r.steps {
		if t := r.steps[i].table; t != nil {
			size += len(t.cases)
		}
	}
	return size
}

// A router lays out the routes of a program.
type router struct {
	p *Program
	// covered says for each instruction that whatever the last test looked at is forgotten before a violation could
	// name it.
	covered []bool
	// Of the route that is being laid out: where each test of the action goes on, 0 elsewhere; what can be reached;
	// and which step that is.
	outcomes []uint16
	reached  []bool
	at       []uint16
	steps    []step
}

func newRouter(p *Program) *router {
	r := &router{p: p, covered: make([]bool, len(p.code)), reached: make([]bool, len(p.code)), at: make([]uint16, len(p.code))}
	for pc := len(p.code) - 1; pc >= 0; pc-- {
		r.covered[pc] = r.covers(pc)
	}
	return r
}

// covers works out covered for an instruction, from those behind it.
func (r *router) covers(pc int) bool {
	switch in := r.p.code[pc]; in.Op {
	case OpDeny, OpReject:
		return false
	case OpEnd:
		return true
	case OpJump:
		return r.covered[in.D]
	case OpClass, OpHold, OpNote:
		return r.covered[pc+1]
	case OpReserve:
		c := &r.p.counters[in.C]
		return c.Op != Count || c.Group != NoSlot || r.covered[pc+1]
	}
	return true // a test
}

// route lays out the route for outcomes.
func (r *router) route(outcomes []uint16) route {
	clear(r.reached)
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
		r.steps = append(r.steps, r.step(pc))
		r.p.addReads(reads, in)
	}
	for i := range r.steps {
		r.settle(&r.steps[i])
	}
	return route{steps: slices.Clone(r.steps), reads: reads}
}

// follow returns where a way that leads to pc really goes on.
func (r *router) follow(pc uint16) uint16 {
	for {
		switch target := r.outcomes[pc]; {
		case r.p.code[pc].Op == OpJump:
			pc = r.p.code[pc].D
		case target != 0 && r.covered[target]:
			pc = target
		default:
			return pc
		}
	}
}

// step makes the step for an instruction, with the program's targets, and marks them as reached.
func (r *router) step(pc int) step {
	s := step{Instruction: r.p.code[pc], pc: uint16(pc)}
	if target := r.outcomes[pc]; target != 0 {
		s.Instruction = Instruction{Op: opLook, B: s.B, D: r.reach(target)}
		return s
	}
	if s.falls() {
		s.next = r.reach(s.pc + 1)
	}
	if s.Op == OpSwitch {
		s.table = r.p.tables[s.C].clone()
		for i := range s.table.cases {
			c := &s.table.cases[i]
			c.target = r.reach(c.target)
		}
	}
	if specs[s.Op].d == dTarget {
		s.D = r.reach(r.afterScan(s.Op, s.D))
	}
	if space, ok := specs[s.Op].c.space(); ok && space == constantSpace {
		s.constant = &r.p.constants[s.C]
	}
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

// settle turns the program's targets into steps of the route.
func (r *router) settle(s *step) {
	if s.table != nil {
		for i := range s.table.cases {
			c := &s.table.cases[i]
			c.target = r.at[c.target]
		}
	}
	s.next, s.D = r.at[s.next], r.at[s.D]
}
