package vm

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"bailiff/vm/match"
)

// guardedProgram returns a program of several tests of slot x, some of them with a test of another slot behind them, and a
// text that some of them may hold for.
func (g source) guardedProgram() (*Program, string) {
	b, kind, starts := NewBuilder("2.1.0"), g.Intn(2), g.Intn(4) == 0
	for i := range 2 + g.Intn(4) {
		op := [][]Op{{OpIn, OpEnds, OpHost}, {OpContains}}[kind][g.Intn(3-2*kind)]
		if starts && g.Intn(3) == 0 { // which no guard is for
			op = OpStarts
		}
		var entries []match.Entry
		for range 1 + g.Intn(2) {
			entries = append(entries, match.Entry{Text: g.word(3) + string(rune('c'+len(entries)))})
		}
		c := b.Texts
		if op == OpHost {
			c = func(e ...match.Entry) Const { return b.Hosts(e[0].Text) }
		}
		over := b.NewLabel()
		when := Unless
		if i == 0 && g.Intn(4) == 0 {
			when = If
		}
		b.Test(op, when, b.Field("x"), c(entries...), over)
		if when == Unless && g.Intn(3) == 0 { // as a denial reads a text as sent besides
			b.Deny(b.Rule(Rule{Name: fmt.Sprint("rule", i), Code: "DENIED", Message: "denied"}), g.blame(b, "x", "y", "z", "v"), over)
			b.Place(over)
			over = b.NewLabel()
			b.Test([]Op{OpIn, OpEnds, OpContains}[g.Intn(3)], Unless, b.Field([]string{"y", "z", "v"}[g.Intn(3)]), b.Texts(entries...), over)
		}
		b.Deny(b.Rule(Rule{Name: fmt.Sprint("rule", i), Code: "DENIED", Message: "denied"}), g.blame(b, "x", "y", "z", "v"), over)
		b.Place(over)
		if g.Intn(4) == 0 {
			next := b.NewLabel()
			b.Jump(next)
			b.Place(next)
		}
	}
	b.End()
	p, err := b.Program()
	if err != nil {
		return nil, ""
	}
	text := g.word(12)
	switch entry := p.constants[g.Intn(len(p.constants))].entries[0].Text; g.Intn(4) {
	case 0, 1:
		text += entry
	case 2:
		text = entry + text
	}
	return p, text
}

// word returns at most n letters of two.
func (g source) word(n int) string {
	b := new(strings.Builder)
	for range g.Intn(n + 1) {
		b.WriteByte("ab"[g.Intn(2)])
	}
	return b.String()
}

// guards compares guarded programs with the same ones step by step. It returns how often a guard told that no test holds,
// and how often it did not.
func guards(t *testing.T, report func(string), spoil func(*guard)) (told, not int) {
	check(t, 4000, func(r *rand.Rand) string {
		g := source{r}
		p, word := g.guardedProgram()
		if p == nil {
			return ""
		}
		steps := p.actions.any.steps
		if steps[0].guard == nil {
			return ""
		}
		if spoil != nil {
			spoil(steps[0].guard)
		}
		for _, v := range []Value{text(word), texts(word), texts(word, "b"), {Kind: Invalid}, {Kind: Object}, {}} {
			if v.Kind == String && steps[0].guard.Excludes(word) {
				told++
			} else {
				not++
			}
			for _, other := range []Value{{}, {Kind: Null}, text(word), texts(word), {Kind: Object}, {Kind: Invalid}} {
				frame := p.frameOf(map[string]Value{"x": v, "y": other, "z": v})
				if wrong := differs(new(Machine), p, frame); wrong != "" {
					report(wrong)
				}
			}
			frame := p.frameOf(map[string]Value{"x": v})
			if wrong := differs(new(Machine), p, frame); wrong != "" {
				report(wrong)
			}
		}
		return ""
	})
	return told, not
}

// TestGuards holds that guards change no result.
func TestGuards(t *testing.T) {
	told, not := guards(t, func(wrong string) { t.Error(wrong) }, nil)
	if told < 200 || not < 200 {
		t.Errorf("guards told %d times that nothing holds, and not %d times; the test sees too few", told, not)
	}
}

// TestGuardsNoticed is the canary of TestGuards: a guard that lacks an entry is noticed.
func TestGuardsNoticed(t *testing.T) {
	noticed := 0
	guards(t, func(string) { noticed++ }, func(g *guard) {
		g.Guard = match.NewGuard(match.End, setOf("zzzz"))
	})
	if noticed == 0 {
		t.Error("a guard that lacks an entry is not noticed")
	}
	noticed = 0
	guards(t, func(string) { noticed++ }, func(g *guard) { g.others = nil })
	if noticed == 0 {
		t.Error("a guard that does not look at another slot is not noticed")
	}
}

// setOf returns a set of one text.
func setOf(text string) *match.Set {
	s := new(match.Set)
	s.Load([]match.Entry{{Text: text}}, 0)
	return s
}

// TestGuardsFarApart holds that tests have their own guard, also where the numbers of their instructions share the lowest byte.
func TestGuardsFarApart(t *testing.T) {
	b := NewBuilder("2.1.0")
	for at, texts := range []string{"abc", "def"} {
		for len(b.program.code) < 256*at {
			b.Note(b.Rule(Rule{Name: "note"}))
		}
		for _, letter := range texts {
			over := b.NewLabel()
			b.Test(OpIn, Unless, b.Field("x"), b.Texts(literal(string(letter)+"z")), over)
			b.Deny(b.Rule(Rule{Name: string(letter)}), Blame{Slot: b.Field("x")}, over)
			b.Place(over)
		}
	}
	b.End()
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"az", "bz", "cz", "dz", "ez", "fz", "gz", "z", ""} {
		if wrong := differs(new(Machine), p, p.frameOf(map[string]Value{"x": text(subject)})); wrong != "" {
			t.Errorf("%q: %.300s", subject, wrong)
		}
	}
}
