package match

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"bailiff/fuzz/kit/naive"
)

const someAddress = "0xabcdef0123456789abcdef0123456789abcdef01"

// letters returns n letters, most of them the same.
func (g source) letters(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "aaaaaaab"[g.Intn(8)]
	}
	return string(b)
}

// changed returns a text that differs little from another one, or not at all.
func (g source) changed(text string) string {
	at := g.Intn(len(text))
	if g.Intn(3) == 0 {
		at = len(text) / 2
	}
	switch g.Intn(10) {
	case 8:
		return g.shouted(text)
	case 0:
		return text[:at] + g.oneOf("a", "b", "A", "\x00") + text[at+1:]
	case 1:
		return text[:at]
	case 2:
		return text[at:]
	case 3:
		return text + g.letters(1+g.Intn(9))
	case 4:
		return g.letters(1+g.Intn(9)) + text
	case 5:
		return g.letters(g.Intn(9)) + text + g.letters(g.Intn(3))
	case 6:
		return strings.ToUpper(text[:at]) + text[at:]
	case 7:
		return text[:at] + strings.ToUpper(text[at:])
	}
	return text
}

// shouted returns a text with some letters of its addresses in capitals.
func (g source) shouted(text string) string {
	b := []byte(text)
	for _, start := range Addresses(text) {
		for i := range AddressLength {
			if g.Intn(2) == 0 {
				b[int(start)+i] = upper(b[int(start)+i])
			}
		}
	}
	return string(b)
}

// similar returns entries whose heads, tails and lengths tell few of them apart. Some may have an address.
func (g source) similar(n int, addresses bool) (set []Entry) {
	base, seen := g.letters([]int{7, 8, 9, 15, 16, 17, 18, 1 + g.Intn(20)}[g.Intn(8)]), map[string]bool{}
	for range 4 * n {
		e := Entry{Text: g.changed(base)}
		if addresses && g.Intn(3) == 0 {
			e = g.withAddress()
			if n := len(set); n > 0 && set[n-1].Fold && g.Intn(2) == 0 { // that of the last entry, and what differs by case only
				e = set[n-1]
				e.Text = strings.ToUpper(e.Text[:1]) + e.Text[1:]
			}
		}
		if e.Text != "" && !seen[e.Text] && len(set) < n {
			seen[e.Text] = true
			set = append(set, e)
		}
	}
	return set
}

// withAddress returns an entry with an address, or with digits that are too few for one or too many.
func (g source) withAddress() Entry {
	e := Entry{Text: g.letters(g.Intn(10)) + g.oneOf("x", "X-", "z-", "Z-", "", "x"+someAddress+"-") + someAddress[:41+(g.Intn(5)+3)/4] + g.oneOf("x", "-", "") + g.letters(g.Intn(10))}
	e.Fold = len(Addresses(e.Text)) > 0
	return e
}

// size is that of a set that is looked through in turn, has a table, or has an automaton.
func (g source) size() int {
	return []int{1, 2, 3, 1 + g.Intn(FewEntries), FewEntries, FewEntries + 1, FewSearched, FewSearched + 1, 1 + g.Intn(80)}[g.Intn(9)]
}

// setTests are the tests of sets, with what naive.Contains makes of them: whether entries are at the start and at the end.
var setTests = []struct {
	by         By
	start, end bool
	test       func(s *Set, text string) bool
}{
	{Whole, true, true, (*Set).In},
	{Whole, true, true, func(s *Set, text string) bool { return s.HasLength(text) && s.In(text) }},
	{Whole, true, true, func(s *Set, text string) bool { return s.Few() && s.InFew(text) || !s.Few() && s.In(text) }},
	{Start, true, false, (*Set).Starts},
	{Start, true, false, func(s *Set, text string) bool { return !s.Outgrow(text) && s.Starts(text) }},
	{End, false, true, (*Set).Ends},
	{End, false, true, func(s *Set, text string) bool { return !s.Outgrow(text) && s.Ends(text) }},
	{Inside, false, false, (*Set).Contains},
	{Inside, false, false, func(s *Set, text string) bool { return !s.Outgrow(text) && s.Contains(text) }},
	{Inside, false, false, func(s *Set, text string) bool { return s.One() && s.ContainsOne(text) || !s.One() && s.Contains(text) }},
}

// TestSimilar holds that sets of similar entries mean what package naive says, by every way to test them.
func TestSimilar(t *testing.T) {
	held := map[By]int{}
	check(t, 700, func(r *rand.Rand) string {
		g := source{r}
		set := g.similar(g.size(), r.Intn(2) == 0)
		for i := range setTests {
			test := &setTests[i]
			s := prepared(t, test.by, 0, set...)
			for _, by := range []By{Whole, Start, End, Inside, Each} { // one set serves several tests
				if _, err := s.Prepare(by); err != nil {
					return err.Error()
				}
			}
			if s.One() != (len(set) == 1) || test.by == Whole && s.Few() != (len(set) <= FewEntries) {
				return fmt.Sprintf("%d entries: one %v, few %v", len(set), s.One(), s.Few())
			}
			for range 6 {
				text, want := g.changed(set[g.Intn(len(set))].Text), false
				for _, e := range set {
					want = want || naive.Contains(e.Text, e.Fold, test.start, test.end, text)
				}
				if want {
					held[test.by]++
				}
				if got := test.test(s, text); got != want {
					return fmt.Sprintf("way %d, test %d: %q in %+v is %v", test.by, i, text, set, got)
				}
			}
		}
		return ""
	})
	for i := range setTests {
		if held[setTests[i].by] < 500 {
			t.Errorf("tests held %v times; the test sees too few", held)
		}
	}
}

// TestScans holds that a scan of several texts finds each entry that is in one of them, and the first element that has it.
func TestScans(t *testing.T) {
	found := 0
	var hits Hits
	check(t, 1500, func(r *rand.Rand) string {
		g := source{r}
		set := g.similar(g.size(), r.Intn(2) == 0)
		s := prepared(t, Each, 0, set...)
		hits.Reset(len(set))
		if hits.Any() {
			return "hits are there after a reset"
		}
		var texts []string
		for element := range 1 + r.Intn(3) {
			texts = append(texts, g.changed(set[g.Intn(len(set))].Text))
			s.Scan(texts[element], &hits, int32(element))
		}
		some := false
		for i, e := range set {
			first := -1
			for element := len(texts) - 1; element >= 0; element-- {
				if naive.Contains(e.Text, e.Fold, false, false, texts[element]) {
					first, some = element, true
				}
			}
			if hits.Has(uint16(i)) != (first >= 0) || first >= 0 && hits.Element(uint16(i)) != int32(first) {
				return fmt.Sprintf("entry %d of %+v in %q: found %v", i, set, texts, hits.Has(uint16(i)))
			}
			if first >= 0 {
				found++
			}
		}
		if hits.Any() != some {
			return fmt.Sprintf("%+v in %q: any is %v", set, texts, hits.Any())
		}
		return ""
	})
	if found < 1000 {
		t.Errorf("entries were found %d times; the test sees too few", found)
	}
}

// TestAutomata holds that automata of any size find what naive.Contains finds, and take the memory that they say.
func TestAutomata(t *testing.T) {
	held := map[bool]int{}
	check(t, 1500, func(r *rand.Rand) string {
		g := source{r}
		entries, fold := g.similar(1+r.Intn(8), true), r.Intn(2) == 0
		set, chosen := newEntries(entries), []int(nil)
		beginnings := map[string]bool{"": true}
		for i := range set {
			if (set[i].folded != nil) == fold {
				chosen = append(chosen, i)
				text := set[i].text
				if fold {
					text = strings.ToLower(text)
				}
				for n := range text {
					beginnings[text[:n+1]] = true
				}
			}
		}
		a, err := newAutomaton(set, chosen, fold)
		if err != nil || (a == nil) != (len(chosen) == 0) {
			return fmt.Sprintf("%v: %v", chosen, err)
		}
		if a == nil {
			return ""
		}
		if states := len(beginnings); len(a.ending) != states || cap(a.rows) != states*int(a.columns) || a.grown() != states*(4*int(a.columns)+8) {
			return fmt.Sprintf("%+v: %d states, %d bytes; want %d states", entries, len(a.ending), a.grown(), len(beginnings))
		}
		text := g.changed(entries[r.Intn(len(entries))].Text) + g.oneOf("", g.changed(entries[0].Text))
		var hits Hits
		hits.Reset(len(set))
		a.scan(text, &hits, 3)
		some := false
		for i, e := range entries {
			want := (set[i].folded != nil) == fold && naive.Contains(e.Text, e.Fold, false, false, text)
			if some = some || want; hits.Has(uint16(i)) != want {
				return fmt.Sprintf("entry %d of %+v in %q: found %v", i, entries, text, hits.Has(uint16(i)))
			}
		}
		if got := a.contains(text); got != some {
			return fmt.Sprintf("%+v in %q: %v", entries, text, got)
		}
		if some {
			held[fold]++
		}
		return ""
	})
	if min(held[false], held[true]) < 30 {
		t.Errorf("entries were found %v times; the test sees too few", held)
	}
}

// TestFilters holds that rare bytes and bigrams miss nothing that is in a text, find nothing that is not, and leave entries only where they gave up.
func TestFilters(t *testing.T) {
	var held, gaveUp [2]int
	check(t, 1500, func(r *rand.Rand) string {
		g := source{r}
		set := g.filtered()
		text := g.among(set)
		want := uint32(0)
		for i := range set {
			if naive.Contains(set[i].text, set[i].folded != nil, false, false, text) {
				want |= 1 << i
			}
		}
		rare, pairs := newRareBytes(set), newBigrams(set)
		for i, search := range []func(string, bool) (uint32, uint32){rare.search, pairs.search} {
			if i == 0 && rare == nil || i == 1 && pairs == nil {
				continue
			}
			in, left := search(text, false)
			if in&^want != 0 || (in|left)&want != want || in&left != 0 || left>>len(set) != 0 {
				return fmt.Sprintf("filter %d: in %q of %+v are %b, and perhaps %b, want %b", i, text, set, in, left, want)
			}
			one, left := search(text, true)
			if one&^want != 0 || (one != 0) != (want != 0) && left == 0 || one != 0 && left != 0 {
				return fmt.Sprintf("filter %d: in %q of %+v is %b, and perhaps %b, want one of %b", i, text, set, one, left, want)
			}
			if held[i] += int(in & 1); left != 0 {
				gaveUp[i]++
			}
		}
		return ""
	})
	if min(held[0], held[1], gaveUp[0], gaveUp[1]) < 20 {
		t.Errorf("entries were found %v times, and texts given up %v; the test sees too few", held, gaveUp)
	}
}

// filtered returns entries for rare bytes, for bigrams, or for both.
func (g source) filtered() []entry {
	var entries []Entry
	step, folds := g.Intn(3), g.Intn(2) == 0
	for i := range []int{3, 3 + g.Intn(6), 20, 21, FewSearched}[g.Intn(5)] {
		e := Entry{Text: g.oneOf("", "a", "ab", "ba") + string("-_KZ-"[g.Intn(5)]) + g.letters(step+g.Intn(3)) + string(rune('a'+i%26)) + g.oneOf("", "-", "b")}
		if folds && g.Intn(8) == 0 {
			e = g.withAddress()
		} else if folds && g.Intn(8) == 0 {
			e = Entry{Text: "0x" + strings.Repeat(g.oneOf("abcde", "fedcb"), 8), Fold: true}
		}
		entries = append(entries, e)
	}
	return newEntries(entries)
}

// among returns a text that has some of the entries, or most of one.
func (g source) among(set []entry) string {
	b := new(strings.Builder)
	for range g.Intn(4) {
		b.WriteString(g.globText("aaab-_K\xff", 40))
		text := set[g.Intn(len(set))].text
		b.WriteString(g.oneOf(text, text, text[1:], text[:len(text)-1], strings.ToUpper(text), strings.ToLower(text), g.shouted(text), g.shouted(text)))
	}
	b.WriteString(strings.Repeat("c", g.Intn(3)*g.Intn(300)))
	return b.String()
}

// TestHosts holds that sets of names cover what each of them covers.
func TestHosts(t *testing.T) {
	if CoversHost(".a", ".a") || CoversHost("a", ".a") || CoversHost("a", "ba") || !CoversHost("a", "b.a") || !CoversHost("a", "a") || CoversHost(".a", "a") || !CoversHost(".a", "b.a") {
		t.Error("a name covers what it should not, or does not cover what it should")
	}
	held := 0
	check(t, 1500, func(r *rand.Rand) string {
		g := source{r}
		name := func() string {
			labels := []string{g.oneOf("a", "b", "aa", "ab", "abcdefgh"), g.oneOf("a", "b", "ba", "x"), g.oneOf("a", "b", "com")}
			return strings.Join(labels[g.Intn(3):], ".")
		}
		var set []Entry
		for range g.size() {
			set = append(set, Entry{Text: g.oneOf("", "", ".") + name()})
		}
		s := prepared(t, Host, 0, set...)
		for range 6 {
			host, want := g.oneOf("", "", ".", "a.", "b")+name()+g.oneOf("", "", "", ".", "x"), false
			for _, e := range set {
				below := strings.HasSuffix(host, "."+strings.TrimPrefix(e.Text, ".")) && host[0] != '.'
				one := below || host == e.Text && e.Text[0] != '.'
				if got := CoversHost(e.Text, host); got != one && host[0] != '.' {
					return fmt.Sprintf("%q is covered by %q: %v", host, e.Text, got)
				}
				want = want || one
			}
			if want {
				held++
			}
			if got := s.Host(host); got != want && host[0] != '.' {
				return fmt.Sprintf("%q in %+v is %v", host, set, got)
			}
		}
		return ""
	})
	if held < 500 {
		t.Errorf("names were covered %d times; the test sees too few", held)
	}
}
