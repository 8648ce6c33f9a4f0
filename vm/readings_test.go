package vm

import "testing"

// TestReadings: an element that is a list satisfies a test if one of its readings does, by either quantifier, and what of
// it can't be judged can't be passed.
func TestReadings(t *testing.T) {
	text := func(s string) Value { return Value{Kind: String, Text: s} }
	readings := func(elems ...Value) Value { return Value{Kind: List, Elems: elems} }
	for _, c := range []struct {
		elems    []Value
		all, any bool // whether the test holds
		judged   bool
	}{
		{[]Value{readings(text("/a/x"), text("./x"))}, true, true, true},
		{[]Value{readings(text("/b/x"), text("./x"))}, true, true, true},
		{[]Value{readings(text("/b/x"), text("./y"))}, false, false, true},
		{[]Value{readings(text("/a/x")), readings(text("/b"), text("./x"))}, true, true, true},
		{[]Value{readings(text("/a/x")), readings(text("/b"), text("./y"))}, false, true, true},
		{[]Value{readings(), text("/a")}, false, true, true},
		{[]Value{readings(text("/a"), Value{Kind: Invalid}), text("/a")}, false, false, false},
		{[]Value{readings(readings(text("/a")))}, false, false, true},
	} {
		for _, a := range []When{If, Every} {
			b := NewBuilder("2.0.0")
			pass := b.NewLabel()
			b.Test(OpPath, a, b.Field("x"), b.Paths("/a", "./x"), pass)
			b.Deny(b.Rule(Rule{Name: "r", Code: "C", Message: "m"}), Blame{b.Field("x"), true}, pass)
			b.Place(pass)
			b.End()
			p, err := b.Program()
			if err != nil {
				t.Fatal(err)
			}
			var m Machine
			frame := []Value{{Kind: List, Elems: c.elems}}
			passes := m.Run(p, frame, First).Status == Allowed
			want := c.any
			if a == Every {
				want = c.all
			}
			if passes != (want && c.judged) {
				t.Errorf("%v with quantifier %d: passes is %t", c.elems, a, passes)
			}
			if naive, _ := interpret(p, frame, First); (naive.Status == Allowed) != passes {
				t.Errorf("%v with quantifier %d: the interpreter says %s", c.elems, a, naive.Status)
			}
		}
	}
}
