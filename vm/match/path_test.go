package match

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// pathText makes a path of few segments, which may end in a slash.
func (g source) pathText() string {
	path := g.oneOf("", "/", "/", "~/")
	for range g.Intn(5) {
		path += g.oneOf("a", "b", "ab", ".env", "*", "a*", "*b", "*n*", "é") + g.oneOf("/", "/", "")
	}
	return path
}

// shortPath makes a path of one or two segments of any small letters.
func (g source) shortPath() string {
	path := g.oneOf("", "/")
	for i := range 1 + g.Intn(2) {
		if i > 0 {
			path += "/"
		}
		for range 1 + g.Intn(2) {
			path += string(rune('a' + g.Intn(26)))
		}
	}
	return path
}

// naivePath is what a pattern means, said as simply as can be: it goes through segments, and tries every run for every star.
func naivePath(pattern, path string) bool {
	if pattern == "/" {
		return strings.HasPrefix(path, "/")
	}
	have := strings.Split(path, "/")
	rest, floats := strings.CutPrefix(pattern, floating)
	want := strings.Split(rest, "/")
	for from := range have {
		covers := len(want) <= len(have)-from
		for i := 0; covers && i < len(want); i++ {
			segment := have[from+i]
			covers = naiveGlob(Segmented, want[i], segment) && (want[i] != "*" || segment != "")
		}
		if covers || !floats {
			return covers
		}
	}
	return false
}

// TestPaths holds that a set of patterns covers what one of them covers, segment by segment.
func TestPaths(t *testing.T) {
	held, missed := 0, 0
	check(t, 3000, func(r *rand.Rand) string {
		g := source{r}
		var patterns []Entry
		size, path := 1+r.Intn(6), g.pathText
		if r.Intn(8) == 0 {
			size, path = 60+r.Intn(80), g.shortPath
		}
		for range size {
			if e := (Entry{Text: g.oneOf("", "", floating) + path()}); e.Text != "" && ValidatePath(&e) == nil {
				patterns = append(patterns, e)
			}
		}
		if len(patterns) == 0 {
			return ""
		}
		s := prepared(t, Path, 0, patterns...)
		for range 10 {
			path, want := path()+g.oneOf("", "", "", "/x"), false
			if r.Intn(3) == 0 {
				path = g.oneOf("", "y/", "/y/", "/yy/yyy/y/") + strings.TrimPrefix(patterns[r.Intn(len(patterns))].Text, floating) + g.oneOf("", "", "/", "/x", "x")
			}
			for _, e := range patterns {
				one := naivePath(e.Text, path)
				if want = want || one; CoversPath(e.Text, path) != one {
					return fmt.Sprintf("%q is covered by %q: %v", path, e.Text, !one)
				}
			}
			if got := s.Path(path); got != want {
				return fmt.Sprintf("%q in %+v is %v", path, patterns, got)
			}
			if want {
				held++
			} else {
				missed++
			}
		}
		return ""
	})
	if held < 100 || missed < 100 {
		t.Errorf("%d paths were covered and %d not; the test sees too few", held, missed)
	}
}

func TestCoversSegment(t *testing.T) {
	for _, test := range []struct {
		pattern, segment string
		want             bool
	}{
		{".env", ".env", true}, {".env*", ".env", true}, {".env*", ".env.local", true}, {".env*", "x.env", false}, {"*.pem", ".pem", true},
		{"*.pem", "a.pem", true}, {"*.pem", "a.pem.bak", false}, {"id_*_key", "id_rsa_key", true}, {"id_*_key", "id_key", false},
		{"a*a", "a", false}, {"a*a", "aa", true}, {"*a*b*", "xaxbx", true}, {"*a*b*", "xbxax", false}, {"*ab", "aab", true}, {"a*b*b", "ab", false},
		{"*", "x", true}, {"*", "", false},
	} {
		if got := coversSegment(test.pattern, test.segment); got != test.want {
			t.Errorf("coversSegment(%q, %q) = %v", test.pattern, test.segment, got)
		}
	}
}

// TestCoversSegmentNaive holds coversSegment to a reading that tries every run for every star.
func TestCoversSegmentNaive(t *testing.T) {
	held := 0
	check(t, 5000, func(r *rand.Rand) string {
		g := source{r}
		pattern, segment := g.globText("**ab", 7), g.globText("aabb", 9)
		want := naiveGlob(Segmented, pattern, segment) && (pattern != "*" || segment != "")
		if want {
			held++
		}
		if got := coversSegment(pattern, segment); got != want {
			return fmt.Sprintf("%q of %q is %v", segment, pattern, got)
		}
		return ""
	})
	if held < 500 {
		t.Errorf("patterns held %d times; the test sees too few", held)
	}
}
