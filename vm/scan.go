package vm

// scan looks for a set's entries in a slot and keeps which were found.
func (m *Machine) scan(s *step) *step {
	v, c := m.value(s.B), s.constant
	m.clearHits(len(c.entries), s.B)
	anything := v.Kind&textual != 0 && m.scanText(c, v.Text, NoElement)
	if v.Kind == List {
		for i := range v.Elems {
			e := &v.Elems[i]
			if e.Kind&textual != 0 && m.scanText(c, e.Text, int32(i)) {
				anything = true
			}
			if e.Kind&Invalid != 0 {
				m.spoil(int32(i))
			}
		}
	}
	if v.Kind&Invalid != 0 {
		m.spoil(NoElement)
	}
	if anything || m.scanInvalid {
		return s.no
	}
	return s.yes
}

// scanOne is scan for a single text to look for, which mostly is not there.
func (m *Machine) scanOne(s *step) *step {
	if v := m.value(s.B); v.Kind&textual != 0 && !s.constant.set[0].inside(v.Text) {
		m.clearHits(1, s.B)
		return s.yes
	}
	return m.scan(s)
}

// clearHits makes room for n entries, none of them found.
func (m *Machine) clearHits(n int, slot uint16) {
	m.scanSlot, m.scanInvalid, m.scanFound = slot, false, false
	m.tested, m.element = slot, NoElement
	words := (n + 63) / 64
	if len(m.hitElements) < n {
		m.hits, m.hitElements = make([]uint64, words), make([]int32, n)
	}
	if m.hits[0] = 0; words > 1 {
		clear(m.hits[:words])
	}
}

// scanText looks for the entries in one text, and reports whether any was found by now.
func (m *Machine) scanText(c *constant, text string, element int32) bool {
	c.search.scan(text, m, element)
	return m.scanFound
}

// found keeps that an entry was found.
func (m *Machine) found(entry int, element int32) {
	word, bit := &m.hits[entry/64], uint64(1)<<(entry%64)
	if *word&bit == 0 {
		*word |= bit
		m.hitElements[entry] = element
	}
	m.scanFound = true
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
	found := m.hits[s.C/64]&(1<<(s.C%64)) != 0
	switch {
	case found:
		m.element = m.hitElements[s.C]
	case m.scanInvalid:
		m.element = m.spoilElement
	}
	if m.scanInvalid {
		return s.behind()
	}
	return s.after(found)
}
