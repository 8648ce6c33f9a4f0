package vm

import (
	"math"

	"bailiff/vm/match"
)

// actions finds a program's route by the text of the action.
//
// Tests of the action by its whole text or by how it starts tell actions apart, and the outcome of all of them is
// decided by the most specific of all their cases that an action has. So one table of all the cases, whose targets are
// routes, answers for any.
type actions struct {
	cases  match.Table
	routes []route // by target; route 0 is for an action without a case
	any    route   // for what is no text
}

const (
	// maxRouteWork bounds the instructions and cases that are looked at for routes. Beyond it every action takes the route that
	// knows no action, which is right and merely slower.
	maxRouteWork = 1 << 23
	// maxRouteSteps bounds the steps of all routes together, and their cases. Beyond it an action's slots are known, and its steps are
	// those of the route that knows no action.
	maxRouteSteps = 1 << 15
)

// noCase means an action that has no case, and behind a prefix for one that has no longer case: no case goes on
// like this, since all are valid UTF-8.
const noCase = "\xff"

// of returns the route for an action.
func (a *actions) of(action string) *route {
	if a.cases.Few() {
		return &a.routes[a.cases.FindInTurn(action)]
	}
	return &a.routes[a.cases.Find(action)]
}

// route returns the route for a frame.
func (p *Program) route(frame []Value) *route {
	if slot := int(p.actionSlot); slot < len(frame) && frame[slot].Kind == String {
		return p.actions.of(frame[slot].Text)
	}
	return &p.actions.any
}

// findActions lays out the routes. The error says that the program's making was stopped.
func (p *Program) findActions() error {
	r := newRouter(p)
	a := actions{any: r.route(make([]uint16, len(p.code)))}
	tests := p.actionTests()
	cases := p.actionCases(tests)
	size := len(p.code)
	for i := range p.tables {
		size += len(p.tables[i].Cases)
	}
	if len(cases) >= math.MaxUint16 || (len(cases)+1)*size > maxRouteWork {
		p.actions = actions{routes: []route{a.any}, any: a.any}
		return nil
	}
	steps, known, outcomes := 0, map[string]uint16{}, make([]uint16, len(p.code))
	var key []byte
	find := func(action string) uint16 {
		key = p.outcomes(tests, action, outcomes, key[:0])
		n, ok := known[string(key)]
		if !ok {
			n = uint16(len(a.routes))
			known[string(key)] = n
			found := r.route(outcomes)
			if steps += found.size(); steps > maxRouteSteps {
				found.take(a.any.steps)
			}
			a.routes = append(a.routes, found)
		}
		return n
	}
	find(noCase)
	for i := range cases {
		if p.limit.stopped() {
			return ErrStopped
		}
		action := cases[i].Text
		if cases[i].Prefix {
			action += noCase
		}
		cases[i].Target = find(action)
	}
	a.cases.Cases = cases
	a.cases.Build()
	p.actions = a
	return nil
}

// actionTests returns where the tests of the action are whose outcome its most specific case decides.
func (p *Program) actionTests() (at []int) {
	for pc, in := range p.code {
		if in.B != p.actionSlot || specs[in.Op].b != bSlot {
			continue
		}
		switch in.Op {
		case OpSwitch:
			at = append(at, pc)
		case OpIn, OpStarts:
			if !p.constants[in.C].folds() {
				at = append(at, pc)
			}
		}
	}
	return at
}

// actionCases returns all cases of those tests, each once, as the cases of one table.
func (p *Program) actionCases(tests []int) (cases []match.Case) {
	var all []match.Case
	for _, pc := range tests {
		in := p.code[pc]
		if in.Op == OpSwitch {
			all = append(all, p.tables[in.C].Cases...)
			continue
		}
		for _, e := range p.constants[in.C].entries {
			all = append(all, match.Case{Text: e.Text, Prefix: in.Op == OpStarts})
		}
	}
	for _, c := range match.Sorted(all) {
		if n := len(cases); n == 0 || cases[n-1].Order(c) != 0 {
			cases = append(cases, c)
		}
	}
	return cases
}

// outcomes works out where each test goes on for an action, and appends the same to a key.
func (p *Program) outcomes(tests []int, action string, outcomes []uint16, key []byte) []byte {
	for _, pc := range tests {
		target := p.outcome(pc, action)
		outcomes[pc] = target
		key = append(key, byte(target>>8), byte(target))
	}
	return key
}

// outcome returns where the test at pc goes on for an action.
func (p *Program) outcome(pc int, action string) uint16 {
	in := &p.code[pc]
	if in.Op != OpSwitch {
		if holds := p.constants[in.C].judge(in.Op, action) == yes; holds == (in.A&bitUnless != 0) {
			return uint16(pc + 1)
		}
		return in.D
	}
	if target := p.tables[in.C].Find(action); target != 0 {
		return target
	}
	return in.D
}
