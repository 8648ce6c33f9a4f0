package match

import (
	"slices"
	"strings"
)

// A Case is one case of a table.
type Case struct {
	Text   string
	Prefix bool // texts that start with it, instead of it alone
	Target uint16
	// The head of Text, and which of its bits a text has to share: what tells most apart.
	head, mask uint64
}

// A Table says where a switch continues. Its cases are sorted by [Case.Order], exact ones before prefixes. [Table.Build] makes what
// finding one needs.
type Table struct {
	Cases []Case
	// outer holds for each case 1 + the longest other prefix case that its text starts with.
	outer []int32
}

// fewCases is the number of cases up to which looking at each is faster than a binary search, whose comparisons
// are three-way.
const fewCases = 16

// Order sorts the cases of a table.
func (c Case) Order(d Case) int {
	if by := strings.Compare(c.Text, d.Text); by != 0 {
		return by
	}
	switch {
	case c.Prefix == d.Prefix:
		return 0
	case d.Prefix:
		return -1
	}
	return 1
}

// Build works out which prefix cases contain which cases. In sorted order what contains a case is before
// it, and those that contain the last case are a stack.
func (t *Table) Build() {
	t.outer = make([]int32, len(t.Cases))
	top := int32(0)
	for i := range t.Cases {
		for top != 0 && !strings.HasPrefix(t.Cases[i].Text, t.Cases[top-1].Text) {
			top = t.outer[top-1]
		}
		t.outer[i] = top
		c := &t.Cases[i]
		if c.head, c.mask = headWord(c.Text), ^uint64(0); c.Prefix {
			c.mask = headMask(len(c.Text))
			top = int32(i + 1)
		}
	}
}

// Find returns the target for a text: of its exact case, else of the longest case that it starts with, else 0.
func (t *Table) Find(text string) uint16 {
	if len(t.Cases) <= fewCases {
		return t.FindInTurn(text)
	}
	i := t.last(text)
	if i < 0 {
		return 0
	}
	c := &t.Cases[i]
	if c.Text == text {
		if c.Prefix && i > 0 && t.Cases[i-1].Text == text {
			c = &t.Cases[i-1] // the exact case is before the prefix
		}
		return c.Target
	}
	for n := int32(i + 1); n != 0; n = t.outer[n-1] {
		if c = &t.Cases[n-1]; c.Prefix && strings.HasPrefix(text, c.Text) {
			return c.Target
		}
	}
	return 0
}

// Few reports whether FindInTurn serves as well as Find.
func (t *Table) Few() bool { return len(t.Cases) <= fewCases }

// FindInTurn is Find, case by case. Of the prefixes that a text has the longest is last.
func (t *Table) FindInTurn(text string) (target uint16) {
	var head uint64 // headWord, which would be a call here
	if len(text) >= 8 {
		head = eightBytes(text)
	} else {
		head = shortWord(text)
	}
	for i := range t.Cases {
		c := &t.Cases[i]
		switch {
		case (head^c.head)&c.mask != 0:
		case !c.Prefix:
			if len(text) == len(c.Text) && (len(text) <= 8 || text == c.Text) {
				return c.Target
			}
		case len(text) >= len(c.Text) && text[:len(c.Text)] == c.Text:
			target = c.Target
		}
	}
	return target
}

// last returns the last case whose text is not behind text, or -1.
func (t *Table) last(text string) int {
	low, high := 0, len(t.Cases)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if t.Cases[middle].Text <= text {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low - 1
}

// Clone returns a copy whose targets may be changed.
func (t *Table) Clone() Table {
	return Table{Cases: slices.Clone(t.Cases), outer: t.outer}
}

// Cost returns what finding a text takes at most, beside one step for each of its bytes.
func (t *Table) Cost() int {
	depth, longest := 0, 0
	depths := make([]int, len(t.Cases))
	for i := range t.Cases {
		depths[i] = 1
		if t.outer[i] != 0 {
			depths[i] = depths[t.outer[i]-1] + 1
		}
		depth, longest = max(depth, depths[i]), max(longest, len(t.Cases[i].Text))
	}
	if len(t.Cases) <= fewCases {
		return len(t.Cases) * (3 + longest/16)
	}
	steps := 1
	for n := len(t.Cases); n > 0; n /= 2 {
		steps++
	}
	return (steps + depth) * (4 + longest/16)
}

// Sorted returns the cases in the order of a table.
func Sorted(cases []Case) []Case {
	cases = slices.Clone(cases)
	slices.SortFunc(cases, Case.Order)
	return cases
}

// Memory returns the bytes of a table beside its struct. A clone shares all but its cases.
func (t *Table) Memory() int {
	bytes := SliceBytes(t.Cases) + SliceBytes(t.outer)
	for i := range t.Cases {
		bytes += len(t.Cases[i].Text) + Allocated
	}
	return bytes
}
