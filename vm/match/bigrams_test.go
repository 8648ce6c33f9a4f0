package match

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// TestBigrams holds that bigrams find the text in a text, also where so many tries are in vain that they give up.
func TestBigrams(t *testing.T) {
	gaveUp, held := 0, 0
	check(t, 3000, func(r *rand.Rand) string {
		letters := func(n int) string {
			b := new(strings.Builder)
			for range n {
				b.WriteByte("aaab"[r.Intn(4)])
			}
			return b.String()
		}
		var set []Entry
		for i := range 3 + r.Intn(4) {
			set = append(set, Entry{Text: letters(2+r.Intn(6)) + string(rune('c'+i))})
		}
		s := &searcher{few: newEntries(set)}
		s.bigrams = newBigrams(s.few)
		text := letters(r.Intn(100)) + set[r.Intn(len(set))].Text[r.Intn(2):] + letters(r.Intn(20))
		want := uint32(0)
		for i := range set {
			if strings.Contains(text, set[i].Text) {
				want |= 1 << i
				held++
			}
		}
		if _, left := s.bigrams.search(text, false); left != 0 {
			gaveUp++
		}
		if got := s.fewIn(text, false); got != want || (s.fewIn(text, true) != 0) != (want != 0) || s.fewIn(text, true)&^want != 0 {
			return fmt.Sprintf("in %q of %v are %b, not %b", text, set, want, got)
		}
		return ""
	})
	if gaveUp < 100 || held < 100 {
		t.Errorf("%d entries were found, and %d texts given up; the test sees too few", held, gaveUp)
	}
}
