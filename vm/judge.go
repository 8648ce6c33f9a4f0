package vm

import "strings"

// next returns where a test goes on: at its target, or at the next instruction where it does not jump and
// where it can't be judged.
func next(in *Instruction, pc int, a answer) int {
	if a == unjudged || (a == yes) == (in.A&bitUnless != 0) {
		return pc + 1
	}
	return int(in.D)
}

// jump is next for a test that can be judged.
func jump(in *Instruction, pc int, holds bool) int {
	if holds == (in.A&bitUnless != 0) {
		return pc + 1
	}
	return int(in.D)
}

// test runs a test of a text, or of the elements of a list.
func (m *Machine) test(c *constant, in *Instruction, pc int) int {
	v := m.value(in.B)
	switch {
	case v.Kind&textual != 0:
		return next(in, pc, c.judge(in.Op, v.Text))
	case v.Kind == List:
		return next(in, pc, m.testList(c, in, v.Elems))
	}
	return next(in, pc, untestable(v))
}

// in is test for `in`, the test that most rules are: without the calls between it and the comparison.
func (m *Machine) in(c *constant, in *Instruction, pc int) int {
	v := m.value(in.B)
	if v.Kind&textual == 0 {
		return next(in, pc, m.testOther(c, in, v))
	}
	if c.equals != nil {
		return jump(in, pc, c.equals.in(v.Text))
	}
	for i := range c.set {
		if e := &c.set[i]; same(v.Text, e.text) || e.folded != nil && e.equal(v.Text) {
			return jump(in, pc, true)
		}
	}
	return jump(in, pc, false)
}

// contains is test for `contains`, which often looks for one or two texts.
func (m *Machine) contains(c *constant, in *Instruction, pc int) int {
	v := m.value(in.B)
	if v.Kind&textual == 0 {
		return next(in, pc, m.testOther(c, in, v))
	}
	few := c.search.few
	if len(few) == 0 {
		return jump(in, pc, c.search.contains(v.Text))
	}
	for i := range few {
		if at := strings.IndexByte(v.Text, few[i].scarce); at >= 0 && few[i].insideFrom(v.Text, at) {
			return jump(in, pc, true)
		}
	}
	return jump(in, pc, false)
}

// testOther tests what has no text itself: the elements of a list, or nothing.
func (m *Machine) testOther(c *constant, in *Instruction, v *Value) answer {
	if v.Kind == List {
		return m.testList(c, in, v.Elems)
	}
	return untestable(v)
}

// untestable returns what a value without text and elements gives.
func untestable(v *Value) answer {
	if v.Kind&Invalid != 0 {
		return unjudged
	}
	return no
}

// testList judges the elements of a list by the quantifier. A list with an element that can't be judged can't
// be judged, wherever that element stands.
func (m *Machine) testList(c *constant, in *Instruction, elems []Value) answer {
	decisive, result := yes, no
	if in.A&bitAll != 0 {
		decisive, result = no, yes
	}
	if len(elems) == 0 {
		return no
	}
	decided := false
	for i := range elems {
		e := &elems[i]
		a := untestable(e)
		if e.Kind&textual != 0 {
			if decided && (in.Op != OpMatch || len(e.Text) <= MaxSubject) {
				continue
			}
			a = c.judge(in.Op, e.Text)
		}
		if a == unjudged || a == decisive && !decided {
			m.element = int32(i)
		}
		if a == unjudged {
			return unjudged
		}
		decided = decided || a == decisive
	}
	if decided {
		return decisive
	}
	return result
}

// kind tests the kind of a slot.
func (m *Machine) kind(in *Instruction, pc int) int {
	bit := uint16(m.value(in.B).Kind)
	if bit == 0 {
		bit = missingBit
	}
	return jump(in, pc, bit&in.C != 0)
}
