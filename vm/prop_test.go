package vm

import (
	"bytes"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/naive"
	"bailiff/fuzz/kit/seed"
	"bailiff/vm/match"
)

// check runs a property over n random sources; the property returns "" or what is wrong.
func check(t *testing.T, n int, property func(r *rand.Rand) string) {
	t.Helper()
	properties := gopter.NewProperties(seed.Parameters(t, n))
	properties.Property(t.Name(), prop.ForAll(func(n int64) string {
		return property(rand.New(rand.NewSource(n)))
	}, gen.Int64()))
	properties.TestingRun(t)
}

// TestPrograms holds what every program promises.
func TestPrograms(t *testing.T) {
	seen := map[Op]int{}
	check(t, 2000, func(r *rand.Rand) string {
		g := source{r}
		p, err := g.program()
		if err != nil {
			return err.Error()
		}
		for _, in := range p.code {
			seen[in.Op]++
		}
		if wrong := roundTrips(p); wrong != "" {
			return wrong
		}
		for range 8 {
			if wrong := runs(p, g.frame(len(p.fields)), g.text()); wrong != "" {
				return wrong
			}
		}
		return ""
	})
	for op := Op(1); op < opCount; op++ {
		if seen[op] == 0 {
			t.Errorf("no program had %q", op)
		}
	}
}

// roundTrips holds that bytes and text are exact inverses.
func roundTrips(p *Program) string {
	data, _ := p.MarshalBinary()
	decoded, err := Decode(data)
	if err != nil {
		return fmt.Sprintf("decoding: %v\n%s", err, p.Disassemble())
	}
	if again, _ := decoded.MarshalBinary(); !bytes.Equal(again, data) || decoded.Hash() != p.Hash() {
		return "encoded again, it is another program:\n" + p.Disassemble()
	}
	text := p.Disassemble()
	assembled, err := Assemble(text)
	if err != nil {
		return fmt.Sprintf("assembling: %v\n%s", err, text)
	}
	if assembled.Hash() != p.Hash() || assembled.Disassemble() != text || assembled.Cost() != p.Cost() {
		return "assembled again, it is another program:\n" + text
	}
	p.Listing(nil)
	return ""
}

// runs holds what every run promises.
func runs(p *Program, frame []Value, action string) string {
	if slot, ok := p.Slot(actionField); ok && int(slot) < len(frame) {
		frame[slot] = Value{Kind: String, Text: action}
	}
	first := snapshot(new(Machine).Run(p, frame, First))
	machine := new(Machine)
	all := snapshot(machine.Run(p, frame, All))
	describe := func(what string) string {
		return fmt.Sprintf("%s\nfirst %+v\nall %+v\nframe %+v\n%s", what, first, all, frame, p.Disassemble())
	}
	switch {
	case first.Status != all.Status:
		return describe("the modes disagree")
	case len(first.Violations) > 1:
		return describe("first has two violations")
	case len(first.Violations) == 1 && first.Violations[0] != all.Violations[0]:
		return describe("the first violation is another one")
	case len(first.Violations) == 0 && !reflect.DeepEqual(first, all):
		return describe("without violations the modes differ")
	case (first.Status == Denied || first.Status == Rejected) != (len(first.Violations) > 0) || len(first.Violations) > 0 && len(first.Reservations) > 0:
		return describe("status, violations and reservations do not fit")
	case len(first.Violations) == 0 && !reflect.DeepEqual(first.Reached, first.Reservations):
		return describe("a plan is not what the run came to")
	case len(first.Reached) > len(all.Reached) || !slices.Equal(first.Reached, all.Reached[:len(first.Reached)]):
		return describe("first came to what all did not")
	case first.Status == Pending != (len(first.Violations) == 0 && len(first.Holds) > 0):
		return describe("pending without a hold, or a hold without pending")
	case !reflect.DeepEqual(first, snapshot(machine.Run(p, frame, First))):
		return describe("a used machine says something else")
	}
	if wrong := differs(new(Machine), p, frame); wrong != "" {
		return describe(wrong)
	}
	return needsEnough(p, frame, action, first)
}

// differs says where a machine, which may have run before, and the interpreter disagree: the machine does what the operations
// say, instruction by instruction, in both modes.
func differs(m *Machine, p *Program, frame []Value) string {
	for _, mode := range []Mode{First, All} {
		got, compared := snapshot(m.Run(p, frame, mode)), slices.Clone(m.Compared())
		want, wanted := interpret(p, frame, mode)
		if !reflect.DeepEqual(got, want) || !slices.Equal(compared, wanted) {
			return fmt.Sprintf("mode %d, frame %+v:\n%+v, compared %+v\ninstruction by instruction\n%+v, compared %+v\n%s",
				mode, frame, got, compared, want, wanted, p.Disassemble())
		}
	}
	return ""
}

// needsEnough holds that slots outside Needs say nothing.
func needsEnough(p *Program, frame []Value, action string, want Result) string {
	needed := p.Needs(action)
	bare := make([]Value, len(frame))
	for slot := range frame {
		if needed.Has(uint16(slot)) {
			bare[slot] = frame[slot]
		}
	}
	if slot, ok := p.Slot(actionField); ok && int(slot) >= len(frame) {
		return "" // Needs speaks of intents that have an action
	}
	if got := snapshot(new(Machine).Run(p, bare, First)); !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("needs(%q) = %v lacks a slot\nall slots %+v\nneeded %+v\nframe %+v\n%s", action, needed, want, got, frame, p.Disassemble())
	}
	return ""
}

// snapshot copies a result, so that empty and absent lists are the same.
func snapshot(r *Result) Result {
	c := *r
	c.Violations = append([]Violation(nil), r.Violations...)
	c.Holds, c.Notes = append([]uint16(nil), r.Holds...), append([]uint16(nil), r.Notes...)
	c.Reservations, c.Reached = append([]Reservation(nil), r.Reservations...), append([]Reservation(nil), r.Reached...)
	return c
}

// TestMutatedBytes holds that what decodes is canonical and runs to an end, however the bytes came about.
func TestMutatedBytes(t *testing.T) {
	accepted := 0
	check(t, 3000, func(r *rand.Rand) string {
		g := source{r}
		p, err := g.program()
		if err != nil {
			return err.Error()
		}
		data, _ := p.MarshalBinary()
		for range 1 + r.Intn(3) {
			i := r.Intn(len(data))
			switch r.Intn(3) {
			case 0:
				data[i] ^= 1 << r.Intn(8)
			case 1:
				data[i] = byte(r.Intn(40))
			default:
				data = append(data[:i:i], data[min(len(data), i+r.Intn(3)):]...)
			}
			if len(data) == 0 {
				return ""
			}
		}
		p, err = Decode(data)
		if err != nil {
			return ""
		}
		accepted++
		if again, _ := p.MarshalBinary(); !bytes.Equal(again, data) {
			return fmt.Sprintf("%x is accepted and encoded as %x", data, again)
		}
		return runs(p, g.frame(len(p.fields)), g.text())
	})
	if accepted < 100 {
		t.Errorf("only %d changed programs were accepted; the test sees too few", accepted)
	}
}

// TestUnknownKinds holds that values of no kind there is do not keep a run from its result.
func TestUnknownKinds(t *testing.T) {
	check(t, 1000, func(r *rand.Rand) string {
		g := source{r}
		p, err := g.program()
		if err != nil {
			return err.Error()
		}
		frame := g.frame(len(p.fields))
		for i := range frame {
			frame[i].Kind = Kind(r.Intn(256))
		}
		for _, mode := range []Mode{First, All} {
			if got := new(Machine).Run(p, frame, mode); (got.Status <= Rejected) != (len(got.Violations) > 0) {
				return fmt.Sprintf("%+v\n%s", got, p.Disassemble())
			}
		}
		return ""
	})
}

// holdsNaively reports whether a test by one entry holds.
func holdsNaively(op Op, e match.Entry, text string) bool {
	return naive.Contains(e.Text, e.Fold, op == OpIn || op == OpStarts, op == OpIn || op == OpEnds, text)
}

// TestSets holds that small and large sets, tables, automata and scans all mean what package naive says.
func TestSets(t *testing.T) {
	var held [opCount]int
	large := 0
	check(t, 1500, func(r *rand.Rand) string {
		g := source{r}
		b := NewBuilder("")
		b.Texts(g.entries(1 + r.Intn(90))...)
		c := b.program.constants[len(b.program.constants)-1]
		for _, op := range []Op{OpIn, OpStarts, OpEnds, OpContains, OpScan} {
			if _, err := c.build(op); err != nil {
				return err.Error()
			}
		}
		if len(c.entries) > match.FewSearched {
			large++
		}
		text := g.entries(1)[0].Text + g.oneOf("", g.text(), g.text()+g.text())
		if r.Intn(2) == 0 {
			text = c.entries[r.Intn(len(c.entries))].Text
		}
		if r.Intn(2) == 0 {
			text = strings.ToUpper(text[:len(text)/2]) + text[len(text)/2:]
		}
		for _, op := range []Op{OpIn, OpStarts, OpEnds, OpContains} {
			want := false
			for _, e := range c.entries {
				want = want || holdsNaively(op, e, text)
			}
			if got := c.judge(op, text) == yes; got != want || holds(&c, op, text) != want {
				return fmt.Sprintf("%s: %q in %+v is %v, and %v in a program", op, text, c.entries, got, holds(&c, op, text))
			}
			if want {
				held[op]++
			}
		}
		return scans(&c, text)
	})
	for _, op := range []Op{OpIn, OpStarts, OpEnds, OpContains} {
		if held[op] < 100 {
			t.Errorf("%s held %d times; the test sees too few", op, held[op])
		}
	}
	if large < 100 {
		t.Errorf("%d sets were large enough for automata; the test sees too few", large)
	}
}

// holds runs a program of one test.
func holds(c *constant, op Op, subject string) bool {
	p := &Program{
		fields: []string{"x"}, actionSlot: NoSlot, constants: []constant{*c},
		code: []Instruction{{Op: op, D: 2}, {Op: OpReject}, {Op: OpEnd}},
	}
	p.findActions()
	return new(Machine).Run(p, []Value{text(subject)}, First).Status == Allowed
}

// TestFolded holds that a large set ignores the case of its addresses, and of nothing else, beside exact entries
// and alone.
func TestFolded(t *testing.T) {
	const address = "0xabcdef0123456789abcdef0123456789abcdef01"
	shouted := "0X" + strings.ToUpper(address[2:])
	folded := constant{kind: textsConstant}
	for i := range match.FewSearched {
		folded.entries = append(folded.entries, match.Entry{Text: fmt.Sprintf("pay %d ", i) + address, Fold: true})
	}
	folded.entries = append(folded.entries, match.Entry{Text: "Pay 7 " + address, Fold: true})
	both := folded
	both.entries = append(slices.Clone(folded.entries), match.Entry{Text: "transfer"})
	for _, c := range []*constant{&folded, &both} {
		exact := c == &both
		if _, err := c.build(OpContains); err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{
			"do pay 9 " + shouted + " now": true, "do pay 9 " + address: true, "Pay 7 " + shouted: true,
			"PAY 7 " + shouted: false, "Pay 8 " + address: false, "pay 9 " + address[:41]: false,
			"transfer": exact, "Transfer": false,
		} {
			if got := c.judge(OpContains, text) == yes; got != want || holds(c, OpContains, text) != want {
				t.Errorf("%q: %v, and %v in a program", text, got, holds(c, OpContains, text))
			}
			if wrong := scans(c, text); wrong != "" {
				t.Error(wrong)
			}
		}
	}
}

// scans holds that a scan finds each entry that is in text, and no other.
func scans(c *constant, text string) string {
	m := new(Machine)
	m.clearHits(len(c.entries), 0)
	c.set.Scan(text, &m.hits, NoElement)
	for i, e := range c.entries {
		if got := m.hits.Has(uint16(i)); got != holdsNaively(OpContains, e, text) {
			return fmt.Sprintf("scan of %q: entry %q found %v", text, e.Text, got)
		}
	}
	return ""
}

// TestHosts holds that a large set of hosts covers what its entries cover one by one.
func TestHosts(t *testing.T) {
	held := 0
	check(t, 1000, func(r *rand.Rand) string {
		name := func() string {
			var labels []string
			for range 1 + r.Intn(3) {
				labels = append(labels, []string{"a", "b", "aa", "ab", "ba"}[r.Intn(5)])
			}
			return strings.Join(labels, ".")
		}
		c := constant{kind: hostsConstant}
		for range match.FewEntries + 1 + r.Intn(6) {
			c.entries = append(c.entries, match.Entry{Text: []string{"", "."}[r.Intn(2)] + name()})
		}
		if _, err := c.build(OpHost); err != nil {
			return err.Error()
		}
		host, want := name()+[]string{"", "."}[r.Intn(2)], false
		for _, e := range c.entries {
			below := strings.HasSuffix(host, "."+strings.TrimPrefix(e.Text, ".")) && host[0] != '.'
			want = want || below || host == e.Text && e.Text[0] != '.'
		}
		if want {
			held++
		}
		if got := c.set.Host(host); got != want {
			return fmt.Sprintf("%q in %+v is %v", host, c.entries, got)
		}
		return ""
	})
	if held < 100 {
		t.Errorf("the test held %d times; it sees too few", held)
	}
}
