package vm

import (
	"encoding/binary"
	"math"

	"bailiff/vm/match"
)

// magic begins every program, debugMagic its debug section.
const (
	magic      = "blfp"
	debugMagic = "blfd"
)

// IsProgram reports whether b begins as the encoding of a program does. Only [Decode] says whether it is one.
func IsProgram(b []byte) bool { return len(b) >= len(magic) && string(b[:len(magic)]) == magic }

// MarshalBinary returns the canonical bytes and, where the program has one, the debug section behind them.
// It never fails.
func (p *Program) MarshalBinary() ([]byte, error) {
	b := append([]byte(nil), p.canonical...)
	if p.debug == nil {
		return b, nil
	}
	b = append(b, debugMagic...)
	last := Span{}
	for _, s := range p.debug {
		b = binary.AppendVarint(b, int64(s.Start)-int64(last.Start))
		b = binary.AppendVarint(b, int64(s.End)-int64(s.Start))
		b = binary.AppendVarint(b, int64(s.Line)-int64(last.Line))
		last = s
	}
	return p.appendTests(p.appendWords(b)), nil
}

// Canonical returns the bytes that [Program.Hash] is the hash of. The caller must not change them.
func (p *Program) Canonical() []byte { return p.canonical }

// appendCanonical appends the canonical bytes: lengths and numbers of rows as minimal varints, everything else
// of fixed size and big-endian, in one order.
func (p *Program) appendCanonical(b []byte) []byte {
	b = append(b, magic...)
	b = append(b, MachineVersion)
	b = appendText(b, p.policy)
	b = appendCount(b, len(p.fields))
	for _, name := range p.fields {
		b = appendText(b, name)
	}
	b = appendCount(b, len(p.rules))
	for _, r := range p.rules {
		b = appendText(appendText(appendText(b, r.Name), r.Code), r.Message)
	}
	b = appendCount(b, len(p.constants))
	for i := range p.constants {
		b = appendConstant(b, &p.constants[i])
	}
	b = appendCount(b, len(p.tables))
	for i := range p.tables {
		b = appendTable(b, &p.tables[i])
	}
	b = appendCount(b, len(p.counters))
	for i := range p.counters {
		b = appendCounter(b, &p.counters[i])
	}
	b = appendCount(b, len(p.tokens))
	for i := range p.tokens {
		b = appendToken(b, &p.tokens[i])
	}
	b = appendCount(b, len(p.code))
	for _, in := range p.code {
		b = appendInstruction(b, in)
	}
	return b
}

func appendTable(b []byte, t *match.Table) []byte {
	b = appendCount(b, len(t.Cases))
	for _, c := range t.Cases {
		b = binary.BigEndian.AppendUint16(appendFlagged(b, c.Text, c.Prefix), c.Target)
	}
	return b
}

func appendCounter(b []byte, c *Counter) []byte {
	b = append(appendText(appendText(b, c.Name), c.Unit), byte(c.Op))
	b = binary.BigEndian.AppendUint16(b, c.Rule)
	b = append(appendAmount(b, c.Limit), c.Decimals, byte(c.Window))
	b = binary.BigEndian.AppendUint16(b, c.Amount)
	b = binary.BigEndian.AppendUint16(b, c.Group)
	b = binary.BigEndian.AppendUint16(appendText(b, c.GroupName), c.Subgroup)
	return appendText(b, c.SubgroupName)
}

func appendInstruction(b []byte, in Instruction) []byte {
	b = append(b, byte(in.Op), in.A)
	b = binary.BigEndian.AppendUint16(b, in.B)
	b = binary.BigEndian.AppendUint16(b, in.C)
	return binary.BigEndian.AppendUint16(b, in.D)
}

func (r *reader) program() *Program {
	if string(r.take(len(magic))) != magic {
		r.failf("it is not a program")
	}
	if v := r.byte(); v != MachineVersion {
		r.failf("the program is for machine version %d, and this is %d; compile the policy again", v, MachineVersion)
	}
	p := &Program{policy: r.text()}
	p.fields = rows(r, 1, (*reader).text)
	p.rules = rows(r, 3, func(r *reader) Rule { return Rule{Name: r.text(), Code: r.text(), Message: r.text()} })
	p.constants = rows(r, 2, (*reader).constant)
	p.tables = rows(r, 1, (*reader).table)
	p.counters = rows(r, 47, (*reader).counter)
	p.tokens = rows(r, 3, (*reader).token)
	p.code = rows(r, 8, (*reader).instruction)
	return p
}

func (r *reader) table() (t match.Table) {
	t.Cases = rows(r, 3, func(r *reader) (c match.Case) {
		c.Text, c.Prefix = r.flagged()
		c.Target = r.uint16()
		return c
	})
	return t
}

func (r *reader) counter() (c Counter) {
	c.Name, c.Unit, c.Op = r.text(), r.text(), CounterOp(r.byte())
	c.Rule, c.Limit, c.Decimals = r.uint16(), r.amount(), r.byte()
	c.Window = Window(r.byte())
	c.Amount, c.Group = r.uint16(), r.uint16()
	c.GroupName, c.Subgroup = r.text(), r.uint16()
	c.SubgroupName = r.text()
	return c
}

func (r *reader) instruction() Instruction {
	return Instruction{Op: Op(r.byte()), A: r.byte(), B: r.uint16(), C: r.uint16(), D: r.uint16()}
}

// debug reads the debug section for n instructions.
func (r *reader) debug(n int) []Span {
	if string(r.take(len(debugMagic))) != debugMagic {
		r.failf("the bytes after the program are not a debug section")
	}
	if r.err != nil || n == 0 || 3*n > len(r.rest) {
		r.failf("the debug section is cut off")
		return nil
	}
	spans := make([]Span, n)
	last := Span{}
	for i := range spans {
		start := r.offset(last.Start)
		last = Span{Start: start, End: r.offset(start), Line: r.offset(last.Line)}
		spans[i] = last
	}
	return spans
}

// offset reads a difference to an offset.
func (r *reader) offset(from int32) int32 {
	v := r.varint()
	if v < -math.MaxUint32 || v > math.MaxUint32 || int64(from)+v != int64(int32(int64(from)+v)) {
		r.failf("an offset does not fit into 32 bits")
		return 0
	}
	return int32(int64(from) + v)
}
