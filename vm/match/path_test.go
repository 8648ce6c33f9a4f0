package match

import (
	"fmt"
	"math/rand"
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

// TestPaths holds that a set of patterns covers what one of them covers, segment by segment.
func TestPaths(t *testing.T) {
	held, missed := 0, 0
	check(t, 3000, func(r *rand.Rand) string {
		g := source{r}
		var patterns []Entry
		for range 1 + r.Intn(6) {
			e := Entry{Text: g.oneOf("", "", floating) + g.pathText()}
			if e.Text == "" || ValidatePath(&e) != nil {
				return ""
			}
			patterns = append(patterns, e)
		}
		s := prepared(t, Path, 0, patterns...)
		for range 10 {
			path, want := g.pathText(), false
			for _, e := range patterns {
				want = want || CoversPath(e.Text, path)
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
