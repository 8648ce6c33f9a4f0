package match

import (
	"fmt"
	"math/rand"
	"regexp"
	"strings"
	"testing"
)

// patternText makes a pattern of few and similar letters.
func (g source) patternText(depth int) string {
	if depth == 0 || g.Intn(4) == 0 {
		return g.oneOf("a", "b", "K", "s", "-", "é", ".", `\d`, "[ab]", "[^a]", `\w`, "[[:upper:]]", "^", "$", `\A`, `\z`, `\b`, `\B`, "(?m:^)", "(?m:$)", `\pL`, `\PL`, "(?s:.)", "ſ")
	}
	part := func() string { return g.patternText(depth - 1) }
	switch g.Intn(6) {
	case 0:
		return "(?:" + part() + "|" + part() + ")"
	case 1:
		return "(?:" + part() + ")" + g.oneOf("*", "+", "?", "*?", "{2}", "{1,3}", "{0,2}?")
	case 2:
		return "(?i:" + part() + ")"
	case 3:
		return "(" + part() + ")"
	}
	return part() + part()
}

// subjectText makes a text of the same letters.
func (g source) subjectText() string {
	b := new(strings.Builder)
	for range g.Intn(8) {
		b.WriteString(g.oneOf("a", "a", "b", "A", "k", "K", "S", "-", "1", "\n", "_", "\x00", "\x7f", "é"))
	}
	if g.Intn(6) == 0 {
		b.WriteString(g.oneOf("é", "K", "\xff", "ſb"))
	}
	return b.String()
}

// mostSteps is what a program allows a pattern to compile to.
const mostSteps = 1000

// loaded returns a pattern, or nil where a program would not have it.
func loaded(pattern string, whole bool) *Pattern {
	prog, err := CompilePattern(pattern)
	if err != nil || len(pattern) > 256 || len(prog.Inst) > mostSteps {
		return nil
	}
	p, err := NewPattern(prog, pattern, whole)
	if err != nil {
		panic(err)
	}
	return p
}

// wrapped returns the pattern that matches where another does and, with whole, matches all of a text.
func wrapped(pattern string, whole bool) string {
	if whole {
		return `\A(?:` + pattern + `)\z`
	}
	return pattern
}

// TestPatterns holds that patterns match what the regexp package says, whichever engine answers.
func TestPatterns(t *testing.T) {
	answered, held := 0, 0
	check(t, 4000, func(r *rand.Rand) string {
		g := source{r}
		pattern, whole := g.patternText(4), r.Intn(2) == 0
		p := loaded(pattern, whole)
		if p == nil {
			return ""
		}
		want := regexp.MustCompile(wrapped(pattern, whole))
		for range 20 {
			text := g.subjectText()
			if p.Match(text) != want.MatchString(text) {
				return fmt.Sprintf("%q (whole %v) and %q: %v", pattern, whole, text, p.Match(text))
			}
			if p.dfa != nil {
				if p.dfa.Match(text) {
					held++
				}
				answered++
			}
		}
		return ""
	})
	if answered < 20_000 || held < 2_000 {
		t.Errorf("of %d answers %d held; the test sees too few", answered, held)
	}
}

// FuzzPattern holds the same of any pattern and any text.
func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{
		{"INV-[0-9]{4}-[0-9]{1,6}", "INV-2026-0117"}, {"(?i)test[-_ ]?(only|run)", "a Test Run"}, {"(?i)Kelvin", "Kelvin"},
		{"(?:page|limit)=[0-9a-z]+(?:&(?:page|limit)=[0-9a-z]+)*", "page=2&limit=50"}, {`^$`, ""}, {`a\b`, "a b"}, {`(a|b$|^c)+`, "cab"},
	} {
		f.Add(seed[0], seed[1], true)
		f.Add(seed[0], seed[1], false)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, whole bool) {
		p := loaded(pattern, whole)
		if p == nil || p.dfa == nil {
			return
		}
		if got := p.dfa.Match(text); got != regexp.MustCompile(wrapped(pattern, whole)).MatchString(text) {
			t.Errorf("%q (whole %v) and %q: %v", pattern, whole, text, got)
		}
	})
}

// TestPatternsBounded holds which patterns are left to the regexp package: those that take many states or steps.
func TestPatternsBounded(t *testing.T) {
	for pattern, want := range map[string]bool{
		"[ab]*a[ab]{4}": true, "[ab]*a[ab]{12}": false, "(a?b?c?d?){60}": true, "(a?b?c?d?){60}$": false, `\bword\b`: true, "(?m)^x": true, "a*": true,
		`(?i)\b(password|secret|api[_-]?key)\b`: true, `^\pL[\pL\pN ]*$`: true, `N?.{0,300}.{0,180}xN$`: false,
	} {
		if p := loaded(pattern, false); p == nil || (p.dfa != nil) != want {
			t.Errorf("%s: %+v", pattern, p)
		}
	}
}
