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
		return p.tables[in.C].Cost(), 0
	case OpMatch:
		return p.constants[in.C].pattern.Cost()
	}
	if by := setTests[in.Op]; by != 0 {
		return p.constants[in.C].set.Cost(by)
	}
	return 0, 0
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
