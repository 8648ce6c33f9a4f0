package vm

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"
)

// needingProgram returns a program whose rules test that slot x has a value, and then the value.
func (g source) needingProgram() (*Program, error) {
	b := NewBuilder("2.1.0")
	for range 1 + g.Intn(3) {
		there, behind, slot := b.NewLabel(), b.NewLabel(), b.Field("x")
		switch g.Intn(3) {
		case 0:
			b.Kind(Unless, slot, Kinds(Missing, Null), there)
		case 1:
			b.Kind(If, slot, Kinds(String, []Kind{String, Number, List, Invalid}[g.Intn(4)]), there)
		case 2:
			b.Kind(When(g.Intn(2)), slot, KindMask(1+g.Intn(254)), there)
		}
		b.Deny(g.rule(b), behind)
		b.Place(there)
		g.test(b, slot, func() Label { return behind }, behind)
		b.Place(behind)
	}
	b.End()
	return b.Program()
}

// asidesOf compares programs with the same ones step by step, for a value of each kind. It returns how many tests stand in
// the place of one of kinds.
func asidesOf(t *testing.T, report func(string), spoil func(*step)) (aside int) {
	check(t, 3000, func(r *rand.Rand) string {
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
		for _, v := range oneOfEach(g.text()) {
			frame := p.frameOf(map[string]Value{"x": v})
			for _, mode := range []Mode{First, All} {
				got, want := snapshot(new(Machine).Run(p, frame, mode)), plainRun(p, frame, mode)
				if !reflect.DeepEqual(got, want) {
					report(fmt.Sprintf("%+v: %+v, step by step %+v\n%s", v, got, want, p.Disassemble()))
				}
			}
		}
		return ""
	})
	return aside
}

// TestAsides holds that a test in the place of one of kinds changes no result.
func TestAsides(t *testing.T) {
	if aside := asidesOf(t, func(wrong string) { t.Error(wrong) }, nil); aside < 1000 {
		t.Errorf("%d tests stand in the place of one of kinds; the test sees too few", aside)
	}
}

// TestAsidesNoticed is the canary of TestAsides: a test that forgets which one it put aside, or that takes values that are
// the other's, is noticed.
func TestAsidesNoticed(t *testing.T) {
	for name, spoil := range map[string]func(*step){
		"forgets": func(s *step) { s.aside = nil },
		"takes":   func(s *step) { s.accepts = textual },
	} {
		noticed := 0
		asidesOf(t, func(string) { noticed++ }, spoil)
		if noticed == 0 {
			t.Errorf("%s: the fault is not noticed", name)
		}
	}
}
