package vm

import (
	"bytes"
	"math/rand"
	"strings"
	"testing"

	"bailiff/vm/match"
)

// TestDecodeRefuses holds that a program has one encoding.
func TestDecodeRefuses(t *testing.T) {
	const text = "machine 6\npolicy \"\"\nfield \"a\"\n0: kind if \"a\" null @1\n1: end\n"
	p, err := Assemble(text)
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := p.MarshalBinary()
	p.debug = []Span{{1, 2, 3}, {4, 9, 2}}
	debug, _ := p.MarshalBinary()
	spans := debug[:len(debug)-3] // before the lists of words and the tests of amounts, of which there are none
	for n := range debug {
		if _, err := Decode(debug[:n]); (err == nil) != (n == len(plain)) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	edit := func(at int, with ...byte) []byte {
		return append(append(bytes.Clone(plain[:at]), with...), plain[at+1:]...)
	}
	globs := func(style match.GlobStyle) []byte {
		p := &Program{fields: []string{"a"}, constants: []constant{{kind: globsConstant, style: style, entries: []match.Entry{{Text: "*"}}}},
			code: []Instruction{{Op: OpGlob, D: 1}, {Op: OpEnd}}}
		return p.appendCanonical(nil)
	}
	if _, err := Decode(globs(match.Dotted)); err != nil {
		t.Error(err)
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"another magic":       {edit(0, 'x'), "not a program"},
		"another machine":     {edit(4, 1), "machine version 1"},
		"a padded length":     {edit(5, 0x80, 0x00), "shortest form"},
		"an endless number":   {edit(5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "a number is expected"},
		"a huge table":        {edit(6, 0xff, 0xff, 0x7f), "rows are announced"},
		"a huge text":         {edit(5, 0xff, 0xff, 0x7f), "a text of"},
		"an unknown kind":     {edit(10, 1, 9), "not a kind of constant"},
		"an unknown style":    {globs(match.GlobStyleCount), "not a style"},
		"no style":            {globs(0), "not a style"},
		"a byte behind":       {append(bytes.Clone(plain), 0), "cut off"},
		"a byte behind debug": {append(bytes.Clone(debug), 0), "follow the program"},
		"a padded offset":     {append(bytes.Clone(spans[:len(spans)-1]), spans[len(spans)-1]|0x80, 0), "shortest form"},
		"too far an offset":   {append(bytes.Clone(spans[:len(spans)-1]), 0xfe, 0xff, 0xff, 0xff, 0x7f, 0, 0), "32 bits"},
	} {
		if _, err := Decode(test.data); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	again, err := Decode(debug)
	if err != nil || again.Span(1) != (Span{4, 9, 2}) || again.Hash() != p.Hash() {
		t.Errorf("with debug section: %v, span %v", err, again.Span(1))
	}
}

// TestBuilderRefuses holds that a builder reports what its caller did wrong.
func TestBuilderRefuses(t *testing.T) {
	rule := func(b *Builder) uint16 { return b.Rule(Rule{Name: "r"}) }
	for name, test := range map[string]struct {
		build func(b *Builder)
		want  string
	}{
		"a label without a place":   {func(b *Builder) { b.Jump(b.NewLabel()); b.End() }, "never placed"},
		"a label behind":            {func(b *Builder) { l := b.Here(); b.Note(rule(b)); b.Jump(l) }, "jumps go forward"},
		"a label placed twice":      {func(b *Builder) { b.Place(b.Here()); b.End() }, "placed twice"},
		"another builder's label":   {func(b *Builder) { b.Jump(7); b.End() }, "never placed"},
		"an operation without text": {func(b *Builder) { b.Test(OpKind, If, b.Field("a"), 0, b.NewLabel()) }, "not a test of texts"},
		"no comparison":             {func(b *Builder) { b.Compare(OpIn, If, 0, 0, b.NewLabel()) }, "not a comparison"},
		"a third register":          {func(b *Builder) { b.Load(2, b.Field("a"), 0, b.NewLabel()) }, "no 2"},
		"two counters of one name": {func(b *Builder) {
			b.Counter(Counter{Name: "c", Window: Day})
			b.Counter(Counter{Name: "c", Window: Hour})
		}, "two different counters"},
		"a hit of another set": {func(b *Builder) { b.Hit(If, b.Texts(literal("a")), literal("b"), b.NewLabel()) }, "does not hold"},
		"a hit of no set":      {func(b *Builder) { b.Hit(If, 0, literal("b"), b.NewLabel()) }, "does not hold"},
		"a rule out of range":  {func(b *Builder) { b.Note(3); b.End() }, "rule 3: the program has 0"},
		"nothing":              {func(*Builder) {}, "0 instructions"},
		"too many instructions": {func(b *Builder) {
			for range MaxInstructions {
				b.Note(rule(b))
			}
			b.End()
		}, "65536 instructions"},
		"too many texts to search for": {func(b *Builder) {
			r := rand.New(rand.NewSource(1))
			entries := make([]match.Entry, 2000)
			for i := range entries {
				text := make([]byte, 200)
				for j := range text {
					text[j] = byte(' ' + r.Intn(90))
				}
				entries[i].Text = string(text)
			}
			over := b.NewLabel()
			b.Test(OpContains, If, b.Field("a"), b.Texts(entries...), over)
			b.Place(over)
			b.End()
		}, "bytes of memory"},
	} {
		b := NewBuilder("")
		test.build(b)
		if _, err := b.Program(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestBuilderOrder holds that the bytes depend on the code alone, not on what was interned when.
func TestBuilderOrder(t *testing.T) {
	build := func(early bool) *Program {
		b := NewBuilder("")
		if early {
			b.Field("unused")
			b.Field("b")
			b.Texts(literal("y"))
			b.Rule(Rule{Name: "late"})
		}
		first, last := b.NewLabel(), b.NewLabel()
		b.Test(OpIn, If, b.Field("a"), b.Texts(literal("x"), literal("x")), first)
		b.Deny(b.Rule(Rule{Name: "early"}), Blame{Slot: b.Field("a")}, first)
		b.Place(first)
		b.Test(OpIn, If, b.Field("b"), b.Texts(literal("y")), last)
		b.Deny(b.Rule(Rule{Name: "late"}), Blame{Slot: b.Field("b")}, last)
		b.Place(last)
		b.End()
		p, err := b.Program()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p, q := build(false), build(true); p.Hash() != q.Hash() {
		t.Errorf("one program\n%s\nthe other\n%s", p.Disassemble(), q.Disassemble())
	}
}

// TestNeeds holds which slots an action needs, where several switches tell actions apart.
func TestNeeds(t *testing.T) {
	p, err := Assemble(`machine 6
policy ""
field "@action"
field "exact"
field "prefix"
field "always"
field "amount"
field "group"
rule "r" "" ""
table "mcp.a" @2
table prefix "mcp.a" @5
table "bash" @8
counter "c" rule0 limit 1 "units" window day sum "amount" decimals 0 group "group" "g"
0: switch "@action" table0 @1
1: jump @3
2: kind if "exact" null @3
3: switch "@action" table1 @4
4: jump @6
5: kind if "prefix" null @6
6: kind if "always" null @7
7: switch "@action" table2 @9
8: reserve counter0
9: end
`)
	if err != nil {
		t.Fatal(err)
	}
	for action, want := range map[string]string{
		"mcp.a":  "@action exact prefix always",
		"mcp.ab": "@action prefix always",
		"mcp.":   "@action always",
		"":       "@action always",
		"bash":   "@action always amount group",
		"bash2":  "@action always",
	} {
		var got []string
		for slot, name := range p.Fields() {
			if p.Needs(action).Has(uint16(slot)) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q needs %v, want %s", action, got, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { p.Needs("mcp.a") }); n != 0 {
		t.Errorf("Needs allocates %v times", n)
	}
}

// FuzzDecode holds that whatever decodes has that encoding, is its own assembly, and runs to an end.
func FuzzDecode(f *testing.F) {
	for n := range int64(20) {
		if p, err := (source{rand.New(rand.NewSource(n))}).program(); err == nil {
			data, _ := p.MarshalBinary()
			f.Add(data, n)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, n int64) {
		p, err := Decode(data)
		if err != nil {
			return
		}
		if again, _ := p.MarshalBinary(); !bytes.Equal(again, data) {
			t.Fatalf("%x is accepted and encoded as %x", data, again)
		}
		if wrong := roundTrips(p); wrong != "" {
			t.Fatal(wrong)
		}
		g := source{rand.New(rand.NewSource(n))}
		if wrong := runs(p, g.frame(len(p.fields)), g.text()); wrong != "" {
			t.Fatal(wrong)
		}
	})
}

// FuzzAssemble holds that whatever assembles disassembles to a text that assembles to the same.
func FuzzAssemble(f *testing.F) {
	for n := range int64(20) {
		if p, err := (source{rand.New(rand.NewSource(n))}).program(); err == nil {
			f.Add(p.Disassemble())
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Assemble(text)
		if err != nil {
			return
		}
		if wrong := roundTrips(p); wrong != "" {
			t.Fatal(wrong)
		}
	})
}
