package vm

import (
	"fmt"
	"math/rand"
	"testing"
)

// kindProgram returns a program most of whose instructions test the kinds of two slots.
func (g source) kindProgram() *Program {
	b := NewBuilder("2.1.0")
	for i := range 2 + g.Intn(6) {
		over := b.NewLabel()
		for range 1 + g.Intn(3) {
			b.Kind(When(g.Intn(2)), b.Field(g.oneOf("x", "y")), KindMask(1+g.Intn(254)), over)
		}
		if g.Intn(4) == 0 {
			b.Test(OpIn, When(g.Intn(2)), b.Field(g.oneOf("x", "y")), b.Texts(Entry{Text: "a"}), over)
		}
		b.Deny(b.Rule(Rule{Name: fmt.Sprint("rule", i), Code: "DENIED", Message: "denied"}), g.blame(b, "x", "y"), over)
		b.Place(over)
	}
	b.End()
	p, err := b.Program()
	if err != nil {
		panic(err) // what is built above is a program
	}
	return p
}

// oneOfEach returns a value of each kind; the text has a text.
func oneOfEach(has string) []Value {
	return []Value{{}, {Kind: Null}, {Kind: Invalid}, text(has), {Kind: Number, Text: "1"}, {Kind: Bool, Text: "true"}, texts(has, "b"), {Kind: Object}}
}

// trackKinds compares programs with the same ones step by step, for all kinds of two slots. It returns how many tests the
// routes lack.
func trackKinds(t *testing.T, report func(string), spoil func(*tracker)) (spared int) {
	values := oneOfEach("a")
	check(t, 1000, func(r *rand.Rand) string {
		p := source{r}.kindProgram()
		if spoil != nil {
			router := newRouter(p)
			spoil(router.ways)
			p.actions.any = router.route(make([]uint16, len(p.code)))
		}
		spared += len(p.code) - len(p.actions.any.steps)
		for _, x := range values {
			for _, y := range values {
				frame := p.frameOf(map[string]Value{"x": x, "y": y})
				if wrong := differs(new(Machine), p, frame); wrong != "" {
					report(wrong)
				}
			}
		}
		return ""
	})
	return spared
}

// TestTracker holds that tests of kinds that are left out change no result.
func TestTracker(t *testing.T) {
	if spared := trackKinds(t, func(wrong string) { t.Fatal(wrong) }, nil); spared < 500 {
		t.Errorf("%d tests were left out; the test sees too few", spared)
	}
}

// TestTrackerNoticed is the canary of TestTracker: a tracker that takes one slot for the other is noticed.
func TestTrackerNoticed(t *testing.T) {
	for name, spoil := range map[string]func(*tracker){
		"slots": func(t *tracker) {
			for slot := range t.shift {
				t.shift[slot] = 0
			}
		},
	} {
		noticed := 0
		trackKinds(t, func(string) { noticed++ }, spoil)
		if noticed == 0 {
			t.Errorf("%s: the fault is not noticed", name)
		}
	}
}
