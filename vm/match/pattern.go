package match

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unsafe"
)

// A Pattern is a loaded regular expression: a [dfa] or, where it would be too large, one of package regexp.
type Pattern struct {
	dfa    *dfa
	re     *regexp.Regexp
	steps  int // of the compiled expression
	memory int // bytes of dfa or re
}

// CompilePattern returns the instructions of a regular expression in the syntax of RE2.
func CompilePattern(text string) (*syntax.Prog, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return syntax.Compile(tree.Simplify())
}

// NewPattern loads a regular expression. Prog is what [CompilePattern] returned for text, which so is known to be an expression by
// itself: wrapping it can't change its meaning, but where a quotation of it has no end. With whole it matches all of a text only.
func NewPattern(prog *syntax.Prog, text string, whole bool) (*Pattern, error) {
	p := &Pattern{steps: len(prog.Inst), dfa: newDFA(prog, whole)}
	if p.dfa != nil {
		p.memory = p.dfa.Memory()
		return p, nil
	}
	p.memory = PatternMemory(prog, text, whole || prog.StartCond()&syntax.EmptyBeginText != 0)
	var err error
	if whole {
		if text, err = closed(text); err != nil {
			return nil, err
		}
		text = `\A(?:` + text + `)\z`
	}
	p.re, err = regexp.Compile(text)
	return p, err
}

// closed returns an expression with an end of what \Q quotes.
func closed(text string) (string, error) {
	if !strings.Contains(text, `\Q`) {
		return text, nil
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return "", err
	}
	return tree.String(), nil
}

// Match reports whether the pattern matches.
func (p *Pattern) Match(text string) bool {
	if p.dfa != nil {
		return p.dfa.Match(text)
	}
	return p.re.MatchString(text)
}

// Memory returns the bytes of the pattern; 0 for nil.
func (p *Pattern) Memory() int {
	if p == nil {
		return 0
	}
	return p.memory
}

// What regular expressions take for a byte. Each is above what the slowest of many measured expressions and texts took:
// a table of states takes as long for any expression; the regexp package looks at each of its instructions,
// and keeps less of them at hand where they are many.
const (
	tableStep     = 8
	fewPattern    = 64 // instructions: of more, 4 KiB of text take the slower of the package's ways
	fewStep       = 6
	manyStep      = 14
	matchOverhead = 40
)

// Cost returns what matching takes at most, in steps of about a nanosecond: for each text, and for each of its bytes.
func (p *Pattern) Cost() (each, byByte int) {
	switch {
	case p.dfa != nil:
		return 0, tableStep
	case p.steps < fewPattern:
		return matchOverhead + p.steps, fewStep * p.steps
	}
	return matchOverhead + p.steps, manyStep * p.steps
}

// The sizes of what the regexp package makes of an instruction that the unicode tables and the type do not show: its
// one-pass form has a further slice, with an element for each pair of runes, and the runes again.
const (
	onePassStep = int(unsafe.Sizeof(syntax.Inst{})) + int(unsafe.Sizeof([]uint32{}))
	runeBytes   = 4
)

// PatternMemory returns about how many bytes a compiled regular expression keeps: of a program that is known to be tried
// from the start of the text only, the one-pass form as well.
func PatternMemory(prog *syntax.Prog, text string, anchored bool) int {
	const object = 256
	bytes := object + 2*len(text) + SliceBytes(prog.Inst)
	seen := map[*rune]bool{}
	for i := range prog.Inst {
		runes := prog.Inst[i].Rune
		if len(runes) == 0 {
			continue
		}
		if anchored {
			bytes += onePassStep + (runeBytes+runeBytes/2)*len(runes)
		}
		if first := unsafe.SliceData(runes); !seen[first] {
			seen[first] = true
			bytes += runeBytes*cap(runes) + Allocated
		}
	}
	return bytes
}
