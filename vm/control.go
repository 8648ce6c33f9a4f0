package vm

func (m *Machine) jump(s *step) *step { return s.yes }

func (m *Machine) class(s *step) *step {
	m.result.Class = Class(s.A)
	return s.no
}

func (m *Machine) hold(s *step) *step {
	m.result.Holds = append(m.result.Holds, s.C)
	return s.no
}

func (m *Machine) note(s *step) *step {
	m.result.Notes = append(m.result.Notes, s.C)
	return s.no
}

// deny ends the run in mode First.
func (m *Machine) deny(s *step) *step {
	element := int32(NoElement)
	if s.A&bitElement != 0 && m.tested == s.B {
		element = m.element
	}
	m.violate(s.C, s.B, element, s.pc)
	if m.mode == First {
		return nil
	}
	return s.yes
}

// reject refuses the request, unless a rule before it already has.
func (m *Machine) reject(s *step) *step {
	if len(m.result.Violations) == 0 {
		m.violate(s.C, s.B, NoElement, s.pc)
		m.result.Status = Rejected
	}
	return nil
}

func (m *Machine) end(*step) *step {
	m.result.Status = Allowed
	return nil
}

// branch returns where a switch goes on.
func (m *Machine) branch(s *step) *step {
	v := m.value(s.B)
	if v.Kind&textual == 0 {
		return s.yes
	}
	return s.at(s.table.Find(v.Text))
}

// branchFew is branch for a table of few cases.
func (m *Machine) branchFew(s *step) *step {
	v := m.value(s.B)
	if v.Kind&textual == 0 {
		return s.yes
	}
	return s.at(s.table.FindInTurn(v.Text))
}

// at returns the step that a switch found, 0 where it found none.
func (s *step) at(target uint16) *step {
	if target == 0 {
		return s.yes
	}
	return &s.table.steps[target]
}

// branchOne is branch for a table of one text.
func (m *Machine) branchOne(s *step) *step {
	v, c := m.value(s.B), &s.table.Cases[0]
	switch {
	case v.Kind&textual == 0:
	case v.Text == c.Text:
		return &s.table.steps[c.Target]
	}
	return s.yes
}
