package match

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// TestTables holds that a table finds the exact case, else the longest prefix.
func TestTables(t *testing.T) {
	check(t, 2000, func(r *rand.Rand) string {
		text := func() string {
			s := ""
			for range r.Intn(5) {
				s += []string{"a", "b", "é"}[r.Intn(3)]
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
