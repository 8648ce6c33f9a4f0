package vm

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// TestSlotSets holds that a set of slots has those that were added, and no others.
func TestSlotSets(t *testing.T) {
	const slots = 200
	for added := range uint16(slots) {
		set := make(SlotSet, (slots+63)/64)
		set.add(added)
		for slot := range uint16(2 * slots) {
			if set.Has(slot) != (slot == added) {
				t.Errorf("after adding %d the set has %d: %v", added, slot, set.Has(slot))
			}
		}
		set.add(NoSlot)
		if set.Has(NoSlot) {
			t.Error("a set has the slot that is none")
		}
	}
}

// TestNames holds how the numbers are called that results and programs have, and that a number beyond has no name.
func TestNames(t *testing.T) {
	var got []string
	for n := range uint8(8) {
		got = append(got, fmt.Sprintf("%d %q %q %q %q", n, Status(n), Class(n), Window(n), CounterOp(n)))
	}
	want := []string{`0 "denied" "" "" ""`, `1 "rejected" "evm" "hour" "count"`, `2 "pending" "tool" "day" "sum"`, `3 "allowed" "mcp" "task" "max"`,
		`4 "" "model" "" ""`, `5 "" "" "" ""`, `6 "" "" "" ""`, `7 "" "" "" ""`}
	if !slices.Equal(got, want) {
		t.Errorf("the names are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if Op(0).String() != "" || opCount.String() != "" || (opCount-1).String() == "" || KindMask(0).String() != "" || KindMask(0x81).String() != "missing|object" {
		t.Error("a number that is no operation or kind has a name, or one that is has none")
	}
}

// TestAccessors holds that a program returns the rows that it was built of.
func TestAccessors(t *testing.T) {
	b := NewBuilder("2.1.0")
	rule := b.Rule(Rule{Name: "r", Code: "C", Message: "m"})
	b.Note(rule)
	b.Reserve(b.Counter(Counter{Name: "c", Unit: "u", Rule: rule, Op: Count, Window: Day, Amount: NoSlot, Group: NoSlot, Limit: amount.FromUint64(3)}))
	d := b.Counter(Counter{Name: "d"})
	if again := b.Counter(Counter{Name: "d"}); d != 1 || again != d || b.Counter(Counter{Name: "e"}) != 2 || b.Rule(Rule{Name: "s"}) != 1 || b.Field("x") != 0 || b.Field("y") != 1 {
		t.Error("a row has another number than its place")
	}
	b.End()
	b.Token(Token{Symbol: "usdc", Decimals: 6})
	p := built(t, b)
	if p.Policy() != "2.1.0" || p.Rules() != 1 || p.Rule(0).Name != "r" || p.Counters() != 1 || p.Counter(0).Limit != amount.FromUint64(3) || p.Len() != 3 ||
		p.Instruction(1) != (Instruction{Op: OpReserve}) || len(p.Tokens()) != 1 || p.Span(0) != (Span{}) || p.Cost() != (Cost{Fixed: 4 + 64 + 2}) {
		t.Errorf("the program says otherwise: %s", p.Disassemble())
	}
}

// TestListingOfLines holds that a listing shows each line above its instructions once, those without a line below the last, and all of a
// counter and of a token that there is room for.
func TestListingOfLines(t *testing.T) {
	b := NewBuilder("2.1.0")
	rule := b.Rule(Rule{Name: "r", Code: "C", Message: "m"})
	for _, line := range []int32{0, 2, 2, 0, 3, 9} {
		b.SetSpan(Span{Line: line})
		b.Note(rule)
	}
	b.Reserve(b.Counter(Counter{Name: "c", Unit: "USD", Rule: rule, Op: Max, Decimals: 2, Amount: b.Field("a"), Window: Task, Group: b.Field("g"), GroupName: "group",
		Subgroup: b.Field("s"), SubgroupName: "subgroup", Limit: amount.FromUint64(1050)}))
	b.End()
	for i, pins := range []int{shownEntries, shownEntries + 3} {
		token := Token{Symbol: fmt.Sprint("t", i)}
		for n := range pins {
			token.Pins = append(token.Pins, Pin{Chain: fmt.Sprint(i + 1), Address: fmt.Sprintf("0x%040d", n)})
		}
		b.Token(token)
	}
	p := built(t, b)
	_, code, _ := strings.Cut(p.Listing([]string{"one\n", "two\r\n", "three"}), "byte of the request\n")
	tokens, code, _ := strings.Cut(code, "       0")
	want := `  note      r C: m

    2 | two
       1  note      r C: m
       2  note      r C: m
       3  note      r C: m

    3 | three
       4  note      r C: m

    9 |
       5  note      r C: m
       6  reserve   c: the highest a at most 10.5 USD per task and group and subgroup, else r
       7  end
`
	if code != want {
		t.Errorf("the listing is\n%s\nwant\n%s", code, want)
	}
	lines := strings.Split(strings.TrimSpace(tokens), "\n")
	if len(lines) != 2 || strings.Contains(lines[0], "more") || strings.Count(lines[0], "0x") != shownEntries || strings.Count(lines[1], "0x") != shownEntries ||
		!strings.HasSuffix(lines[1], " and 3 more") || !strings.HasPrefix(lines[0], "token t0, 0 decimals, 1:0x") {
		t.Errorf("the tokens are\n%s", tokens)
	}
}

// TestLongSubjects holds that a pattern looks at a text of 4 KiB, and can't judge one that is longer, alone or in a list.
func TestLongSubjects(t *testing.T) {
	p := func(when When) *Program {
		b := NewBuilder("")
		end := b.NewLabel()
		b.Test(OpMatch, when, b.Field("x"), b.Pattern("a", false), end)
		b.Reject(b.Rule(Rule{Name: "r"}), b.Field("x"))
		b.Place(end)
		b.End()
		made := built(t, b)
		return made
	}
	c := constant{kind: patternConstant, text: "a"}
	if _, err := c.build(OpMatch); err != nil || c.judge(OpMatch, strings.Repeat("a", 4096)) != yes || c.judge(OpMatch, strings.Repeat("a", 4097)) != unjudged {
		t.Errorf("a long text is judged otherwise: %v", err)
	}
	is, is4096, is4097 := text("a"), text(strings.Repeat("a", 4096)), text(strings.Repeat("a", 4097))
	not, not4096, not4097 := text("b"), text(strings.Repeat("b", 4096)), text(strings.Repeat("b", 4097))
	list := func(elems ...Value) Value { return Value{Kind: List, Elems: elems} }
	for _, test := range []struct {
		v             Value
		judged        bool
		holds, always bool
	}{
		{is4096, true, true, true}, {not4096, true, false, false}, {is4097, false, false, false}, {not4097, false, false, false},
		{list(is4096), true, true, true}, {list(not4096), true, false, false}, {list(not4096, is4096), true, true, false}, {list(is4097), false, false, false},
		{list(is, is4097), false, false, false}, {list(not, not4097), false, false, false}, {list(is4097, is), false, false, false}, {list(not4097, is), false, false, false},
		{list(is, list(not, is4096)), true, true, true}, {list(is, list(is, not4097)), false, false, false}, {list(not, list(is4097)), false, false, false},
	} {
		for when, holds := range map[When]bool{If: test.holds, Every: test.always, Unless: !test.holds, Unless | Every: !test.always} {
			got, want := new(Machine).Run(p(when), []Value{test.v}, First).Status, Rejected
			if test.judged && holds {
				want = Allowed
			}
			if got != want {
				t.Errorf("%v, and a value of %d bytes and %d elements: %s, want %s", when, len(test.v.Text), len(test.v.Elems), got, want)
			}
		}
	}
}

// TestBuilderBounds holds what a builder refuses that would not fit into a program.
func TestBuilderBounds(t *testing.T) {
	b := NewBuilder("")
	for i := range maxEntries + 1 {
		b.Field(fmt.Sprint("f", i))
	}
	if len(b.errs) != 0 || b.Field("f7") != 7 {
		t.Errorf("as many rows as may be: %v", b.errs)
	}
	if b.Field("more"); len(b.errs) != 1 || b.errs[0].Error() != "vm: a table of the program grows beyond 32768 rows" {
		t.Errorf("a row too many: %v", b.errs)
	}
	b = NewBuilder("")
	for i := range maxEntries + 1 {
		b.Pattern(fmt.Sprint("p", i), true)
	}
	if len(b.errs) != 0 || len(b.program.constants) != maxEntries+1 {
		t.Errorf("%d constants, as many as may be: %v", len(b.program.constants), b.errs)
	}
	if b.Pattern("more", true); len(b.errs) != 1 || len(b.program.constants) != maxEntries+1 {
		t.Errorf("%d constants, with one too many: %v", len(b.program.constants), b.errs)
	}
	b = NewBuilder("")
	for range maxRules {
		b.Words(wordsOf("a"))
	}
	if b.Words(nil); len(b.errs) != 0 {
		t.Errorf("as many lists as may be: %v", b.errs)
	}
	if b.Words(wordsOf("a")); len(b.errs) != 1 || b.errs[0].Error() != "vm: the policy has more than 32768 lists" {
		t.Errorf("a list too many: %v", b.errs)
	}
	for notes, want := range map[int]string{MaxInstructions - 2: "", MaxInstructions - 1: "jumps go forward, to at most 65534"} {
		b = NewBuilder("")
		end, rule := b.NewLabel(), b.Rule(Rule{Name: "r"})
		b.Kind(If, b.Field("a"), 2, end)
		for range notes - 1 {
			b.Note(rule)
		}
		if want != "" {
			b.Note(rule)
		}
		b.Place(end)
		b.End()
		if _, err := b.Program(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a jump to the last of %d instructions: %v", notes+2, err)
		}
	}
}

// TestTextsFold holds that an entry folds if one of those with its text does, and that a list of many texts has each once.
func TestTextsFold(t *testing.T) {
	const address = "0xabcdef0123456789abcdef0123456789abcdef01"
	b := NewBuilder("")
	folded, exact := match.Entry{Text: strings.ToUpper(address), Fold: true}, match.Entry{Text: address}
	for i, entries := range [][]match.Entry{{folded, exact}, {exact, folded}, {exact, folded, exact}} {
		b.Texts(entries...)
		if kept := b.program.constants[0].entries; len(b.program.constants) != 1 || len(kept) != 1 || kept[0] != (match.Entry{Text: address, Fold: true}) {
			t.Errorf("%d: %+v", i, kept)
		}
	}
	for n := range 30 {
		texts := make([]string, 0, 3*n)
		for i := range 3 * n {
			texts = append(texts, fmt.Sprint("p", i%max(n, 1)))
		}
		c := b.program.constants
		if b.Paths(texts...); n > 0 && len(b.program.constants) == len(c) || len(b.program.constants[len(b.program.constants)-1].entries) != n {
			t.Errorf("%d texts, each three times, are %+v", n, b.program.constants[len(b.program.constants)-1].entries)
		}
	}
}

// TestAutomataOfProgram holds that all texts to search for together take no more memory than they may.
func TestAutomataOfProgram(t *testing.T) {
	long := func(first byte) (entries []match.Entry) {
		for i := range match.FewSearched + 1 {
			entries = append(entries, match.Entry{Text: fmt.Sprintf("%c%c%s", first, '0'+i, strings.Repeat("a", 2000))})
		}
		return entries
	}
	for sets, want := range map[int]string{1: "", 2: "instruction 1 (contains): the program's texts to search for take more than 16777216 bytes of memory; use fewer or shorter ones"} {
		b := NewBuilder("")
		end := b.NewLabel()
		for i := range sets {
			b.Test(OpContains, If, b.Field("x"), b.Texts(long(byte('x'+i))...), end)
		}
		b.Place(end)
		b.End()
		if _, err := b.Program(); (err == nil) != (want == "") || err != nil && err.Error() != "vm: "+want {
			t.Errorf("%d sets: %v", sets, err)
		}
	}
	c := constant{kind: patternConstant, text: "a"}
	for range 2 {
		if took, err := c.build(OpMatch); took != 0 || err != nil {
			t.Errorf("a pattern takes %d bytes of automata, %v", took, err)
		}
	}
}

// TestManyRoutes holds that programs whose actions would take too many routes, or too long ones, run as those that have one for each.
func TestManyRoutes(t *testing.T) {
	for name, size := range map[string][2]int{"routes": {300, 150}, "work": {2500, 1000}, "cases": {40, 10}} {
		b := NewBuilder("")
		var cases []Case
		labels := make([]Label, size[0])
		for i := range labels {
			labels[i] = b.NewLabel()
			cases = append(cases, Case{Text: fmt.Sprintf("action%04d", i), Prefix: i%2 == 0, To: labels[i]})
		}
		end := b.NewLabel()
		b.Switch(b.Field(actionField), end, cases...)
		for i, label := range labels {
			b.Place(label)
			b.Note(b.Rule(Rule{Name: fmt.Sprint(i)}))
		}
		for range size[1] {
			b.Kind(If, b.Field("x"), Kinds(Null), end)
			b.Note(b.Rule(Rule{Name: "x"}))
		}
		b.Place(end)
		last := b.NewLabel()
		b.Test(OpEnds, Unless, b.Field(actionField), b.Texts(literal("7"), literal("8")), last)
		b.Hold(b.Rule(Rule{Name: "ends"}))
		b.Place(last)
		b.End()
		p := built(t, b)
		steps := 0
		for i := range p.actions.routes {
			if r := &p.actions.routes[i]; &r.steps[0] != &p.actions.any.steps[0] {
				steps += len(r.steps)
			}
		}
		if steps > maxRouteSteps || name == "cases" && len(p.actions.routes) < size[0] || name == "work" && len(p.actions.routes) != 1 {
			t.Errorf("%s: %d routes of %d steps", name, len(p.actions.routes), steps)
		}
		r := rand.New(rand.NewSource(1))
		for range 60 {
			frame := p.frameOf(map[string]Value{actionField: text(fmt.Sprintf("action%04d", r.Intn(size[0]+2)) + []string{"", "", "x", "7"}[r.Intn(4)]), "x": []Value{{}, {Kind: Null}}[r.Intn(2)]})
			if wrong := differs(new(Machine), p, frame); wrong != "" {
				t.Fatal(wrong[:200])
			}
		}
	}
}

// TestDecodedRows holds that tables of the shortest rows are read.
func TestDecodedRows(t *testing.T) {
	b := NewBuilder("")
	b.SetSpan(Span{})
	b.Note(b.Rule(Rule{}))
	for range 3 {
		b.Words(&WordList{})
		b.Hold(b.Rule(Rule{}))
	}
	b.Token(Token{Symbol: "t"})
	b.Token(Token{Symbol: "u"})
	b.End()
	p := built(t, b)
	encoded, again := reread(t, p)
	if b, _ := again.MarshalBinary(); !bytes.Equal(b, encoded) || len(again.lists) != 3 || len(again.listed) != 3 || len(again.tokens) != 2 {
		t.Errorf("the program is read as\n%s", again.Disassemble())
	}
}

// TestActionsOfAnyKind holds that a program runs as its operations say also where the action has no text.
func TestActionsOfAnyKind(t *testing.T) {
	check(t, 600, func(r *rand.Rand) string {
		g := source{r}
		p, err := g.program()
		if err != nil {
			return err.Error()
		}
		for _, v := range append(oneOfEach(g.text()), texts("bash", g.text()), g.value(true)) {
			frame := g.frame(len(p.fields))
			if slot, ok := p.Slot(actionField); ok && int(slot) < len(frame) {
				frame[slot] = v
			}
			if wrong := differs(new(Machine), p, frame); wrong != "" {
				return wrong
			}
		}
		return ""
	})
}

// TestNeedsOfTests holds which slots an action needs, where tests of its whole text and of how it starts tell actions apart.
func TestNeedsOfTests(t *testing.T) {
	b := NewBuilder("")
	for _, test := range []struct {
		op   Op
		when When
		text string
		slot string
	}{{OpIn, Unless, "bash", "is"}, {OpIn, If, "bash", "isn't"}, {OpStarts, Unless, "mcp.", "starts"}, {OpStarts, If, "mcp.", "doesn't"}, {OpEnds, Unless, "x", "ends"}} {
		over := b.NewLabel()
		b.Test(test.op, test.when, b.Field(actionField), b.Texts(literal(test.text)), over)
		b.Kind(If, b.Field(test.slot), 2, over)
		b.Note(b.Rule(Rule{Name: test.slot}))
		b.Place(over)
	}
	b.End()
	p := built(t, b)
	for action, want := range map[string]string{"bash": "is doesn't ends", "mcp.x": "isn't starts ends", "": "isn't doesn't ends", "bashx": "isn't doesn't ends"} {
		var got []string
		for slot, name := range p.Fields() {
			if name != actionField && p.Needs(action).Has(uint16(slot)) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q needs %v, want %s", action, got, want)
		}
	}
}

// TestBuiltAndDecoded holds that the smallest program is read as it was built, and keeps no more live.
func TestBuiltAndDecoded(t *testing.T) {
	b := NewBuilder("")
	b.SetSpan(Span{Start: 1, End: 2, Line: 3})
	b.End()
	p := built(t, b)
	_, again := reread(t, p)
	if again.Span(0) != p.Span(0) {
		t.Fatalf("it is read with the span %v", again.Span(0))
	}
	if more := p.Memory() - again.Memory(); more < 0 || more > 200 {
		t.Errorf("built it takes %d bytes, and %d decoded", p.Memory(), again.Memory())
	}
}

// TestDecimalsOfWays holds that a comparison needs a register which has its decimals whichever way led to it.
func TestDecimalsOfWays(t *testing.T) {
	for register := range 2 {
		b := NewBuilder("")
		end := b.NewLabel()
		b.Compare(OpGreater, If, register, b.Amount(amount.FromUint64(1), 0, "u"), end)
		b.Place(end)
		b.End()
		if _, err := b.Program(); err == nil || !strings.Contains(err.Error(), "no way that leads to it sets its register") {
			t.Errorf("register %d, which nothing sets: %v", register, err)
		}
		b = NewBuilder("")
		end = b.NewLabel()
		x, loaded := b.Field("x"), b.NewLabel()
		b.Load(register, x, 6, loaded)
		b.Place(loaded)
		b.Load(register, x, 7, end)
		b.Compare(OpGreater, If, register, b.Amount(amount.FromUint64(1), 6, "u"), end)
		b.Place(end)
		b.End()
		if _, err := b.Program(); err == nil || !strings.Contains(err.Error(), "no way that leads to it sets its register") {
			t.Errorf("register %d, which could not be read again: %v", register, err)
		}
		for _, test := range []struct {
			first, second uint8
			want          string
		}{{6, 6, ""}, {6, 7, "may have other decimals"}, {7, 6, "may have other decimals"}, {7, 7, "may have other decimals"}} {
			b := NewBuilder("")
			x, done, second, loaded := b.Field("x"), b.NewLabel(), b.NewLabel(), b.NewLabel()
			b.Kind(If, x, Kinds(Number), second)
			b.Load(register, x, test.first, loaded)
			b.Reject(b.Rule(Rule{}), x)
			b.Place(second)
			b.Load(1-register, x, 30, done)
			b.Load(register, x, test.second, loaded)
			b.Reject(b.Rule(Rule{}), x)
			b.Place(loaded)
			b.Compare(OpGreater, If, register, b.Amount(amount.FromUint64(1), 6, "u"), done)
			b.Place(done)
			b.End()
			if _, err := b.Program(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("register %d, %+v: %v", register, test, err)
			}
		}
	}
}

// TestHitsForget holds that a hit which finds nothing blames no element that another has found.
func TestHitsForget(t *testing.T) {
	b := NewBuilder("")
	x, first, done := b.Field("x"), b.NewLabel(), b.NewLabel()
	set := b.Texts(literal("a"), literal("b"))
	b.Scan(x, set, done)
	b.Hit(If, set, literal("a"), first)
	b.Note(b.Rule(Rule{Name: "none"}))
	b.Place(first)
	b.Hit(If, set, literal("b"), done)
	b.Deny(b.Rule(Rule{Name: "r"}), Blame{x, true}, done)
	b.Place(done)
	b.End()
	p := built(t, b)
	for _, v := range []Value{texts("x", "a"), texts("x", "b"), texts("a", "b"), text("a"), texts("a", "x"), {Kind: List, Elems: []Value{text("a"), {Kind: Invalid}}}} {
		if wrong := differs(new(Machine), p, []Value{v}); wrong != "" {
			t.Error(wrong)
		}
	}
	m := new(Machine)
	if got := m.Run(p, []Value{texts("x", "a")}, First).Violations; len(got) != 1 || got[0].Element != NoElement || m.frame != nil {
		t.Errorf("the violations are %+v, and the machine keeps the request: %v", got, m.frame != nil)
	}
}

// TestOperands holds which operands each kind of operand takes, each of them alone.
func TestOperands(t *testing.T) {
	p := &Program{fields: make([]string, 3), rules: make([]Rule, 4), tables: make([]match.Table, 5), counters: make([]Counter, 6), code: make([]Instruction, 7),
		constants: []constant{{kind: textsConstant}, {kind: hostsConstant}, {kind: pathsConstant}, {kind: patternConstant}, {kind: amountConstant}, {kind: globsConstant}}}
	for a, bits := range modifiers {
		for value := range 256 {
			good := value&^int(bits) == 0
			if operandA(a) == aClass {
				good = 0 < value && value <= int(Model)
			}
			if err := operandA(a).check(uint8(value)); (err == nil) != good {
				t.Errorf("operand A of kind %d may be %d: %v", a, value, err)
			}
		}
	}
	of := func(kind constantKind) func(int) bool {
		return func(n int) bool { return n < len(p.constants) && p.constants[n].kind == kind }
	}
	below := func(most int) func(int) bool { return func(n int) bool { return n < most } }
	for value := range 300 {
		for b, good := range map[operandB]func(int) bool{noB: below(1), bSlot: below(3), bBlame: below(3)} {
			if err := b.check(uint16(value), p); (err == nil) != good(value) {
				t.Errorf("operand B of kind %d may be %d: %v", b, value, err)
			}
		}
		for c, good := range map[operandC]func(int) bool{
			noC: below(1), cRule: below(4), cTable: below(5), cCounter: below(6), cDecimals: below(37), cHit: below(1000), cKinds: func(n int) bool { return 0 < n && n < 255 },
			cTexts: of(textsConstant), cHosts: of(hostsConstant), cPaths: of(pathsConstant), cPattern: of(patternConstant), cAmount: of(amountConstant), cGlobs: of(globsConstant),
		} {
			if err := c.check(uint16(value), p); (err == nil) != good(value) {
				t.Errorf("operand C of kind %d may be %d: %v", c, value, err)
			}
		}
		for d, good := range map[operandD]func(int) bool{noD: below(1), dTarget: func(n int) bool { return 2 < n && n < 7 }} {
			if err := d.check(uint16(value), 2, p); (err == nil) != good(value) {
				t.Errorf("operand D of kind %d may be %d: %v", d, value, err)
			}
		}
	}
}

// TestReadingsWithoutText holds that a reading which has no text satisfies no test, also one that the empty text does.
func TestReadingsWithoutText(t *testing.T) {
	for _, empty := range []bool{false, true} {
		for name, test := range map[string]func(b *Builder, done Label){
			"glob":  func(b *Builder, done Label) { b.Test(OpGlob, If, b.Field("x"), b.Globs(match.Unbounded, "*"), done) },
			"match": func(b *Builder, done Label) { b.Test(OpMatch, If, b.Field("x"), b.Pattern("a*", false), done) },
		} {
			b := NewBuilder("")
			done := b.NewLabel()
			test(b, done)
			b.Reject(b.Rule(Rule{Name: "r"}), b.Field("x"))
			b.Place(done)
			b.End()
			p := built(t, b)
			readings := Value{Kind: List, Elems: []Value{{Kind: Null}, {Kind: Object}}}
			if empty {
				readings.Elems = append(readings.Elems, text(""))
			}
			for _, v := range []Value{readings, {Kind: List, Elems: []Value{readings}}} {
				if got := new(Machine).Run(p, []Value{v}, First).Status == Allowed; got != empty {
					t.Errorf("%s of %+v holds: %v", name, v, got)
				}
			}
		}
	}
}
