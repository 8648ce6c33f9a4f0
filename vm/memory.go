package vm

import (
	"cmp"
	"errors"
	"fmt"
	"regexp/syntax"
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
		bytes += p.tables[i].memory()
	}
	for i := range p.counters {
		c := &p.counters[i]
		bytes += len(c.Name) + len(c.GroupName) + len(c.SubgroupName) + len(c.Unit) + 4*allocated
	}
	for i := range p.tokens {
		t := &p.tokens[i]
		bytes += len(t.Symbol) + allocated + match.SliceBytes(t.Pins) + len(t.Pins)*(addressLength+2*allocated)
	}
	bytes += match.SliceBytes(p.lists) + match.SliceBytes(p.listed)
	for i := range p.lists {
		bytes += p.lists[i].memory()
	}
	p.memory = bytes + p.actions.memory()
}

// A Limit bounds the making of a program, beside what the machine takes at all. The zero Limit does not.
type Limit struct {
	Memory int         // the most that the program may keep live, in bytes; 0 for no bound
	Stop   func() bool // asked now and then, whether to give up; nil for never
}

// stopped reports whether to give up.
func (l *Limit) stopped() bool { return l.Stop != nil && l.Stop() }

// ErrStopped is the error of a program whose making was given up, because its [Limit] said so.
var ErrStopped = errors.New("the making of the program was stopped")

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

// memory returns the bytes of a constant beside its struct.
func (c *constant) memory() int {
	bytes := match.SliceBytes(c.entries) + len(c.text) + match.SliceBytes(c.set) + match.SliceBytes(c.firsts) + match.SliceBytes(c.globs)
	for i := range c.entries {
		bytes += len(c.entries[i].Text) + allocated
	}
	for i := range c.set {
		bytes += match.SliceBytes(c.set[i].folded)
	}
	for i := range c.globs {
		bytes += match.SliceBytes(c.globs[i].middle)
	}
	for _, l := range []*lookup{c.equals, c.heads, c.tails} {
		if l != nil {
			bytes += int(unsafe.Sizeof(*l)) + match.SliceBytes(l.buckets) + match.SliceBytes(l.next) + match.SliceBytes(l.lengths)
		}
	}
	return bytes + c.search.memory() + c.paths.memory() + c.patternMemory
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

// memory returns the bytes of a searcher.
func (s *searcher) memory() int {
	if s == nil {
		return 0
	}
	bytes := int(unsafe.Sizeof(*s)) + s.pairs.memory() + s.exact.size() + s.folded.size()
	if l := s.landmarks; l != nil {
		bytes += int(unsafe.Sizeof(*l)) + match.SliceBytes(l.bytes) + match.SliceBytes(l.having) + match.SliceBytes(l.at)
	}
	return bytes
}

// memory returns the bytes of a bigram filter.
func (p *pairs) memory() int {
	if p == nil {
		return 0
	}
	return int(unsafe.Sizeof(*p)) + match.SliceBytes(p.at)
}

// size returns all bytes of an automaton, of which [automaton.memory] counts those that grow.
func (a *automaton) size() int {
	if a == nil {
		return 0
	}
	return int(unsafe.Sizeof(*a)) + match.SliceBytes(a.rows) + match.SliceBytes(a.ending) + match.SliceBytes(a.suffix) + match.SliceBytes(a.same)
}

// memory returns the bytes of a set of paths.
func (s *pathSet) memory() int {
	if s == nil {
		return 0
	}
	bytes := int(unsafe.Sizeof(*s)) + match.SliceBytes(s.anchored.patterns) + match.SliceBytes(s.floating.patterns) + match.SliceBytes(s.starred)
	for i := range s.starred {
		bytes += match.SliceBytes(s.starred[i].texts)
	}
	return bytes
}

// memory returns the bytes of a switch's table.
func (t *table) memory() int {
	bytes := match.SliceBytes(t.cases) + match.SliceBytes(t.outer) + match.SliceBytes(t.exact)
	for i := range t.cases {
		bytes += len(t.cases[i].text) + allocated
	}
	return bytes
}

// memory returns the bytes of all routes. They share what they can: steps, and the guards in front of tests.
func (a *actions) memory() int {
	bytes := a.cases.memory() + match.SliceBytes(a.routes) + a.any.memory(nil, map[*guard]bool{})
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
			bytes += int(unsafe.Sizeof(*t)) + match.SliceBytes(t.cases)
		}
		if s.aside != nil {
			bytes += int(unsafe.Sizeof(*s))
		}
		if g := s.guard; g != nil && !counted[g] {
			counted[g] = true
			bytes += int(unsafe.Sizeof(*g)) + g.inside.memory()
		}
	}
	return bytes
}

// The sizes of what the regexp package makes of an instruction that the unicode tables and the type do not show: its
// one-pass form has a further slice, with an element for each pair of runes, and the runes again.
const (
	onePassStep = int(unsafe.Sizeof(syntax.Inst{})) + int(unsafe.Sizeof([]uint32{}))
	runeBytes   = 4
)

// regexpMemory returns about how many bytes a compiled regular expression keeps: of a program that is known to be tried
// from the start of the text only, the one-pass form as well.
func regexpMemory(prog *syntax.Prog, text string, anchored bool) int {
	const object = 256
	bytes := object + 2*len(text) + match.SliceBytes(prog.Inst)
	seen := map[*rune]bool{}
	for i := range prog.Inst {
		runes := prog.Inst[i].Rune
		if len(runes) == 0 {
			continue
		}
		if anchored {
			bytes += onePassStep + (runeBytes+runeBytes/2)*len(runes)
		}
		if first := unsafe.SliceData(runes); !seen[first] {
			seen[first] = true
			bytes += runeBytes*cap(runes) + allocated
		}
	}
	return bytes
}
