package vm

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"bailiff/vm/match"
)

// wordsOf returns a list of words whose texts are their forms in capitals.
func wordsOf(forms ...string) *WordList {
	l := &WordList{Count: len(forms), Forms: forms}
	for _, form := range forms {
		l.Texts = append(l.Texts, strings.ToUpper(form))
	}
	return l
}

// meant returns the constant that tests for one form of a word.
func meant(op Op, form string) *constant {
	c := &constant{kind: textsConstant, style: match.Dotted}
	switch op {
	case OpHost:
		c.kind = hostsConstant
	case OpPath:
		c.kind = pathsConstant
	case OpGlob:
		c.kind = globsConstant
	case OpStarts:
		if start, open := strings.CutSuffix(form, "*"); open {
			form = start
		} else {
			form += "/"
		}
	}
	c.entries = []match.Entry{{Text: form}}
	if _, err := c.build(op); err != nil {
		panic(err)
	}
	return c
}

// tested returns a test, its words and its constant.
func (g source) tested() (op Op, list *WordList, c constant) {
	op = []Op{OpIn, OpStarts, OpContains, OpHost, OpPath, OpGlob}[g.Intn(6)]
	list, c.style = &WordList{}, match.Dotted
	for i := range 2 + g.Intn(4) {
		form := g.oneOf("a", "b", "ab", "a.b", "a/b", "b/a") + g.oneOf("", "", "a")
		if op == OpStarts && g.Intn(2) == 0 || op == OpGlob {
			form += "*"
		}
		list.Texts, list.Forms = append(list.Texts, fmt.Sprint("word ", i)), append(list.Forms, form)
		one := meant(op, form)
		c.kind, c.entries = one.kind, append(c.entries, one.entries...)
	}
	return op, list, c
}

// TestWordsOfTests holds that the word of a test is the first whose own test holds, and what looking for it takes.
func TestWordsOfTests(t *testing.T) {
	found := 0
	check(t, 2000, func(r *rand.Rand) string {
		g := source{r}
		op, list, c := g.tested()
		if _, err := c.build(op); err != nil {
			return err.Error()
		}
		text := func() Value {
			return Value{Kind: []Kind{String, Number, Null, Object}[r.Intn(8)%4*r.Intn(2)], Text: g.oneOf("a", "b", "ab", "a.b", "a/b", "x") + g.oneOf("", "a", ".a", "/a", "b")}
		}
		v := text()
		first := &v
		if r.Intn(2) == 0 {
			v = Value{Kind: List, Elems: []Value{text(), text(), text()}[:r.Intn(4)]}
			first = nil
			for i := range v.Elems {
				if e := &v.Elems[i]; first == nil && e.Kind&textual != 0 && c.judge(op, e.Text) == yes {
					first = e
				}
			}
		}
		want, takes := "", 0
		for i := range list.Forms {
			if first != nil && first.Kind&textual != 0 && c.judge(op, first.Text) == yes && want == "" {
				if takes += 32; op != OpIn && op != OpStarts {
					takes += len(first.Text)
				}
				if meant(op, list.Forms[i]).judge(op, first.Text) == yes {
					want = list.Texts[i]
				}
			}
		}
		left := takes
		if got := list.culprit(op, &c, &v, &left); got != want || left != 0 {
			return fmt.Sprintf("%s: %+v of %q is %q, want %q; %d of %d are left", op, v, list.Forms, got, want, left, takes)
		}
		if left = takes - 1; list.culprit(op, &c, &v, &left) != "" {
			return fmt.Sprintf("%s: %+v of %q is found without the %d that it takes", op, v, list.Forms, takes)
		}
		if want != "" {
			found++
		}
		return ""
	})
	if found < 300 {
		t.Errorf("%d words were found; the test sees too few", found)
	}
	if holdsBy("a", OpEnds, 0, "a") {
		t.Error("a test that no list has holds")
	}
}

// TestWordsOfSwitches holds that the word of a switch is the first whose case the text has.
func TestWordsOfSwitches(t *testing.T) {
	l := wordsOf("ab", "a*", "*", "b")
	for _, test := range []struct {
		v     Value
		want  string
		takes int
	}{
		{text("ab"), "AB", 32}, {text("abc"), "A*", 64}, {text("a"), "A*", 64}, {text("b"), "*", 96}, {Value{Kind: Number, Text: "1"}, "*", 96},
		{Value{}, "", 0}, {Value{Kind: Object, Text: "ab"}, "", 0}, {Value{Kind: Null, Text: "ab"}, "", 0},
	} {
		left := test.takes
		if got := l.switched(&test.v, &left); got != test.want || left != 0 {
			t.Errorf("%+v is %q, and %d are left; want %q", test.v, got, left, test.want)
		}
		if left = test.takes - 1; l.switched(&test.v, &left) != "" {
			t.Errorf("%+v is found without the %d that it takes", test.v, test.takes)
		}
	}
	if got := wordsOf("b", "ab/", "ab").switched(&Value{Kind: String, Text: "ab/c"}, enough()); got != "" {
		t.Errorf("a case of a whole text is that of %q, which is longer", got)
	}
}

// chained returns a program that denies what tests of x, y or z hold for, and asks before what a test of v or w holds for, by the
// same words. between emits what comes between the tests of x and of y.
func chained(t *testing.T, between func(b *Builder, rule uint16, over Label), list *WordList) *Program {
	t.Helper()
	b := NewBuilder("2.1.0")
	b.SetSpan(Span{Start: 1, End: 2, Line: 3})
	set, done, denied, asked, other := b.Texts(literal("a"), literal("b")), b.NewLabel(), b.NewLabel(), b.NewLabel(), b.NewLabel()
	rule := b.Rule(Rule{Name: "r", Code: "C", Message: "m"})
	b.Test(OpIn, If, b.Field("x"), set, denied)
	between(b, rule, denied)
	b.Test(OpIn, If, b.Field("y"), set, denied)
	b.Test(OpIn, Unless, b.Field("z"), set, other)
	b.Place(denied)
	b.Words(list)
	b.Deny(rule, Blame{b.Field("x"), true}, other)
	b.Place(other)
	b.Test(OpIn, If, b.Field("v"), set, asked)
	b.Test(OpIn, Unless, b.Field("w"), set, done)
	b.Place(asked)
	b.Hold(b.Rule(Rule{Name: "ask", Code: "C", Message: "m"}))
	b.Place(done)
	b.Words(nil)
	b.End()
	return built(t, b)
}

// perhaps emits a denial for frames without q.
func perhaps(b *Builder, rule uint16, over Label) {
	there := b.NewLabel()
	b.Kind(Unless, b.Field("q"), Kinds(Missing), there)
	b.Deny(rule, Blame{Slot: b.Field("q")}, over)
	b.Place(there)
}

// A culpritTest is a frame, and the word of a denial about x that it leads to.
type culpritTest struct {
	name    string
	between func(b *Builder, rule uint16, over Label)
	list    *WordList
	frame   map[string]Value
	element int32
	want    string
}

// culprits are words of denials.
func culprits() []culpritTest {
	nothing := func(*Builder, uint16, Label) {}
	list := wordsOf("a", "b")
	return []culpritTest{
		{"the first", nothing, list, map[string]Value{"x": text("a")}, NoElement, "A"},
		{"the last", nothing, list, map[string]Value{"z": text("b")}, NoElement, "B"},
		{"two", nothing, list, map[string]Value{"x": text("a"), "y": text("b")}, NoElement, "B"},
		{"none", nothing, list, map[string]Value{"x": {Kind: Invalid}}, NoElement, ""},
		{"a short frame", nothing, list, nil, NoElement, ""},
		{"one word", nothing, wordsOf("a"), nil, NoElement, "A"},
		{"no list", nothing, nil, map[string]Value{"x": text("a")}, NoElement, ""},
		{"a list that allows", nothing, &WordList{Allows: true, Count: 1, Texts: []string{"A"}}, map[string]Value{"x": text("a")}, NoElement, ""},
		{"the first element", nothing, list, map[string]Value{"x": texts("b", "a", "x")}, 0, "B"},
		{"the next element", nothing, list, map[string]Value{"x": texts("b", "a", "x")}, 1, "A"},
		{"the first element, which is none", nothing, list, map[string]Value{"x": texts("x", "a")}, 0, ""},
		{"another element", nothing, list, map[string]Value{"x": texts("b", "a", "x")}, 2, ""},
		{"an element behind", nothing, list, map[string]Value{"x": texts("b", "a", "x")}, 3, "B"},
		{"no element", nothing, list, map[string]Value{"x": texts("x", "a", "b")}, NoElement, "A"},
		{"a denial by the rule", func(b *Builder, rule uint16, over Label) { perhaps(b, rule, over) }, list, map[string]Value{"x": text("a")}, NoElement, "A"},
		{"another denial", func(b *Builder, _ uint16, over Label) {
			perhaps(b, b.Rule(Rule{Name: "other"}), over)
		}, list,
			map[string]Value{"x": text("a")}, NoElement, ""},
		{"another denial, and a test behind", func(b *Builder, _ uint16, over Label) {
			perhaps(b, b.Rule(Rule{Name: "other"}), over)
		}, list,
			map[string]Value{"y": text("a")}, NoElement, "A"},
		{"a note", func(b *Builder, rule uint16, _ Label) { b.Note(rule) }, list, map[string]Value{"x": text("a")}, NoElement, ""},
		{"a test of kinds", func(b *Builder, _ uint16, over Label) { b.Kind(If, b.Field("x"), 2, over) }, list, map[string]Value{"x": text("a")}, NoElement, "A"},
		{"a jump", func(b *Builder, _ uint16, _ Label) {
			next := b.NewLabel()
			b.Jump(next)
			b.Place(next)
		}, list,
			map[string]Value{"x": text("a")}, NoElement, "A"},
		{"a switch", func(b *Builder, _ uint16, over Label) {
			next := b.NewLabel()
			b.Switch(b.Field("q"), next, Case{Text: "q", To: over})
			b.Place(next)
		}, list,
			map[string]Value{"x": text("a")}, NoElement, ""},
		{"a pattern", func(b *Builder, _ uint16, over Label) { b.Test(OpMatch, If, b.Field("x"), b.Pattern("a", false), over) }, list,
			map[string]Value{"x": text("a")}, NoElement, "A"},
	}
}

// TestCulpritOfSeveralTests holds which test of several the word of a denial comes from: the last that holds, as far back as the
// denial may be about.
func TestCulpritOfSeveralTests(t *testing.T) {
	for _, test := range culprits() {
		p := chained(t, test.between, test.list)
		deny := uint16(0)
		for p.code[deny].Op != OpDeny || p.code[deny+1].Op != OpIn || p.fields[p.code[deny+1].B] != "v" {
			deny++
		}
		frame := p.frameOf(test.frame)
		if test.frame == nil {
			frame = nil
		}
		slot, _ := p.Slot("x")
		got := p.Culprit(&Violation{Rule: p.code[deny].C, Slot: slot, Element: test.element, PC: deny}, frame, enough())
		if got != test.want {
			t.Errorf("%s: the word is %q, want %q\n%s", test.name, got, test.want, p.Disassemble())
		}
		asks := uint16(0)
		for p.code[asks].Op != OpHold {
			asks++
		}
		for _, v := range []string{"v", "w"} {
			for text, want := range map[string]string{"a": "A", "b": "B", "x": ""} {
				if test.list == nil || test.list.Allows || len(test.list.Texts) == 1 && text == "b" {
					want = ""
				}
				if got := p.Asker(asks, p.frameOf(map[string]Value{v: {Kind: String, Text: text}}), enough()); got != want {
					t.Errorf("%s: %s = %q asks by %q, want %q", test.name, v, text, got, want)
				}
			}
		}
		for n := range p.fields {
			if got := p.Asker(asks, make([]Value, n), enough()); got != "" {
				t.Errorf("%s: an empty frame of %d asks by %q", test.name, n, got)
			}
		}
	}
}

// TestAskerOfSwitches holds by which word a switch asks, and that the first instruction asks by none.
func TestAskerOfSwitches(t *testing.T) {
	b := NewBuilder("2.1.0")
	b.SetSpan(Span{Start: 1, End: 2, Line: 3})
	asked, done := b.NewLabel(), b.NewLabel()
	b.Words(wordsOf("z", "y"))
	b.Hold(b.Rule(Rule{Name: "always"}))
	b.Words(wordsOf("bash", "mcp.*"))
	b.Switch(b.Field("a"), done, Case{Text: "bash", To: asked}, Case{Text: "mcp.", Prefix: true, To: asked})
	b.Place(asked)
	b.Hold(b.Rule(Rule{Name: "ask"}))
	b.Place(done)
	b.End()
	p := built(t, b)
	for action, want := range map[string]string{"bash": "BASH", "mcp.x": "MCP.*", "other": ""} {
		if got := p.Asker(2, []Value{text(action)}, enough()); got != want {
			t.Errorf("%s asks by %q, want %q", action, got, want)
		}
	}
	if got := p.Asker(2, nil, enough()) + p.Asker(0, []Value{text("z")}, enough()) + p.Asker(1, []Value{text("bash")}, enough()); got != "" {
		t.Errorf("%q asks where nothing is asked by a word", got)
	}
}

// TestWordsBytes holds which bytes of lists are read, and that lists are read as they were written.
func TestWordsBytes(t *testing.T) {
	p := listedProgram(t, OpIn, func(b *Builder) Const { return b.Texts(literal("a")) }, &WordList{Count: 2, Texts: []string{"A", "bc"}, Forms: []string{"a", "bc"}})
	encoded, _ := p.MarshalBinary()
	lists := "\x01\x00\x02\x02\x03A\x01a\x04bc\x01\x00\x01\x00\x00\x00"
	sound, ok := strings.CutSuffix(string(encoded), lists)
	if !ok {
		t.Fatalf("the lists are encoded otherwise: %q", encoded[len(p.canonical):])
	}
	for text, want := range map[string]string{
		lists: "",
		"\x01\x01\x03\x02\x01A\x02bc\x01\x00\x01\x00\x00\x00":              "",
		"\x01\x02\x02\x02\x03A\x01a\x04bc\x01\x00\x01\x00\x00\x00":         "2 is not a kind of list, or 2 words are more than 32768",
		"\x01\x00\x81\x80\x02\x02\x03A\x01a\x04bc\x01\x00\x01\x00\x00\x00": "0 is not a kind of list, or 32769 words are more than 32768",
		"\x01\x00\x80\x80\x02\x02\x03A\x01a\x04bc\x01\x00\x01\x00\x00\x00": "",
		"\x01\x00\x02\x02\x03A\x01A\x04bc\x01\x00\x01\x00\x00\x00":         "the form of a word occurs twice",
		"\x01\x00\x00\x00\x02\x00\x01\x00\x00\x00\x02\x00\x00\x00":         "",
	} {
		again, err := Decode([]byte(sound + text))
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) || want == "" && err != nil {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err == nil {
			if b, _ := again.MarshalBinary(); string(b) != sound+text {
				t.Errorf("%q is written as %q", text, b[len(sound):])
			}
		}
	}
}

// TestAskerFromTheStart holds that tests from the first instruction on are all looked at, and nothing before them.
func TestAskerFromTheStart(t *testing.T) {
	b := NewBuilder("2.1.0")
	b.SetSpan(Span{Start: 1, End: 2, Line: 3})
	set, asked, done := b.Texts(literal("a"), literal("b")), b.NewLabel(), b.NewLabel()
	b.Test(OpIn, If, b.Field("x"), set, asked)
	b.Test(OpIn, Unless, b.Field("y"), set, done)
	b.Place(asked)
	b.Words(wordsOf("a", "b"))
	b.Hold(b.Rule(Rule{Name: "ask"}))
	b.Place(done)
	b.End()
	p := built(t, b)
	for _, test := range []struct{ x, y, want string }{{"a", "", "A"}, {"", "b", "B"}, {"a", "b", "B"}, {"", "", ""}} {
		if got := p.Asker(2, []Value{text(test.x), text(test.y)}, enough()); got != test.want {
			t.Errorf("%q and %q ask by %q, want %q", test.x, test.y, got, test.want)
		}
	}
	list := []Value{{Kind: List, Elems: []Value{text("a"), text("b")}}, {}}
	for name, p := range map[string]*Program{"a hold without a list": p, "a list that allows": chained(t, func(*Builder, uint16, Label) {}, &WordList{Allows: true, Count: 1, Texts: []string{"A"}})} {
		for pc := range uint16(3) {
			if got := p.First(&Violation{PC: pc + 1, Element: 1}, list); got != 1 && name == "a list that allows" || pc == 0 && got != 1 {
				t.Errorf("%s: element %d comes first at %d", name, got, pc+1)
			}
		}
	}
}

// TestFirstWithText holds that elements without a text are not the first that a pattern for any text is about, and those that can't be read are.
func TestFirstWithText(t *testing.T) {
	p := listedProgram(t, OpGlob, func(b *Builder) Const { return b.Globs(match.Mailbox, "*") }, wordsOf("*"))
	for want, elems := range [][]Value{{text("a"), text("b")}, {{Kind: Null}, text("a")}, {{Kind: Object}, {Kind: List}, text("a"), text("b")}, {{}, {}, {}, {Kind: Invalid}, text("a")}} {
		if got := p.First(&Violation{PC: 1, Element: int32(len(elems) - 1)}, []Value{{Kind: List, Elems: elems}}); got != int32(want) {
			t.Errorf("of %v element %d is named, want %d", elems, got, want)
		}
	}
}
