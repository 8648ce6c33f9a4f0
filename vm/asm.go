package vm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bailiff/vm/match"
)

// assemble reads a program without verifying it.
func assemble(text string) (*Program, error) {
	if len(text) > 8*MaxBytes {
		return nil, fmt.Errorf("vm: a text of %d bytes: at most %d", len(text), 8*MaxBytes)
	}
	a := &assembler{fields: map[string]uint16{}}
	line := 0
	for source := range strings.Lines(text) {
		line++
		if err := a.line(source); err != nil {
			return nil, fmt.Errorf("vm: line %d: %w", line, err)
		}
	}
	if a.headers != 2 {
		return nil, errors.New(`vm: the text has to begin with "machine" and "policy"`)
	}
	return &a.program, nil
}

// line reads one line.
func (a *assembler) line(source string) error {
	if a.words, a.err = split(source); a.err != nil || len(a.words) == 0 {
		return a.err
	}
	keyword := a.bare()
	switch {
	case a.headers == 0:
		a.machine(keyword)
	case a.headers == 1:
		a.policy(keyword)
	case strings.HasSuffix(keyword, ":"):
		a.instruction(keyword)
	default:
		a.row(keyword)
	}
	if a.err == nil && len(a.words) > 0 {
		a.failf("%q is one word too many", a.words[0].text)
	}
	return a.err
}

// machine reads the first line.
func (a *assembler) machine(keyword string) {
	a.headers++
	if v := a.number(); keyword != "machine" || v != MachineVersion {
		a.err = fmt.Errorf("the text has to begin with \"machine %d\"", MachineVersion)
	}
}

// policy reads the second line.
func (a *assembler) policy(keyword string) {
	a.headers++
	if a.program.policy = a.quoted(); keyword != "policy" {
		a.err = errors.New("the second line has to be \"policy\" and its version")
	}
}

// row reads a row of a table.
func (a *assembler) row(keyword string) {
	p := &a.program
	switch {
	case keyword == "field":
		name := a.quoted()
		if _, known := a.fields[name]; !known {
			a.fields[name] = uint16(len(p.fields))
		}
		p.fields = append(p.fields, name)
	case keyword == "rule":
		p.rules = append(p.rules, Rule{Name: a.quoted(), Code: a.quoted(), Message: a.quoted()})
	case keyword == "table":
		p.tables = append(p.tables, a.table())
	case keyword == "token":
		p.tokens = append(p.tokens, a.token())
	case keyword == "counter":
		p.counters = append(p.counters, a.counter())
	case constantNamed(keyword) != 0:
		p.constants = append(p.constants, a.constant(constantNamed(keyword)))
	default:
		a.failf("%q begins no line", keyword)
	}
	if len(p.fields) > maxFields {
		a.failf("more than %d fields", maxFields)
	}
}

func (a *assembler) table() (t match.Table) {
	for a.err == nil && len(a.words) > 0 {
		prefix := a.peek("prefix")
		t.Cases = append(t.Cases, match.Case{Text: a.quoted(), Prefix: prefix, Target: a.index("@")})
	}
	return t
}

func (a *assembler) counter() Counter {
	c := Counter{Name: a.quoted(), Rule: a.index("rule"), Amount: NoSlot, Group: NoSlot, Subgroup: NoSlot}
	a.expect("limit")
	c.Limit, c.Unit = a.amount(), a.quoted()
	a.expect("window")
	name := a.bare()
	c.Window = Window(max(0, slices.Index(windowNames[:], name)))
	if c.Window == 0 {
		a.failf("%q is not a window", name)
	}
	if c.Op = a.counterOp(); c.Op != Count {
		c.Amount = a.slot()
		a.expect("decimals")
		c.Decimals = uint8(a.number())
	}
	if a.peek("group") {
		c.Group = a.slot()
		c.GroupName = a.quoted()
	}
	if a.peek("subgroup") {
		c.Subgroup = a.slot()
		c.SubgroupName = a.quoted()
	}
	return c
}

// counterOp reads what a use does to a counter.
func (a *assembler) counterOp() CounterOp {
	name := a.bare()
	op := CounterOp(max(0, slices.Index(counterOpNames[:], name)))
	if op == 0 {
		a.failf("%q: count, sum or max is wanted", name)
	}
	return op
}

// instruction reads an instruction, behind its place.
func (a *assembler) instruction(place string) {
	p := &a.program
	if want := strconv.Itoa(len(p.code)) + ":"; place != want {
		a.failf("%q: the next instruction is %q", place, want)
	}
	name := a.bare()
	in := Instruction{Op: opNames[name]}
	if !in.Op.known() {
		a.failf("%q is not an operation", name)
		return
	}
	row := &specs[in.Op]
	in.A = a.operandA(row.a)
	if row.b != noB {
		in.B = a.slot()
	}
	in.C = a.operandC(row.c)
	if row.d == dTarget {
		in.D = a.index("@")
	}
	p.code = append(p.code, in)
	if len(p.code) > MaxInstructions {
		a.failf("more than %d instructions", MaxInstructions)
	}
}

// operandA reads a class or modifiers.
func (a *assembler) operandA(kind operandA) (value uint8) {
	if kind == aClass {
		name := a.bare()
		for c := EVM; c <= Model; c++ {
			if c.String() == name {
				return uint8(c)
			}
		}
		a.failf("%q is not a class", name)
	}
	for _, modifier := range []struct {
		bit     uint8
		off, on string
	}{{bitUnless, "if", "unless"}, {bitAll, "any", "all"}, {bitRegister, "reg0", "reg1"}, {bitElement, "value", "element"}} {
		if kind == aClass || modifiers[kind]&modifier.bit == 0 || a.peek(modifier.off) {
			continue
		}
		if a.expect(modifier.on); a.err != nil {
			a.err = fmt.Errorf("%q or %q is missing", modifier.off, modifier.on)
		}
		value |= modifier.bit
	}
	return value
}

// operandC reads an index, a mask or a number.
func (a *assembler) operandC(kind operandC) uint16 {
	if s, ok := kind.space(); ok {
		return a.index(indexWords[s])
	}
	switch kind {
	case noC:
		return 0
	case cKinds:
		return a.kinds()
	}
	return a.index("")
}

// kinds reads a mask.
func (a *assembler) kinds() (mask uint16) {
	for name := range strings.SplitSeq(a.bare(), "|") {
		bit := slices.Index(kindNames[:], name)
		if bit < 0 {
			a.failf("%q is not a kind", name)
			return 0
		}
		mask |= 1 << bit
	}
	return mask
}
