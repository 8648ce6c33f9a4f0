package vm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"bailiff/vm/match"
)

// rowBytes is what n rows of a type take, and their allocation.
func rowBytes[T any](n int) int { return n*int(unsafe.Sizeof(*new(T))) + 16 }

// TestMemoryOfTables holds what a program counts as live, table by table: the bound on it decides whether a policy is compiled, everywhere alike.
func TestMemoryOfTables(t *testing.T) {
	set := func(texts ...string) *match.Set {
		s := new(match.Set)
		var entries []match.Entry
		for _, text := range texts {
			entries = append(entries, match.Entry{Text: text})
		}
		s.Load(entries, 0)
		return s
	}
	guarding := &guard{Guard: match.NewGuard(match.End, set("a", "b")), others: []uint16{1, 2, 3}}
	inside := &guard{Guard: match.NewGuard(match.Inside, set("abc", "bcd", "cde"))}
	guardBytes := int(unsafe.Sizeof(*guarding)) + guarding.Memory()
	switching := &switchTable{Table: match.Table{Cases: make([]match.Case, 3)}}
	shared := []step{{}, {guard: guarding}, {guard: guarding}, {table: switching}}
	for name, test := range map[string]struct {
		p    Program
		want int
	}{
		"nothing":   {Program{}, 0},
		"fields":    {Program{fields: []string{"a", "bcd"}}, rowBytes[string](2) + 4 + 2*(16+48)},
		"rules":     {Program{rules: []Rule{{"a", "bc", "def"}, {}}}, rowBytes[Rule](2) + 6 + 2*16},
		"constants": {Program{constants: []constant{{text: "abc"}, {entries: []match.Entry{{Text: "ab"}, {Text: "c"}}}}}, rowBytes[constant](2) + 3 + rowBytes[match.Entry](2) + 3 + 2*16},
		"built": {Program{constants: []constant{{set: *set("ab"), pattern: patternOf("a+")}}},
			rowBytes[constant](1) + set("ab").Memory() + patternOf("a+").Memory()},
		"tables":   {Program{tables: []match.Table{{Cases: []match.Case{{Text: "ab"}, {Text: "c"}}}}}, rowBytes[match.Table](1) + rowBytes[match.Case](2) + 3 + 2*16},
		"counters": {Program{counters: []Counter{{Name: "a", GroupName: "bc", SubgroupName: "def", Unit: "ghij"}, {}}}, rowBytes[Counter](2) + 10 + 2*4*16},
		"tokens":   {Program{tokens: []Token{{Symbol: "usdc", Pins: make([]Pin, 3)}, {}}}, rowBytes[Token](2) + 4 + 2*16 + rowBytes[Pin](3) + 3*(42+2*16)},
		"code":     {Program{code: make([]Instruction, 5), debug: make([]Span, 5), canonical: make([]byte, 7)}, rowBytes[Instruction](5) + rowBytes[Span](5) + rowBytes[byte](7)},
		"lists": {Program{lists: []WordList{{Texts: []string{"abc", "d"}, Forms: []string{"abc", "ef"}}, {Allows: true, Texts: []string{"gh"}}}},
			rowBytes[WordList](2) + 2*rowBytes[string](2) + 3 + 1 + 2 + 3*16 + rowBytes[string](1) + 2 + 16},
		"debug":  {Program{listed: make([]wordsAt, 3), tests: make([]AmountTest, 2)}, rowBytes[wordsAt](3) + rowBytes[AmountTest](2)},
		"routes": {Program{actions: actions{cases: match.Table{Cases: make([]match.Case, 2)}, routes: []route{{}, {reads: make(SlotSet, 1)}}, any: route{reads: make(SlotSet, 2)}}}, 0},
	} {
		p := test.p
		if name == "routes" {
			p.actions.any.steps = shared
			p.actions.routes[0].steps, p.actions.routes[0].reads = shared, make(SlotSet, 3)
			p.actions.routes[1].steps = []step{{guard: guarding}, {guard: inside}}
			test.want = rowBytes[match.Case](2) + 2*16 + rowBytes[route](2) + rowBytes[uint64](1) + rowBytes[uint64](2) + rowBytes[uint64](3) + rowBytes[step](4) + rowBytes[step](2) +
				int(unsafe.Sizeof(*switching)) + rowBytes[match.Case](3) + 2*(guardBytes+rowBytes[uint16](3)) + int(unsafe.Sizeof(*inside)) + inside.Memory()
		}
		p.findMemory()
		if got := p.Memory() - 2048; got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, got, test.want)
		}
	}
}

// patternOf loads an expression.
func patternOf(text string) *match.Pattern {
	c := constant{kind: patternConstant, text: text}
	if _, err := c.build(OpMatch); err != nil {
		panic(err)
	}
	return c.pattern
}

// TestWeights holds that constants weigh on the lines that use them first, and that a program of more than its limit is refused with them.
func TestWeights(t *testing.T) {
	build := func(limit Limit) (*Program, error) {
		b := NewBuilder("2.1.0")
		b.Within(limit)
		end := b.NewLabel()
		for i, line := range []int32{7, 7, 3, 5, 9} {
			b.SetSpan(Span{Line: line})
			b.Test(OpIn, If, b.Field("a"), b.Texts(literal(strings.Repeat("x", []int{1, 1, 50, 9000, 1}[i])), literal("y")), end)
		}
		b.Place(end)
		b.End()
		return b.Program()
	}
	p, err := build(Limit{})
	if err != nil {
		t.Fatal(err)
	}
	bytes := func(i int) int { return p.constants[i].memory() }
	want := []Weight{{5, bytes(2)}, {3, bytes(1)}, {7, bytes(0)}}
	if got := p.Weights(); !slices.Equal(got, want) {
		t.Errorf("the weights are %v, want %v", got, want)
	}
	if made, err := build(Limit{Memory: p.Memory(), Stop: func() bool { return false }}); err != nil || made.limit.Memory != 0 || made.limit.Stop != nil {
		t.Errorf("just as much as may be: %v, or the program keeps its limit", err)
	}
	if _, err := build(Limit{Memory: 1}); err == nil {
		t.Error("a byte is enough")
	}
	var beyond *MemoryError
	if _, err := build(Limit{Memory: p.Memory() - 1}); !errors.As(err, &beyond) || !slices.Equal(beyond.Heavy, want) ||
		err.Error() != fmt.Sprintf("vm: the program keeps more than %d bytes live", p.Memory()-1) {
		t.Errorf("a byte too many: %v, of %v, want %v", err, beyond.Heavy, want)
	}
	if _, err := build(Limit{Memory: 500}); !errors.As(err, &beyond) || beyond.Most != 500 {
		t.Errorf("far too little: %v", err)
	}
	for n := range 40 { // wherever it is asked, the making ends
		asked := 0
		_, err := build(Limit{Stop: func() bool { asked++; return asked > n }})
		if stopped := errors.Is(err, ErrStopped); stopped != (asked > n) || !stopped && err != nil {
			t.Errorf("asked %d times: %v", asked, err)
		}
		asked = 0
		_, err = build(Limit{Stop: func() bool { asked++; return asked == n+1 }})
		if stopped := errors.Is(err, ErrStopped); stopped != (asked > n) {
			t.Errorf("asked %d times, and told to stop once: %v", asked, err)
		}
	}
}
