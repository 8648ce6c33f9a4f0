package vm

import (
	"fmt"
	"strings"
)

// elementStep is what an element of a list takes beside its test.
const elementStep = 3

// findCost works the bound out: the longest way through the code, and for each byte the slot that is read
// most. An element of a list counts as a byte, and takes what a text takes beside its bytes.
func (p *Program) findCost() error {
	fixed := make([]int, len(p.code)+1)
	perByte := make([]int, len(p.fields))
	for pc := len(p.code) - 1; pc >= 0; pc-- {
		in := p.code[pc]
		longest := 0
		if in.falls() {
			longest = fixed[pc+1]
		}
		for target := range p.targets(pc) {
			longest = max(longest, fixed[target])
		}
		each, byByte := p.operandCost(in)
		fixed[pc] = specs[in.Op].fixed + each + longest
		if specs[in.Op].a == aQuantified || in.Op == OpScan {
			perByte[in.B] += elementStep + each + byByte
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

// patternStep is what one instruction of a regular expression takes for a byte at worst.
const patternStep = 4

// fewStep is what looking for one of few texts takes beside the bytes: a search for its scarce byte, and one for all
// of it. Each try between them goes on by a byte at least, so that bytes pay for it.
const fewStep = 8

// cost returns what testing takes at most: for each text, and for each of its bytes.
func (c *constant) cost(op Op) (each, byByte int) {
	switch op {
	case OpPath:
		return c.pathCost()
	case OpContains:
		return fewStep * len(c.search.few), c.search.cost(false)
	case OpScan:
		return len(c.entries)/64 + fewStep*len(c.search.few), c.search.cost(true)
	case OpMatch:
		return c.steps, patternStep * c.steps
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
		return 4, 2 + l.cost()
	}
	return l.cost(), 2
}

// pathCost returns what testing path patterns takes at most.
func (c *constant) pathCost() (each, byByte int) {
	byByte = 1
	for i := range c.set {
		text := c.set[i].text
		each += 4 * (1 + strings.Count(text, "/"))
		if strings.HasPrefix(text, floating) {
			byByte += 2 + len(text)/4
		}
	}
	return each, byByte
}
