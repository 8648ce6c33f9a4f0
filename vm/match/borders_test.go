package match

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
)

// entriesOf returns entries of texts; those with an address fold.
func entriesOf(texts ...string) []entry {
	var from []Entry
	for _, text := range texts {
		from = append(from, Entry{Text: text, Fold: len(Addresses(text)) > 0})
	}
	return newEntries(from)
}

// TestScarcity checks that a byte further down the list counts as scarcer, and a byte outside the list as the scarcest.
func TestScarcity(t *testing.T) {
	for c := range 256 {
		want := strings.IndexByte(commonBytes, byte(c))
		if want < 0 {
			want = len(commonBytes)
		}
		if got := scarcity(byte(c)); got != want {
			t.Errorf("%q has the scarcity %d, want %d", byte(c), got, want)
		}
	}
}

// TestFilterSizes checks for how many entries there are filters, and how many bytes a step of bigrams has.
func TestFilterSizes(t *testing.T) {
	for n, want := range map[int]int{0: 0, 2: 0, 3: 3, 16: 3, 21: 3, 22: 2, FewSearched: 2, FewSearched + 1: 0} {
		set := entriesOf(slices.Repeat([]string{"long-text"}, n)...)
		step := 0
		if pairs := newBigrams(set); pairs != nil {
			step = pairs.step
		}
		if rare := newRareBytes(set); step != want || (rare != nil) != (want > 0) {
			t.Errorf("%d entries: bigrams step by %d, want %d; there are rare bytes: %v", n, step, want, rare != nil)
		}
	}
}

// TestBigramPlaces checks that an entry is known by its scarcest bytes that follow each other, and its pairs by these bytes alone.
func TestBigramPlaces(t *testing.T) {
	texts := []string{"kubectl-x", "-kubectl", "   kube   ", "abcdEFGH", "ab~cd", "x " + someAddress, "    ", "aaaZ", "Zaaa", "aeaZeaee~aae"}
	p := newBigrams(entriesOf(texts...))
	rank := func(text string) (sum int) {
		for i := range len(text) {
			sum += scarcity(text[i])
		}
		return sum
	}
	var first, second [256]uint64
	for n, text := range texts {
		most := 0
		for i := range len(text) - p.step {
			most = max(most, rank(text[i:i+p.step+1]))
		}
		at := int(p.at[n*p.step].before)
		if rank(text[at:at+p.step+1]) != most {
			t.Errorf("%q is known by %q", text, text[at:at+p.step+1])
		}
		for i := range p.step {
			k := n*p.step + i
			if p.at[k] != (bigramPlace{int32(n), int32(at + i)}) {
				t.Errorf("%q: pair %d is of entry %d from %d", text, i, p.at[k].entry, p.at[k].before)
			}
			both := []string{text}
			if p.set[n].folded != nil {
				both = append(both, strings.ToUpper(text))
			}
			for _, text := range both {
				first[text[at+i]] |= 1 << k
				second[text[at+i+1]] |= 1 << k
			}
		}
	}
	if p.first != first || p.second != second {
		t.Error("pairs have other bytes than those of their entries")
	}
}

// TestBigramIndex checks that the pairs of bytes are divided evenly among the places of the first look.
func TestBigramIndex(t *testing.T) {
	var places [1 << mayBits]int
	for pair := range 1 << 16 {
		places[mayIndex(byte(pair>>8), byte(pair))]++
	}
	for place, pairs := range places {
		if pairs != 1<<16/len(places) {
			t.Fatalf("%d pairs have the place %d", pairs, place)
		}
	}
}

// TestBigramSkip checks that a pass goes by single steps to where a pair may be, however many it looks at in one round.
func TestBigramSkip(t *testing.T) {
	p := newBigrams(entriesOf("a~^b", "c~^d", "e~^f"))
	for n := range 24 {
		for at := range n + 1 {
			text := strings.Repeat("-", at) + "~^"[:min(2, n-at)] + strings.Repeat("-", max(n-at-2, 0))
			for from := 1; from <= len(text); from++ {
				want := from
				for want < len(text) && !p.may[mayIndex(text[want-1], text[want])] {
					want += p.step
				}
				if got := p.skip(text, from); got != want {
					t.Errorf("%q from %d: goes on to %d, want %d", text, from, got, want)
				}
			}
		}
	}
}

// TestBigramTries checks after how many comparisons in vain bigrams give up: neither an entry that is found counts, nor one that has but one
// byte of a pair.
func TestBigramTries(t *testing.T) {
	p := newBigrams(entriesOf("~^a", "~!b", "#^c"))
	all := uint32(1<<len(p.set) - 1)
	for n := range maxBigramTries + 3 {
		for _, test := range []struct {
			text     string
			in, left uint32
		}{
			{strings.Repeat("~^--", n), 0, all},
			{strings.Repeat("~^--", n) + "~!b", 1 << 1, all},
			{"~^a-" + strings.Repeat("~^--", 2*n), 1 << 0, 0},
			{"~!b-" + strings.Repeat("~!--", 2*n), 1 << 1, 0},
		} {
			if n >= maxBigramTries && test.left != 0 {
				test.in = 0
			} else {
				test.left = 0
			}
			if in, left := p.search(test.text, false); in != test.in || left != test.left {
				t.Errorf("%q: found %b and left %b, want %b and %b", test.text, in, left, test.in, test.left)
			}
		}
	}
}

// TestBestRareByte checks that the byte is taken which most entries have, of these the scarcest, and from wherever it is in them.
func TestBestRareByte(t *testing.T) {
	for name, texts := range map[string][]string{
		"at the start":            {"-a", "-b", "-c"},
		"in most":                 {"a~", "b-~", "c-", "d-"},
		"the scarcest":            {"a-.~_", "b-.~_", "c-.~_"},
		"scarce but in one":       {"~a", "~-", "-b", "-c", "Kd-"},
		"the scarcest is first":   {"a\x01-", "b\x01-"},
		"the scarcest is between": {"a-=.", "b-=."},
		"none":                    {"ab", "cd"},
		"one more at a time":      {"-", "-.", "-._", "_", "_", "_"},
	} {
		set := entriesOf(texts...)
		have := func(c byte) (bits uint32) {
			for i := range set {
				if scarcity(c) >= scarcity('.') && strings.IndexByte(texts[i], c) >= 0 {
					bits |= 1 << i
				}
			}
			return bits
		}
		best, having := bestRareByte(set, 1<<len(set)-1)
		if having != have(best) {
			t.Errorf("%s: %b have %q, want %b", name, having, best, have(best))
		}
		for c := range 256 {
			n, most := bits.OnesCount32(have(byte(c))), bits.OnesCount32(having)
			if n > most || n == most && n > 0 && scarcity(byte(c)) > scarcity(best) {
				t.Errorf("%s: %q is better than %q", name, byte(c), best)
			}
		}
	}
}

// TestRareTries checks how many rare bytes are looked at: a few, and one more for so many bytes of text. A rare byte that is not there is none
// of them.
func TestRareTries(t *testing.T) {
	l := newRareBytes(entriesOf("a-b", "c_d", "e_f"))
	if len(l.bytes) != 2 {
		t.Fatal("there are not two rare bytes")
	}
	for _, length := range []int{40, rareSpacing * (rareSpacing + 1)} {
		for _, c := range l.bytes {
			for n := range length/rareSpacing + freeRare + 3 {
				text := strings.Repeat(string(c), n)
				text += strings.Repeat("x", length-len(text))
				want := uint32(0)
				if n > length/rareSpacing+freeRare {
					want = 1<<len(l.set) - 1
				}
				if in, left := l.search(text, false); in != 0 || left != want {
					t.Errorf("%d of %q in %d bytes: found %b and left %b, want %b", n, c, length, in, left, want)
				}
			}
		}
	}
}

// TestRareBytesAlike checks that entries are found of which all that there may be have the same bytes around their rare one.
func TestRareBytesAlike(t *testing.T) {
	for n := 3; n <= FewSearched; n++ {
		var texts []string
		for i := range n {
			texts = append(texts, fmt.Sprintf("a-b%02d", i))
		}
		l := newRareBytes(entriesOf(texts...))
		for i, text := range texts {
			if in, left := l.search("x"+text, false); in != 1<<i || left != 0 {
				t.Errorf("%q of %d: found %b and left %b", text, n, in, left)
			}
		}
	}
}

// TestLengths checks what the lengths of entries tell of a text: all of its length, but that long ones are alike.
func TestLengths(t *testing.T) {
	const long = 63
	for entry := 1; entry < 70; entry++ {
		s := prepared(t, Whole, 0, Entry{Text: strings.Repeat("x", entry)})
		for n := range 70 {
			text := strings.Repeat("x", n)
			if got := s.HasLength(text); got != (min(n, long) == min(entry, long)) {
				t.Errorf("an entry of %d bytes, a text of %d: it has the length: %v", entry, n, got)
			}
			if got := s.Outgrow(text); got != (n < min(entry, long)) {
				t.Errorf("an entry of %d bytes, a text of %d: it is longer: %v", entry, n, got)
			}
		}
	}
}

// TestGlobTable checks that many patterns without a star are looked up, as their cost says.
func TestGlobTable(t *testing.T) {
	for n, want := range map[int]bool{FewEntries: true, FewEntries + 1: false} {
		if s := prepared(t, Glob, Mailbox, numbered(n, "k%d")...); s.Few() != want {
			t.Errorf("%d patterns without a star are few: %v", n, s.Few())
		}
	}
}

// TestTableWays checks that few cases are looked at in turn, by their heads, and more are halved.
func TestTableWays(t *testing.T) {
	for n, want := range map[int]uint16{fewCases: 0, fewCases + 1: 7} {
		var cases []Case
		for _, e := range numbered(n, "k%02d") {
			cases = append(cases, Case{Text: e.Text, Target: 7})
		}
		tab := Table{Cases: cases}
		tab.Build()
		for i := range tab.Cases {
			tab.Cases[i].head = 0 // which is none, so that looking in turn finds nothing
		}
		if got := tab.Find("k03"); got != want {
			t.Errorf("one of %d cases is found by halving: %v", n, got != 0)
		}
	}
}

// TestHitsRoom checks that hits keep their room, which is a bit for each entry in words.
func TestHitsRoom(t *testing.T) {
	for n, want := range map[int]int{1: 1, 63: 1, 64: 1, 65: 2, 128: 2, 129: 3} {
		var h Hits
		h.Reset(n)
		if len(h.found) != want || len(h.elements) != n {
			t.Errorf("%d entries take %d words and %d elements, want %d and %d", n, len(h.found), len(h.elements), want, n)
		}
		if made := testing.AllocsPerRun(5, func() { h.Reset(n) }); made != 0 {
			t.Errorf("%d entries: %v allocations for room that is there", n, made)
		}
	}
}

// TestPathPairs checks that two bytes tell a path from patterns without a call, also where it has but these two or a pattern has.
func TestPathPairs(t *testing.T) {
	var p prefixes
	for _, pattern := range []string{"ab", "/etc"} {
		p.add(pattern)
	}
	for path, want := range map[string]bool{
		"": true, "a": true, "ab": true, "ab/c": true, "ac": false, "b/": false, "/e": true, "/etc": true, "/var": false, "x/y": false,
	} {
		if got := p.mayCover(path); got != want {
			t.Errorf("%q may be covered: %v", path, got)
		}
	}
	// Whichever of the bytes differs by less than the bits are, the bit differs.
	for same := range 256 {
		var first, second uint64
		for i := range 64 {
			first |= pairBit(string([]byte{byte('0' + i), byte(same)}))
			second |= pairBit(string([]byte{byte(same), byte('0' + i)}))
		}
		if ^first|^second != 0 {
			t.Fatalf("pairs with %q have the bits %x and %x", byte(same), first, second)
		}
	}
}

// TestNoPaths checks what testing paths costs before there are any.
func TestNoPaths(t *testing.T) {
	if each, byByte := new(Set).Cost(Path); each != 0 || byByte != 2 {
		t.Errorf("no paths cost %d, and %d for each byte", each, byByte)
	}
}

// TestLookupCosts checks the cost of looking up in tables of many entries: the bounds on a program's cost decide whether a policy is compiled,
// everywhere alike.
func TestLookupCosts(t *testing.T) {
	for _, test := range []struct {
		by     By
		format string
		n      int
		each   int
	}{
		{Whole, "k%d", 100, 8},
		{Whole, "k%d", 1000, 24},
		{Whole, "%08d", 100, 9},
		{Whole, "%08d", 1000, 12},
		{Whole, "key-%04d", 100, 12},
		{Whole, "key-%04d", 1000, 12},
		{Whole, "kk%06d", 100, 9},
		{Whole, "kk%06d", 1000, 12},
		{Whole, "%016d", 100, 12},
		{Whole, "%016d", 1000, 16},
		{Whole, "name-%d-of-a-key", 100, 24},
		{Whole, "name-%d-of-a-key", 1000, 60},
		{Whole, "%07d-0123456789", 100, 12},
		{Whole, "%07d-0123456789", 1000, 16},
		{Whole, "%025d", 100, 15},
		{Whole, "%025d", 1000, 20},
		{Start, "k%04d", 100, 4},
		{Start, "k%04d", 1000, 6},
		{Start, "%d-key", 100, 16},
		{Start, "%d-key", 1000, 24},
		{End, "k%04d", 100, 6},
		{End, "k%04d", 1000, 8},
		{End, "%d-key", 100, 8},
		{End, "%d-key", 1000, 18},
	} {
		s := prepared(t, test.by, 0, numbered(test.n, test.format)...)
		if each, _ := s.Cost(test.by); each != test.each {
			t.Errorf("way %d of %d entries like %s: %d, want %d", test.by, test.n, test.format, each, test.each)
		}
	}
}

// TestLookupSpread checks that texts which differ in any one byte are spread over a table, whose size is bounded by that of the set.
func TestLookupSpread(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 15, 16, 17, 24, 25, 26, 33, 40} {
		for at := range n {
			var set []Entry
			for c := byte(' '); c < ' '+32; c++ {
				text := []byte(strings.Repeat("x", n))
				text[at] = c
				set = append(set, Entry{Text: string(text)})
			}
			for _, by := range []By{Whole, Start, End} {
				l := newLookup(newEntries(set), by)
				used := 0
				for _, bucket := range l.buckets {
					used += min(1, int(bucket))
				}
				if used < len(set)/2 {
					t.Errorf("way %d: %d texts of %d bytes that differ in byte %d have %d places", by, len(set), n, at, used)
				}
			}
		}
	}
	for n := 9; n < 200; n++ {
		if l := newLookup(newEntries(numbered(n, "k%d")), Whole); len(l.buckets) < 2*n || len(l.buckets) >= 4*n {
			t.Errorf("%d entries have %d places", n, len(l.buckets))
		}
	}
}

// TestGuardBits checks that a guard tells texts by each bit of four bytes, but for those that tell small letters from capitals.
func TestGuardBits(t *testing.T) {
	for bit := range 64 {
		if same := guardBit(1<<bit) == guardBit(0); same != (bit%8 == 5) {
			t.Errorf("bit %d makes no difference: %v", bit, same)
		}
	}
	for n, want := range map[int]uint8{1: 56, 3: 40, 4: 32, 5: 32, 20: 32} {
		if g := NewGuard(End, prepared(t, End, 0, Entry{Text: strings.Repeat("x", n)})); g.without != want {
			t.Errorf("a guard of %d bytes leaves out %d bits, want %d", n, g.without, want)
		}
	}
}

// TestCoverAsksBoth checks that a path is compared with no pattern that is not known to share its second byte.
func TestCoverAsksBoth(t *testing.T) {
	for _, text := range []string{"ab", "/etc"} {
		var p prefixes
		p.add(text)
		if !p.cover(text) {
			t.Errorf("%q does not cover itself", text)
		}
		p.second[text[1]] = 0
		if p.cover(text) {
			t.Errorf("%q is compared, whose second byte no pattern has", text)
		}
	}
}

// TestScanMarked checks that a scan looks for entries in no state without a mark.
func TestScanMarked(t *testing.T) {
	set := entriesOf("ab", "bc", "abcd")
	a, err := newAutomaton(set, []int{0, 1, 2}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		var hits Hits
		hits.Reset(len(set))
		if a.scan("xabcd", &hits, 0); hits.Any() != want {
			t.Errorf("something is found: %v, want %v", hits.Any(), want)
		}
		for i := range a.rows {
			a.rows[i] &^= marked
		}
	}
}

// TestFiltersInTurn checks which filter is asked: rare bytes where there are any, then bigrams in a short text where something is left, and
// entry by entry the rest.
func TestFiltersInTurn(t *testing.T) {
	set := entriesOf("a-bc", "d-ef", "g-hi")
	blindRare, blindPairs := newRareBytes(set), newBigrams(set)
	blindRare.bytes, blindPairs.may = nil, [1 << mayBits]bool{} // which find nothing and leave nothing
	tries := strings.Repeat("-", 20)
	pad := func(text string, n int) string { return strings.Repeat("x", n-len(text)) + text }
	short := bigramsPay * len(set)
	for name, test := range map[string]struct {
		s    searcher
		text string
		want uint32
	}{
		"rare bytes are asked":            {searcher{few: set, rare: blindRare}, "a-bc", 0},
		"rare bytes left nothing":         {searcher{few: set, rare: newRareBytes(set), bigrams: blindPairs}, "a-bc", 1},
		"rare bytes left all":             {searcher{few: set, rare: newRareBytes(set), bigrams: blindPairs}, tries + "a-bc", 0},
		"bigrams are asked":               {searcher{few: set, bigrams: blindPairs}, "a-bc", 0},
		"in a text that is just short":    {searcher{few: set, bigrams: blindPairs}, pad("a-bc", short), 0},
		"but not in a text that is not":   {searcher{few: set, bigrams: blindPairs}, pad("a-bc", short+1), 1},
		"entry by entry, without filters": {searcher{few: set}, "a-bc d-ef", 3},
	} {
		if got := test.s.fewIn(test.text, false); got != test.want {
			t.Errorf("%s: %b are found, want %b", name, got, test.want)
		}
	}
}

// TestRareBytesBeside checks that the bytes beside a rare one are looked at wherever it is, but at the ends of the text.
func TestRareBytesBeside(t *testing.T) {
	for _, test := range []struct {
		texts          []string
		text           string
		before, behind bool // whether it makes a difference which entries have these bytes
	}{
		{[]string{"a-b", "c-d", "e-f"}, "a-b", true, true},
		{[]string{"-ab", "-cd", "-ef"}, "-ab", false, true},
		{[]string{"ab-", "cd-", "ef-"}, "ab-", true, false},
	} {
		l := newRareBytes(entriesOf(test.texts...))
		if in, _ := l.search(test.text, false); in != 1 {
			t.Errorf("%q is not found", test.text)
		}
		blind := *l
		blind.before = [256]uint32{}
		if in, _ := blind.search(test.text, false); (in == 0) != test.before {
			t.Errorf("%q: the byte before makes no difference", test.text)
		}
		blind = *l
		blind.behind = [256]uint32{}
		if in, _ := blind.search(test.text, false); (in == 0) != test.behind {
			t.Errorf("%q: the byte behind makes no difference", test.text)
		}
	}
}
