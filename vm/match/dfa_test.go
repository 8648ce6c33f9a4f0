package match

import (
	"fmt"
	"math/rand"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// patternText makes a pattern of few and similar letters.
func (g source) patternText(depth int) string {
	if depth == 0 || g.Intn(4) == 0 {
		return g.oneOf("a", "b", "K", "s", "-", "é", ".", `\d`, "[ab]", "[^a]", `\w`, "[[:upper:]]", "^", "$", `\A`, `\z`, `\b`, `\B`, "(?m:^)", "(?m:$)", `\pL`, `\PL`, "(?s:.)", "ſ", `\x00`, `[^\x00]`, `[\x00-\x7f]`, `[\x{80}-\x{e9}]`, `[\x{81}-\x{e9}]`, `[^\x{81}-\x{e9}]`, "(?-s:.)")
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
		b.WriteString(g.oneOf("a", "a", "b", "A", "k", "K", "S", "-", "1", "\n", "_", "\x00", "\v", "\x7f", "é", g.oneOf("/", "0", "9", ":", "@", "Z", "[", "^", "`", "z", "{")))
	}
	if g.Intn(6) == 0 {
		b.WriteString(g.oneOf("é", "K", "\xff", "ſb", "\u0080", "\x01", "\u00ea"))
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
	if whole && !strings.Contains(pattern, `\Q`) {
		return `\A(?:` + pattern + `)\z`
	}
	if whole { // a quotation may have no end
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			panic(err)
		}
		return `\A(?:` + tree.String() + `)\z`
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

// TestOpenQuotation: a quotation without an end, in patterns with a table of states and without, ends where the pattern does.
func TestOpenQuotation(t *testing.T) {
	for _, pattern := range []string{`a\Q.b)`, `[ab]*a[ab]{12}\Q.b)`} {
		p := loaded(pattern, true)
		text := strings.ReplaceAll(strings.TrimPrefix(pattern, "[ab]*a[ab]{12}"), `\Q`, "")
		if strings.HasPrefix(pattern, "[") {
			text = strings.Repeat("a", 13) + text
		}
		if p.dfa == nil != strings.HasPrefix(pattern, "[") || !p.Match(text) || p.Match(text+"x") || p.Match("x"+text) {
			t.Errorf("%q and %q: %v", pattern, text, p.Match(text))
		}
	}
}

// TestPatternsBounded holds which patterns are left to the regexp package: those that take many states or steps.
func TestPatternsBounded(t *testing.T) {
	for pattern, want := range map[string]bool{
		"[ab]*a[ab]{4}": true, "[ab]*a[ab]{12}": false, "(a?b?c?d?){60}": true, "(a?b?c?d?){60}$": false, `\bword\b`: true, "(?m)^x": true, "a*": true,
		`(?i)\b(password|secret|api[_-]?key)\b`: true, `^\pL[\pL\pN ]*$`: true, `N?.{0,300}.{0,180}xN$`: false,
		`\pL{20}`: true, `\pL\PL\pN\PN\pS\PS\pP\PP\pM\PM\pZ\PZ\p{Lu}\p{Ll}\PL?`: false,
	} {
		if p := loaded(pattern, false); p == nil || (p.dfa != nil) != want {
			t.Errorf("%s: %+v", pattern, p)
		}
	}
}

// TestPatternClasses holds that expressions which tell 256 classes of runes apart have a table, and those that tell one more have none.
func TestPatternClasses(t *testing.T) {
	for _, last := range []int{253, 254} { // beside '!', the end of a line, and all others, of which the rune of no bit is one
		pattern := ""
		for bit := range 8 {
			pattern += "["
			for i := range last + 1 {
				if i>>bit&1 == 1 {
					pattern += string(rune('一' + i))
				}
			}
			pattern += "]?"
		}
		prog, err := CompilePattern(pattern + "!")
		if err != nil {
			t.Fatal(err)
		}
		d := newDFA(prog, true)
		if (d != nil) != (last == 253) {
			t.Errorf("%d runes have a table: %v", last, d != nil)
		}
		if re := regexp.MustCompile(wrapped(pattern+"!", true)); d != nil {
			for i := range last + 2 {
				if text := string([]rune{'一' + 1, rune('一' + i), '!'}); d.Match(text) != re.MatchString(text) {
					t.Errorf("%q matches: %v", text, d.Match(text))
				}
			}
		}
	}
}

// TestPatternCells holds that a table of just as many cells as there may be is made, and none of more.
func TestPatternCells(t *testing.T) {
	letters := func(n int) (text string) { // n states and n classes
		for i := range n {
			text += string(rune('一' + i))
		}
		return text
	}
	for pattern, want := range map[string]int{
		letters(61):              (61 + 3) * (61 + 2), // with the states that no text leaves, where it starts, the end of a line and all others
		letters(59) + "[pq][pr]": maxDFACells,         // the same, with a class more
		letters(62):              0,
	} {
		prog, err := CompilePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		d := newDFA(prog, true)
		if (d != nil) != (want > 0) || d != nil && len(d.next) != want {
			t.Errorf("%s has a table: %v, want one of %d", pattern, d != nil, want)
		}
	}
}

// TestPatternsWithoutTable holds that the regexp package answers for a pattern of too many states, all of a text having to match where that is asked for.
func TestPatternsWithoutTable(t *testing.T) {
	const pattern = "[ab]*a[ab]{12}|c"
	for _, whole := range []bool{false, true} {
		p, want := loaded(pattern, whole), regexp.MustCompile(wrapped(pattern, whole))
		if p.dfa != nil {
			t.Fatal("the pattern has a table")
		}
		for _, text := range []string{"", "c", "cc", "xc", "aaaaaaaaaaaaa", "aaaaaaaaaaaa", "xaaaaaaaaaaaaa", "aaaaaaaaaaaaax", "abbbbbbbbbbbb", "bbbbbbbbbbbbb"} {
			if got := p.Match(text); got != want.MatchString(text) {
				t.Errorf("whole %v: %q matches: %v", whole, text, got)
			}
		}
	}
}

// TestPatternsAtBorders holds patterns that look at borders of lines, words and texts to what the regexp package says of all short texts.
func TestPatternsAtBorders(t *testing.T) {
	texts := []string{""}
	for i := 0; len(texts[i]) < 5; i++ {
		for _, letter := range []string{"a", "-", "\n"} {
			texts = append(texts, texts[i]+letter)
		}
	}
	borders := []string{"(?m:^)", "(?m:$)", `\b`, `\B`, "^", "$", `\A`, `\z`}
	for _, first := range borders {
		for _, second := range borders {
			for _, pattern := range []string{first + "a" + second, first + second + "a", "a" + first + second, first + "(?:a|" + second + ")-", first + "." + second + "."} {
				for _, whole := range []bool{false, true} {
					p, want := loaded(pattern, whole), regexp.MustCompile(wrapped(pattern, whole))
					for _, text := range texts {
						if got := p.Match(text); got != want.MatchString(text) {
							t.Fatalf("%s (whole %v) and %q: %v", pattern, whole, text, got)
						}
					}
				}
			}
		}
	}
}

// TestNoPattern holds that texts which do not parse as expressions are errors.
func TestNoPattern(t *testing.T) {
	for _, text := range []string{"(", "a{1001}", "[b-a]", `\1`} {
		if _, err := CompilePattern(text); err == nil {
			t.Errorf("%s is compiled", text)
		}
	}
}

// TestLongPatterns holds that a table of more states than a byte can number tells them apart.
func TestLongPatterns(t *testing.T) {
	p := loaded("a{300}", true)
	if p.dfa == nil {
		t.Fatal("the pattern has no table")
	}
	for n := range 900 {
		if got := p.Match(strings.Repeat("a", n)); got != (n == 300) {
			t.Errorf("%d letters match: %v", n, got)
		}
	}
}
