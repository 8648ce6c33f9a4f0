package match

import (
	"fmt"
	"slices"
	"unsafe"
)

// An automaton is the one of Aho and Corasick with every transition worked out: a row for each state, a
// column for each class of bytes that no entry tells apart.
type automaton struct {
	set     []entry
	classes [256]uint8
	columns uint32
	// rows holds at state+class the next state; states are offsets into rows. The top bit marks a state in
	// which an entry ends.
	rows []uint32
	// At state/columns: 1 + an entry that ends there, and the longest state that is an ending of this one and
	// in which an entry ends too (0: none).
	ending []int32
	suffix []uint32
	// same holds for each entry 1 + another one that differs by case only.
	same []int32
	// verify says that an entry that seems to end has to be compared.
	verify bool
	// deepest is the largest number of entries that end at one place.
	deepest int
	// longest is the length of the longest entry: what a comparison takes.
	longest int
}

// marked is the bit of a state in which an entry ends.
const marked = 1 << 31

// newAutomaton makes the automaton for those entries of set that chosen names; none if there are none.
func newAutomaton(set []entry, chosen []int, fold bool) (*automaton, error) {
	if len(chosen) == 0 {
		return nil, nil
	}
	texts := make([]string, len(chosen))
	for i, index := range chosen {
		texts[i] = searchText(set[index].text, fold)
	}
	a := &automaton{set: set, verify: fold, same: make([]int32, len(set))}
	a.classify(texts, fold)
	states := countStates(texts)
	if size := states * (int(a.columns)*4 + 8); size > MaxMemory {
		return nil, fmt.Errorf("searching for %d texts takes %d bytes of memory: at most %d; use fewer or shorter texts", len(chosen), size, MaxMemory)
	}
	a.rows = make([]uint32, 0, states*int(a.columns))
	a.addState()
	for i, index := range chosen {
		a.insert(texts[i], index)
		a.longest = max(a.longest, len(texts[i]))
	}
	a.connect()
	return a, nil
}

// searchText returns the text by which an automaton finds an entry.
func searchText(text string, fold bool) string {
	if !fold {
		return text
	}
	lowered := []byte(text)
	for i := range lowered {
		lowered[i] = lower(lowered[i])
	}
	return string(lowered)
}

// classify gives each byte that occurs in texts a class; all others share class 0.
func (a *automaton) classify(texts []string, fold bool) {
	a.columns = 1
	for _, text := range texts {
		for i := range len(text) {
			if a.classes[text[i]] == 0 {
				a.classes[text[i]] = uint8(a.columns)
				a.columns++
			}
		}
	}
	if fold {
		for c := byte('A'); c <= 'Z'; c++ {
			a.classes[c] = a.classes[lower(c)]
		}
	}
}

// countStates returns the number of different beginnings of texts, the empty one included. In order no text begins the one before it.
func countStates(texts []string) int {
	sorted := slices.Sorted(slices.Values(texts))
	states, last := 1, ""
	for _, text := range sorted {
		common := 0
		for common < len(last) && last[common] == text[common] {
			common++
		}
		states += len(text) - common
		last = text
	}
	return states
}

// addState appends a state without transitions and returns it.
func (a *automaton) addState() uint32 {
	state := uint32(len(a.rows))
	a.rows = append(a.rows, make([]uint32, a.columns)...)
	a.ending = append(a.ending, 0)
	a.suffix = append(a.suffix, 0)
	return state
}

// insert adds the path of a text.
func (a *automaton) insert(text string, index int) {
	state := uint32(0)
	for i := range len(text) {
		at := state + uint32(a.classes[text[i]])
		if a.rows[at] == 0 {
			added := a.addState()
			a.rows[at] = added
		}
		state = a.rows[at]
	}
	ending := &a.ending[state/a.columns]
	a.same[index] = *ending
	*ending = int32(index + 1)
}

// connect works out the transitions that no text has, breadth first: where a text breaks off, the state goes
// on as its longest proper ending does. It also marks the states in which an entry ends.
func (a *automaton) connect() {
	count := len(a.ending)
	fail, depth := make([]uint32, count), make([]int, count)
	queue := make([]uint32, 1, count)
	for i := 0; i < len(queue); i++ {
		state := queue[i]
		for class := uint32(1); class < a.columns; class++ {
			fallback := uint32(0)
			if state != 0 {
				fallback = a.rows[fail[state/a.columns]+class]
			}
			to := &a.rows[state+class]
			if *to == 0 {
				*to = fallback
				continue
			}
			fail[*to/a.columns] = fallback
			a.link(*to, fallback, depth)
			queue = append(queue, *to)
		}
	}
	a.mark()
}

// link sets where a state's shorter endings are found, and counts how many entries end in it.
func (a *automaton) link(state, fallback uint32, depth []int) {
	s, f := state/a.columns, fallback/a.columns
	a.suffix[s] = fallback
	if a.ending[f] == 0 {
		a.suffix[s] = a.suffix[f]
	}
	depth[s] = depth[a.suffix[s]/a.columns]
	for i := a.ending[s]; i != 0; i = a.same[i-1] {
		depth[s]++
	}
	a.deepest = max(a.deepest, depth[s])
}

// mark sets the top bit of each transition into a state in which an entry ends.
func (a *automaton) mark() {
	for i, state := range a.rows {
		if s := state / a.columns; a.ending[s] != 0 || a.suffix[s] != 0 {
			a.rows[i] |= marked
		}
	}
}

// contains reports whether an entry is in text.
func (a *automaton) contains(text string) bool {
	state := uint32(0)
	for i := range len(text) {
		state = a.rows[state&^marked+uint32(a.classes[text[i]])]
		if state&marked != 0 && (!a.verify || a.ends(text[:i+1], state&^marked, nil, 0)) {
			return true
		}
	}
	return false
}

// scan adds to hits every entry in text.
func (a *automaton) scan(text string, hits *Hits, element int32) {
	state := uint32(0)
	for i := range len(text) {
		state = a.rows[state&^marked+uint32(a.classes[text[i]])]
		if state&marked != 0 {
			a.ends(text[:i+1], state&^marked, hits, element)
		}
	}
}

// ends goes through the entries that end in a state, where text ends. Without hits to add to it stops at the first.
func (a *automaton) ends(text string, state uint32, hits *Hits, element int32) bool {
	for {
		for i := a.ending[state/a.columns]; i != 0; i = a.same[i-1] {
			if a.verify && !a.set[i-1].suffixes(text) {
				continue
			}
			if hits == nil {
				return true
			}
			hits.add(int(i-1), element)
		}
		if state = a.suffix[state/a.columns]; state == 0 {
			return false
		}
	}
}

// grown returns the bytes of the automaton that grow with its texts.
func (a *automaton) grown() int {
	if a == nil {
		return 0
	}
	return 4*len(a.rows) + 8*len(a.ending)
}

// memory returns all bytes of an automaton.
func (a *automaton) memory() int {
	if a == nil {
		return 0
	}
	return int(unsafe.Sizeof(*a)) + SliceBytes(a.rows) + SliceBytes(a.ending) + SliceBytes(a.suffix) + SliceBytes(a.same)
}

// cost returns what each byte of a text takes at most.
func (a *automaton) cost(all bool) int {
	switch {
	case a == nil:
		return 0
	case a.verify:
		return 2 + a.deepest*(2+a.longest)
	case all:
		return 2 + a.deepest
	}
	return 2
}
