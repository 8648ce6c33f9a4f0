package vm

// scan looks for a set's entries in a slot and keeps which were found.
func (m *Machine) scan(s *step) *step {
	v, c := m.value(s.B), s.constant
	m.clearHits(len(c.entries), s.B)
	if v.Kind&textual != 0 {
		c.set.Scan(v.Text, &m.hits, NoElement)
	}
	if v.Kind == List {
		for i := range v.Elems {
			e := &v.Elems[i]
			if e.Kind&textual != 0 {
				c.set.Scan(e.Text, &m.hits, int32(i))
			}
			if e.Kind&Invalid != 0 {
				m.spoil(int32(i))
			}
		}
	}
	if v.Kind&Invalid != 0 {
		m.spoil(NoElement)
	}
	if m.hits.Any() || m.scanInvalid {
		return s.no
	}
	return s.yes
}

// scanOne is scan for a single text to look for, which mostly is not there.
func (m *Machine) scanOne(s *step) *step {
	if v := m.value(s.B); v.Kind&textual != 0 && !s.constant.set.ContainsOne(v.Text) {
		m.clearHits(1, s.B)
		return s.yes
	}
	return m.scan(s)
}

// clearHits makes room for n entries, none of them found.
func (m *Machine) clearHits(n int, slot uint16) {
	m.scanSlot, m.scanInvalid = slot, false
	m.tested, m.element = slot, NoElement
	m.hits.Reset(n)
}

// spoil keeps that something could not be looked into, and first where.
func (m *Machine) spoil(element int32) {
	if !m.scanInvalid {
		m.scanInvalid, m.spoilElement = true, element
	}
}

// hit tests one entry of the last scan.
func (m *Machine) hit(s *step) *step {
	m.tested, m.element = m.scanSlot, NoElement
	found := m.hits.Has(s.C)
	switch {
	case found:
		m.element = m.hits.Element(s.C)
	case m.scanInvalid:
		m.element = m.spoilElement
	}
	if m.scanInvalid {
		return s.behind()
	}
	return s.after(found)
}
