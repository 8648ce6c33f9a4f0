package match

import (
	"fmt"
	"math/rand"
	"testing"

	"bailiff/fuzz/kit/naive"
)

// TestGuards holds that a guard excludes no text for which one of its tests holds, and most others.
func TestGuards(t *testing.T) {
	excluded, told := map[By]int{}, map[By]int{}
	check(t, 1500, func(r *rand.Rand) string {
		g := source{r}
		by := []By{Whole, End, Host, Inside}[r.Intn(4)]
		var all []Entry
		var sets []*Set
		for i := range 1 + r.Intn(3) {
			entries := []Entry{{Text: string(rune('c'+i)) + g.letters(1+r.Intn(12)) + g.oneOf("x", "X", "y", "zx")}, {Text: g.letters(1+r.Intn(3)) + g.oneOf("p", "q")}}
			if r.Intn(4) == 0 && by != Host {
				entries = append(entries, Entry{Text: g.letters(r.Intn(3)) + g.oneOf("x", "z") + someAddress, Fold: true})
			}
			all, sets = append(all, entries...), append(sets, prepared(t, by, 0, entries...))
		}
		guard := NewGuard(by, sets...)
		if guard == nil && by == Inside && len(all) < 3 {
			return ""
		}
		if guard == nil {
			return fmt.Sprintf("way %d: %+v have no guard", by, all)
		}
		for range 8 {
			text, holds := g.changed(g.oneOf("", "é")+g.shouted(all[r.Intn(len(all))].Text)), false
			if r.Intn(2) == 0 {
				text = g.globText("cdefgh0123", 20)
			}
			for _, e := range all {
				holds = holds || naive.Contains(e.Text, e.Fold, false, by != Inside, text)
			}
			if guard.Excludes(text) {
				excluded[by]++
				if holds {
					return fmt.Sprintf("way %d: %q is excluded by %+v", by, text, all)
				}
			}
			if !holds {
				told[by]++
			}
		}
		return ""
	})
	for by, n := range told {
		if 2*excluded[by] < n {
			t.Errorf("way %d: of %d texts for which no test holds %d are excluded", by, n, excluded[by])
		}
	}
	for n, want := range map[int]bool{0: false, 1: true, 16: true, 17: false} {
		if got := NewGuard(End, prepared(t, End, 0, numbered(n, "k%02d")...)) != nil; got != want {
			t.Errorf("%d endings have a guard: %v", n, got)
		}
		if got := NewGuard(Inside, prepared(t, Inside, 0, numbered(n, "k%02d")...)) != nil; got != (want && n > 2) {
			t.Errorf("%d texts have a guard: %v", n, got)
		}
	}
}
