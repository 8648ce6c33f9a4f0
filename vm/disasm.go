package vm

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"bailiff/vm/match"
)

// Disassemble returns the program as text, table by table and instruction by instruction. [Assemble] gives
// back the same program; the debug section is left out.
func (p *Program) Disassemble() string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "machine %d\npolicy %q\n", MachineVersion, p.policy)
	for _, name := range p.fields {
		fmt.Fprintf(b, "field %q\n", name)
	}
	for _, r := range p.rules {
		fmt.Fprintf(b, "rule %q %q %q\n", r.Name, r.Code, r.Message)
	}
	for i := range p.constants {
		b.WriteString(p.constants[i].assembly() + "\n")
	}
	for i := range p.tables {
		b.WriteString(tableAssembly(&p.tables[i]) + "\n")
	}
	for i := range p.counters {
		b.WriteString(p.counterAssembly(&p.counters[i]) + "\n")
	}
	for i := range p.tokens {
		b.WriteString(p.tokens[i].assembly() + "\n")
	}
	for pc, in := range p.code {
		fmt.Fprintf(b, "%d: %s\n", pc, p.assembly(in))
	}
	return b.String()
}

// tableAssembly returns a table's line.
func tableAssembly(t *match.Table) string {
	line := "table"
	for _, c := range t.Cases {
		if c.Prefix {
			line += " prefix"
		}
		line += fmt.Sprintf(" %q @%d", c.Text, c.Target)
	}
	return line
}

// counterAssembly returns a counter's line.
func (p *Program) counterAssembly(c *Counter) string {
	line := fmt.Sprintf("counter %q rule%d limit %s %q window %s", c.Name, c.Rule, c.Limit, c.Unit, c.Window)
	line += " " + c.Op.String()
	if c.Op != Count {
		line += fmt.Sprintf(" %q decimals %d", p.fields[c.Amount], c.Decimals)
	}
	if c.Group != NoSlot {
		line += fmt.Sprintf(" group %q %q", p.fields[c.Group], c.GroupName)
	}
	if c.Subgroup != NoSlot {
		line += fmt.Sprintf(" subgroup %q %q", p.fields[c.Subgroup], c.SubgroupName)
	}
	return line
}

// assembly returns an instruction without its place: the name and its operands in the order of their letters.
func (p *Program) assembly(in Instruction) string {
	row := &specs[in.Op]
	words := append([]string{row.name}, row.a.words(in.A)...)
	if row.b != noB {
		words = append(words, strconv.Quote(p.fields[in.B]))
	}
	if row.c != noC {
		words = append(words, row.c.word(in.C))
	}
	if row.d == dTarget {
		words = append(words, fmt.Sprintf("@%d", in.D))
	}
	return strings.Join(words, " ")
}

// words returns operand A as the assembler reads it.
func (a operandA) words(value uint8) (words []string) {
	if a == aClass {
		return []string{Class(value).String()}
	}
	if modifiers[a]&bitUnless != 0 {
		words = append(words, [...]string{"if", "unless"}[value&bitUnless])
	}
	if modifiers[a]&bitAll != 0 {
		words = append(words, [...]string{"any", "all"}[value&bitAll/bitAll])
	}
	if modifiers[a]&bitRegister != 0 {
		words = append(words, [...]string{"reg0", "reg1"}[value&bitRegister/bitRegister])
	}
	if modifiers[a]&bitElement != 0 {
		words = append(words, [...]string{"value", "element"}[value&bitElement/bitElement])
	}
	return words
}

// indexWords are before the indexes of each table.
var indexWords = [spaceCount]string{ruleSpace: "rule", constantSpace: "const", tableSpace: "table", counterSpace: "counter"}

// word returns operand C as the assembler reads it.
func (c operandC) word(value uint16) string {
	if s, ok := c.space(); ok {
		return indexWords[s] + strconv.Itoa(int(value))
	}
	if c == cKinds {
		return KindMask(value).String()
	}
	return strconv.Itoa(int(value))
}

// kindNames are the names of the kinds, by the number of their bit in a mask.
var kindNames = [8]string{"missing", "null", "invalid", "string", "number", "bool", "list", "object"}

// String returns the names of the kinds in the mask, joined by "|".
func (m KindMask) String() string {
	var names []string
	for ; m != 0; m &= m - 1 {
		names = append(names, kindNames[bits.TrailingZeros8(uint8(m))])
	}
	return strings.Join(names, "|")
}
