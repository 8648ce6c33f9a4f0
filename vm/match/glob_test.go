package match

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// naiveGlob is what a pattern means, said as simply as can be: it tries every run for every star.
func naiveGlob(style GlobStyle, pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] != '*' {
		return text != "" && text[0] == pattern[0] && naiveGlob(style, pattern[1:], text[1:])
	}
	if style == Dotted && pattern == "*" {
		return true
	}
	separator := map[GlobStyle]byte{Mailbox: '@', Dotted: '.', Segmented: '/', Unbounded: 0xff}[style]
	for n := 0; ; n++ {
		if naiveGlob(style, pattern[1:], text[n:]) {
			return true
		}
		if n == len(text) || text[n] == separator {
			return false
		}
	}
}

// globText makes a text of few letters, so that parts of patterns are in texts more than once.
func (g source) globText(letters string, n int) string {
	b := new(strings.Builder)
	for range g.Intn(n) {
		b.WriteByte(letters[g.Intn(len(letters))])
	}
	return b.String()
}

// globsHold compares sets with naiveGlob, and returns how often one covered its text.
func globsHold(t *testing.T, report func(string), judge func(s *Set, text string) bool) (held [GlobStyleCount]int) {
	check(t, 3000, func(r *rand.Rand) string {
		g := source{r}
		style := Mailbox + GlobStyle(r.Intn(int(GlobStyleCount-Mailbox)))
		var patterns []Entry
		size := 1 + r.Intn(2)
		if r.Intn(4) == 0 {
			size = 2 * FewEntries
		}
		for range size {
			patterns = append(patterns, Entry{Text: "a" + g.globText("**ab.@/", 6)}, Entry{Text: g.globText("***ab.@/", 8) + "*"}, Entry{Text: "*" + g.globText("*ab.@/", 5) + "b"})
		}
		s := prepared(t, Glob, style, patterns...)
		for range 8 {
			text, want := g.globText("aabb.@/\x00", 12), false
			for _, e := range patterns {
				want = want || naiveGlob(style, e.Text, text)
			}
			if want {
				held[style]++
			}
			if one := naiveGlob(style, patterns[0].Text, text); CoversGlob(style, patterns[0].Text, text) != one {
				report(fmt.Sprintf("%s: %q is covered by %q: %v", style, text, patterns[0].Text, !one))
			}
			if got := judge(s, text); got != want {
				report(fmt.Sprintf("%s: %q in %+v is %v", style, text, patterns, got))
			}
		}
		return ""
	})
	return held
}

// TestGlobs holds that patterns cover what naiveGlob says.
func TestGlobs(t *testing.T) {
	held := globsHold(t, func(wrong string) { t.Error(wrong) }, (*Set).Glob)
	if held[Mailbox] < 1000 || held[Dotted] < 1000 || held[Segmented] < 1000 || held[Unbounded] < 1000 {
		t.Errorf("patterns held %v times; the test sees too few", held)
	}
}

// TestGlobsNoticed is the canary of TestGlobs: a star that goes too far, or not far enough, is noticed.
func TestGlobsNoticed(t *testing.T) {
	for name, spoil := range map[string]func(g *glob){
		"a star crosses the separator": func(g *glob) { g.separator = 0 },
		"the other separator":          func(g *glob) { g.separator ^= '.' ^ '@' },
		"the last star stops":          func(g *glob) { g.open = false },
		"the last star never stops":    func(g *glob) { g.open = true },
		"no middle":                    func(g *glob) { g.middle = nil },
		"no head":                      func(g *glob) { g.head = "" },
	} {
		noticed := 0
		globsHold(t, func(string) { noticed++ }, func(s *Set, text string) bool {
			spoiled := *s
			spoiled.globs = append([]glob(nil), s.globs...)
			for i := range spoiled.globs {
				spoil(&spoiled.globs[i])
			}
			return spoiled.Glob(text)
		})
		if noticed == 0 {
			t.Errorf("%s: the fault is not noticed", name)
		}
	}
}

// TestGlobsAdversarial holds that many stars over a long text of one letter take the time of a search.
func TestGlobsAdversarial(t *testing.T) {
	s := prepared(t, Glob, Mailbox, Entry{Text: strings.Repeat("*a", MaxStars-1) + "*b"})
	long := strings.Repeat("a", 1<<20)
	if s.Glob(long) || !s.Glob(long+"b") {
		t.Error("a long text is judged wrongly")
	}
	if n := testing.AllocsPerRun(2, func() { s.Glob(long) }); n != 0 {
		t.Errorf("a test allocates %v times", n)
	}
}

func BenchmarkGlob(b *testing.B) {
	for _, n := range []int{1, 1000} {
		patterns := []Entry{{Text: "*@example.com"}, {Text: "*@*.example.org"}}
		for i := range n {
			patterns = append(patterns, Entry{Text: fmt.Sprintf("person%d@example.net", i)})
		}
		s := prepared(b, Glob, Mailbox, patterns...)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !s.Glob("somebody@mail.example.org") {
					b.Fatal("not covered")
				}
			}
		})
	}
}

// TestGlobStyles holds the names of styles, and that other numbers have none.
func TestGlobStyles(t *testing.T) {
	for style, want := range map[GlobStyle]string{0: "", Mailbox: "mailbox", Dotted: "dotted", Segmented: "segmented", Unbounded: "unbounded", GlobStyleCount: "", 255: ""} {
		if style.String() != want {
			t.Errorf("style %d is called %q, want %q", style, style, want)
		}
	}
}
