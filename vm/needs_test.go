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
		b.Compare(OpGreater+Op(g.Intn(2)), When(g.Intn(2)), g.Intn(2), b.Amount(amount.FromUint64(uint64(g.Intn(3)*1000000)), 6, "units"), behind)
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

// oneOfEach returns a value of each kind; the text has a text.
func oneOfEach(has string) []Value {
	return []Value{{}, {Kind: Null}, {Kind: Invalid}, text(has), {Kind: Number, Text: "1"}, {Kind: Bool, Text: "true"}, texts(has, "b"), {Kind: Object}}
}

// TestRulesThatNeedValues holds that rules which need a value find what the interpreter finds, for values of all kinds, and that a machine forgets
// the last run.
func TestRulesThatNeedValues(t *testing.T) {
	m, compared := new(Machine), 0
	check(t, 2000, func(r *rand.Rand) string {
		g := source{r}
		p, err := g.needingProgram()
		if err != nil {
			return ""
		}
		values := append(oneOfEach(g.text()), Value{Kind: List}, text("a"), text(""), text("2000000"), Value{Kind: List, Elems: []Value{{Kind: Object}, text("a")}},
			Value{Kind: List, Elems: []Value{text("a"), {Kind: Invalid}}}, Value{Kind: Number, Text: "2000000", BaseUnits: true}, g.value(true), g.value(true))
		for range 12 {
			frame := make([]Value, len(p.fields))
			for i := range frame {
				frame[i] = values[g.Intn(len(values))]
			}
			if wrong := differs(m, p, frame); wrong != "" {
				return wrong
			}
			compared++
		}
		return ""
	})
	if compared < 10_000 {
		t.Errorf("%d runs were compared; the test sees too few", compared)
	}
}
