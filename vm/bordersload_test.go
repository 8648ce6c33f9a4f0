package vm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// TestHash checks that a program's hash is that of its canonical bytes.
func TestHash(t *testing.T) {
	p := testsInTurn(t, "ice")
	if p.Hash() != sha256.Sum256(p.Canonical()) {
		t.Errorf("the hash is %x", p.Hash())
	}
}

// manyTexts returns texts whose automaton has so many states of 256 bytes: 61 letters and all others, none of them the start of two texts.
func manyTexts(b *Builder, states int) Const {
	const letters, first = 61, '0'
	var entries []match.Entry
	left := states - 1 // without the start
	for i := range letters {
		text := make([]byte, left/(letters-i))
		left -= len(text)
		for k := range text {
			text[k] = byte(first + (i+k)%letters)
		}
		entries = append(entries, match.Entry{Text: string(text)})
	}
	return b.Texts(entries...)
}

// TestAutomataTogether checks that all automata of a program have as many bytes as there may be, and not one state more.
func TestAutomataTogether(t *testing.T) {
	const states = match.MaxMemory / 256
	for more, want := range []string{
		"", "vm: instruction 1 (contains): the program's texts to search for take more than 16777216 bytes of memory; use fewer or shorter ones",
	} {
		b := NewBuilder("")
		end := b.NewLabel()
		b.Test(OpContains, If, b.Field("x"), manyTexts(b, states/4), end)
		b.Test(OpContains, If, b.Field("x"), manyTexts(b, states-states/4+more), end)
		b.Place(end)
		b.End()
		if _, err := b.Program(); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%d states more: %v, want %q", more, err, want)
		}
	}
}

// TestConstantOfManyTests checks that a constant which many tests share counts once for the bound on memory.
func TestConstantOfManyTests(t *testing.T) {
	build := func(limit Limit) (*Program, error) {
		b := NewBuilder("")
		b.Within(limit)
		end, set := b.NewLabel(), b.Texts(literal(strings.Repeat("x", maxText)), literal("y"))
		for _, op := range []Op{OpIn, OpStarts, OpEnds, OpContains, OpIn, OpStarts} {
			b.Test(op, If, b.Field("x"), set, end)
		}
		b.Place(end)
		b.End()
		return b.Program()
	}
	p, err := build(Limit{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := build(Limit{Memory: p.Memory()}); err != nil {
		t.Errorf("as much as the program keeps: %v", err)
	}
	if _, err := build(Limit{Memory: p.Memory() - 1}); err == nil {
		t.Error("a byte less is enough")
	}
}

// TestStoppedRoutes checks that building a program stops at whichever check says so, also between routes.
func TestStoppedRoutes(t *testing.T) {
	build := func(limit Limit) error {
		b := NewBuilder("")
		b.Within(limit)
		end := b.NewLabel()
		b.Test(OpIn, If, b.Field(actionField), b.Texts(literal("a"), literal("b"), literal("c")), end)
		b.Note(b.Rule(Rule{Name: "r"}))
		b.Place(end)
		b.End()
		return second(b.Program())
	}
	asked := 0
	if err := build(Limit{Stop: func() bool { asked++; return false }}); err != nil || asked < 4 {
		t.Fatalf("asked %d times: %v", asked, err)
	}
	for last := range asked {
		n := 0
		if err := build(Limit{Stop: func() bool { n++; return n == last+1 }}); !errors.Is(err, ErrStopped) {
			t.Errorf("told to stop when asked once more than %d times: %v", last, err)
		}
	}
}

// TestWeightsAlike checks that lines of the same weight are sorted by their numbers.
func TestWeightsAlike(t *testing.T) {
	b := NewBuilder("")
	end := b.NewLabel()
	var want []int
	for line := range 20 {
		b.SetSpan(Span{Line: int32(line)})
		b.Test(OpIn, If, b.Field("x"), b.Texts(literal(fmt.Sprintf("text%02d", line))), end)
		want = append(want, line)
	}
	b.Place(end)
	b.End()
	var got []int
	for _, weight := range built(t, b).Weights() {
		got = append(got, weight.Line)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the lines are %v", got)
	}
}

// TestSlotsRefused checks that a builder refuses the first slot past the last one.
func TestSlotsRefused(t *testing.T) {
	for n := range 3 {
		b := NewBuilder("")
		end := b.NewLabel()
		for i := range n + 1 {
			b.Kind(If, uint16(i), Kinds(Null), end)
			if i < n {
				b.Field(fmt.Sprint(i))
			}
		}
		b.Place(end)
		b.End()
		want := fmt.Sprintf("instruction %d: field %d: the program has %d", n, n, n)
		if _, err := b.Program(); err == nil || err.Error() != want {
			t.Errorf("%d fields: %v, want %s", n, err, want)
		}
	}
}

// TestNoRoomBesides checks that a program has no room in its tables besides the rows, since memory counts it.
func TestNoRoomBesides(t *testing.T) {
	b := NewBuilder("")
	end := b.NewLabel()
	for i := range 5 {
		name := fmt.Sprint(i)
		next := b.NewLabel()
		b.Switch(b.Field(name), next, Case{Text: name, To: end})
		b.Place(next)
		b.Test(OpIn, If, b.Field(name), b.Texts(literal(name)), end)
		b.Reserve(b.Counter(Counter{Name: name, Unit: "u", Rule: b.Rule(Rule{Name: name}), Op: Count, Window: Day, Amount: NoSlot, Group: NoSlot, Subgroup: NoSlot}))
	}
	b.Place(end)
	b.End()
	p := built(t, b)
	_, again := reread(t, p)
	for name, p := range map[string]*Program{"built": p, "decoded": again} {
		got := fmt.Sprint(cap(p.fields), cap(p.constants), cap(p.tables), cap(p.counters))
		if want := "5 5 5 5"; got != want {
			t.Errorf("%s: there is room for %s, want %s", name, got, want)
		}
	}
}

// TestEffortOfWays checks that tests of sets cost as much as their way of comparing does, in a set that was made for it.
func TestEffortOfWays(t *testing.T) {
	var entries []match.Entry
	for i := range 100 {
		entries = append(entries, match.Entry{Text: fmt.Sprintf("k%04d", i)})
	}
	for op, by := range map[Op]match.By{OpIn: match.Whole, OpStarts: match.Start, OpEnds: match.End, OpContains: match.Inside, OpScan: match.Each} {
		s := new(match.Set)
		s.Load(entries, 0)
		if _, err := s.Prepare(by); err != nil {
			t.Fatal(err)
		}
		b := NewBuilder("")
		end, set := b.NewLabel(), b.Texts(entries...)
		if op == OpScan {
			b.Scan(b.Field("x"), set, end)
		} else {
			b.Test(op, If, b.Field("x"), set, end)
		}
		b.Place(end)
		b.End()
		e := built(t, b).Effort(0)
		if each, byByte := s.Cost(by); e.Each != each+elementStep || e.PerByte != byByte {
			t.Errorf("%s: %d, and %d for each byte, want %d and %d", op, e.Each, e.PerByte, each+elementStep, byByte)
		}
	}
}

// TestUnitsAreNoPatterns checks that the unit of an amount may be no regular expression, and is not made one.
func TestUnitsAreNoPatterns(t *testing.T) {
	b := NewBuilder("")
	loaded, end := b.NewLabel(), b.NewLabel()
	b.Load(0, b.Field("x"), 6, loaded)
	b.Reject(b.Rule(Rule{Name: "r"}), b.Field("x"))
	b.Place(loaded)
	b.Compare(OpGreater, If, 0, b.Amount(amount.FromUint64(1), 6, "("), end)
	b.Place(end)
	b.End()
	if p := built(t, b); p.constants[0].pattern != nil {
		t.Error("the unit is a pattern")
	}
}

// TestPatternsKept checks that patterns are kept from validating to building as far as there may be bytes of them.
func TestPatternsKept(t *testing.T) {
	p := &Program{}
	most := 0
	for i := range 150 {
		text := fmt.Sprintf("%d(abcdefghij){60}", i)
		prog, err := match.CompilePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		p.constants = append(p.constants, constant{kind: patternConstant, text: text})
		most = max(most, match.PatternMemory(prog, text, false))
	}
	if err := p.checkConstants(); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for i := range p.constants {
		if c := &p.constants[i]; c.prog != nil {
			kept += match.PatternMemory(c.prog, c.text, false)
		}
	}
	if kept > maxKeptProgs || kept <= maxKeptProgs-most {
		t.Errorf("%d bytes are kept, and %d is a bound; a pattern has up to %d", kept, maxKeptProgs, most)
	}
}

// TestRouteSizes checks that a route has the size of its steps and of the cases of its switches.
func TestRouteSizes(t *testing.T) {
	for n := range 4 {
		b := NewBuilder("")
		end := b.NewLabel()
		want := 1
		for i := range n {
			var cases []Case
			for k := range 3*i + 1 {
				cases = append(cases, Case{Text: fmt.Sprint(k), To: end})
			}
			next := b.NewLabel()
			b.Switch(b.Field("x"), next, cases...)
			b.Place(next)
			b.Note(b.Rule(Rule{Name: "r"}))
			want += 2 + len(cases)
		}
		b.Place(end)
		b.End()
		if got := built(t, b).actions.any.size(); got != want {
			t.Errorf("%d switches: the size is %d, want %d", n, got, want)
		}
	}
}

// TestSlotsOfRoutes checks that a route has a bit for each slot, and no word besides.
func TestSlotsOfRoutes(t *testing.T) {
	for _, n := range []int{1, 62, 63, 64, 65, 127, 128, 129} {
		b := NewBuilder("")
		end := b.NewLabel()
		for i := range n {
			b.Kind(If, b.Field(fmt.Sprint(i)), Kinds(Null), end)
		}
		b.Place(end)
		b.End()
		needs := built(t, b).Needs("")
		if want := 1 + (n-1)/64; len(needs) != want || cap(needs) != want {
			t.Errorf("%d slots are in %d words, want %d", n, cap(needs), want)
		}
		for slot := range 300 {
			if needs.Has(uint16(slot)) != (slot < n) {
				t.Errorf("of %d slots slot %d is needed: %v", n, slot, slot >= n)
			}
		}
	}
}

// TestSwitchOfOneCase checks that a switch of one text finds it alone, and one of a start whatever starts with it.
func TestSwitchOfOneCase(t *testing.T) {
	for _, prefix := range []bool{false, true} {
		b := NewBuilder("")
		found, end := b.NewLabel(), b.NewLabel()
		b.Switch(b.Field("x"), end, Case{Text: "ab", Prefix: prefix, To: found})
		b.Place(found)
		b.Deny(b.Rule(Rule{Name: "r"}), Blame{Slot: b.Field("x")}, end)
		b.Place(end)
		b.End()
		p := built(t, b)
		for name, want := range map[string]bool{"": false, "a": false, "ab": true, "abc": prefix, "xab": false} {
			frame := []Value{text(name)}
			if wrong := differs(new(Machine), p, frame); wrong != "" {
				t.Error(wrong)
			}
			if got := new(Machine).Run(p, frame, First).Status == Denied; got != want {
				t.Errorf("%q by a case, a start of texts: %v: it is found: %v", name, prefix, got)
			}
		}
	}
}

// TestNeedsOfCounters checks that a run needs the slots by which a counter counts.
func TestNeedsOfCounters(t *testing.T) {
	b := NewBuilder("")
	c := Counter{Name: "c", Unit: "u", Rule: b.Rule(Rule{Name: "r"}), Op: Sum, Window: Task, Amount: b.Field("amount")}
	c.Group, c.GroupName, c.Subgroup, c.SubgroupName = b.Field("group"), "group", b.Field("subgroup"), "subgroup"
	b.Reserve(b.Counter(c))
	b.End()
	p := built(t, b)
	for slot, name := range p.Fields() {
		if !p.Needs("").Has(uint16(slot)) {
			t.Errorf("the %s is not needed", name)
		}
	}
	if len(p.Fields()) != 3 {
		t.Errorf("the fields are %v", p.Fields())
	}
}

// TestTokensChecked checks which tokens there may be.
func TestTokensChecked(t *testing.T) {
	address := "0x" + strings.Repeat("0a", 20)
	pinned := func(address string) Token { return Token{Symbol: "t", Pins: []Pin{{Address: address}}} }
	for want, tokens := range map[string][]Token{
		"": {
			{Symbol: "é"}, {Symbol: strings.Repeat("a", maxText)}, pinned(address), {Symbol: "u", Pins: []Pin{{Chain: "18446744073709551615", Address: address}}},
			{Symbol: "v", Pins: []Pin{{Chain: "9223372036854775808", Address: address}, {Chain: "0", Address: address}}},
		},
		"is not a symbol in lower case": {{}, {Symbol: "T"}, {Symbol: "aB"}},
		"is not valid UTF-8":            {{Symbol: "\xff"}},
		"a text of 16385 bytes":         {{Symbol: strings.Repeat("a", maxText+1)}},
		"is not an address in lower case": {
			pinned(""), pinned(strings.Repeat("a", len(address))), pinned("x" + address), pinned(address + "x"), pinned(address[1:]), pinned(address[:41]),
			pinned("0x" + strings.Repeat("0A", 20)), pinned("0X" + address[2:]), pinned(address[:41] + "g"),
		},
		"is not the id of a chain": {
			{Symbol: "t", Pins: []Pin{{Chain: "18446744073709551616", Address: address}}}, {Symbol: "t", Pins: []Pin{{Chain: "01", Address: address}}},
			{Symbol: "t", Pins: []Pin{{Chain: "-1", Address: address}}}, {Symbol: "t", Pins: []Pin{{Chain: "x", Address: address}}},
		},
	} {
		for i := range tokens {
			if err := tokens[i].validate(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%.80v: %v, want %q", tokens[i], err, want)
			}
		}
	}
}

// TestTextsDecoded checks that a text of more bytes than it may have is refused where it is read.
func TestTextsDecoded(t *testing.T) {
	for n, want := range map[int]string{
		maxText:     "vm: byte 16392: a number is expected here",
		maxText + 1: "vm: byte 8: a text of 16385 bytes: at most 16384",
	} {
		head := append([]byte(magic+"\x06"), byte(n&0x7f|0x80), byte(n>>7&0x7f|0x80), byte(n>>14))
		if _, err := Decode(append(head, strings.Repeat("a", n)...)); err == nil || err.Error() != want {
			t.Errorf("%d bytes: %v, want %s", n, err, want)
		}
	}
}
