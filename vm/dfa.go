package vm

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A dfa says of texts of ASCII whether a regular expression matches, one table look-up for each byte. Whether is all
// that tests ask, so that neither order nor length of matches matters, and a state is a set of the expression's
// instructions. What it can't answer, the regexp package does.
type dfa struct {
	classes [utf8.RuneSelf]uint8
	// At state+class the next state. States are offsets into next, the first two of them final.
	next    []uint16
	matches []bool // by state/columns: whether a text that ends here matches
	columns uint16
}

// What bounds a dfa: 4 KiB of memory, and less time than compiling the expression takes. Of the patterns that people
// write only those come near that count far, or hold many texts.
const (
	maxDFACells = 1 << 11 // of next
	maxDFASteps = 1 << 13 // from instruction to instruction
)

// The states that no text leaves.
const (
	deadState = iota
	matchState
	startState
)

// match reports whether text matches; it is not ok where a byte is not ASCII.
func (d *dfa) match(text string) (matches, ok bool) {
	state, final := startState*d.columns, matchState*d.columns
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			return false, false
		}
		if state = d.next[state+uint16(d.classes[c])]; state <= final {
			return state == final, true
		}
	}
	return d.matches[state/d.columns], true
}

// A determiner makes a dfa.
type determiner struct {
	dfa
	prog   *syntax.Prog
	whole  bool
	starts []rune // the first of each class
	states map[string]uint16
	sets   [][]uint32 // for each state its instructions: those that read a rune, and what waits for the end
	mark   []uint32   // the round in which an instruction was last added
	set    []uint32   // room for the one that is being made
	key    []byte     // of that set
	round  uint32
	steps  int
	failed bool
}

// newDFA returns the dfa for a program, of which all of a text has to match where whole is set; or nil if it would be
// too large, looks at words or lines, or matches everything.
func newDFA(prog *syntax.Prog, whole bool) *dfa {
	d := &determiner{prog: prog, whole: whole, states: map[string]uint16{}, mark: make([]uint32, len(prog.Inst))}
	d.classify()
	d.addFinal(false)
	d.addFinal(true)
	d.round++
	set, matched := d.follow(nil, uint32(prog.Start), syntax.EmptyBeginText)
	if matched && !whole {
		return nil
	}
	d.add(set, syntax.EmptyBeginText)
	for state := startState; state < len(d.sets) && !d.failed; state++ {
		d.extend(state)
	}
	if d.failed {
		return nil
	}
	return &d.dfa
}

// classify finds out which runes no instruction tells apart.
func (d *determiner) classify() {
	var first [utf8.RuneSelf + 1]bool
	split := func(low, high rune) {
		if low < utf8.RuneSelf {
			first[low], first[min(high+1, utf8.RuneSelf)] = true, true
		}
	}
	for i := range d.prog.Inst {
		switch in := &d.prog.Inst[i]; in.Op {
		case syntax.InstRune, syntax.InstRune1:
			if len(in.Rune) == 1 { // and what it folds to
				split(in.Rune[0], in.Rune[0])
				for r := unicode.SimpleFold(in.Rune[0]); r != in.Rune[0]; r = unicode.SimpleFold(r) {
					split(r, r)
				}
			}
			for j := 1; j < len(in.Rune); j += 2 {
				split(in.Rune[j-1], in.Rune[j])
			}
		case syntax.InstRuneAnyNotNL:
			split('\n', '\n')
		}
	}
	for c := range rune(utf8.RuneSelf) {
		if c == 0 || first[c] {
			d.starts = append(d.starts, c)
		}
		d.classes[c] = uint8(len(d.starts) - 1)
	}
	d.columns = uint16(len(d.starts))
}

// addFinal adds a state that no text leaves.
func (d *determiner) addFinal(matches bool) {
	for range d.columns {
		d.next = append(d.next, uint16(len(d.sets))*d.columns)
	}
	d.sets, d.matches = append(d.sets, nil), append(d.matches, matches)
}

// extend works out where a state goes on.
func (d *determiner) extend(state int) {
	for class, r := range d.starts {
		d.next[state*int(d.columns)+class] = d.after(d.sets[state], r)
	}
}

// after returns the state behind a set for a rune.
func (d *determiner) after(from []uint32, r rune) uint16 {
	d.round++
	set, matched := d.set[:0], false
	for _, pc := range from {
		in := &d.prog.Inst[pc]
		if in.Op == syntax.InstEmptyWidth || in.Op == syntax.InstMatch || !in.MatchRune(r) {
			continue
		}
		var found bool
		set, found = d.follow(set, in.Out, 0)
		matched = matched || found
	}
	if !d.whole {
		var found bool
		set, found = d.follow(set, uint32(d.prog.Start), 0)
		matched = matched || found
	}
	d.set = set
	if matched && !d.whole {
		return matchState * d.columns
	}
	return d.add(set, 0)
}

// follow adds to a set what can be reached from pc without a rune, and reports whether that is a match. What waits for
// the end of the text stays in the set, and so does a match of which the whole text has to be part.
func (d *determiner) follow(set []uint32, pc uint32, at syntax.EmptyOp) (_ []uint32, matched bool) {
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
		set, matched = d.follow(set, in.Out, at)
		var second bool
		set, second = d.follow(set, in.Arg, at)
		return set, matched || second
	case syntax.InstCapture, syntax.InstNop:
		return d.follow(set, in.Out, at)
	case syntax.InstEmptyWidth:
		switch needs := syntax.EmptyOp(in.Arg); {
		case needs&^(syntax.EmptyBeginText|syntax.EmptyEndText) != 0:
			d.failed = true
		case needs&^at == 0:
			return d.follow(set, in.Out, at)
		case needs&syntax.EmptyEndText != 0:
			return append(set, pc), false
		}
	default:
		return append(set, pc), false
	}
	return set, false
}

// add returns the state for a set, of which it keeps a copy. It is a new one where it stands at the start of the text.
func (d *determiner) add(set []uint32, at syntax.EmptyOp) uint16 {
	if len(set) == 0 && at == 0 {
		return deadState
	}
	d.key = d.key[:0]
	for _, pc := range set {
		d.key = append(d.key, byte(pc>>8), byte(pc))
	}
	if state, ok := d.states[string(d.key)]; ok && at == 0 {
		return state
	}
	state := uint16(len(d.next))
	if d.failed = d.failed || len(d.next)+int(d.columns) > maxDFACells; d.failed {
		return deadState
	}
	if at == 0 {
		d.states[string(d.key)] = state
	}
	d.next = append(d.next, make([]uint16, d.columns)...)
	set = slices.Clone(set)
	d.sets, d.matches = append(d.sets, set), append(d.matches, d.ends(set, at))
	return state
}

// ends reports whether a text that ends in a set matches.
func (d *determiner) ends(set []uint32, at syntax.EmptyOp) bool {
	d.round++
	for _, pc := range set {
		if in := &d.prog.Inst[pc]; in.Op == syntax.InstMatch || in.Op == syntax.InstEmptyWidth {
			if _, matched := d.follow(d.set[:0], pc, at|syntax.EmptyEndText); matched {
				return true
			}
		}
	}
	return false
}
