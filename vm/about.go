package vm

import (
	"encoding/binary"
	"fmt"
	"slices"

	"bailiff/vm/amount"
	"bailiff/vm/wire"
)

// An AmountTest is a test of an amount, and the denial, hold or note that is about it. No run reads it: like spans it is part of
// the debug section, for answers.
type AmountTest struct {
	PC, Answer uint16 // the test, and what is about it
	Rule       uint16 // of the answer
	Register   int
	Decimals   uint8
	// Compares says that the amount is held against a bound; otherwise the test is whether a text is an amount.
	Compares bool
	Bound    amount.Amount // in base units of 10^-Decimals
	Unit     string        // what Bound is in, for messages
}

// AmountTest returns the test of an amount that the denial, hold or note at pc is about, nil where it is about none. The caller
// must not change it.
func (p *Program) AmountTest(pc uint16) *AmountTest {
	i, found := slices.BinarySearchFunc(p.tests, pc, func(t AmountTest, pc uint16) int { return int(t.Answer) - int(pc) })
	if !found {
		return nil
	}
	return &p.tests[i]
}

// AmountTestAt returns the test of an amount at pc itself, nil where there is none or nothing is about it.
func (p *Program) AmountTestAt(pc uint16) *AmountTest {
	i := slices.IndexFunc(p.tests, func(t AmountTest) bool { return t.PC == pc })
	if i < 0 {
		return nil
	}
	return &p.tests[i]
}

// appendTests appends which test each answer is about; the code says the rest.
func (p *Program) appendTests(b []byte) []byte {
	b = wire.AppendCount(b, len(p.tests))
	for i := range p.tests {
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, p.tests[i].Answer), p.tests[i].PC)
	}
	return b
}

// amountTests reads what appendTests appends.
func (r *reader) amountTests(p *Program) {
	p.tests = wire.Rows(r, 4, func(r *reader) AmountTest { return AmountTest{Answer: r.Uint16(), PC: r.Uint16()} })
}

// findTests verifies what a debug section says of tests of amounts, and takes what the code says of them.
func (p *Program) findTests() error {
	last := -1
	for i := range p.tests {
		t := &p.tests[i]
		if int(t.Answer) <= last || int(t.Answer) >= len(p.code) || t.PC >= t.Answer {
			return fmt.Errorf("instruction %d is about a test at %d, which is out of range or order", t.Answer, t.PC)
		}
		last = int(t.Answer)
		test, answer := &p.code[t.PC], &p.code[t.Answer]
		switch answer.Op {
		case OpDeny, OpHold, OpNote:
			t.Rule = answer.C
		default:
			return fmt.Errorf("instruction %d is about a test of an amount, and denies, holds or notes nothing", t.Answer)
		}
		t.Register = int(test.A & bitRegister / bitRegister)
		switch test.Op {
		case OpAmount:
			t.Decimals = uint8(test.C)
		case OpGreater, OpAtLeast:
			c := &p.constants[test.C]
			t.Compares, t.Bound, t.Decimals, t.Unit = true, c.amount, c.decimals, c.text
		default:
			return fmt.Errorf("instruction %d is about instruction %d, which does not test an amount", t.Answer, t.PC)
		}
	}
	return nil
}
