package vm

import "strings"

// after returns where a test goes on: at its target, or at the next step where it does not jump and where it can't be
// judged.
func (s *step) after(a answer) uint16 {
	if a == unjudged {
		return s.next
	}
	return s.jump(a == yes)
}

// jump is after for a test that can be judged.
func (s *step) jump(holds bool) uint16 {
	if holds == (s.A&bitUnless != 0) {
		return s.next
	}
	return s.D
}

// test runs a test of a text, or of the elements of a list.
func (m *Machine) test(s *step) uint16 {
	v := m.value(s.B)
	if v.Kind&textual == 0 {
		return s.after(m.testOther(s, v))
	}
	return s.after(s.constant.judge(s.Op, v.Text))
}

// in is test for `in`, the test that most rules are: without the calls between it and the comparison.
func (m *Machine) in(s *step) uint16 {
	v, c := m.value(s.B), s.constant
	if v.Kind&textual == 0 {
		return s.after(m.testOther(s, v))
	}
	if c.equals != nil {
		return s.jump(c.equals.in(v.Text))
	}
	for i := range c.set {
		if e := &c.set[i]; same(v.Text, e.text) || e.folded != nil && e.equal(v.Text) {
			return s.jump(true)
		}
	}
	return s.jump(false)
}

// contains is test for `contains`, which often looks for one or two texts.
func (m *Machine) contains(s *step) uint16 {
	v := m.value(s.B)
	if v.Kind&textual == 0 {
		return s.after(m.testOther(s, v))
	}
	few := s.constant.search.few
	if len(few) == 0 || len(few) > 2 {
		return s.jump(s.constant.search.contains(v.Text))
	}
	for i := range few {
		if at := strings.IndexByte(v.Text, few[i].scarce); at >= 0 && few[i].insideFrom(v.Text, at) {
			return s.jump(true)
		}
	}
	return s.jump(false)
}

// testOther tests what has no text itself: the elements of a list, or nothing.
func (m *Machine) testOther(s *step, v *Value) answer {
	if v.Kind == List {
		return m.testList(s, v.Elems)
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
func (m *Machine) testList(s *step, elems []Value) answer {
	decisive, result := yes, no
	if s.A&bitAll != 0 {
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
			if decided && (s.Op != OpMatch || len(e.Text) <= MaxSubject) {
				continue
			}
			if s.Op == OpIn {
				a = answerOf(s.constant.in(e.Text))
			} else {
				a = s.constant.judge(s.Op, e.Text)
			}
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
func (m *Machine) kind(s *step) uint16 {
	bit := uint16(m.value(s.B).Kind)
	if bit == 0 {
		bit = missingBit
	}
	return s.jump(bit&s.C != 0)
}
