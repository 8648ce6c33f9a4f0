package vm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// built returns the program of a builder.
func built(t testing.TB, b *Builder) *Program {
	t.Helper()
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// reread encodes a program and decodes it.
func reread(t testing.TB, p *Program) (encoded []byte, again *Program) {
	t.Helper()
	encoded, err := p.MarshalBinary()
	if err == nil {
		again, err = Decode(encoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return encoded, again
}

// listedProgram denies what a test of a slot holds for, and says by which words.
func listedProgram(t *testing.T, op Op, set func(*Builder) Const, list *WordList) *Program {
	t.Helper()
	b := NewBuilder("2.0.0")
	b.SetSpan(Span{Start: 1, End: 2, Line: 3})
	done := b.NewLabel()
	b.Words(list)
	b.Test(op, Unless, b.Field("x"), set(b), done)
	b.Deny(b.Rule(Rule{Name: "r", Code: "C", Message: "m"}), Blame{b.Field("x"), true}, done)
	b.Place(done)
	b.Words(nil)
	b.End()
	return built(t, b)
}

// TestCulprit: the word that led to a denial is found by every test of sets, and so it is by a program that was encoded.
func TestCulprit(t *testing.T) {
	words := func(pairs ...string) *WordList {
		l := &WordList{Count: len(pairs) / 2}
		for i := 0; i < len(pairs); i += 2 {
			l.Texts, l.Forms = append(l.Texts, pairs[i]), append(l.Forms, pairs[i+1])
		}
		return l
	}
	for _, c := range []struct {
		op    Op
		set   func(*Builder) Const
		list  *WordList
		value string
		want  string
	}{
		{OpIn, entriesOf("a", "b"), words("A", "a", "B", "b"), "b", "B"},
		{OpContains, entriesOf("rm -rf", "sudo"), words("RM -rf", "rm -rf", "sudo", "sudo"), "x sudo rm -rf", "RM -rf"},
		{OpStarts, entriesOf("/etc/", "/home/"), words("/etc", "/etc", "/home/", "/home"), "/home/x", "/home/"},
		{OpStarts, entriesOf("main", "rel"), words("main*", "main*", "rel*", "rel*"), "release", "rel*"},
		{OpHost, func(b *Builder) Const { return b.Hosts("a.com", ".b.com") }, words("A.com", "a.com", "*.b.com", ".b.com"), "x.b.com", "*.b.com"},
		{OpPath, func(b *Builder) Const { return b.Paths("/etc", "**/.env*") }, words("/etc", "/etc", ".env*", "**/.env*"), "/w/.env.local", ".env*"},
		{OpGlob, func(b *Builder) Const { return b.Globs(match.Mailbox, "eve@x.org", "*@y.org") }, words("Eve@x.org", "eve@x.org", "*@Y.org", "*@y.org"), "a@y.org", "*@Y.org"},
	} {
		p := listedProgram(t, c.op, c.set, c.list)
		encoded, again := reread(t, p)
		if b, _ := again.MarshalBinary(); !bytes.Equal(b, encoded) {
			t.Errorf("%s: another encoding after decoding", c.op)
		}
		for _, p := range []*Program{p, again} {
			for _, frame := range [][]Value{
				{{Kind: String, Text: c.value}},
				{{Kind: List, Elems: []Value{{Kind: String, Text: "none"}, {Kind: String, Text: c.value}}}},
			} {
				var m Machine
				result := m.Run(p, frame, First)
				if len(result.Violations) != 1 {
					t.Fatalf("%s: %q passes", c.op, c.value)
				}
				got, unseen := p.Culprit(&result.Violations[0], frame, enough()), p.Culprit(&result.Violations[0], frame, new(int))
				if got != c.want || unseen != "" {
					t.Errorf("%s: %q is denied by %q, want %q; without a look by %q", c.op, c.value, got, c.want, unseen)
				}
			}
		}
	}
}

// entriesOf adds a constant of these texts.
func entriesOf(all ...string) func(*Builder) Const {
	return func(b *Builder) Const {
		var entries []match.Entry
		for _, text := range all {
			entries = append(entries, match.Entry{Text: text})
		}
		return b.Texts(entries...)
	}
}

// TestWordsRefused: a debug section whose lists are beyond their bounds is no program.
func TestWordsRefused(t *testing.T) {
	set := func(b *Builder) Const { return b.Texts(match.Entry{Text: "a"}) }
	sound := func() *Program {
		return listedProgram(t, OpIn, set, &WordList{Count: 1, Texts: []string{"A"}, Forms: []string{"a"}})
	}
	long := strings.Repeat("x", MaxWord+1)
	for name, change := range map[string]func(*Program){
		"a long word":               func(p *Program) { p.lists[0].Texts[0] = long },
		"an empty word":             func(p *Program) { p.lists[0].Texts[0] = "" },
		"more words than its count": func(p *Program) { p.lists[0].Count = 0 },
		"more allowed than are kept": func(p *Program) {
			p.lists[0] = WordList{Allows: true, Count: 20, Texts: slices.Repeat([]string{"a"}, 11)}
		},
		"an unknown list":        func(p *Program) { p.listed[0].list = 1 },
		"an unknown instruction": func(p *Program) { p.listed[0].pc = 99 },
		"an instruction behind":  func(p *Program) { p.listed[0].pc = uint16(p.Len()) },
		"an instruction twice":   func(p *Program) { p.listed = append(p.listed, p.listed[0]) },
	} {
		p := sound()
		change(p)
		encoded, _ := p.MarshalBinary()
		if _, err := Decode(encoded); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	encoded, _ := sound().MarshalBinary()
	for n := len(encoded) - 1; n > len(sound().Canonical()); n-- {
		if _, err := Decode(encoded[:n]); err == nil {
			t.Errorf("%d of %d bytes are accepted", n, len(encoded))
		}
	}
	allows := listedProgram(t, OpIn, set, &WordList{Allows: true, Count: 1, Texts: []string{"A"}})
	if got := allows.Culprit(&Violation{PC: 1}, []Value{{Kind: String, Text: "a"}}, enough()); got != "" {
		t.Errorf("a list that allows has denied by %q", got)
	}
	if got := fmt.Sprint(allows.Words(1).Texts, allows.Words(0)); got != "[A] <nil>" {
		t.Errorf("the words are %s", got)
	}
}

// TestWordsMemory: the words of lists count as memory that a program keeps live, as decoded as they were built.
func TestWordsMemory(t *testing.T) {
	const words, text = 1000, 40
	list := &WordList{Count: words}
	for i := range words {
		word := fmt.Sprintf("%0*d", text, i)
		list.Texts, list.Forms = append(list.Texts, word), append(list.Forms, "x"+word)
	}
	set := func(b *Builder) Const { return b.Texts(match.Entry{Text: "a"}) }
	bare := listedProgram(t, OpIn, set, nil)
	listed := listedProgram(t, OpIn, set, list)
	encoded, err := listed.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*Program{"built": listed, "decoded": decoded} {
		if more, least := p.Memory()-bare.Memory(), 2*words*text; more < least {
			t.Errorf("%s: %d words add %d bytes, want %d at least", name, words, more, least)
		}
	}
}

// enough is as much to look at as any test needs.
func enough() *int { n := 1 << 20; return &n }

// TestFirst: of a list's elements the first that leads to a denial is named, whichever test finds it.
func TestFirst(t *testing.T) {
	b := NewBuilder("2.0.0")
	b.SetSpan(Span{Start: 1, End: 2, Line: 3})
	done, denied := b.NewLabel(), b.NewLabel()
	b.Words(&WordList{Count: 2, Texts: []string{"A", "B"}, Forms: []string{"a", "b"}})
	b.Test(OpIn, If, b.Field("x"), b.Texts(match.Entry{Text: "a"}), denied)
	b.Test(OpStarts, Unless, b.Field("x"), b.Texts(match.Entry{Text: "b"}), done)
	b.Place(denied)
	b.Deny(b.Rule(Rule{Name: "r", Code: "C", Message: "m"}), Blame{b.Field("x"), true}, done)
	b.Place(done)
	b.Words(nil)
	b.End()
	p := built(t, b)
	value := func(text string) Value { return Value{Kind: String, Text: text} }
	for _, c := range []struct {
		elems []Value
		want  int32
	}{
		{[]Value{value("x"), value("a"), value("b")}, 1},
		{[]Value{value("x"), value("bx"), value("a")}, 1},
		{[]Value{value("x"), {Kind: Invalid}, value("a")}, 1},
		{[]Value{value("b"), {Kind: Invalid}}, 0},
		{[]Value{value("a"), {Kind: Invalid}}, 0},
	} {
		frame := []Value{{Kind: List, Elems: c.elems}}
		var m Machine
		result := m.Run(p, frame, First)
		if len(result.Violations) != 1 {
			t.Fatalf("%v passes", c.elems)
		}
		if got := p.First(&result.Violations[0], frame); got != c.want {
			t.Errorf("of %v element %d is named, want %d", c.elems, got, c.want)
		}
	}
}

// TestAmountTests: denials, holds and notes know which test of an amount they are about, decoded as they were built, and a debug
// section that names other instructions is not a program.
func TestAmountTests(t *testing.T) {
	b := NewBuilder("2.0.0")
	b.SetSpan(Span{Start: 1, End: 2, Line: 3})
	done, loaded, small, asked := b.NewLabel(), b.NewLabel(), b.NewLabel(), b.NewLabel()
	rule := func(name string) uint16 { return b.Rule(Rule{Name: name, Code: "C", Message: "m"}) }
	b.Kind(Unless, b.Field("x"), Kinds(Missing), small)
	b.Deny(rule("missing"), Blame{Slot: b.Field("x")}, done) // 1
	b.Place(small)
	b.Load(1, b.Field("x"), 6, loaded)
	b.Deny(rule("form"), Blame{Slot: b.Field("x")}, done) // 3
	b.Place(loaded)
	b.Compare(OpGreater, Unless, 1, b.Amount(amount.FromUint64(7), 6, "USDC"), asked)
	b.Deny(rule("most"), Blame{Slot: b.Field("x")}, done) // 5
	b.Place(asked)
	b.Compare(OpAtLeast, Unless, 1, b.Amount(amount.FromUint64(5), 6, "USDC"), done)
	b.Hold(rule("ask")) // 7
	b.Place(done)
	b.End()
	p := built(t, b)
	_, again := reread(t, p)
	for _, p := range []*Program{p, again} {
		var got []string
		for pc := range uint16(p.Len()) {
			if test := p.AmountTest(pc); test != nil {
				got = append(got, fmt.Sprintln(pc, test.PC, p.Rule(test.Rule).Name, test.Register, test.Decimals, test.Compares, test.Bound, test.Unit, p.AmountTestAt(test.PC) == test))
			}
		}
		want := []string{"3 2 form 1 6 false 0  true\n", "5 4 most 1 6 true 7 USDC true\n", "7 6 ask 1 6 true 5 USDC true\n"}
		if !slices.Equal(got, want) || p.AmountTestAt(0) != nil {
			t.Errorf("the answers are about %q, want %q", got, want)
		}
	}
	for name, change := range map[string]func(*AmountTest){
		"an unknown instruction":    func(t *AmountTest) { t.Answer = 99 },
		"an instruction behind":     func(t *AmountTest) { t.Answer = uint16(p.Len()) },
		"an answer twice":           func(t *AmountTest) { t.Answer, t.PC = 3, 2 },
		"a test that comes later":   func(t *AmountTest) { t.PC = 6 },
		"an answer before the last": func(t *AmountTest) { t.Answer = 3 },
		"a test of kinds":           func(t *AmountTest) { t.PC = 0 },
		"an answer that is a test":  func(t *AmountTest) { t.Answer, t.PC = 6, 4 },
	} {
		changed := *p
		changed.tests = slices.Clone(p.tests)
		change(&changed.tests[1])
		encoded, _ := changed.MarshalBinary()
		if _, err := Decode(encoded); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
