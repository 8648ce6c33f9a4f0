package match

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// tableOf returns the table of states for a pattern, nil where there is none.
func tableOf(t *testing.T, pattern string, whole bool) *dfa {
	t.Helper()
	prog, err := CompilePattern(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return newDFA(prog, whole)
}

// TestPatternSizes checks how many classes of runes and how many states patterns have: no more than their borders of words and lines make.
func TestPatternSizes(t *testing.T) {
	for _, test := range []struct {
		pattern         string
		whole           bool
		columns, states int
	}{
		{`a`, false, 3, 3},
		{`a`, true, 3, 4},
		{`ab`, false, 4, 4},
		{`ab`, true, 4, 5},
		{`^a`, false, 3, 3},
		{`^a`, true, 3, 4},
		{`(?m:^)a`, false, 3, 4},
		{`(?m:^)a`, true, 3, 4},
		{`(?m:^)`, false, 2, 2},
		{`(?m:^)`, true, 2, 3},
		{`a(?m:^)b`, false, 4, 3},
		{`a(?m:^)b`, true, 4, 3},
		{`a(?m:$)b`, false, 4, 4},
		{`a(?m:$)b`, true, 4, 4},
		{`a$`, false, 3, 4},
		{`a$`, true, 3, 4},
		{`\ba\b`, false, 4, 7},
		{`\ba\b`, true, 4, 4},
		{`a\B`, false, 4, 4},
		{`a\B`, true, 4, 4},
		{`a\b-`, false, 5, 4},
		{`a\b-`, true, 5, 5},
		{`[é-ü]x`, false, 4, 4},
		{`[é-ü]x`, true, 4, 5},
		{`a[^é]*ö`, false, 5, 4},
		{`a[^é]*ö`, true, 5, 5},
	} {
		d := tableOf(t, test.pattern, test.whole)
		if columns, states := int(d.columns), len(d.matches); columns != test.columns || states != test.states {
			t.Errorf("%s (whole %v): %d classes and %d states, want %d and %d", test.pattern, test.whole, columns, states, test.columns, test.states)
		}
		if cap(d.next) != len(d.next) || cap(d.matches) != len(d.matches) || cap(d.wide) != len(d.wide) || cap(d.wideOf) != len(d.wideOf) {
			t.Errorf("%s: the table says that it takes more than it has", test.pattern)
		}
		for i, r := range d.wide {
			if r < 0x80 || i > 0 && d.wideOf[i] == d.wideOf[i-1] {
				t.Errorf("%s: an interval begins with %q for nothing", test.pattern, r)
			}
		}
	}
}

// TestEmptyParts checks that parts of a pattern which match no byte are left out, and nothing else is.
func TestEmptyParts(t *testing.T) {
	for _, pattern := range []string{"|a", "a|", "(|a)b", "(a|)b", "a(?:)b", "a{0}b", "a(|b|)", "(?:|a|b)*b", "()"} {
		for _, whole := range []bool{false, true} {
			d, want := tableOf(t, pattern, whole), regexp.MustCompile(wrapped(pattern, whole))
			for _, text := range []string{"", "a", "b", "ab", "abb", "ba", "aab", "c"} {
				if got := d.Match(text); got != want.MatchString(text) {
					t.Errorf("%s (whole %v) and %q: %v", pattern, whole, text, got)
				}
			}
		}
	}
}

// TestPatternSteps checks that a table is made in just as many steps as there may be, and none in more.
func TestPatternSteps(t *testing.T) {
	for more, want := range map[int]bool{0: true, 1: false} {
		prog := new(syntax.Prog) // a chain of instructions that do nothing, and a match, which is looked at again for the end of the text
		for len(prog.Inst) < maxDFASteps-2+more {
			prog.Inst = append(prog.Inst, syntax.Inst{Op: syntax.InstNop, Out: uint32(len(prog.Inst) + 1)})
		}
		prog.Inst = append(prog.Inst, syntax.Inst{Op: syntax.InstMatch})
		if d := newDFA(prog, true); (d != nil) != want {
			t.Errorf("%d steps too many, and there is a table: %v", more, d != nil)
		}
	}
}

// TestPatternSplits checks that a table is made of just as many intervals of runes, for each instruction, as there may be, and none of more.
func TestPatternSplits(t *testing.T) {
	class := func(n int, more string) string { // whose runes have two ends of intervals each, beside the four of all patterns
		var b strings.Builder
		for i := range n {
			r := rune('一' + 4*i)
			b.WriteString(string([]rune{r, '-', r + 2}))
		}
		return "[" + more + b.String() + "]"
	}
	const most = maxDFASplits/2 - 2
	for name, test := range map[string]struct {
		pattern string
		want    bool
	}{
		"one":                              {class(most, ""), true},
		"one, and an end":                  {class(most, "\u0080"), false},
		"one, and any rune":                {class(most, "") + "(?s:.)", false},
		"five, each of nearly as many":     {class(most, "") + class(most-1, "") + class(most-2, "") + class(most-3, "") + class(most-4, ""), false},
		"one, and any other":               {class(most, "") + ".", false},
		"two":                              {class(most/2, "") + class(most/2-1, "b"), false},
		"five, with one end more together": {class(((maxDFASplits+1)/5-5)/2, "\u0080") + class(2, "") + class(3, "") + class(4, "") + class(5, ""), false},
		"five, with some less":             {class(((maxDFASplits+1)/5-5)/2, "") + class(2, "") + class(3, "") + class(4, "") + class(5, ""), true},
	} {
		d := tableOf(t, test.pattern, true)
		if (d != nil) != test.want {
			t.Errorf("%s: there is a table: %v", name, d != nil)
		}
		last := strings.Repeat("丂", strings.Count(test.pattern, "["))
		if d != nil && (!d.Match(last) || d.Match("丂"+last) || d.Match(last[:len(last)-3]+"丁\u0080") || d.Match(last[:len(last)-3]+"七")) {
			t.Errorf("%s: the table is wrong", name)
		}
	}
}

// TestPatternCellsOdd checks that a table of one cell more than there may be is not made.
func TestPatternCellsOdd(t *testing.T) {
	const columns, states = 17, (maxDFACells + 1) / 17
	if columns*states != maxDFACells+1 {
		t.Fatal("the cells are not one too many")
	}
	text := "" // of all letters but those of the end of the line and of all others; three states are of no letter
	for i := range states - 3 {
		text += string(rune('a' + i%(columns-2)))
	}
	if tableOf(t, text, true) != nil || tableOf(t, text[1:], true) == nil {
		t.Error("one cell too many is made, or one letter less is not")
	}
}

// TestDeepPatterns checks that a pattern which is too deep when all of a text has to match is an error, and no other is.
func TestDeepPatterns(t *testing.T) {
	faults := 0
	for depth := 980; depth < 1020; depth++ {
		text := strings.Repeat("(", depth) + "[ab]*a[ab]{12}" + strings.Repeat(")", depth)
		prog, err := CompilePattern(text)
		if err != nil {
			break
		}
		p, err := NewPattern(prog, text, true)
		if err != nil {
			faults++
		} else if !p.Match(strings.Repeat("a", 13)) {
			t.Errorf("%d deep, the pattern does not match", depth)
		}
	}
	if faults == 0 {
		t.Error("no pattern is too deep")
	}
}

// TestOpenQuotationExact: what a quotation without an end quotes is matched as it is, in small letters and capitals.
func TestOpenQuotationExact(t *testing.T) {
	p := loaded(`[ab]*a[ab]{12}\Qx.Y`, true)
	text := strings.Repeat("a", 13)
	if p.dfa != nil || !p.Match(text+"x.Y") || p.Match(text+"X.Y") || p.Match(text+"x.y") || p.Match(strings.ToUpper(text)+"x.Y") {
		t.Error("the case of letters makes no difference")
	}
}
