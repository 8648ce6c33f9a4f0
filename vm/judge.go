package vm

import "slices"

// The tests of texts, each with its own step: what they share are few instructions, and a call would take longer.

// in is a test whose answer the length of a text mostly tells.
func (m *Machine) in(s *step) *step {
	v, c := m.value(s.B), s.constant
	switch {
	case v.Kind == List:
		return m.inList(s, v.Elems)
	case v.Kind&textual == 0:
		return m.testOther(s, v)
	case !c.set.HasLength(v.Text):
		return s.no
	case c.set.Few():
		return s.after(c.set.InFew(v.Text))
	}
	return s.after(c.set.In(v.Text))
}

func (m *Machine) starts(s *step) *step {
	v := m.value(s.B)
	switch {
	case v.Kind == List:
		return m.list(s, v.Elems)
	case v.Kind&textual == 0:
		return m.testOther(s, v)
	case s.constant.set.Outgrow(v.Text):
		return s.no
	}
	return s.after(s.constant.set.Starts(v.Text))
}

func (m *Machine) ends(s *step) *step {
	v := m.value(s.B)
	switch {
	case v.Kind == List:
		return m.list(s, v.Elems)
	case v.Kind&textual == 0:
		return m.testOther(s, v)
	case s.constant.set.Outgrow(v.Text):
		return s.no
	}
	return s.after(s.constant.set.Ends(v.Text))
}

func (m *Machine) contains(s *step) *step {
	v := m.value(s.B)
	switch {
	case v.Kind == List:
		return m.list(s, v.Elems)
	case v.Kind&textual == 0:
		return m.testOther(s, v)
	}
	return s.after(s.constant.set.Contains(v.Text))
}

// containsOne is contains for a single text to look for.
func (m *Machine) containsOne(s *step) *step {
	v := m.value(s.B)
	switch {
	case v.Kind == List:
		return m.list(s, v.Elems)
	case v.Kind&textual == 0:
		return m.testOther(s, v)
	}
	return s.after(s.constant.set.ContainsOne(v.Text))
}

func (m *Machine) host(s *step) *step {
	v := m.value(s.B)
	switch {
	case v.Kind == List:
		return m.list(s, v.Elems)
	case v.Kind&textual == 0:
		return m.testOther(s, v)
	}
	return s.after(s.constant.set.Host(v.Text))
}

func (m *Machine) path(s *step) *step {
	v := m.value(s.B)
	switch {
	case v.Kind == List:
		return m.list(s, v.Elems)
	case v.Kind&textual == 0:
		return m.testOther(s, v)
	}
	return s.after(s.constant.set.Path(v.Text))
}

func (m *Machine) glob(s *step) *step {
	v := m.value(s.B)
	switch {
	case v.Kind == List:
		return m.list(s, v.Elems)
	case v.Kind&textual == 0:
		return m.testOther(s, v)
	}
	return s.after(s.constant.set.Glob(v.Text))
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
	return s.after(s.constant.pattern.Match(v.Text))
}

// inList is in for a list, mostly of texts and mostly of short ones.
func (m *Machine) inList(s *step, elems []Value) *step {
	c, all := s.constant, s.A&bitAll != 0
	m.tested, m.element = s.B, NoElement
	for i := range elems {
		e := &elems[i]
		if e.Kind&textual == 0 {
			return s.answered(m.testList(s, elems))
		}
		held := c.set.HasLength(e.Text)
		if held && c.set.Few() {
			held = c.set.InFew(e.Text)
		} else if held {
			held = c.set.In(e.Text)
		}
		if held != all {
			return s.answered(m.decide(s, elems, i))
		}
	}
	return s.after(all && len(elems) > 0)
}

// list judges the elements of a list by the quantifier: mostly they are texts.
func (m *Machine) list(s *step, elems []Value) *step {
	c, all, holds := s.constant, s.A&bitAll != 0, predicates[s.Op]
	m.tested, m.element = s.B, NoElement
	for i := range elems {
		e := &elems[i]
		if e.Kind&textual == 0 {
			return s.answered(m.testList(s, elems))
		}
		if holds(c, e.Text) != all {
			return s.answered(m.decide(s, elems, i))
		}
	}
	return s.after(all && len(elems) > 0)
}

// testOther tests what has no text itself: nothing, or for a pattern, which may find a text too long, the elements of a list. It
// stays a call, so that the tests of texts need no room for it.
//
//go:noinline
func (m *Machine) testOther(s *step, v *Value) *step {
	switch {
	case v.Kind == List:
		return s.answered(m.testList(s, v.Elems))
	case v.Kind&Invalid != 0:
		return s.behind()
	}
	return s.no
}

// answered returns where a test goes on.
func (s *step) answered(a answer) *step {
	if a == unjudged {
		return s.behind()
	}
	return s.after(a == yes)
}

// testList judges the elements of a list by the quantifier. A list with an element that can't be judged can't
// be judged, wherever that element is.
func (m *Machine) testList(s *step, elems []Value) answer {
	m.tested, m.element = s.B, NoElement
	if len(elems) == 0 {
		return no
	}
	all, holds := s.A&bitAll != 0, predicates[s.Op]
	for i := range elems {
		e, held := &elems[i], false
		if s.unjudgeable(e) {
			m.element = int32(i)
			return unjudged
		}
		if e.Kind&textual != 0 {
			held = holds(s.constant, e.Text)
		} else if e.Kind == List {
			held = slices.ContainsFunc(e.Elems, func(v Value) bool { return v.Kind&textual != 0 && holds(s.constant, v.Text) })
		}
		if held != all {
			return m.decide(s, elems, i)
		}
	}
	return answerOf(all)
}

// decide returns what a list gives that element i decides, unless one after it can't be judged. Where the test does not jump
// either way, the first of them decides it, so that the element is the first that leads to what follows.
func (m *Machine) decide(s *step, elems []Value, i int) answer {
	m.element = int32(i)
	if holds := s.A&bitAll == 0; holds == (s.A&bitUnless != 0) {
		return answerOf(holds)
	}
	for i++; i < len(elems); i++ {
		if s.unjudgeable(&elems[i]) {
			m.element = int32(i)
			return unjudged
		}
	}
	return answerOf(s.A&bitAll == 0)
}

// unjudgeable reports whether an element of a list, or one of its readings, can't be judged.
func (s *step) unjudgeable(e *Value) bool {
	if e.Kind == List {
		return slices.ContainsFunc(e.Elems, func(v Value) bool { return s.opaque(&v) })
	}
	return s.opaque(e)
}

// opaque is unjudgeable for a value that is no list.
func (s *step) opaque(e *Value) bool {
	if e.Kind&textual != 0 {
		return s.Op == OpMatch && len(e.Text) > MaxSubject
	}
	return e.Kind&Invalid != 0
}

// kind tests the kind of a slot, and goes on while tests of kinds follow: most rules begin with some.
func (m *Machine) kind(s *step) *step {
	for frame := m.frame; ; {
		slot, bit := s.B, uint16(missingBit)
		if int(slot) < len(frame) && frame[slot].Kind != Missing {
			bit = uint16(frame[slot].Kind)
		}
		if s = s.after(bit&s.C != 0); s.Op != OpKind {
			return s
		}
	}
}
