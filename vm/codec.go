package vm

import (
	"encoding/binary"

	"bailiff/vm/match"
	"bailiff/vm/wire"
)

// A reader takes the encoding of a program apart.
type reader struct{ wire.Reader }

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
	b = wire.AppendText(b, p.policy)
	b = wire.AppendCount(b, len(p.fields))
	for _, name := range p.fields {
		b = wire.AppendText(b, name)
	}
	b = wire.AppendCount(b, len(p.rules))
	for _, r := range p.rules {
		b = wire.AppendText(wire.AppendText(wire.AppendText(b, r.Name), r.Code), r.Message)
	}
	b = wire.AppendCount(b, len(p.constants))
	for i := range p.constants {
		b = appendConstant(b, &p.constants[i])
	}
	b = wire.AppendCount(b, len(p.tables))
	for i := range p.tables {
		b = appendTable(b, &p.tables[i])
	}
	b = wire.AppendCount(b, len(p.counters))
	for i := range p.counters {
		b = appendCounter(b, &p.counters[i])
	}
	b = wire.AppendCount(b, len(p.tokens))
	for i := range p.tokens {
		b = appendToken(b, &p.tokens[i])
	}
	b = wire.AppendCount(b, len(p.code))
	for _, in := range p.code {
		b = appendInstruction(b, in)
	}
	return b
}

func appendTable(b []byte, t *match.Table) []byte {
	b = wire.AppendCount(b, len(t.Cases))
	for _, c := range t.Cases {
		b = binary.BigEndian.AppendUint16(wire.AppendFlagged(b, c.Text, c.Prefix), c.Target)
	}
	return b
}

func appendCounter(b []byte, c *Counter) []byte {
	b = append(wire.AppendText(wire.AppendText(b, c.Name), c.Unit), byte(c.Op))
	b = binary.BigEndian.AppendUint16(b, c.Rule)
	b = append(wire.AppendAmount(b, c.Limit), c.Decimals, byte(c.Window))
	b = binary.BigEndian.AppendUint16(b, c.Amount)
	b = binary.BigEndian.AppendUint16(b, c.Group)
	b = binary.BigEndian.AppendUint16(wire.AppendText(b, c.GroupName), c.Subgroup)
	return wire.AppendText(b, c.SubgroupName)
}

func appendInstruction(b []byte, in Instruction) []byte {
	b = append(b, byte(in.Op), in.A)
	b = binary.BigEndian.AppendUint16(b, in.B)
	b = binary.BigEndian.AppendUint16(b, in.C)
	return binary.BigEndian.AppendUint16(b, in.D)
}

func (r *reader) program() *Program {
	if string(r.Take(len(magic))) != magic {
		r.Failf("it is not a program")
	}
	if v := r.Byte(); v != MachineVersion {
		r.Failf("the program is for machine version %d, and this is %d; compile the policy again", v, MachineVersion)
	}
	p := &Program{policy: r.Text()}
	p.fields = wire.Rows(r, 1, (*reader).Text)
	p.rules = wire.Rows(r, 3, func(r *reader) Rule { return Rule{Name: r.Text(), Code: r.Text(), Message: r.Text()} })
	p.constants = wire.Rows(r, 2, (*reader).constant)
	p.tables = wire.Rows(r, 1, (*reader).table)
	p.counters = wire.Rows(r, 47, (*reader).counter)
	p.tokens = wire.Rows(r, 3, (*reader).token)
	p.code = wire.Rows(r, 8, (*reader).instruction)
	return p
}

func (r *reader) table() (t match.Table) {
	t.Cases = wire.Rows(r, 3, func(r *reader) (c match.Case) {
		c.Text, c.Prefix = r.Flagged()
		c.Target = r.Uint16()
		return c
	})
	return t
}

func (r *reader) counter() (c Counter) {
	c.Name, c.Unit, c.Op = r.Text(), r.Text(), CounterOp(r.Byte())
	c.Rule, c.Limit, c.Decimals = r.Uint16(), r.Amount(), r.Byte()
	c.Window = Window(r.Byte())
	c.Amount, c.Group = r.Uint16(), r.Uint16()
	c.GroupName, c.Subgroup = r.Text(), r.Uint16()
	c.SubgroupName = r.Text()
	return c
}

func (r *reader) instruction() Instruction {
	return Instruction{Op: Op(r.Byte()), A: r.Byte(), B: r.Uint16(), C: r.Uint16(), D: r.Uint16()}
}

// debug reads the debug section for n instructions.
func (r *reader) debug(n int) []Span {
	if string(r.Take(len(debugMagic))) != debugMagic {
		r.Failf("the bytes after the program are not a debug section")
	}
	if r.Err() != nil || n == 0 || 3*n > r.Left() {
		r.Failf("the debug section is cut off")
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
	v := r.Varint()
	to := int64(from) + v // one that wraps is not near zero either
	if to != int64(int32(to)) {
		r.Failf("an offset does not fit into 32 bits")
		return 0
	}
	return int32(to)
}
