package vm

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"bailiff/vm/match"
)

// effortCode has each kind of operation, and efforts are their costs.
const (
	effortCode = `machine 6
policy ""
field "z"
field "x"
rule "r" "" ""
texts "ab" "abc" "abcdef"
hosts "a.b" "abcd"
paths "/a"
globs mailbox "a*"
pattern "a+"
pattern "[ab]*a[ab]{12}"
amount 5 decimals 6 "u"
table "a" @23 "b" @23
counter "c" rule0 limit 1 "u" window day count
0: kind if "z" null @1
1: switch "x" table0 @2
2: class evm
3: hold rule0
4: note rule0
5: reserve counter0
6: in if any "x" const0 @23
7: starts if any "x" const0 @23
8: ends if any "x" const0 @23
9: contains if any "x" const0 @23
10: host if any "x" const1 @23
11: path if any "x" const2 @23
12: glob if any "x" const3 @23
13: match if any "x" const4 @23
14: match if any "x" const5 @23
15: scan "x" const0 @23
16: hit if 0 @23
17: amount reg0 "x" 6 @19
18: deny value "x" rule0 @23
19: gt if reg0 const6 @23
20: ge if reg0 const6 @22
21: jump @23
22: reject "x" rule0
23: end
`
	efforts = `kind 2
switch 8+6
class 2
hold 4
note 4
reserve 64
in 4, x: 12+1, short 2, reach 6
starts 4, x: 12+1, short 2, reach 6
ends 4, x: 12+1, short 2, reach 6
contains 4, x: 51+3, short 2, reach 0
host 4, x: 9+1, short 3, reach 4
path 4, x: 11+2, short 0, reach 0
glob 4, x: 11+3, short 0, reach 0
match 40, x: 3+8, short 0, reach 4096
match 40, x: 60+102, short 0, reach 4096
scan 16, x: 21+3, short 2, reach 0
hit 4
amount 60
deny 6
gt 6
ge 6
jump 2
reject 6
end 2
`
)

// TestEfforts holds what each operation costs: with the bounds on a program they decide whether a policy is compiled, everywhere alike.
func TestEfforts(t *testing.T) {
	p, err := Assemble(effortCode)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for pc := range uint16(p.Len()) {
		switch e := p.Effort(pc); {
		case e.Slot != NoSlot:
			fmt.Fprintf(&got, "%s %d, %s: %d+%d, short %d, reach %d\n", p.Instruction(pc).Op, e.Fixed, p.fields[e.Slot], e.Each, e.PerByte, e.Short, e.Reach)
		case e.Each > 0:
			fmt.Fprintf(&got, "%s %d+%d\n", p.Instruction(pc).Op, e.Fixed, e.Each)
		default:
			fmt.Fprintf(&got, "%s %d\n", p.Instruction(pc).Op, e.Fixed)
		}
	}
	if got.String() != efforts {
		t.Errorf("the efforts are\n%swant\n%s", got.String(), efforts)
	}
}

// TestCostIsOfTheLongestWay holds the bound on a program to going each way through it.
func TestCostIsOfTheLongestWay(t *testing.T) {
	check(t, 300, func(r *rand.Rand) string {
		p, err := source{r}.program()
		if err != nil {
			return err.Error()
		}
		perByte := map[uint16]int{}
		most := 0
		for pc := range uint16(p.Len()) {
			if e := p.Effort(pc); e.Slot != NoSlot {
				perByte[e.Slot] += e.Each + e.PerByte
				most = max(most, perByte[e.Slot])
			}
		}
		if want := (Cost{p.longestFrom(0, map[uint16]int{}), most}); p.Cost() != want {
			return fmt.Sprintf("a run costs %+v, want %+v\n%s", p.Cost(), want, p.Disassemble())
		}
		return ""
	})
}

// longestFrom returns what the costliest way from pc takes; known are those that were looked at.
func (p *Program) longestFrom(pc uint16, known map[uint16]int) int {
	if longest, ok := known[pc]; ok {
		return longest
	}
	in, longest := p.code[pc], 0
	switch in.Op {
	case OpEnd, OpReject, OpJump:
	case OpDeny: // in mode all the run goes on at D
	case OpSwitch:
		for _, c := range p.tables[in.C].Cases {
			longest = max(longest, p.longestFrom(c.Target, known))
		}
	default:
		longest = p.longestFrom(pc+1, known)
	}
	if specs[in.Op].d == dTarget {
		longest = max(longest, p.longestFrom(in.D, known))
	}
	e := p.Effort(pc)
	known[pc] = e.Fixed + e.Each + longest
	return known[pc]
}

// TestCostsBounded holds that a program whose run may take too long is refused, and one of just as much is not.
func TestCostsBounded(t *testing.T) {
	cases := make([]match.Case, 16) // which cost their number times 3, and 1000 for the long text
	cases[0].Text = strings.Repeat("x", 16000)
	long := func(notes, kinds int, more ...Instruction) *Program {
		p := &Program{fields: []string{"x"}, tables: []match.Table{{Cases: cases}}, constants: []constant{{kind: textsConstant, entries: entriesUpTo(2)}}}
		for pc := range 261 { // 8 + 16048 each
			p.code = append(p.code, Instruction{Op: OpSwitch, D: uint16(pc + 1)})
		}
		p.code = slices.Concat(p.code, slices.Repeat([]Instruction{{Op: OpNote}}, notes), slices.Repeat([]Instruction{{Op: OpKind}}, kinds), more, []Instruction{{Op: OpEnd}})
		return p
	}
	wide := func(sets ...int) *Program { // a pattern of 102 for each byte and 60, and sets of 3 for each entry and 4
		p := &Program{fields: []string{"x"}, constants: []constant{{kind: patternConstant, text: "[ab]*a[ab]{12}"}}, code: slices.Repeat([]Instruction{{Op: OpMatch}}, 404)}
		for i, entries := range sets {
			p.constants = append(p.constants, constant{kind: textsConstant, entries: entriesUpTo(entries)})
			p.code = append(p.code, Instruction{Op: OpIn, C: uint16(i + 1)})
		}
		p.code = append(p.code, Instruction{Op: OpEnd})
		return p
	}
	for _, test := range []struct {
		p    *Program
		want string
	}{
		{long(921, 1), ""}, {long(917, 3, Instruction{Op: OpIn}), "a run may take 4194305 steps and 10 for each byte: at most 4194304 and 65536; use fewer rules, or simpler ones"},
		{wide(8, 8, 7, 1), ""}, {wide(8, 8, 4, 2, 1), "and 65537 for each byte: at most 4194304 and 65536"},
	} {
		for i := range test.p.tables {
			test.p.tables[i].Build()
		}
		for i := range test.p.constants {
			c := &test.p.constants[i]
			if _, err := c.build(map[constantKind]Op{patternConstant: OpMatch, textsConstant: OpIn}[c.kind]); err != nil {
				t.Fatal(err)
			}
		}
		if err := test.p.findCost(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("a run of %+v: %v, want %q", test.p.cost, err, test.want)
		}
	}
}

// entriesUpTo returns n entries.
func entriesUpTo(n int) (entries []match.Entry) {
	for i := range n {
		entries = append(entries, match.Entry{Text: fmt.Sprint("k", i)})
	}
	return entries
}
