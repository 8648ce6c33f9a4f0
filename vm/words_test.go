package vm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailiff/vm/match"
)

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
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	return p
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
		encoded, _ := p.MarshalBinary()
		again, err := Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
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
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
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
