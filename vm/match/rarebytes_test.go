package match

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// withRareBytes returns entries that have rare bytes, and a text in which some of them may be.
func (g source) withRareBytes() (set []entry, text string) {
	letters := func(n int) string {
		b := new(strings.Builder)
		for range g.Intn(n + 1) {
			b.WriteString([]string{"a", "a", "b", "-", "_", "/"}[g.Intn(6)])
		}
		return b.String()
	}
	var entries []Entry
	for i := range 3 + g.Intn(6) {
		entries = append(entries, Entry{Text: letters(2) + string("-_K"[g.Intn(3)]) + letters(2) + string(rune('c'+i))})
	}
	text = letters(60) + strings.Repeat("a", g.Intn(100)) + letters(4)
	for range g.Intn(3) {
		text += entries[g.Intn(len(entries))].Text[g.Intn(2):] + letters(3)
	}
	return newEntries(entries), text
}

// findRareBytes compares what rare bytes find with the text in texts. It returns how many entries were there, and how many
// texts were given up.
func findRareBytes(t *testing.T, report func(string), spoil func(*rareBytes)) (held, gaveUp int) {
	check(t, 3000, func(r *rand.Rand) string {
		set, text := source{r}.withRareBytes()
		s := &searcher{few: set, rare: newRareBytes(set)}
		if s.rare == nil {
			return ""
		}
		if spoil != nil {
			spoil(s.rare)
		}
		want := uint32(0)
		for i := range set {
			if strings.Contains(text, set[i].text) {
				want |= 1 << i
				held++
			}
		}
		if _, left := s.rare.search(text, false); left != 0 {
			gaveUp++
		}
		if got := s.fewIn(text, false); got != want || s.contains(text) != (want != 0) || s.fewIn(text, true)&^want != 0 {
			report(fmt.Sprintf("in %q of %v are %b, not %b", text, set, want, got))
		}
		return ""
	})
	return held, gaveUp
}

// TestRareBytes holds that rare bytes find the text in a text, also where they are so many that they give up.
func TestRareBytes(t *testing.T) {
	held, gaveUp := findRareBytes(t, func(wrong string) { t.Error(wrong) }, nil)
	if gaveUp < 100 || held < 100 {
		t.Errorf("%d entries were found, and %d texts given up; the test sees too few", held, gaveUp)
	}
}

// TestRareBytesNoticed is the canary of TestRareBytes: rare bytes that know nothing of what may be beside them, or that
// lack one, are noticed.
func TestRareBytesNoticed(t *testing.T) {
	for name, spoil := range map[string]func(*rareBytes){
		"before": func(l *rareBytes) { l.before['a'] = 0 },
		"behind": func(l *rareBytes) { l.behind['a'] = 0 },
		"bytes":  func(l *rareBytes) { l.bytes = l.bytes[1:]; l.having = l.having[1:] },
	} {
		noticed := 0
		findRareBytes(t, func(string) { noticed++ }, spoil)
		if noticed == 0 {
			t.Errorf("%s: the fault is not noticed", name)
		}
	}
}

// TestNoRareBytes holds that sets whose entries share no few scarce bytes have none, nor has one that folds.
func TestNoRareBytes(t *testing.T) {
	for name, texts := range map[string][]string{
		"letters": {"mkfs", "curl", "wget"},
		"few":     {"a-b", "c-d"},
		"many":    {"a-b", "a_b", "a/b", "a.b"},
		"four":    {"a-b", "a_b", "aKb", "aZb"},
		"common":  {"a/b", "c/d", "e/f"},
		"folded":  {"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48-", "a-b", "c-d"},
	} {
		var set []Entry
		for _, text := range texts {
			set = append(set, Entry{Text: text, Fold: len(Addresses(text)) > 0})
		}
		if newRareBytes(newEntries(set)) != nil {
			t.Errorf("%s: %q have rare bytes", name, texts)
		}
	}
	for name, texts := range map[string][]string{
		"one": {"a-b", "c-d", "e-f"}, "two": {"a-b", "c-d", "eKf"}, "three": {"a-b", "cZd", "eKf"}, "not quite common": {"a.b", "c.d", "e.f"},
		"as many as are searched for": slices.Repeat([]string{"a-b"}, FewSearched),
	} {
		var set []Entry
		for _, text := range texts {
			set = append(set, Entry{Text: text})
		}
		if newRareBytes(newEntries(set)) == nil {
			t.Errorf("%s: %q have no rare bytes", name, texts)
		}
	}
}
