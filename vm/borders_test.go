package vm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"bailiff/vm/amount"
	"bailiff/vm/match"
	"bailiff/vm/wire"
)

// TestAnswersOfAmounts checks that only the answer right after a test of an amount is tied to it, and that it names the register.
func TestAnswersOfAmounts(t *testing.T) {
	for register := range 2 {
		for _, when := range []When{If, Unless} {
			b := NewBuilder("")
			b.SetSpan(Span{Line: 1})
			x, rule, loaded, done := b.Field("x"), b.Rule(Rule{Name: "r"}), b.NewLabel(), b.NewLabel()
			b.Load(register, x, 6, loaded)
			b.Deny(rule, Blame{Slot: x}, done)
			b.Place(loaded)
			b.Compare(OpGreater, when, register, b.Amount(amount.FromUint64(5), 6, "units"), done)
			b.Hold(rule)
			b.Note(rule)
			b.Place(done)
			b.End()
			p := built(t, b)
			for answer, at := range []int{-1, 0, -1, 2, -1, -1} {
				switch test := p.AmountTest(uint16(answer)); {
				case (test != nil) != (at >= 0):
					t.Errorf("instruction %d is about %+v", answer, test)
				case test != nil && (int(test.PC) != at || test.Register != register || test.Decimals != 6 || test.Compares != (at == 2)):
					t.Errorf("register %d, %d: instruction %d is about %+v", register, when, answer, test)
				}
			}
		}
	}
}

// TestWithoutSpans checks that a program built without spans has no debug section.
func TestWithoutSpans(t *testing.T) {
	b := NewBuilder("")
	x, done := b.Field("x"), b.NewLabel()
	b.Words(wordsOf("a"))
	b.Load(0, x, 6, done)
	b.Deny(b.Rule(Rule{Name: "r"}), Blame{Slot: x}, done)
	b.Place(done)
	b.End()
	p := built(t, b)
	if encoded, _ := p.MarshalBinary(); !bytes.Equal(encoded, p.Canonical()) || p.Words(1) != nil || p.AmountTest(1) != nil {
		t.Errorf("it has a debug section: %x, %v, %v", encoded, p.Words(1), p.AmountTest(1))
	}
}

// TestLabelsRefused checks that a builder refuses labels that it did not make, that are already placed, or that a jump would go back to.
func TestLabelsRefused(t *testing.T) {
	for want, build := range map[string]func(b *Builder){
		"label -1 is placed twice, or is none of this builder":               func(b *Builder) { b.Place(-1) },
		"label 0 is placed twice, or is none of this builder":                func(b *Builder) { b.Place(0) },
		"label 2 is placed twice, or is none of this builder":                func(b *Builder) { b.NewLabel(); b.NewLabel(); b.Place(2) },
		"label 1 is placed twice, or is none of this builder":                func(b *Builder) { b.NewLabel(); b.Place(b.Here()) },
		"instruction 0: label -1 was never placed":                           func(b *Builder) { b.Jump(-1) },
		"instruction 0: label 0 was never placed":                            func(b *Builder) { b.Jump(0) },
		"instruction 0: label 1 was never placed":                            func(b *Builder) { b.Here(); b.Jump(1) },
		"instruction 1: label 0 was never placed":                            func(b *Builder) { l := b.NewLabel(); b.Class(Tool); b.Jump(l) },
		"instruction 0: label 0 is at 0; jumps go forward, to at most 65534": func(b *Builder) { b.Jump(b.Here()) },
		"instruction 1: label 0 is at 0; jumps go forward, to at most 65534": func(b *Builder) { l := b.Here(); b.Class(Tool); b.Jump(l) },
	} {
		b := NewBuilder("")
		build(b)
		b.End()
		if _, err := b.Program(); err == nil || err.Error() != "vm: "+want {
			t.Errorf("%v, want vm: %s", err, want)
		}
	}
}

// TestFullTables checks that a builder adds nothing to a full table.
func TestFullTables(t *testing.T) {
	b := NewBuilder("")
	for i := range maxEntries + 1 {
		b.Counter(Counter{Name: fmt.Sprint(i)})
	}
	if len(b.errs) != 0 {
		t.Fatalf("as many counters as may be: %v", b.errs)
	}
	for i := range 3 {
		b.Counter(Counter{Name: fmt.Sprint("more", i)})
	}
	_, err := b.Program()
	if err == nil || !strings.HasPrefix(err.Error(), "vm: a table of the program grows beyond 32768 rows\n") || len(b.program.counters) != maxEntries+1 {
		t.Errorf("%d counters: %v", len(b.program.counters), err)
	}
}

// TestConstantKinds checks which kinds of constants are read, and how others are refused.
func TestConstantKinds(t *testing.T) {
	for kind := range 256 {
		r := &reader{wire.NewReader(append([]byte{byte(kind)}, make([]byte, 40)...), maxText)}
		c, want := r.constant(), ""
		if kind == 0 || kind > int(globsConstant) {
			want = fmt.Sprintf("%d is not a kind of constant", kind)
		}
		if want == "" && (r.Err() != nil || int(c.kind) != kind) || want != "" && (r.Err() == nil || r.Err().Error() != want) {
			t.Errorf("kind %d: %v, want %q", kind, r.Err(), want)
		}
	}
	_, err := Decode([]byte(magic + "\x01"))
	if want := "vm: byte 5: the program is for machine version 1, and this is 6; compile the policy again"; err == nil || err.Error() != want {
		t.Errorf("another machine: %v, want %s", err, want)
	}
}

// TestDebugCutOff checks that a debug section has spans, lists and tests, and is refused where bytes of them are missing.
func TestDebugCutOff(t *testing.T) {
	p, err := Assemble("machine 6\npolicy \"\"\nfield \"a\"\n0: kind if \"a\" null @1\n1: end\n")
	if err != nil {
		t.Fatal(err)
	}
	begin := append(bytes.Clone(p.Canonical()), debugMagic...)
	for n := range 11 {
		want, data := "", append(bytes.Clone(begin), make([]byte, n)...)
		switch {
		case n < 6: // two spans of three numbers
			want = fmt.Sprintf("vm: byte %d: the debug section is cut off", len(begin))
		case n < 9: // the numbers of lists, of their places and of tests
			want = fmt.Sprintf("vm: byte %d: a number is expected here", len(data))
		case n > 9:
			want = fmt.Sprintf("vm: byte %d: 1 bytes follow the program", len(data)-1)
		}
		if _, err := Decode(data); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%d bytes of a debug section: %v, want %q", n, err, want)
		}
	}
}

// TestRowsAnnounced checks the smallest size of a row of each table: if more rows are announced than fit, none is read.
func TestRowsAnnounced(t *testing.T) {
	program := func(r *reader) { r.program() }
	words := func(r *reader) { r.words(new(Program)) }
	tests := func(r *reader) { r.amountTests(new(Program)) }
	const head = magic + "\x06\x00"
	for name, table := range map[string]struct {
		before string
		size   int
		read   func(*reader)
	}{
		"fields": {head, 1, program}, "rules": {head + "\x00", 3, program}, "constants": {head + "\x00\x00", 2, program},
		"entries": {head + "\x00\x00\x01\x01", 1, program}, "tables": {head + "\x00\x00\x00", 1, program},
		"cases": {head + "\x00\x00\x00\x01", 3, program}, "counters": {head + "\x00\x00\x00\x00", 47, program},
		"tokens": {head + "\x00\x00\x00\x00\x00", 3, program}, "pins": {head + "\x00\x00\x00\x00\x00\x01\x00\x00", 2, program},
		"code": {head + "\x00\x00\x00\x00\x00\x00", 8, program}, "tests": {"", 4, tests}, "lists": {"", 3, words}, "words": {"\x01\x00\x00", 1, words},
		"allowed words": {"\x01\x01\x00", 1, words}, "places of lists": {"\x00", 4, words},
	} {
		const n = 100
		for _, missing := range []int{0, 1} {
			follow := n*table.size - missing
			r := &reader{wire.NewReader(append([]byte(table.before+string(rune(n))), make([]byte, follow)...), maxText)}
			table.read(r)
			refused := r.Err() != nil && r.Err().Error() == fmt.Sprintf("%d rows are announced where %d bytes follow", n, follow)
			if refused != (missing > 0) {
				t.Errorf("%d %s in %d bytes: %v", n, name, follow, r.Err())
			}
		}
	}
}

// TestRouteWork checks how many cases and instructions are looked at for routes: just as many as may be, and not one more.
func TestRouteWork(t *testing.T) {
	const cases = 2047
	for notes, want := range map[int]int{0: cases + 1, 1: 1} {
		b := NewBuilder("")
		otherwise := b.NewLabel()
		all := make([]Case, cases)
		for i := range all {
			all[i] = Case{Text: fmt.Sprint(i), To: b.NewLabel()}
		}
		b.Switch(b.Field(actionField), otherwise, all...)
		for _, c := range all {
			b.Place(c.To)
			b.End()
		}
		b.Place(otherwise)
		for range notes {
			b.Note(b.Rule(Rule{Name: "r"}))
		}
		b.End()
		p := built(t, b)
		if work := (cases + 1) * (p.Len() + cases); work != maxRouteWork+notes*(cases+1) || len(p.actions.routes) != want {
			t.Errorf("work of %d: %d routes, want %d", work, len(p.actions.routes), want)
		}
	}
}

// TestRouteSteps checks how many steps all routes have together: just as many as may be, and beyond that those of the route that knows
// no action.
func TestRouteSteps(t *testing.T) {
	const routes, each = 256, maxRouteSteps / 256
	for more := range 2 {
		b := NewBuilder("")
		otherwise, common, rule := b.NewLabel(), b.NewLabel(), b.Rule(Rule{Name: "r"})
		all := make([]Case, routes-1)
		for i := range all {
			all[i] = Case{Text: fmt.Sprintf("%03d", i), To: b.NewLabel()}
		}
		b.Switch(b.Field(actionField), otherwise, all...)
		for i, c := range all {
			b.Place(c.To)
			b.Note(rule)
			if i == len(all)-1 && more > 0 {
				b.Note(rule)
			}
			b.Jump(common)
		}
		b.Place(otherwise)
		b.Note(rule)
		b.Place(common)
		for range each - 2 {
			b.Note(rule)
		}
		b.End()
		p := built(t, b)
		if len(p.actions.routes) != routes {
			t.Fatalf("%d routes, want %d", len(p.actions.routes), routes)
		}
		for i := range p.actions.routes {
			r := &p.actions.routes[i]
			own, wanted := &r.steps[0] != &p.actions.any.steps[0], more == 0 || i < routes-1
			if own != wanted || own && r.size() != each {
				t.Errorf("%d steps more: route %d has %d steps, of its own: %v, want %v", more, i, r.size(), own, wanted)
			}
		}
	}
}

// TestRoutesShared checks that actions for which all tests come out alike have one route, that a text gets the route of its action,
// and a number the one that knows no action.
func TestRoutesShared(t *testing.T) {
	b := NewBuilder("")
	var entries []match.Entry
	for i := range 20 {
		entries = append(entries, literal(fmt.Sprint("action", i)))
	}
	over := b.NewLabel()
	action := b.Field(actionField)
	b.Test(OpIn, Unless, action, b.Texts(entries...), over)
	b.Note(b.Rule(Rule{Name: "r"}))
	b.Place(over)
	b.End()
	p := built(t, b)
	if len(p.actions.routes) != 2 {
		t.Errorf("%d routes, want 2", len(p.actions.routes))
	}
	for kind, routes := range map[Kind][2]*route{String: {&p.actions.routes[0], &p.actions.routes[1]}, Number: {&p.actions.any, &p.actions.any}} {
		for i, text := range []string{"action", "action7"} {
			if got := p.route([]Value{{Kind: kind, Text: text}}); got != routes[i] {
				t.Errorf("kind %d, %q: another route", kind, text)
			}
		}
	}
}

// TestCasesOnce checks that a text which several tests of the action share is one case, so that the text itself is found and not only
// what starts with it.
func TestCasesOnce(t *testing.T) {
	b := NewBuilder("")
	action := b.Field(actionField)
	for i, op := range []Op{OpStarts, OpIn, OpStarts} {
		entries := []match.Entry{literal("abc")}
		for n := range 20 {
			entries = append(entries, literal(fmt.Sprint("x", i, n)))
		}
		over := b.NewLabel()
		b.Test(op, Unless, action, b.Texts(entries...), over)
		b.Note(b.Rule(Rule{Name: fmt.Sprint(i)}))
		b.Place(over)
	}
	b.End()
	p := built(t, b)
	if n := len(p.actions.cases.Cases); n != 2+3*20 {
		t.Errorf("%d cases", n)
	}
	for _, name := range []string{"abc", "abcd", "ab", "x15", "x05", "x0", ""} {
		if wrong := differs(new(Machine), p, []Value{text(name)}); wrong != "" {
			t.Errorf("%q: %s", name, wrong)
		}
	}
}

// TestNeedsBehindTests checks that an action needs no slot to which only other actions come, also where these come to it by a jump.
func TestNeedsBehindTests(t *testing.T) {
	for _, test := range []struct {
		op   Op
		when When
		text string // of which the slot is not needed
	}{{OpIn, Unless, "bash"}, {OpIn, If, "zsh"}, {OpStarts, Unless, "bashful"}, {OpStarts, If, "zsh"}} {
		b := NewBuilder("")
		other, end := b.NewLabel(), b.NewLabel()
		b.Test(test.op, test.when, b.Field(actionField), b.Texts(literal("bash")), other)
		b.Jump(end)
		b.Place(other)
		b.Kind(If, b.Field("x"), Kinds(Null), end)
		b.Note(b.Rule(Rule{Name: "r"}))
		b.Place(end)
		b.End()
		p := built(t, b)
		slot, _ := p.Slot("x")
		for _, action := range []string{"bash", "bashful", "zsh", ""} {
			holds := action == "bash" || test.op == OpStarts && action == "bashful"
			if needs := p.Needs(action).Has(slot); needs == (holds == (test.when == Unless)) {
				t.Errorf("%s, %d: %q needs the slot: %v", test.op, test.when, action, needs)
			}
		}
	}
}

// testsInTurn builds a program of tests that follow each other where they do not hold: `i` and `e` of slot x by in and by ends, `c` by
// contains, and `1`, `2` and `3` by in of other slots. Each action of `a` and `b` notes a rule of its own before them.
func testsInTurn(t *testing.T, tests string) *Program {
	t.Helper()
	b := NewBuilder("")
	first := b.NewLabel()
	cases := []Case{{Text: "a", To: b.NewLabel()}, {Text: "b", To: b.NewLabel()}}
	b.Switch(b.Field(actionField), first, cases...)
	for _, c := range cases {
		b.Place(c.To)
		b.Note(b.Rule(Rule{Name: c.Text}))
		b.Jump(first)
	}
	b.Place(first)
	for i, test := range tests {
		op, slot, over := OpIn, "x", b.NewLabel()
		switch test {
		case 'c':
			op = OpContains
		case 'e':
			op = OpEnds
		case '1', '2', '3':
			slot = string(test)
		}
		b.Test(op, Unless, b.Field(slot), b.Texts(literal(fmt.Sprintf("word%d", i))), over)
		b.Deny(b.Rule(Rule{Name: "r"}), Blame{Slot: b.Field(slot)}, over)
		b.Place(over)
	}
	b.End()
	return built(t, b)
}

// guardsOf returns the guards of a route.
func guardsOf(r *route) (guards []*guard) {
	for i := range r.steps {
		if g := r.steps[i].guard; g != nil {
			guards = append(guards, g)
		}
	}
	return guards
}

// TestGuardsPlaced checks in front of which tests a guard is: of three or more of one kind and slot, with at most two other slots
// between them, once. What a program keeps live depends on it. All routes share it.
func TestGuardsPlaced(t *testing.T) {
	for tests, want := range map[string]int{
		"i": 0, "ii": 0, "iii": 1, "iiii": 1, "iiiii": 1, "iei": 1, "cc": 0, "ccc": 1, "cccccc": 1, "iic": 0, "iiic": 1, "iiiccc": 2, "ccie": 0,
		"i1ii": 1, "i1i2i": 1, "i12i1i": 1, "i1i23i": 0, "iii123i": 1, "i123ii": 0, "123": 0, "i1i1i1": 2,
	} {
		p := testsInTurn(t, tests)
		shared := guardsOf(&p.actions.any)
		if len(shared) != want {
			t.Errorf("%s: %d guards, want %d", tests, len(shared), want)
		}
		for i := range p.actions.routes {
			guards := guardsOf(&p.actions.routes[i])
			if len(p.actions.routes) != 3 || len(guards) != len(shared) {
				t.Fatalf("%s: route %d of %d has %d guards, want %d", tests, i, len(p.actions.routes), len(guards), len(shared))
			}
			for n := range guards {
				if guards[n] != shared[n] {
					t.Errorf("%s: route %d has a guard of its own", tests, i)
				}
			}
		}
	}
}

// TestGuardsTell checks when a guard skips its tests: if the value of its slot is missing, null, an object, or a text that none of them can match,
// and those of the other slots are missing or null.
func TestGuardsTell(t *testing.T) {
	p := testsInTurn(t, "i1i2i")
	steps := p.actions.any.steps
	at := 0
	for steps[at].guard == nil {
		at++
	}
	s := &steps[at]
	slots := map[string]int{}
	for i, name := range p.Fields() {
		slots[name] = i
	}
	for _, kind := range []Kind{Missing, Null, Invalid, String, Number, Bool, List, Object} {
		for _, other := range []Kind{Missing, Null, Invalid, String, Number, Bool, List, Object} {
			for _, name := range []string{"1", "2"} {
				for _, text := range []string{"another", "word0"} {
					m := &Machine{frame: make([]Value, len(p.fields))}
					m.frame[slots["x"]] = Value{Kind: kind}
					if kind&textual != 0 {
						m.frame[slots["x"]].Text = text
					}
					m.frame[slots[name]] = Value{Kind: other}
					told := kind != Invalid && kind != List && (kind&textual == 0 || text == "another") && (other == Missing || other == Null)
					if got := m.guard(s) == s.yes; got != told || s.yes == s.no {
						t.Errorf("a value of kind %d and %q, and one of kind %d in slot %s: told %v, want %v", kind, text, other, name, got, told)
					}
				}
			}
		}
	}
}
