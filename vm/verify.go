package vm

import (
	"errors"
	"fmt"

	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// verify reports the first thing that is wrong with a program.
func (p *Program) verify() error {
	for _, check := range []func() error{
		p.checkLimits, p.checkTexts, p.checkTokens, p.checkConstants, p.checkCode, p.checkOrder, p.checkCounters, p.checkFlow,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkTexts bounds the names and messages.
func (p *Program) checkTexts() error {
	if err := validateText(p.policy); err != nil {
		return fmt.Errorf("policy version: %w", err)
	}
	seen := make(map[string]bool, len(p.fields))
	for i, name := range p.fields {
		if err := validateText(name); err != nil {
			return fmt.Errorf("field %d: %w", i, err)
		}
		if seen[name] {
			return fmt.Errorf("field %d: %q is another field's name", i, name)
		}
		seen[name] = true
	}
	rules := make(map[Rule]bool, len(p.rules))
	for i, r := range p.rules {
		for _, text := range []string{r.Name, r.Code, r.Message} {
			if err := validateText(text); err != nil {
				return fmt.Errorf("rule %d: %w", i, err)
			}
		}
		if rules[r] {
			return fmt.Errorf("rule %d: %q is in the table twice", i, r.Name)
		}
		rules[r] = true
	}
	return nil
}

// maxKeptProgs is how many bytes of compiled patterns are kept from validating to building, so that what compiling a policy
// takes for a while is bounded, too.
const maxKeptProgs = 4 << 20

// checkConstants looks at constants and tables by themselves.
func (p *Program) checkConstants() error {
	seen := make(map[string]bool, len(p.constants))
	var key []byte
	kept := 0
	for i := range p.constants {
		c := &p.constants[i]
		if p.limit.stopped() {
			return ErrStopped
		}
		if err := c.validate(); err != nil {
			return fmt.Errorf("constant %d (%s): %w", i, constantSpecs[c.kind].name, err)
		}
		if c.prog != nil {
			if kept += match.PatternMemory(c.prog, c.text, false); kept > maxKeptProgs {
				c.prog = nil // it is compiled again when it is built
			}
		}
		key = appendConstant(key[:0], c)
		if seen[string(key)] {
			return fmt.Errorf("constant %d (%s): it is in the table twice", i, constantSpecs[c.kind].name)
		}
		seen[string(key)] = true
	}
	for i := range p.tables {
		if err := validateTable(&p.tables[i]); err != nil {
			return fmt.Errorf("table %d: %w", i, err)
		}
	}
	return nil
}

// checkCounters looks at the counters.
func (p *Program) checkCounters() error {
	seen := make(map[string]bool, len(p.counters))
	for i := range p.counters {
		c := &p.counters[i]
		if err := c.validate(); err != nil {
			return fmt.Errorf("counter %d (%.40q): %w", i, c.Name, err)
		}
		if seen[c.Name] {
			return fmt.Errorf("counter %d: %q is another counter's name", i, c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

func (c *Counter) validate() error {
	if err := errors.Join(validateText(c.Name), validateText(c.GroupName), validateText(c.SubgroupName), validateText(c.Unit)); err != nil {
		return err
	}
	switch {
	case c.Name == "":
		return errors.New("a counter's identity is its name, and it has none")
	case c.Unit == "":
		return errors.New("a limit needs a unit, and it has none")
	case c.Window == 0 || c.Window >= windowCount:
		return fmt.Errorf("%d is not a window", c.Window)
	case c.Op == 0 || c.Op >= counterOpCount:
		return fmt.Errorf("%d is nothing that a use does to a counter: count, sum or max", c.Op)
	case c.Op != Count && c.Amount == NoSlot:
		return fmt.Errorf("a %s needs the slot of its amount", c.Op)
	case c.Op == Count && (c.Amount != NoSlot || c.Decimals != 0):
		return errors.New("a count has no amount and no decimals")
	case c.Decimals > amount.MaxDecimals:
		return fmt.Errorf("%d decimals: at most %d", c.Decimals, amount.MaxDecimals)
	case (c.Group == NoSlot) != (c.GroupName == ""):
		return errors.New("a group has a slot and a name, or neither")
	case (c.Subgroup == NoSlot) != (c.SubgroupName == ""):
		return errors.New("a subgroup has a slot and a name, or neither")
	case c.Subgroup != NoSlot && c.Group == NoSlot:
		return errors.New("a subgroup divides a group, and there is none")
	}
	return nil
}

// checkCode looks at each instruction by itself.
func (p *Program) checkCode() error {
	for pc, in := range p.code {
		row := &specs[in.Op]
		for _, err := range []error{
			row.a.check(in.A), row.b.check(in.B, p), row.c.check(in.C, p), row.d.check(in.D, pc, p),
		} {
			if err != nil {
				return fmt.Errorf("instruction %d (%s): %w", pc, row.name, err)
			}
		}
	}
	return nil
}

// modifiers are the bits that operand A may have.
var modifiers = [...]uint8{
	noA: 0, aSense: bitUnless, aQuantified: bitUnless | bitAll, aRegister: bitRegister, aRegisterCmp: bitUnless | bitRegister,
	aBlame: bitElement,
	aClass: 0xff,
}

func (a operandA) check(value uint8) error {
	if value&^modifiers[a] != 0 {
		return fmt.Errorf("operand A is %d: the operation has no such modifier", value)
	}
	if a == aClass && (value == uint8(NoClass) || value > uint8(Model)) {
		return fmt.Errorf("operand A: %d is not a class", value)
	}
	return nil
}

func (b operandB) check(value uint16, p *Program) error {
	if b == noB && value != 0 {
		return fmt.Errorf("operand B is %d: it is not used and has to be zero", value)
	}
	if b != noB && int(value) >= len(p.fields) {
		return fmt.Errorf("operand B: slot %d of %d", value, len(p.fields))
	}
	return nil
}

// wanted are the kinds of constants that operand C may name.
var wanted = map[operandC]constantKind{
	cTexts: textsConstant, cHosts: hostsConstant, cPaths: pathsConstant, cPattern: patternConstant, cAmount: amountConstant, cGlobs: globsConstant,
}

func (c operandC) check(value uint16, p *Program) error {
	if s, ok := c.space(); ok {
		size := p.sizes()[s]
		if int(value) >= size {
			return fmt.Errorf("operand C: %s %d of %d", spaceNames[s], value, size)
		}
		if kind := wanted[c]; s == constantSpace && p.constants[value].kind != kind {
			return fmt.Errorf("operand C: constant %d is of kind %s, not %s", value, constantSpecs[p.constants[value].kind].name, constantSpecs[kind].name)
		}
		return nil
	}
	switch {
	case c == noC && value != 0:
		return fmt.Errorf("operand C is %d: it is not used and has to be zero", value)
	case c == cKinds && (value == 0 || value >= 0xff):
		return fmt.Errorf("operand C: the mask %#x tests nothing", value)
	case c == cDecimals && value > amount.MaxDecimals:
		return fmt.Errorf("operand C: %d decimals: at most %d", value, amount.MaxDecimals)
	}
	return nil
}

func (d operandD) check(value uint16, pc int, p *Program) error {
	if d == noD {
		if value != 0 {
			return fmt.Errorf("operand D is %d: it is not used and has to be zero", value)
		}
		return nil
	}
	return p.checkTarget(value, pc)
}

// validateTable reports what is wrong with a table by itself; its targets are judged with the switch.
func validateTable(t *match.Table) error {
	if len(t.Cases) == 0 || len(t.Cases) > maxEntries {
		return fmt.Errorf("%d cases: at least 1 and at most %d", len(t.Cases), maxEntries)
	}
	for i := range t.Cases {
		c := &t.Cases[i]
		if err := validateText(c.Text); err != nil {
			return fmt.Errorf("case %d: %w", i, err)
		}
		if c.Prefix && c.Text == "" {
			return fmt.Errorf("case %d: every text starts with the empty prefix; that is the switch's default", i)
		}
		if i > 0 && t.Cases[i-1].Order(*c) >= 0 {
			return fmt.Errorf("case %d: %q comes after %q; cases are sorted by text, each once, exact before prefix", i, c.Text, t.Cases[i-1].Text)
		}
	}
	return nil
}
