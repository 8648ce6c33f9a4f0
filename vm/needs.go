package vm

import "math"

// needs says which slots a run can read, by the text of the action.
//
// Only switches on the action tell actions apart; where all of them go on is decided by the most specific of
// all their cases that an action has. So one table of all the cases, whose targets are sets, answers for any.
type needs struct {
	cases table
	sets  []SlotSet // by target; set 0 is for an action without a case
}

// maxNeedsWork bounds the instructions that are looked at for the sets. Beyond it every action needs whatever the
// program reads, which is true and merely slower.
const maxNeedsWork = 1 << 23

// of returns the slots that a run can read for an action.
func (n *needs) of(action string) SlotSet { return n.sets[n.cases.find(action)] }

// findNeeds works the sets out.
func (p *Program) findNeeds() needs {
	switches := p.actionSwitches()
	cases := p.actionCases(switches)
	if len(cases) >= math.MaxUint16 || (len(cases)+1)*len(p.code) > maxNeedsWork {
		return needs{sets: []SlotSet{p.reads(nil)}}
	}
	otherwise := make(map[int]uint16, len(switches))
	for _, pc := range switches {
		otherwise[pc] = p.code[pc].D
	}
	n := needs{cases: table{cases: cases}, sets: []SlotSet{p.reads(otherwise)}}
	known := map[string]uint16{}
	for i := range cases {
		outcome, key := p.outcomes(switches, cases[i])
		if known[key] == 0 {
			known[key] = uint16(len(n.sets))
			n.sets = append(n.sets, p.reads(outcome))
		}
		cases[i].target = known[key]
	}
	n.cases.build()
	return n
}

// actionSwitches returns where the switches on the action stand.
func (p *Program) actionSwitches() (at []int) {
	slot, ok := p.slots[ActionField]
	for pc, in := range p.code {
		if ok && in.Op == OpSwitch && in.B == slot {
			at = append(at, pc)
		}
	}
	return at
}

// actionCases returns all cases of those switches, each once, as the cases of one table.
func (p *Program) actionCases(switches []int) (cases []switchCase) {
	var all []switchCase
	for _, pc := range switches {
		all = append(all, p.tables[p.code[pc].C].cases...)
	}
	for _, c := range sorted(all) {
		if n := len(cases); n == 0 || cases[n-1].order(c) != 0 {
			cases = append(cases, c)
		}
	}
	return cases
}

// outcomes returns where each switch goes on for the actions whose most specific case is c, and the same as a
// key.
func (p *Program) outcomes(switches []int, c switchCase) (outcome map[int]uint16, key string) {
	text := c.text
	if c.prefix {
		text += "\xff" // no case goes on like this, since all are valid UTF-8
	}
	outcome = make(map[int]uint16, len(switches))
	var packed []byte
	for _, pc := range switches {
		target := p.tables[p.code[pc].C].find(text)
		if target == 0 {
			target = p.code[pc].D
		}
		outcome[pc] = target
		packed = append(packed, byte(target>>8), byte(target))
	}
	return outcome, string(packed)
}

// reads returns the slots of all instructions that can be reached where the switches in outcome go on as it
// says.
func (p *Program) reads(outcome map[int]uint16) SlotSet {
	set := make(SlotSet, (len(p.fields)+63)/64)
	reached := make([]bool, len(p.code)+1)
	reached[0] = true
	for pc, in := range p.code {
		if !reached[pc] {
			continue
		}
		p.addReads(set, in)
		if in.falls() {
			reached[pc+1] = true
		}
		if target, decided := outcome[pc]; decided {
			reached[target] = true
			continue
		}
		for target := range p.targets(pc) {
			reached[target] = true
		}
	}
	return set
}

// addReads adds the slots that an instruction reads.
func (p *Program) addReads(set SlotSet, in Instruction) {
	if specs[in.Op].b == bSlot {
		set.add(in.B)
	}
	if specs[in.Op].c == cCounter {
		set.add(p.counters[in.C].Amount)
		set.add(p.counters[in.C].Group)
		set.add(p.counters[in.C].Subgroup)
	}
}

// add puts a slot into the set, unless it is NoSlot.
func (s SlotSet) add(slot uint16) {
	if slot != NoSlot {
		s[slot/64] |= 1 << (slot % 64)
	}
}
