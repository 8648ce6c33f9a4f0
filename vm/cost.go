package vm

import (
	"fmt"
)

// elementStep is what an element of a list takes beside its test.
const elementStep = 3

// An Effort is what one instruction takes at most, in steps of about a nanosecond: Fixed by itself and, for each text of
// its slot, Each and PerByte for each byte that it looks at.
type Effort struct {
	Slot          uint16 // NoSlot for an instruction whose time depends on no text
	Fixed         int
	Each, PerByte int
	// Short is how long a text is at least that takes Each; a shorter one is told from the constant at once.
	Short int
	// Reach is how many bytes of a text it looks at: of a longer one no more, and a regular expression nothing. 0 is no
	// bound.
	Reach int
}

// Effort returns what the instruction at pc takes at most. pc must be less than [Program.Len].
func (p *Program) Effort(pc uint16) Effort {
	in := p.code[pc]
	each, byByte := p.operandCost(in)
	e := Effort{Slot: NoSlot, Fixed: specs[in.Op].fixed, Each: each}
	if specs[in.Op].a == aQuantified || in.Op == OpScan {
		e.Slot, e.Each, e.PerByte = in.B, each+elementStep, byByte
	}
	switch in.Op {
	case OpMatch:
		e.Reach = MaxSubject
	case OpIn, OpStarts, OpEnds, OpHost, OpContains, OpScan:
		shortest, longest := p.constants[in.C].entryLengths()
		if e.Short = shortest; in.Op != OpContains && in.Op != OpScan {
			e.Reach = longest
		}
	}
	return e
}

// findCost works the bound out: the longest way through the code, and for each byte the slot that is read
// most. An element of a list counts as a byte, and takes what a text takes beside its bytes.
func (p *Program) findCost() error {
	fixed := make([]int, len(p.code)+1)
	perByte := make([]int, len(p.fields))
	for pc := len(p.code) - 1; pc >= 0; pc-- {
		in, effort := p.code[pc], p.Effort(uint16(pc))
		longest := 0
		if in.falls() {
			longest = fixed[pc+1]
		}
		for target := range p.targets(pc) {
			longest = max(longest, fixed[target])
		}
		fixed[pc] = effort.Fixed + effort.Each + longest
		if effort.Slot != NoSlot {
			perByte[effort.Slot] += effort.Each + effort.PerByte
		}
	}
	p.cost.Fixed = fixed[0]
	for _, c := range perByte {
		p.cost.PerByte = max(p.cost.PerByte, c)
	}
	if p.cost.Fixed > MaxFixed || p.cost.PerByte > MaxPerByte {
		return fmt.Errorf("a run may take %d steps and %d for each byte: at most %d and %d; use fewer rules, or simpler ones",
			p.cost.Fixed, p.cost.PerByte, MaxFixed, MaxPerByte)
	}
	return nil
}

// operandCost returns what operand C adds to an instruction: for each text, and for each of its bytes.
func (p *Program) operandCost(in Instruction) (each, byByte int) {
	switch in.Op {
	case OpSwitch:
		return p.tables[in.C].cost(), 0
	case OpAmount:
		return 0, 0
	case OpIn, OpStarts, OpEnds, OpHost, OpPath, OpContains, OpScan, OpMatch, OpGlob:
		return p.constants[in.C].cost(in.Op)
	}
	return 0, 0
}

// What regular expressions take for a byte. Each is above what the slowest of many measured expressions and texts took
// (TestEffort): a table of states takes as long for any expression; the regexp package looks at each of its instructions,
// and keeps less of them at hand where they are many.
const (
	tableStep     = 8
	fewPattern    = 64 // instructions: of more, 4 KiB of text take the slower of the package's ways
	fewStep       = 6
	manyStep      = 14
	matchOverhead = 40
)

// matchCost returns what matching a regular expression takes at most: for each text, and for each of its bytes.
func (c *constant) matchCost() (each, byByte int) {
	switch {
	case c.dfa != nil:
		return 0, tableStep
	case c.steps < fewPattern:
		return matchOverhead + c.steps, fewStep * c.steps
	}
	return matchOverhead + c.steps, manyStep * c.steps
}

// entryLengths returns the lengths of the shortest and the longest entry.
func (c *constant) entryLengths() (shortest, longest int) {
	shortest = maxText
	for i := range c.entries {
		n := len(c.entries[i].Text)
		shortest, longest = min(shortest, n), max(longest, n)
	}
	return shortest, longest
}

// fewTextStep is what looking for one of few texts takes beside the bytes: a search for its scarce byte, and one for all
// of it. Each try between them goes on by a byte at least, so that bytes pay for it.
const fewTextStep = 16

// cost returns what testing takes at most: for each text, and for each of its bytes.
func (c *constant) cost(op Op) (each, byByte int) {
	switch op {
	case OpPath:
		return c.pathCost()
	case OpContains:
		return fewTextStep * len(c.search.few), c.search.cost(false)
	case OpScan:
		return len(c.entries)/64 + fewStep*len(c.search.few), c.search.cost(true)
	case OpMatch:
		return c.matchCost()
	}
	each, byByte = c.setCost(op)
	moreEach, moreByByte := c.globCost()
	return each + moreEach, byByte + moreByByte
}

// setCost returns what comparing with entries takes at most.
func (c *constant) setCost(op Op) (each, byByte int) {
	l := *c.lookup(op)
	switch {
	case l == nil:
		return 3 * len(c.set), 1
	case op == OpHost:
		return 4, 2 + l.cost()/len(l.lengths)
	}
	return l.cost(), 2
}

// pathCost returns what testing path patterns takes at most. Of the patterns without a star only those are compared that
// share their first bytes with the path, or with one of its segments; of those with one, only those whose head it has.
func (c *constant) pathCost() (each, byByte int) {
	floating, heads := 0, 0
	if c.paths != nil {
		floating = c.paths.floating.alike()
		each = 4 + 4*c.paths.anchored.alike()
		for i := range c.paths.starred {
			s := &c.paths.starred[i]
			if each += 2; s.head == "" { // any segment may begin it
				floating += 4 * len(s.texts)
				each += 32 * len(s.texts)
			} else {
				heads = max(heads, len(s.texts))
			}
		}
	}
	return each + 8*heads, 2 + 2*floating + 2*heads
}

// alike returns how many patterns share their first two bytes at most.
func (p *prefixes) alike() (most int) {
	groups := map[string]int{}
	for _, pattern := range p.patterns {
		head := pattern[:min(2, len(pattern))]
		groups[head]++
		most = max(most, groups[head])
	}
	return most + len(p.patterns)/64 // which share a bit
}
