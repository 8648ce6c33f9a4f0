package vm

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"bailiff/vm/match"
)

// Memory returns about how many bytes the program keeps live, regular expressions and their runes, automata and routes
// included. It is worked out from what was built, in the same way everywhere; the garbage collector and the allocator
// round up by some tenths. A shared text counts once for each place that it was copied to.
func (p *Program) Memory() int { return p.memory }

// The overheads that sizes of types do not show.
const (
	mapEntry  = 48 // of a map from names to numbers, beside the name
	allocated = match.Allocated
	usualHead = 2 << 10 // of a program without anything in it
)

// findMemory works Memory out. Constants have noted their own when they were built.
func (p *Program) findMemory() {
	bytes := usualHead + match.SliceBytes(p.fields) + match.SliceBytes(p.rules) + match.SliceBytes(p.constants) + match.SliceBytes(p.tables) +
		match.SliceBytes(p.counters) + match.SliceBytes(p.tokens) + match.SliceBytes(p.code) + match.SliceBytes(p.debug) + match.SliceBytes(p.canonical)
	for _, name := range p.fields {
		bytes += len(name) + allocated + mapEntry
	}
	for i := range p.rules {
		r := &p.rules[i]
		bytes += len(r.Name) + len(r.Code) + len(r.Message) + allocated
	}
	for i := range p.constants {
		bytes += p.constants[i].memory()
	}
	for i := range p.tables {
		bytes += p.tables[i].Memory()
	}
	for i := range p.counters {
		c := &p.counters[i]
		bytes += len(c.Name) + len(c.GroupName) + len(c.SubgroupName) + len(c.Unit) + 4*allocated
	}
	for i := range p.tokens {
		t := &p.tokens[i]
		bytes += len(t.Symbol) + allocated + match.SliceBytes(t.Pins) + len(t.Pins)*(match.AddressLength+2*allocated)
	}
	bytes += match.SliceBytes(p.lists) + match.SliceBytes(p.listed) + match.SliceBytes(p.tests)
	for i := range p.lists {
		bytes += p.lists[i].memory()
	}
	p.memory = bytes + p.actions.memory()
}

// A MemoryError says that a program would keep more live than its [Limit] allows.
type MemoryError struct {
	Most  int
	Heavy []Weight // what its instructions keep live, as far as it is known, the heaviest first
}

// Error says how much there is, and how much there may be.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("the program keeps more than %d bytes live", e.Most)
}

// A Weight is what the instructions of one line of the policy keep live.
type Weight struct {
	Line  int // 0 where the line is not known
	Bytes int
}

// Weights returns what the constants keep live, by the lines that use them first, the heaviest first.
func (p *Program) Weights() (weights []Weight) {
	counted, lines := make([]bool, len(p.constants)), map[int]int{}
	for pc, in := range p.code {
		if s, ok := specs[in.Op].c.space(); ok && s == constantSpace && !counted[in.C] {
			counted[in.C] = true
			lines[int(p.Span(uint16(pc)).Line)] += p.constants[in.C].memory()
		}
	}
	for line, bytes := range lines {
		weights = append(weights, Weight{line, bytes})
	}
	slices.SortFunc(weights, func(a, b Weight) int { return cmp.Or(b.Bytes-a.Bytes, a.Line-b.Line) })
	return weights
}

// within reports that the program keeps too much live, or that its making is to stop.
func (p *Program) within(bytes int) error {
	switch {
	case p.limit.Memory > 0 && bytes > p.limit.Memory:
		return &MemoryError{Most: p.limit.Memory, Heavy: p.Weights()}
	case p.limit.stopped():
		return ErrStopped
	}
	return nil
}

// memory returns the bytes of a list's words.
func (l *WordList) memory() int {
	bytes := match.SliceBytes(l.Texts) + match.SliceBytes(l.Forms)
	for i, text := range l.Texts {
		bytes += len(text) + allocated
		if !l.Allows && l.Forms[i] != text {
			bytes += len(l.Forms[i]) + allocated
		}
	}
	return bytes
}

// memory returns the bytes of all routes. They share what they can: steps, and the guards in front of tests.
func (a *actions) memory() int {
	bytes := a.cases.Memory() + match.SliceBytes(a.routes) + a.any.memory(nil, map[*guard]bool{})
	guards := map[*guard]bool{}
	for i := range a.routes {
		bytes += a.routes[i].memory(a.any.steps, guards)
	}
	return bytes
}

// memory returns the bytes of a route, without those of steps that it shares and of guards that are counted already.
func (r *route) memory(shared []step, counted map[*guard]bool) int {
	bytes := match.SliceBytes(r.reads)
	if len(shared) > 0 && &r.steps[0] == &shared[0] {
		return bytes
	}
	bytes += match.SliceBytes(r.steps)
	for i := range r.steps {
		s := &r.steps[i]
		if t := s.table; t != nil {
			bytes += int(unsafe.Sizeof(*t)) + match.SliceBytes(t.Cases)
		}
		if g := s.guard; g != nil && !counted[g] {
			counted[g] = true
			bytes += int(unsafe.Sizeof(*g)) + match.SliceBytes(g.others) + g.Memory()
		}
	}
	return bytes
}
