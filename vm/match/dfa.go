package match

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
	"unsafe"
)

// A dfa says whether a regular expression matches a text, with one table look-up for each rune. Callers ask for nothing
// else, so that neither order nor length of matches matters, and a state is a set of the expression's instructions. Its
// time does not depend on the expression, so that only expressions without one are costly.
type dfa struct {
	classes [utf8.RuneSelf]uint8
	wide    []rune  // where intervals of runes beyond ASCII start that no instruction tells apart
	wideOf  []uint8 // the class of each
	// At state+class the next state. States are offsets into next, the first two of them final.
	next    []uint16
	matches []bool // by state/columns: whether a text that ends here matches
	columns uint16
	start   uint16
}

// The bounds of a dfa: 8 KiB of transitions, and less time than compiling the expression takes. Of the patterns that
// people write, only those come near that count far, or have many alternatives.
const (
	maxDFACells  = 1 << 12 // of next
	maxDFASteps  = 1 << 14 // from instruction to instruction
	maxDFASplits = 1 << 14 // intervals of runes times different instructions that read one
)

// The states that no text leaves.
const (
	deadState = iota
	matchState
)

// Match reports whether text matches.
func (d *dfa) Match(text string) bool {
	state, final := d.start, matchState*d.columns
	if state <= final {
		return state == final
	}
	for _, r := range text {
		var class uint16
		if r < utf8.RuneSelf {
			class = uint16(d.classes[r])
		} else {
			class = d.classOfWide(r)
		}
		if state = d.next[state+class]; state <= final {
			return state == final
		}
	}
	return d.matches[state/d.columns]
}

// classOfWide returns the class of a rune beyond ASCII.
func (d *dfa) classOfWide(r rune) uint16 {
	low, high := 0, len(d.wide)
	for low+1 < high {
		if middle := int(uint(low+high) >> 1); d.wide[middle] <= r {
			low = middle
		} else {
			high = middle
		}
	}
	return uint16(d.wideOf[low])
}

// Memory returns how many bytes the dfa takes.
func (d *dfa) Memory() int {
	return int(unsafe.Sizeof(*d)) + SliceBytes(d.wide) + SliceBytes(d.wideOf) + SliceBytes(d.next) + SliceBytes(d.matches)
}

// A determiner makes a dfa.
type determiner struct {
	dfa
	prog   *syntax.Prog
	whole  bool
	words  bool   // the program looks at borders of words
	lines  bool   // it looks for starts of lines, so that it may match after a rune with which nothing else goes on
	starts []rune // a rune of each class
	states map[string]uint16
	sets   []nfaSet // of each state
	mark   []uint32 // the round in which an instruction was last added
	set    []uint32 // room for the set that is being made
	before []uint32 // and for what an old one comes to before the next rune
	key    []byte   // of a set
	round  uint32
	steps  int
	failed bool
}

// An nfaSet is the instructions that a state means: those that read a rune, the match, and those that wait for what
// comes next: the end of the text or line, or the border of a word.
type nfaSet struct {
	pcs     []uint32
	place   place
	waiting bool // one of them waits
}

// A place is what is true of a position: the empty-width operations that hold there, and whether a word character is
// before it.
type place struct {
	holds syntax.EmptyOp
	word  bool
}

// lookahead are the operations that are only known with the next rune.
const lookahead = syntax.EmptyEndLine | syntax.EmptyEndText | syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary

// behind is the place after a rune, as far as that rune tells.
func behind(r rune) place {
	p := place{word: syntax.IsWordChar(r)}
	if r == '\n' {
		p.holds = syntax.EmptyBeginLine
	}
	return p
}

// textEnd means the end of the text where a rune could follow.
const textEnd rune = -1

// before returns the place with all that is known when the next rune is.
func (p place) before(next rune) place {
	if next == textEnd || next == '\n' {
		p.holds |= syntax.EmptyEndLine
	}
	if next == textEnd {
		p.holds |= syntax.EmptyEndText
	}
	if p.word != syntax.IsWordChar(next) {
		p.holds |= syntax.EmptyWordBoundary
	} else {
		p.holds |= syntax.EmptyNoWordBoundary
	}
	return p
}

// newDFA returns the dfa for a program, all of a text having to match where whole is set; or nil if it would be too large.
func newDFA(prog *syntax.Prog, whole bool) *dfa {
	d := &determiner{prog: prog, whole: whole, states: map[string]uint16{}, mark: make([]uint32, len(prog.Inst))}
	if !d.classify() {
		return nil
	}
	d.addFinal(false)
	d.addFinal(true)
	d.round++
	begin := place{holds: syntax.EmptyBeginText | syntax.EmptyBeginLine}
	set, matched := d.follow(nil, uint32(prog.Start), begin, lookahead)
	d.start = d.add(set, begin, matched)
	for state := matchState + 1; state < len(d.sets) && !d.failed; state++ {
		d.extend(state)
	}
	if d.failed {
		return nil
	}
	made := d.dfa
	made.next, made.matches = exact(made.next), exact(made.matches)
	return &made
}

// addFinal adds a state that no text leaves.
func (d *determiner) addFinal(matches bool) {
	for range d.columns {
		d.next = append(d.next, uint16(len(d.sets))*d.columns)
	}
	d.sets, d.matches = append(d.sets, nfaSet{}), append(d.matches, matches)
}

// extend works out where a state continues.
func (d *determiner) extend(state int) {
	for class, r := range d.starts {
		d.next[state*int(d.columns)+class] = d.after(d.sets[state], r)
	}
}

// after returns the state after a set for a rune.
func (d *determiner) after(from nfaSet, r rune) uint16 {
	pcs, matched := from.pcs, false
	if from.waiting {
		var ends bool
		if pcs, ends = d.resolve(from, r); ends && !d.whole {
			return matchState * d.columns
		}
	}
	d.round++
	set, at := d.set[:0], behind(r)
	for _, pc := range pcs {
		in := &d.prog.Inst[pc]
		if in.Op == syntax.InstEmptyWidth || in.Op == syntax.InstMatch || !in.MatchRune(r) {
			continue
		}
		var found bool
		set, found = d.follow(set, in.Out, at, lookahead)
		matched = matched || found
	}
	if !d.whole {
		var found bool
		set, found = d.follow(set, uint32(d.prog.Start), at, lookahead)
		matched = matched || found
	}
	d.set = set
	return d.add(set, at, matched)
}

// resolve returns what a set comes to before the next rune, which may be the end of the text, and whether it matches there.
func (d *determiner) resolve(from nfaSet, next rune) (pcs []uint32, matched bool) {
	d.round++
	at := from.place.before(next)
	pcs = d.before[:0]
	for _, pc := range from.pcs {
		var found bool
		pcs, found = d.follow(pcs, pc, at, 0)
		matched = matched || found
	}
	d.before = pcs
	return pcs, matched
}

// follow adds to a set what can be reached from pc at a place without a rune, and reports whether that is a match. What
// waits for operations that are not known yet stays in the set, and so does a match of which the whole text has to be
// part.
func (d *determiner) follow(set []uint32, pc uint32, at place, unknown syntax.EmptyOp) (_ []uint32, matched bool) {
	if d.mark[pc] == d.round {
		return set, false
	}
	d.mark[pc] = d.round
	if d.steps++; d.steps > maxDFASteps {
		d.failed = true
		return set, false
	}
	switch in := &d.prog.Inst[pc]; in.Op {
	case syntax.InstFail:
	case syntax.InstMatch:
		return append(set, pc), true
	case syntax.InstAlt, syntax.InstAltMatch:
		set, matched = d.follow(set, in.Out, at, unknown)
		var second bool
		set, second = d.follow(set, in.Arg, at, unknown)
		return set, matched || second
	case syntax.InstCapture, syntax.InstNop:
		return d.follow(set, in.Out, at, unknown)
	case syntax.InstEmptyWidth:
		switch needs := syntax.EmptyOp(in.Arg); {
		case needs&unknown != 0:
			return append(set, pc), false
		case needs&^at.holds == 0:
			return d.follow(set, in.Out, at, unknown)
		}
	default:
		return append(set, pc), false
	}
	return set, false
}

// add returns the state for a set at a place, of which it keeps a copy.
func (d *determiner) add(set []uint32, at place, matched bool) uint16 {
	switch {
	case matched && !d.whole:
		return matchState * d.columns
	case len(set) == 0 && (d.whole || !d.lines):
		return deadState
	}
	made := nfaSet{pcs: set}
	for _, pc := range set {
		made.waiting = made.waiting || d.prog.Inst[pc].Op == syntax.InstEmptyWidth
	}
	d.key = d.key[:0]
	if made.waiting { // otherwise the place makes no difference
		made.place = at
		d.key = append(d.key, byte(at.holds))
		if at.word && d.words {
			d.key = append(d.key, 'w')
		}
	}
	d.key = append(d.key, 0)
	for _, pc := range set {
		d.key = append(d.key, byte(pc>>8), byte(pc))
	}
	if state, ok := d.states[string(d.key)]; ok {
		return state
	}
	state := uint16(len(d.next))
	if d.failed = d.failed || len(d.next)+int(d.columns) > maxDFACells; d.failed {
		return deadState
	}
	d.states[string(d.key)] = state
	d.next = append(d.next, make([]uint16, d.columns)...)
	made.pcs = slices.Clone(set)
	_, ends := d.resolve(made, textEnd)
	d.sets, d.matches = append(d.sets, made), append(d.matches, ends)
	return state
}
