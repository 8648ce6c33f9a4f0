package vm

import (
	"fmt"
	"strings"
)

// Listing returns the program in words, for people: each line of source, where the debug section names one,
// above the instructions that it became. Lines are those of the policy, the first at index 0; of a line that is not
// at hand only the number is shown.
func (p *Program) Listing(source []string) string {
	b := new(strings.Builder)
	data, _ := p.MarshalBinary()
	fmt.Fprintf(b, "program %x\npolicy %s, machine %d, %d bytes (%d with debug section), %d instructions\nat most %d steps and %d for each byte of the request\n",
		p.hash, p.policy, MachineVersion, len(p.canonical), len(data), len(p.code), p.cost.Fixed, p.cost.PerByte)
	for i := range p.tokens {
		b.WriteString("token " + p.tokens[i].words() + "\n")
	}
	line := int32(0)
	for pc, in := range p.code {
		if at := p.Span(uint16(pc)).Line; at != line && at > 0 {
			line = at
			text := ""
			if int(line) <= len(source) {
				text = " " + strings.TrimRight(source[line-1], "\r\n")
			}
			fmt.Fprintf(b, "\n%5d |%s\n", line, text)
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%8d  %-8s  %s", pc, in.Op, p.words(in)), " ") + "\n")
	}
	return b.String()
}

// words says what an instruction does.
func (p *Program) words(in Instruction) string {
	switch specs[in.Op].flow {
	case flowTest:
		return p.testWords(in)
	case flowSwitch:
		return p.switchWords(in)
	case flowDeny:
		return fmt.Sprintf("%s, %s (all: → %d)", p.ruleWords(in.C), p.blameWords(in), in.D)
	case flowJump:
		return fmt.Sprintf("→ %d", in.D)
	}
	switch specs[in.Op].c {
	case cRule:
		if specs[in.Op].b == bBlame {
			return p.ruleWords(in.C) + ", " + p.blameWords(in)
		}
		return p.ruleWords(in.C)
	case cCounter:
		return p.counterWords(&p.counters[in.C])
	}
	if in.Op == OpClass {
		return Class(in.A).String()
	}
	return ""
}

func (p *Program) ruleWords(rule uint16) string {
	r := &p.rules[rule]
	return fmt.Sprintf("%s %s: %s", r.Name, r.Code, r.Message)
}

// blameWords says what a denial or rejection blames.
func (p *Program) blameWords(in Instruction) string {
	if in.A&bitElement != 0 {
		return "blaming an element of " + p.fields[in.B]
	}
	return "blaming " + p.fields[in.B]
}

func (p *Program) counterWords(c *Counter) string {
	what := "uses"
	switch c.Op {
	case Sum:
		what = p.fields[c.Amount]
	case Max:
		what = "the highest " + p.fields[c.Amount]
	}
	words := fmt.Sprintf("%s: %s at most %s per %s", c.Name, what, strings.TrimSpace(c.Limit.Format(c.Decimals)+" "+c.Unit), c.Window)
	if c.Group != NoSlot {
		words += " and " + c.GroupName
	}
	if c.Subgroup != NoSlot {
		words += " and " + c.SubgroupName
	}
	return words + ", else " + p.rules[c.Rule].Name
}

func (p *Program) switchWords(in Instruction) string {
	words := p.fields[in.B] + ": "
	for _, c := range p.tables[in.C].Cases {
		text := fmt.Sprintf("%q", c.Text)
		if c.Prefix {
			text += "…"
		}
		words += fmt.Sprintf("%s → %d, ", text, c.Target)
	}
	return words + fmt.Sprintf("else → %d", in.D)
}

// testWords says what a test asks and where it goes on.
func (p *Program) testWords(in Instruction) string {
	row := &specs[in.Op]
	words := row.a.words(in.A)
	if row.b == bSlot {
		words = append(words, p.fields[in.B])
	}
	switch row.c {
	case cKinds:
		words = append(words, "is", KindMask(in.C).String())
	case cDecimals:
		words = append(words, "with", fmt.Sprint(in.C), "decimals")
	case cHit:
		words = append(words, "entry", fmt.Sprint(in.C))
	default:
		words = append(words, p.constants[in.C].words())
	}
	return strings.Join(words, " ") + fmt.Sprintf(" → %d", in.D)
}
