package match

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// numbered returns n entries of one length, which share nothing but their first byte and are in no order of a hash.
func numbered(n int, format string) (set []Entry) {
	for i := range n {
		set = append(set, Entry{Text: fmt.Sprintf(format, i)})
	}
	return set
}

// TestCosts holds what tests cost: the bounds on a program's cost decide whether a policy is compiled, everywhere alike.
func TestCosts(t *testing.T) {
	folded := Entry{Text: someAddress, Fold: true}
	long := Entry{Text: strings.Repeat("x", 64)} // which takes eight words more to compare
	for _, test := range []struct {
		name          string
		by            By
		style         GlobStyle
		set           []Entry
		each, perByte int
	}{
		{"few", Whole, 0, numbered(8, "k%d"), 24, 1},
		{"few", Start, 0, numbered(1, "k%d"), 3, 1},
		{"few", End, 0, numbered(3, "k%d"), 9, 1},
		{"few", Host, 0, numbered(8, "k%d"), 24, 1},
		{"table", Whole, 0, numbered(9, "k%d"), 6, 2},
		{"table", Start, 0, append(numbered(9, "k%d"), long), 2 * 10, 2},
		{"table", End, 0, append(numbered(9, "k%d"), long), 2 * 10, 2},
		{"table", Host, 0, append(numbered(9, "k%d"), long), 4, 2 + 10},
		{"few", Inside, 0, append(numbered(2, "k%d"), folded), 48, 45},
		{"few", Each, 0, append(numbered(2, "k%d"), folded), 18, 45},
		{"rare", Inside, 0, numbered(10, "k-%d"), 160, 10},
		{"just few", Inside, 0, numbered(32, "k%02d"), 32 * 16, 32},
		{"automaton", Inside, 0, numbered(33, "k%02d"), 0, 2},
		{"automaton", Each, 0, numbered(33, "k%02d"), 0, 3},
		{"automaton", Each, 0, append(numbered(64, "k%02d"), Entry{Text: "01"}, Entry{Text: "1"}), 1, 5},
		{"both automata", Inside, 0, append(numbered(33, "k%02d"), folded), 0, 2 + 2 + 44},
		{"both automata", Each, 0, append(numbered(127, "k%03d"), folded), 2, 3 + 2 + 44},
		{"almost as many", Each, 0, numbered(127, "k%03d"), 1, 3},
		{"patterns", Glob, Mailbox, []Entry{{Text: "a"}, {Text: "*"}, {Text: "*a*b*c"}}, 3 + 8 + 8 + 12, 1 + 4},
		{"no paths", Path, 0, []Entry{{Text: "/"}}, 4, 2},
		{"paths", Path, 0, []Entry{{Text: "/a"}, {Text: "/ab"}, {Text: "/b"}, {Text: "**/x"}, {Text: "**/xx"}, {Text: "**/xxx"}}, 4 + 8, 2 + 4},
		{"stars", Path, 0, []Entry{{Text: "/a/*"}, {Text: "/a/*/b"}, {Text: "/b/*"}, {Text: "**/*.x"}, {Text: "**/*.y"}}, 4 + 3*2 + 64 + 16, 2 + 16 + 4},
		{"many paths", Path, 0, numbered(128, "/%03d"), 4 + 4*(100+2), 2},
		{"not so many", Path, 0, numbered(127, "/%03d"), 4 + 4*(100+1), 2},
	} {
		s := prepared(t, test.by, test.style, test.set...)
		if each, perByte := s.Cost(test.by); each != test.each || perByte != test.perByte {
			t.Errorf("%s, way %d: %d and %d for each byte, want %d and %d", test.name, test.by, each, perByte, test.each, test.perByte)
		}
	}
}

// TestPatternCosts holds what regular expressions cost: little with a table of states, else by their instructions.
func TestPatternCosts(t *testing.T) {
	for _, test := range []struct {
		pattern       Pattern
		each, perByte int
	}{
		{Pattern{dfa: new(dfa), steps: 900}, 0, 8}, {Pattern{steps: 63}, 40 + 63, 6 * 63}, {Pattern{steps: 64}, 40 + 64, 14 * 64},
	} {
		if each, perByte := test.pattern.Cost(); each != test.each || perByte != test.perByte {
			t.Errorf("%d instructions: %d and %d for each byte, want %d and %d", test.pattern.steps, each, perByte, test.each, test.perByte)
		}
	}
	if p := loaded("[ab]*a[ab]{12}", false); p.dfa != nil || p.steps != 17 {
		t.Errorf("a pattern of many states has %d instructions", p.steps)
	}
}

// TestPatternMemory holds what patterns without a table of states count as: their text twice, their instructions and runes, and more where
// they start at the start of a text.
func TestPatternMemory(t *testing.T) {
	for _, text := range []string{"[ab]*a[ab]{12}", "^[ab]*a[ab]{12}", "(?m:^)[ab]*a[ab]{12}", "a*b?", "(?i)[k-ſ]{3}x", "^$"} {
		for _, whole := range []bool{false, true} {
			prog, err := CompilePattern(text)
			if err != nil {
				t.Fatal(err)
			}
			want := 256 + 2*len(text) + live(reflect.ValueOf(prog.Inst), map[unsafe.Pointer]bool{})
			if got := PatternMemory(prog, text, false); got != want {
				t.Errorf("%s: %d bytes, want %d", text, got, want)
			}
			for _, in := range prog.Inst {
				if len(in.Rune) > 0 {
					want += int(unsafe.Sizeof(in)) + int(unsafe.Sizeof([]uint32{})) + 6*len(in.Rune)
				}
			}
			if got := PatternMemory(prog, text, true); got != want {
				t.Errorf("%s from the start: %d bytes, want %d", text, got, want)
			}
			p, err := NewPattern(prog, text, whole)
			if anchored := whole || text[0] == '^'; err != nil || p.dfa == nil && p.Memory() != PatternMemory(prog, text, anchored) {
				t.Errorf("%s, whole %v: %d bytes, %v", text, whole, p.Memory(), err)
			}
		}
	}
}

// TestTableCosts holds what finding a case costs: all of them while they are few, else the halvings and the prefixes in each other.
func TestTableCosts(t *testing.T) {
	nested := func(n, deep int) (cases []Case) {
		for i := range n {
			cases = append(cases, Case{Text: fmt.Sprintf("%03d", i)})
		}
		for i := range deep {
			cases = append(cases, Case{Text: strings.Repeat("x", i+1), Prefix: true})
		}
		return cases
	}
	var apart []Case
	for i := range 20 {
		apart = append(apart, Case{Text: fmt.Sprintf("%02d", i), Prefix: true})
	}
	for _, test := range []struct {
		cases []Case
		want  int
	}{
		{nested(0, 15), 15 * 3}, {nested(2, 15), (6 + 15) * 4}, {apart, (6 + 1) * 4}, {append(apart[:5:5], nested(15, 0)...), (6 + 2) * 4},
		{nested(1, 0), 3}, {nested(15, 0), 45}, {nested(0, 16), 16 * 4}, {nested(16, 1), (6 + 1) * 4}, {nested(13, 4), (6 + 4) * 4}, {nested(0, 17), (6 + 17) * 5},
		{nested(31, 0), (6 + 1) * 4}, {nested(32, 0), (7 + 1) * 4}, {nested(33, 32), (8 + 32) * 6},
	} {
		tab := Table{Cases: Sorted(test.cases)}
		tab.Build()
		if got := tab.Cost(); got != test.want {
			t.Errorf("%d cases: %d, want %d", len(test.cases), got, test.want)
		}
		if clone := tab.Clone(); tab.Few() != (len(test.cases) <= 16) || clone.Cost() != test.want {
			t.Errorf("%d cases: few is %v, and a clone costs %d", len(test.cases), tab.Few(), clone.Cost())
		}
		memory := live(reflect.ValueOf(tab), map[unsafe.Pointer]bool{})
		for i := range tab.Cases {
			memory += len(tab.Cases[i].Text) + Allocated
		}
		if tab.Memory() != memory {
			t.Errorf("%d cases: %d bytes, want %d", len(test.cases), tab.Memory(), memory)
		}
	}
}
