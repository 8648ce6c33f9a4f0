package vm

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// A switchCase is one case of a table.
type switchCase struct {
	text   string
	prefix bool // texts that start with it, instead of it alone
	target uint16
	// The head of text, and which of its bits a text has to share: what tells most apart. Built when the program is loaded.
	head, mask uint64
}

// A table says where a switch goes on. Its cases are sorted by text, exact ones before prefixes.
type table struct {
	cases []switchCase
	// outer holds for each case 1 + the longest other prefix case that its text starts with. It is built when
	// the program is loaded.
	outer []int32
	// exact finds the exact cases by their hash: 1 + the case, at the first free place from there on. It is built when
	// the program is loaded, unless it would not pay.
	exact []int32
	steps []step // of the route, for a table of a step
}

// fewCases is the number of cases up to which looking at each is faster than a binary search, whose comparisons
// are three-way.
const fewCases = 16

// order sorts the cases of a table.
func (c switchCase) order(d switchCase) int {
	if by := strings.Compare(c.text, d.text); by != 0 {
		return by
	}
	switch {
	case c.prefix == d.prefix:
		return 0
	case d.prefix:
		return -1
	}
	return 1
}

// validate reports what is wrong with a table by itself; its targets are judged with the switch.
func (t *table) validate() error {
	if len(t.cases) == 0 || len(t.cases) > maxEntries {
		return fmt.Errorf("%d cases: at least 1 and at most %d", len(t.cases), maxEntries)
	}
	for i := range t.cases {
		c := &t.cases[i]
		if err := validateText(c.text); err != nil {
			return fmt.Errorf("case %d: %w", i, err)
		}
		if c.prefix && c.text == "" {
			return fmt.Errorf("case %d: every text starts with the empty prefix; that is the switch's default", i)
		}
		if i > 0 && t.cases[i-1].order(*c) >= 0 {
			return fmt.Errorf("case %d: %q stands behind %q; cases are sorted by text, each once, exact before prefix", i, c.text, t.cases[i-1].text)
		}
	}
	return nil
}

// build works out which prefix cases contain which cases. In sorted order what contains a case is before
// it, and those that contain the last case are a stack.
func (t *table) build() {
	t.outer = make([]int32, len(t.cases))
	top := int32(0)
	for i := range t.cases {
		for top != 0 && !strings.HasPrefix(t.cases[i].text, t.cases[top-1].text) {
			top = t.outer[top-1]
		}
		t.outer[i] = top
		c := &t.cases[i]
		if c.head, c.mask = headWord(c.text), ^uint64(0); c.prefix {
			c.mask = headMask(len(c.text))
			top = int32(i + 1)
		}
	}
	t.buildExact()
}

// fewExact is the number of exact cases up to which looking at each is as fast as a hash.
const fewExact = 8

// buildExact fills the table of the exact cases, a quarter of it at most.
func (t *table) buildExact() {
	exact, size := 0, 4
	for i := range t.cases {
		if exact += 1; t.cases[i].prefix {
			exact--
		}
	}
	if exact <= fewExact {
		return
	}
	for size < 4*exact {
		size *= 2
	}
	t.exact = make([]int32, size)
	for i := range t.cases {
		if t.cases[i].prefix {
			continue
		}
		at := t.place(t.cases[i].text)
		for t.exact[at] != 0 {
			at = (at + 1) & (size - 1)
		}
		t.exact[at] = int32(i + 1)
	}
}

// place returns from where on a text is among the exact cases.
func (t *table) place(text string) int {
	head, tail := headWord(text), tailWord(text)
	return int((head^bits.RotateLeft64(tail, 29)^uint64(len(text)))*mixFactor>>32) & (len(t.exact) - 1)
}

// find returns the target for a text: of its exact case, else of the longest case that it starts with, else 0.
func (t *table) find(text string) uint16 {
	if t.exact != nil {
		for at := t.place(text); t.exact[at] != 0; at = (at + 1) & (len(t.exact) - 1) {
			if c := &t.cases[t.exact[at]-1]; c.text == text {
				return c.target
			}
		}
	}
	if len(t.cases) <= fewCases {
		return t.findInTurn(text)
	}
	i := t.last(text)
	if i < 0 {
		return 0
	}
	c := &t.cases[i]
	if c.text == text {
		if c.prefix && i > 0 && t.cases[i-1].text == text {
			c = &t.cases[i-1] // the exact case is before the prefix
		}
		return c.target
	}
	for n := int32(i + 1); n != 0; n = t.outer[n-1] {
		if c = &t.cases[n-1]; c.prefix && strings.HasPrefix(text, c.text) {
			return c.target
		}
	}
	return 0
}

// few reports whether findInTurn serves as well as find.
func (t *table) few() bool { return t.exact == nil && len(t.cases) <= fewCases }

// findInTurn is find, case by case. Of the prefixes that a text has the longest is last.
func (t *table) findInTurn(text string) (target uint16) {
	var head uint64 // headWord, which would be a call here
	if len(text) >= 8 {
		head = eightBytes(text)
	} else {
		head = shortWord(text)
	}
	for i := range t.cases {
		c := &t.cases[i]
		switch {
		case (head^c.head)&c.mask != 0:
		case !c.prefix:
			if len(text) == len(c.text) && (len(text) <= 8 || text == c.text) {
				return c.target
			}
		case len(text) >= len(c.text) && text[:len(c.text)] == c.text:
			target = c.target
		}
	}
	return target
}

// last returns the last case whose text is not behind text, or -1.
func (t *table) last(text string) int {
	low, high := 0, len(t.cases)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if t.cases[middle].text <= text {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low - 1
}

// clone returns a copy whose targets may be changed.
func (t *table) clone() *table {
	return &table{cases: slices.Clone(t.cases), outer: t.outer, exact: t.exact}
}

// cost returns what finding a text takes at most, beside one step for each of its bytes.
func (t *table) cost() int {
	depth, longest := 0, 0
	depths := make([]int, len(t.cases))
	for i := range t.cases {
		depths[i] = 1
		if t.outer[i] != 0 {
			depths[i] = depths[t.outer[i]-1] + 1
		}
		depth, longest = max(depth, depths[i]), max(longest, len(t.cases[i].text))
	}
	if len(t.cases) <= fewCases {
		return len(t.cases) * (3 + longest/16)
	}
	steps := 1
	for n := len(t.cases); n > 0; n /= 2 {
		steps++
	}
	return (steps + depth) * (4 + longest/16)
}

// sorted returns the cases in the order of a table.
func sorted(cases []switchCase) []switchCase {
	cases = slices.Clone(cases)
	slices.SortFunc(cases, switchCase.order)
	return cases
}
