package vm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bailiff/vm/amount"
	"bailiff/vm/match"
	"bailiff/vm/wire"
)

// A limitTest checks a number of something, of which there may be as many as its limit. Want is in the error for one more.
type limitTest struct {
	name  string
	limit int
	check func(n int) error
	want  string
}

// atLimits checks as many as may be, and one more.
func atLimits(t *testing.T, tests []limitTest) {
	t.Helper()
	for _, test := range tests {
		if err := test.check(test.limit); err != nil {
			t.Errorf("%s, as many as may be: %v", test.name, err)
		}
		if err := test.check(test.limit + 1); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, one too many: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestLimits holds what a program may have of everything: as much as the limit, and not one more.
func TestLimits(t *testing.T) {
	end := []Instruction{{Op: OpEnd}}
	entries := func(n int) []match.Entry { return entriesUpTo(n) }
	cases := func(n int) *match.Table {
		tab := &match.Table{}
		for i := range n {
			tab.Cases = append(tab.Cases, match.Case{Text: fmt.Sprintf("%05d", i)})
		}
		return tab
	}
	tokens := func(n int) *Program {
		p := &Program{}
		for i := range n {
			p.tokens = append(p.tokens, Token{Symbol: fmt.Sprint("t", i), Decimals: 36})
		}
		return p
	}
	pinned := func(n int) *Token {
		token := &Token{Symbol: "t"}
		for i := range n {
			token.Pins = append(token.Pins, Pin{Address: fmt.Sprintf("0x%040x", i)})
		}
		return token
	}
	steps := func(n int) string { // a pattern of n instructions
		for repeats := range n {
			text := "a" + strings.Repeat("b{100}", repeats/100) + fmt.Sprintf("c{%d}", repeats%100)
			if prog, err := match.CompilePattern(text); err == nil && len(prog.Inst) == n {
				return text
			}
		}
		t.Fatalf("no pattern has %d instructions", n)
		return ""
	}
	atLimits(t, []limitTest{
		{"bytes of a text", maxText, func(n int) error { return validateText(strings.Repeat("a", n)) }, "a text of 16385 bytes: at most 16384"},
		{"entries", maxEntries, func(n int) error { return (&constant{kind: textsConstant, entries: entries(n)}).validateSet() }, "a set has 32769 entries: at least 1 and at most 32768"},
		{"cases", maxEntries, func(n int) error { return validateTable(cases(n)) }, "32769 cases: at least 1 and at most 32768"},
		{"bytes of a pattern", MaxPattern, func(n int) error { return (&constant{text: strings.Repeat("a", n)}).validatePattern() }, "a pattern of 257 bytes: at most 256"},
		{"steps of a pattern", MaxPatternSteps, func(n int) error { return (&constant{text: steps(n)}).validatePattern() }, "steps: at most 1000; use smaller repetitions"},
		{"decimals of an amount", 36, func(n int) error { return (&constant{text: "u", decimals: uint8(n)}).validateAmount() }, "37 decimals: at most 36"},
		{"tokens", maxTokens, func(n int) error { return tokens(n).checkTokens() }, "the program has 4097 tokens: at most 4096"},
		{"decimals of a token", 36, func(n int) error { return (&Token{Symbol: "t", Decimals: uint8(n)}).validate() }, "37 decimals: at most 36"},
		{"pins", maxEntries, func(n int) error { return pinned(n).validate() }, "32769 addresses: at most 32768"},
		{"fields", maxFields, func(n int) error { return (&Program{fields: make([]string, n), code: end}).checkLimits() }, "the program has 4097 fields: at most 4096"},
		{"rules", maxRules, func(n int) error { return (&Program{rules: make([]Rule, n), code: end}).checkLimits() }, "32769 rules: at most 32768"},
		{"constants", maxConstants, func(n int) error { return (&Program{constants: make([]constant, n), code: end}).checkLimits() }, "32769 constants: at most 32768"},
		{"tables", maxTables, func(n int) error { return (&Program{tables: make([]match.Table, n), code: end}).checkLimits() }, "4097 tables: at most 4096"},
		{"counters", MaxCounters, func(n int) error { return (&Program{counters: make([]Counter, n), code: end}).checkLimits() }, "1025 counters: at most 1024"},
		{"instructions", MaxInstructions, func(n int) error { return (&Program{code: slices.Repeat(end, n)}).checkLimits() }, "65536 instructions: at least 1 and at most 65535"},
		{"spans", 1, func(n int) error { return (&Program{code: end, debug: make([]Span, n)}).checkLimits() }, "the debug section has 2 spans for 1 instructions"},
		{"operations", int(opCount) - 1, func(n int) error { return (&Program{code: []Instruction{{Op: Op(n)}}}).checkLimits() }, "instruction 0: 24 is not an operation"},
	})
}

// TestLimitsOfTexts holds the same of assembly and of words.
func TestLimitsOfTexts(t *testing.T) {
	const assembly = "machine 6\npolicy \"\"\n;"
	atLimits(t, []limitTest{
		{"bytes of assembly", 8 * MaxBytes, func(n int) error { return second(assemble(assembly + strings.Repeat("x", n-len(assembly)))) }, "vm: a text of 16777217 bytes: at most 16777216"},
		{"fields of assembly", maxFields, func(n int) error {
			return second(assemble("machine 6\npolicy \"\"\n" + strings.Repeat("field \"a\"\n", n)))
		}, "line 4099: more than 4096 fields"},
		{"instructions of assembly", MaxInstructions, func(n int) error {
			text := bytes.NewBufferString("machine 6\npolicy \"\"\n")
			for i := range n {
				fmt.Fprintf(text, "%d: end\n", i)
			}
			return second(assemble(text.String()))
		}, "line 65538: more than 65535 instructions"},
		{"words", MaxWords, func(n int) error { return (&WordList{Count: n}).check() }, "it has 0 words of 32769"},
		{"bytes of a word", MaxWord, func(n int) error {
			return (&WordList{Allows: true, Count: 1, Texts: []string{strings.Repeat("a", n)}}).check()
		}, "is not a word of 1 to 64 bytes of UTF-8"},
		{"allowed words", MaxAllowedWords, func(n int) error {
			return (&WordList{Allows: true, Count: n, Texts: slices.Repeat([]string{"a"}, n)}).check()
		}, "it has 11 words of 11"},
	})
}

// second returns the error of a call.
func second(_ any, err error) error { return err }

// TestLeast holds that a program needs at least one of each row that these checks ask for, and well-formed texts.
func TestLeast(t *testing.T) {
	for name, err := range map[string]error{
		"no entries":      (&constant{kind: textsConstant}).validateSet(),
		"no cases":        validateTable(&match.Table{}),
		"no unit":         (&constant{}).validateAmount(),
		"no style":        (&constant{kind: globsConstant, entries: entriesUpTo(1)}).validateGlobs(),
		"another style":   (&constant{kind: globsConstant, entries: entriesUpTo(1), style: match.GlobStyleCount}).validateGlobs(),
		"no instructions": (&Program{}).checkLimits(),
		"no operation":    (&Program{code: make([]Instruction, 1)}).checkLimits(),
		"no word":         (&WordList{Count: 1, Texts: []string{""}, Forms: []string{"a"}}).check(),
		"not UTF-8":       (&WordList{Count: 1, Texts: []string{"\xff"}, Forms: []string{"a"}}).check(),
		"a bad form":      (&WordList{Count: 1, Texts: []string{"a"}, Forms: []string{"\xff"}}).check(),
		"no forms":        (&WordList{Count: 1, Texts: []string{"a"}}).check(),
		"too few forms":   (&WordList{Count: 2, Texts: []string{"a", "b"}, Forms: []string{"a"}}).check(),
		"forms allowed":   (&WordList{Allows: true, Count: 1, Texts: []string{"a"}, Forms: []string{"a"}}).check(),
		"a bad unit":      (&constant{text: "\xff"}).validateAmount(),
		"a bad text":      validateText("\xff"),
		"a bad pattern":   (&constant{text: "\xff"}).validatePattern(),
		"no pattern":      (&constant{text: "("}).validatePattern(),
	} {
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for name, err := range map[string]error{
		"no words": (&WordList{}).check(), "no allowed words": (&WordList{Allows: true}).check(), "an empty text": validateText(""),
		"the last style": (&constant{kind: globsConstant, entries: entriesUpTo(1), style: match.GlobStyleCount - 1}).validateGlobs(),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBytesBounded holds that a program whose encoding takes more than it may is refused, and one of just as much is not.
func TestBytesBounded(t *testing.T) {
	build := func(last int) (*Program, error) {
		b := NewBuilder("")
		const rules, each = 131, 16100
		for i := range rules {
			n := each
			if i == rules-1 {
				n = last
			}
			b.Note(b.Rule(Rule{Message: fmt.Sprintf("%0*d", n, i)}))
		}
		b.End()
		return b.Program()
	}
	p, err := build(200)
	if err != nil {
		t.Fatal(err)
	}
	most := 200 + MaxBytes - len(p.Canonical())
	if p, err := build(most); err != nil || len(p.Canonical()) != MaxBytes {
		t.Errorf("as many bytes as may be: %v", err)
	}
	if _, err := build(most + 1); err == nil || err.Error() != "vm: the program takes 2097153 bytes: at most 2097152" {
		t.Errorf("a byte too many: %v", err)
	}
	if _, err := Decode(make([]byte, 2*MaxBytes)); err == nil || strings.Contains(err.Error(), "bytes: at most") {
		t.Errorf("as much to decode as may be: %v", err)
	}
	if _, err := Decode(make([]byte, 2*MaxBytes+1)); err == nil || err.Error() != "vm: a program of 4194305 bytes: at most 4194304" {
		t.Errorf("too much to decode: %v", err)
	}
}

// TestIsProgram holds by what bytes a program is known.
func TestIsProgram(t *testing.T) {
	for text, want := range map[string]bool{"": false, "blf": false, "blfp": true, "blfpx": true, "blfd": false, "xblfp": false} {
		if got := IsProgram([]byte(text)); got != want {
			t.Errorf("%q is a program: %v", text, got)
		}
	}
}

// TestOffsets holds that the debug section has any offset of 32 bits, and no other.
func TestOffsets(t *testing.T) {
	for _, test := range []struct {
		from int32
		by   int64
		ok   bool
	}{
		{0, 0, true}, {0, math.MaxInt32, true}, {0, math.MinInt32, true}, {math.MinInt32, math.MaxUint32, true}, {math.MaxInt32, -math.MaxUint32, true},
		{0, math.MaxInt32 + 1, false}, {0, math.MinInt32 - 1, false}, {1, math.MaxInt32, false}, {-1, math.MinInt32, false}, {math.MinInt32, math.MaxUint32 + 1, false},
		{1, math.MaxInt64, false}, {-1, math.MinInt64, false}, {math.MaxInt32, math.MaxInt64, false}, {0, 1 << 32, false},
	} {
		r := &reader{wire.NewReader(binary.AppendVarint(nil, test.by), maxText)}
		if got := r.offset(test.from); (r.Err() == nil) != test.ok || test.ok && int64(got) != int64(test.from)+test.by {
			t.Errorf("%d after %d is %d, %v", test.by, test.from, got, r.Err())
		}
	}
}

// TestCounters holds what a counter needs, and what it must not have.
func TestCounters(t *testing.T) {
	sum := Counter{Name: "c", Unit: "u", Op: Sum, Window: Hour, Decimals: 36, Amount: 1, Group: 2, GroupName: "g", Subgroup: 3, SubgroupName: "s"}
	count := Counter{Name: "c", Unit: "u", Op: Count, Window: Task, Amount: NoSlot, Group: NoSlot, Subgroup: NoSlot}
	grouped := sum
	grouped.Subgroup, grouped.SubgroupName = NoSlot, ""
	for _, c := range []Counter{sum, count, grouped} {
		if err := c.validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for want, change := range map[string]func(sum, count *Counter){
		"not valid UTF-8":              func(sum, count *Counter) { sum.GroupName, count.Name = "\xff", "\xff" },
		"is not valid UTF-8":           func(sum, count *Counter) { sum.SubgroupName, count.Unit = "\xff", "\xff" },
		"it has none":                  func(sum, count *Counter) { sum.Name, count.Unit = "", "" },
		"is not a window":              func(sum, count *Counter) { sum.Window, count.Window = 0, windowCount },
		"nothing that a use does":      func(sum, count *Counter) { sum.Op, count.Op = 0, counterOpCount },
		"needs the slot of its amount": func(sum, count *Counter) { sum.Amount, count.Op = NoSlot, Max },
		"no amount and no decimals":    func(sum, count *Counter) { sum.Op, count.Amount = Count, 1 },
		"a count has no amount":        func(sum, count *Counter) { sum.Op, sum.Decimals, count.Decimals = Count, 0, 1 },
		"37 decimals: at most 36":      func(sum, count *Counter) { sum.Decimals = 37; *count = *sum },
		"a group has a slot and a name": func(sum, count *Counter) {
			sum.GroupName, count.GroupName = "", "g"
		},
		"a group has a slot":               func(sum, count *Counter) { sum.Group, count.Group = NoSlot, 1 },
		"a subgroup has a slot and a name": func(sum, count *Counter) { sum.SubgroupName, count.SubgroupName = "", "s" },
		"a subgroup has a slot":            func(sum, count *Counter) { sum.Subgroup, count.Subgroup = NoSlot, 1 },
		"a subgroup divides a group": func(sum, count *Counter) {
			sum.Group, sum.GroupName, count.Subgroup, count.SubgroupName = NoSlot, "", 1, "s"
		},
	} {
		sum, count := sum, count
		change(&sum, &count)
		for _, c := range []Counter{sum, count} {
			if err := c.validate(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", c, err, want)
			}
		}
	}
	p := &Program{counters: []Counter{sum, sum}}
	if err := p.checkCounters(); err == nil || !strings.Contains(err.Error(), `counter 1: "c" is another counter's name`) {
		t.Errorf("two of one name: %v", err)
	}
	if p.counters[1].Name = "d"; p.checkCounters() != nil {
		t.Errorf("two counters: %v", p.checkCounters())
	}
	if p.counters[1].Limit = amount.FromUint64(1); p.checkCounters() != nil {
		t.Errorf("two counters of other limits: %v", p.checkCounters())
	}
}

// TestTexts holds that texts of a program are valid UTF-8, and that no row occurs twice.
func TestTexts(t *testing.T) {
	texts := func(names ...string) []constant {
		var all []constant
		for _, name := range names {
			all = append(all, constant{kind: textsConstant, entries: []match.Entry{{Text: name}}})
		}
		return all
	}
	for want, p := range map[string]*Program{
		"policy version: \"\\xff\" is not valid UTF-8": {policy: "\xff"},
		"field 1: \"\\xff\" is not valid UTF-8":        {fields: []string{"a", "\xff"}},
		"field 1: \"a\" is another field's name":       {fields: []string{"a", "a"}},
		"rule 0: \"\\xff\" is not valid UTF-8":         {rules: []Rule{{Name: "\xff"}}},
		"rule 1: \"\\xfe\" is not valid UTF-8":         {rules: []Rule{{}, {Code: "\xfe"}}},
		"rule 1: \"\\xfd\" is not valid UTF-8":         {rules: []Rule{{}, {Message: "\xfd"}}},
		"rule 1: \"a\" is in the table twice":          {rules: []Rule{{Name: "a"}, {Name: "a"}}},
		"constant 0 (texts): entry 0: it is empty":     {constants: texts("")},
		"constant 1 (texts): it is in the table twice": {constants: texts("a", "a")},
		"table 0: 0 cases":                             {tables: make([]match.Table, 1)},
		"table 0: case 0: \"\\xff\" is not":            {tables: []match.Table{{Cases: []match.Case{{Text: "\xff"}}}}},
		"table 0: case 0: every text starts with":      {tables: []match.Table{{Cases: []match.Case{{Prefix: true}}}}},
		"table 0: case 1: \"a\" comes after \"a\"":     {tables: []match.Table{{Cases: []match.Case{{Text: "a"}, {Text: "a"}}}}},
		"table 0: case 1: \"a\" comes after \"b\"":     {tables: []match.Table{{Cases: []match.Case{{Text: "b"}, {Text: "a"}}}}},
	} {
		err := p.checkTexts()
		if err == nil {
			err = p.checkConstants()
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	good := &Program{policy: "é", fields: []string{"a", "b", ""}, rules: []Rule{{Name: "a"}, {Name: "a", Code: "b"}}, constants: texts("a", "b"),
		tables: []match.Table{{Cases: []match.Case{{}, {Text: "a"}, {Text: "a", Prefix: true}}}}}
	if good.checkTexts() != nil || good.checkConstants() != nil {
		t.Errorf("%v, %v", good.checkTexts(), good.checkConstants())
	}
}
