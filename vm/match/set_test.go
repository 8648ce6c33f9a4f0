package match

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"bailiff/fuzz/kit/naive"
)

// insideHolds compares looking for one entry with looking at every place, in texts where its scarce byte is
// often. It returns how often the entry was found, and how often only the last resort could find it.
func insideHolds(t *testing.T, report func(string), inside func(e *entry, text string) bool) (found, searched int) {
	const address = "0xabcdef0123456789abcdef0123456789abcdef01"
	check(t, 4000, func(r *rand.Rand) string {
		g := source{r}
		e := Entry{Text: g.oneOf("a", "z", "az", "") + g.globText("az", 6) + g.oneOf("z", "a", "ab")}
		if r.Intn(4) == 0 {
			e = Entry{Text: e.Text + address, Fold: true}
		}
		text := g.globText("aaz", 20) + g.oneOf("", e.Text, strings.ToUpper(e.Text), e.Text[:len(e.Text)/2]) + g.globText("az", 8)
		if r.Intn(2) == 0 && e.Fold {
			text = strings.ReplaceAll(text, "bcdef", "BcDeF")
		}
		loaded, want := newEntries([]Entry{e})[0], naive.Contains(e.Text, e.Fold, false, false, text)
		if want {
			found++
			if strings.Count(text[:len(text)-len(e.Text)], string(loaded.scarce)) > scarceTries {
				searched++
			}
		}
		if got := inside(&loaded, text); got != want {
			report(fmt.Sprintf("%+v in %q is %v", e, text, got))
		}
		return ""
	})
	return found, searched
}

// TestInside holds that the short cut by the scarce byte finds the text in a text.
func TestInside(t *testing.T) {
	found, searched := insideHolds(t, func(wrong string) { t.Error(wrong) }, (*entry).inside)
	if found < 500 || searched < 50 {
		t.Errorf("entries were found %d times, %d times late; the test sees too few", found, searched)
	}
}

// TestInsideNoticed is the canary of TestInside: a short cut that gives up, or that looks in the wrong place, is
// noticed.
func TestInsideNoticed(t *testing.T) {
	for name, inside := range map[string]func(e *entry, text string) bool{
		"gives up after the first place": func(e *entry, text string) bool {
			at := strings.IndexByte(text, e.scarce)
			return at >= int(e.before) && strings.HasPrefix(text[at-int(e.before):], e.text)
		},
		"goes on too far behind": func(e *entry, text string) bool {
			at := strings.IndexByte(text, e.scarce)
			return at >= 0 && e.search(text[at:])
		},
		"takes the wrong byte": func(e *entry, text string) bool {
			wrong := *e
			wrong.before = 0
			return wrong.inside(text)
		},
		"folds nothing": func(e *entry, text string) bool {
			exact := *e
			exact.folded = nil
			return exact.inside(text)
		},
	} {
		noticed := 0
		insideHolds(t, func(string) { noticed++ }, inside)
		if noticed == 0 {
			t.Errorf("%s: the fault is not noticed", name)
		}
	}
}

// TestScarcest holds which byte of a text is looked for.
func TestScarcest(t *testing.T) {
	for text, want := range map[string]int32{"a": 0, "mkfs": 1, "rm -rf": 3, "BEGIN KEY": 0, "see ~/.ssh": 4, "aaa": 0, "curl": 1, "\xff a": 0} {
		if got := scarcest(text); got != want {
			t.Errorf("%q: byte %d, not %d", text, got, want)
		}
	}
}
