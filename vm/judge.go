package vm

import "strings"

// The tests of texts, each with its own step: what they share are few instructions, and a call would take longer.

// in is a test whose answer the length of a text mostly tells.
func (m *Machine) in(s *step) *step {
	v, c := m.value(s.B), s.constant
	switch {
	case v.Kind&textual == 0:
		return m.testOther(s, v)
	case c.equals != nil:
		return s.after(c.equals.in(v.Text))
	case c.lengths&lengthBit(v.Text) == 0:
		return s.no
	}
	return s.after(c.inFew(v.Text))
}

func (m *Machine) starts(s *step) *step {
	v := m.value(s.B)
	if v.Kind&textual == 0 {
		return m.testOther(s, v)
	}
	return s.after(s.constant.starts(v.Text))
}

func (m *Machine) ends(s *step) *step {
	v := m.value(s.B)
	if v.Kind&textual == 0 {
		return m.testOther(s, v)
	}
	return s.after(s.constant.ends(v.Text))
}

func (m *Machine) contains(s *step) *step {
	v := m.value(s.B)
	if v.Kind&textual == 0 {
		return m.testOther(s, v)
	}
	return s.after(s.constant.contains(v.Text))
}

// containsOne is contains for a single text to look for.
func (m *Machine) containsOne(s *step) *step {
	v := m.value(s.B)
	if v.Kind&textual == 0 {
		return m.testOther(s, v)
	}
	e := &s.constant.set[0]
	if at := strings.IndexByte(v.Text, e.scarce); at >= 0 && e.insideFrom(v.Text, at) {
		return s.yes
	}
	return s.no
}

func (m *Machine) host(s *step) *step {
	v := m.value(s.B)
	if v.Kind&textual == 0 {
		return m.testOther(s, v)
	}
	return s.after(s.constant.host(v.Text))
}

func (m *Machine) path(s *step) *step {
	v := m.value(s.B)
	if v.Kind&textual == 0 {
		return m.testOther(s, v)
	}
	return s.after(s.constant.covers(v.Text))
}

func (m *Machine) glob(s *step) *step {
	v := m.value(s.B)
	if v.Kind&textual == 0 {
		return m.testOther(s, v)
	}
	return s.after(s.constant.glob(v.Text))
}

// match does not look into long texts.
func (m *Machine) match(s *step) *step {
	v := m.value(s.B)
	switch {
	case v.Kind&textual == 0:
		return m.testOther(s, v)
	case len(v.Text) > MaxSubject:
		return s.behind()
	}
	return s.after(s.constant.match(v.Text))
}

// testOther tests what has no text itself: the elements of a list, or nothing.
func (m *Machine) testOther(s *step, v *Value) *step {
	a := untestable(v)
	if v.Kind == List {
		a = m.testList(s, v.Elems)
	}
	if a == unjudged {
		return s.behind()
	}
	return s.after(a == yes)
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
	decided, holds := false, predicates[s.Op]
	for i := range elems {
		e := &elems[i]
		a := untestable(e)
		if e.Kind&textual != 0 {
			if decided && (s.Op != OpMatch || len(e.Text) <= MaxSubject) {
				continue
			}
			if a = unjudged; s.Op != OpMatch || len(e.Text) <= MaxSubject {
				a = answerOf(holds(s.constant, e.Text))
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
func (m *Machine) kind(s *step) *step {
	bit := uint16(m.value(s.B).Kind)
	if bit == 0 {
		bit = missingBit
	}
	return s.after(bit&s.C != 0)
}
