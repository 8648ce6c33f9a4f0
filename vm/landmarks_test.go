package vm

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// landmarked returns entries that have landmarks, and a text in which some of them may be.
func (g source) landmarked() (set []entry, text string) {
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

// findLandmarks compares what landmarks find with the text in texts. It returns how many entries stood there, and how many
// texts were given up.
func findLandmarks(t *testing.T, report func(string), spoil func(*landmarks)) (held, gaveUp int) {
	check(t, 3000, func(r *rand.Rand) string {
		set, text := source{r}.landmarked()
		s := &searcher{few: set, landmarks: newLandmarks(set)}
		if s.landmarks == nil {
			return ""
		}
		if spoil != nil {
			spoil(s.landmarks)
		}
		want := uint32(0)
		for i := range set {
			if strings.Contains(text, set[i].text) {
				want |= 1 << i
				held++
			}
		}
		if _, left := s.landmarks.search(text, false); left != 0 {
			gaveUp++
		}
		if got := s.fewIn(text, false); got != want || s.contains(text) != (want != 0) || s.fewIn(text, true)&^want != 0 {
			report(fmt.Sprintf("in %q of %v stand %b, not %b", text, set, want, got))
		}
		return ""
	})
	return held, gaveUp
}

// TestLandmarks holds that landmarks find the text in a text, also where they are so many that they give up.
func TestLandmarks(t *testing.T) {
	held, gaveUp := findLandmarks(t, func(wrong string) { t.Error(wrong) }, nil)
	if gaveUp < 100 || held < 100 {
		t.Errorf("%d entries were found, and %d texts given up; the test sees too few", held, gaveUp)
	}
}

// TestLandmarksNoticed is the canary of TestLandmarks: landmarks that know nothing of what may be beside them, or that
// lack one, are noticed.
func TestLandmarksNoticed(t *testing.T) {
	for name, spoil := range map[string]func(*landmarks){
		"before": func(l *landmarks) { l.before['a'] = 0 },
		"behind": func(l *landmarks) { l.behind['a'] = 0 },
		"bytes":  func(l *landmarks) { l.bytes = l.bytes[1:]; l.having = l.having[1:] },
	} {
		noticed := 0
		findLandmarks(t, func(string) { noticed++ }, spoil)
		if noticed == 0 {
			t.Errorf("%s: the fault is not noticed", name)
		}
	}
}

// TestNoLandmarks holds that sets whose entries share no few scarce bytes have none, nor has one that folds.
func TestNoLandmarks(t *testing.T) {
	for name, texts := range map[string][]string{
		"letters": {"mkfs", "curl", "wget"},
		"few":     {"a-b", "c-d"},
		"many":    {"a-b", "a_b", "a/b", "a.b"},
		"folded":  {"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48-", "a-b", "c-d"},
	} {
		var set []Entry
		for _, text := range texts {
			set = append(set, literal(text))
		}
		if newLandmarks(newEntries(set)) != nil {
			t.Errorf("%s: %q have landmarks", name, texts)
		}
	}
}
