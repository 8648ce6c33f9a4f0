package vm

import (
	"math/rand"
	"testing"

	"bailiff/vm/amount"
)

// needingProgram returns a program whose rules test that a slot has a value of some kinds, and then the value.
func (g source) needingProgram() (*Program, error) {
	b := NewBuilder("2.1.0")
	for range 1 + g.Intn(4) {
		there, behind, slot := b.NewLabel(), b.NewLabel(), b.Field(g.oneOf("x", "x", "y"))
		mask := g.mask()
		if g.Intn(2) == 0 {
			mask = []KindMask{
				Kinds(String), Kinds(String, Number), Kinds(String, Number, Bool), Kinds(String, Number, Bool, List), Kinds(String, List),
				Kinds(String, Invalid), Kinds(Invalid, String, Number, Bool, List, Object),
			}[g.Intn(7)]
		}
		b.Kind(When(g.Intn(2)), slot, mask, there)
		if g.Intn(4) == 0 {
			b.Reject(g.rule(b), slot)
		} else {
			b.Deny(g.rule(b), g.blame(b, "x", "y"), behind)
		}
		b.Place(there)
		switch g.Intn(6) {
		case 0:
			g.loads(b, slot, behind)
		case 1:
			g.lateHit(b, slot, behind)
		case 2:
			g.branches(b, slot, behind)
		default:
			g.test(b, slot, func() Label { return behind }, behind)
		}
		b.Place(behind)
	}
	b.End()
	return b.Program()
}

// mask returns any mask of kinds, but that of all.
func (g source) mask() KindMask { return KindMask(1 + g.Intn(254)) }

// loads emits two amounts, one of which is held against a limit, perhaps without being read.
func (g source) loads(b *Builder, slot uint16, behind Label) {
	n, read := g.Intn(2), b.NewLabel()
	if g.Intn(2) == 0 {
		b.Kind(When(g.Intn(2)), b.Field(g.oneOf("x", "y")), g.mask(), read)
	}
	for i, slot := range []uint16{b.Field("y"), slot} {
		loaded := b.NewLabel()
		b.Load((n+i)%2, slot, 6, loaded)
		if g.Intn(2) == 0 {
			b.Deny(g.rule(b), g.blame(b, "x", "y"), behind)
		} else {
			b.Note(g.rule(b))
		}
		b.Place(loaded)
	}
	b.Place(read)
	for range 1 + g.Intn(2) {
		b.Compare(OpGreater+Op(g.Intn(2)), When(g.Intn(2)), g.Intn(2), b.Amount(amount.FromUint64(uint64(g.Intn(3)*1000000)), 6), behind)
		b.Deny(g.rule(b), g.blame(b, "x", "y"), behind)
	}
}

// lateHit emits a scan of one entry or of many, and a hit between other tests.
func (g source) lateHit(b *Builder, slot uint16, behind Label) {
	entries := g.entries(1)
	if g.Intn(2) == 0 {
		entries = g.entries(150)
	}
	nothing, other, set := b.NewLabel(), b.NewLabel(), b.Texts(entries...)
	b.Scan(slot, set, nothing)
	b.Note(g.rule(b))
	soon := g.Intn(2) == 0
	if soon {
		b.Place(nothing)
	}
	b.Kind(If, slot, g.mask(), other)
	b.Note(g.rule(b))
	b.Place(other)
	if !soon {
		b.Place(nothing)
	}
	b.Hit(When(g.Intn(2)), set, entries[g.Intn(len(entries))], behind)
	if g.Intn(2) == 0 {
		b.Kind(When(g.Intn(2)), slot, g.mask(), behind)
	}
	b.Deny(g.rule(b), g.blame(b, "x", "y"), behind)
}

// branches emits a switch of few cases or of many, of which one may be empty.
func (g source) branches(b *Builder, slot uint16, behind Label) {
	other, cases := b.NewLabel(), []Case{{Text: "yy", To: behind}}
	all := []string{"", "a", "b", "ab", "1", "1.5", "true", "mcp.", "mcp.ab", "bash", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10"}
	for _, text := range all[:1+g.Intn(len(all))] {
		if g.Intn(4) > 0 {
			cases = append(cases, Case{Text: text, Prefix: g.Intn(3) == 0 && text != "", To: behind})
		}
	}
	b.Switch(slot, other, cases...)
	b.Place(other)
	b.Deny(g.rule(b), g.blame(b, "x", "y"), behind)
}

// asidesOf compares programs with the interpreter, on one machine, for frames of all kinds of values. It returns how many
// tests are in the place of one of kinds.
func asidesOf(t *testing.T, report func(string), spoil func(*step)) (aside int) {
	m := new(Machine)
	check(t, 2000, func(r *rand.Rand) string {
		g := source{r}
		p, err := g.needingProgram()
		if err != nil {
			return ""
		}
		steps := p.actions.any.steps
		for i := range steps {
			if steps[i].aside != nil {
				aside++
				if spoil != nil {
					spoil(&steps[i])
				}
			}
		}
		values := append(oneOfEach(g.text()), Value{Kind: List}, text("a"), text(""), text("2000000"), Value{Kind: List, Elems: []Value{{Kind: Object}, text("a")}},
			Value{Kind: List, Elems: []Value{text("a"), {Kind: Invalid}}}, Value{Kind: Number, Text: "2000000", BaseUnits: true}, g.value(true), g.value(true))
		for range 12 {
			frame := make([]Value, len(p.fields))
			for i := range frame {
				frame[i] = values[g.Intn(len(values))]
			}
			if wrong := differs(m, p, frame); wrong != "" {
				report(wrong)
			}
		}
		return ""
	})
	return aside
}

// TestAsides holds that a test in the place of one of kinds changes no result, and that a machine forgets the last run.
func TestAsides(t *testing.T) {
	if aside := asidesOf(t, func(wrong string) { t.Error(wrong) }, nil); aside < 500 {
		t.Errorf("%d tests stand in the place of one of kinds; the test sees too few", aside)
	}
}

// TestAsidesNoticed is the canary of TestAsides: a test that forgets which one it put aside, or that takes values that are
// the other's, is noticed.
func TestAsidesNoticed(t *testing.T) {
	for name, spoil := range map[string]func(*step){
		"forgets":    func(s *step) { s.aside = nil },
		"takes":      func(s *step) { s.accepts = textual },
		"takes more": func(s *step) { s.accepts |= Invalid | Object },
	} {
		noticed := 0
		asidesOf(t, func(string) { noticed++ }, spoil)
		if noticed == 0 {
			t.Errorf("%s: the fault is not noticed", name)
		}
	}
}
