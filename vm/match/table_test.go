package match

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// TestTables holds that a table finds the exact case, else the longest prefix.
func TestTables(t *testing.T) {
	check(t, 3000, func(r *rand.Rand) string {
		long := r.Intn(2) == 0
		text := func() string {
			s, letters := "", []string{"a", "b", "é"}
			if long {
				s, letters = []string{"", "aaaaa", "aaaaaaa", "aaaaaaab"}[r.Intn(4)], []string{"a", "a", "a", "b"}
			}
			for range r.Intn(5) {
				s += letters[r.Intn(len(letters))]
			}
			return s
		}
		var cases []Case
		for i := range 1 + r.Intn(20) {
			c := Case{Text: text(), Prefix: r.Intn(2) == 0, Target: uint16(i + 1)}
			if c.Text == "" {
				c.Prefix = false
			}
			double := false
			for _, d := range cases {
				double = double || d.Order(c) == 0
			}
			if !double {
				cases = append(cases, c)
			}
		}
		tab := Table{Cases: Sorted(cases)}
		tab.Build()
		for range 10 {
			subject, want, longest := text(), uint16(0), -1
			for _, c := range cases {
				if c.Prefix && strings.HasPrefix(subject, c.Text) && len(c.Text) > longest {
					want, longest = c.Target, len(c.Text)
				}
				if !c.Prefix && subject == c.Text {
					want, longest = c.Target, 1<<20
				}
			}
			if got := tab.Find(subject); got != want {
				return fmt.Sprintf("%q in %v goes to %d, not %d", subject, tab.Cases, got, want)
			}
		}
		return ""
	})
}

// TestOrder holds that cases are in the order of their texts, exact ones first.
func TestOrder(t *testing.T) {
	cases := []Case{{Text: ""}, {Text: "a"}, {Text: "a", Prefix: true}, {Text: "aa"}, {Text: "aa", Prefix: true}, {Text: "b", Prefix: true}}
	for i, c := range cases {
		for j, d := range cases {
			d.Target = 7
			if got := c.Order(d); got != min(1, max(-1, i-j)) {
				t.Errorf("%+v and %+v are in order %d", c, d, got)
			}
		}
	}
	given := []Case{{Text: "b"}, {Text: "a"}}
	if sorted := Sorted(given); sorted[0].Text != "a" || given[0].Text != "b" {
		t.Errorf("%+v are sorted to %+v", given, sorted)
	}
}

// TestFirstCase: where a text has an exact case and a prefix case, the text itself finds the exact one, and longer texts find the prefix.
func TestFirstCase(t *testing.T) {
	cases := []Case{{Text: "a", Target: 1}, {Text: "a", Prefix: true, Target: 2}}
	for len(cases) <= fewCases {
		cases = append(cases, Case{Text: fmt.Sprintf("b%02d", len(cases)), Target: 3})
	}
	tab := Table{Cases: Sorted(cases)}
	tab.Build()
	for text, want := range map[string]uint16{"a": 1, "ab": 2, "": 0, "b": 0, "b02": 3, "c": 0} {
		if got := tab.Find(text); got != want {
			t.Errorf("%q goes to %d, want %d", text, got, want)
		}
	}
}
