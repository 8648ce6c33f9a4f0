package vm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"bailiff/vm/amount"
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
	return p.appendWords(b), nil
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

func appendCount(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendFlagged appends a text with a flag in the lowest bit of its length.
func appendFlagged(b []byte, text string, flag bool) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))<<1|uint64(flagByte(flag))), text...)
}

func flagByte(flag bool) byte {
	if flag {
		return 1
	}
	return 0
}

func appendConstant(b []byte, c *constant) []byte {
	b = append(b, byte(c.kind))
	switch c.kind {
	case patternConstant:
		return appendFlagged(b, c.text, c.whole)
	case amountConstant:
		return appendAmount(append(b, c.decimals), c.amount)
	case globsConstant:
		b = append(b, byte(c.style))
	}
	b = appendCount(b, len(c.entries))
	for _, e := range c.entries {
		b = appendFlagged(b, e.Text, e.Fold)
	}
	return b
}

// appendAmount appends an amount in 32 bytes.
func appendAmount(b []byte, a amount.Amount) []byte {
	bytes := a.Bytes32()
	return append(b, bytes[:]...)
}

func appendTable(b []byte, t *table) []byte {
	b = appendCount(b, len(t.cases))
	for _, c := range t.cases {
		b = binary.BigEndian.AppendUint16(appendFlagged(b, c.text, c.prefix), c.target)
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

// Decode reads a program, verifies and loads it. It accepts exactly what [Program.MarshalBinary] returns: the
// bytes of a decoded program are the bytes that it was decoded from.
func Decode(data []byte) (*Program, error) {
	if len(data) > 2*MaxBytes {
		return nil, fmt.Errorf("vm: a program of %d bytes: at most %d", len(data), 2*MaxBytes)
	}
	r := &reader{rest: data}
	p := r.program()
	if r.err == nil && len(r.rest) > 0 {
		p.debug = r.debug(len(p.code))
		r.words(p)
	}
	if r.err == nil && len(r.rest) > 0 {
		r.failf("%d bytes stand behind the program", len(r.rest))
	}
	if r.err != nil {
		return nil, fmt.Errorf("vm: byte %d: %w", len(data)-len(r.rest), r.err)
	}
	if err := p.load(); err != nil {
		return nil, err
	}
	return p, nil
}

// A reader takes an encoding apart. After its first error it gives zeros.
type reader struct {
	rest []byte
	err  error
}

var errShort = errors.New("the program is cut off")

func (r *reader) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// take returns the next n bytes, or nil.
func (r *reader) take(n int) []byte {
	if r.err == nil && n > len(r.rest) {
		r.err = errShort
	}
	if r.err != nil {
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

// uvarint reads a number in its shortest form.
func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.advance(n)
	return v
}

// varint reads a signed number in its shortest form.
func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	r.advance(n)
	return v
}

// advance goes behind a number of n bytes. A number's last byte is zero only if it is padded.
func (r *reader) advance(n int) {
	if n <= 0 {
		r.failf("no number stands here")
	}
	if b := r.take(max(n, 0)); n > 1 && b != nil && b[n-1] == 0 {
		r.failf("a number is not in its shortest form")
	}
}

// count reads the number of rows that follow, each of at least size bytes.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.rest)/size) {
		r.failf("%d rows are announced where %d bytes follow", n, len(r.rest))
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	return string(r.take(r.length(r.uvarint())))
}

func (r *reader) flagged() (text string, flag bool) {
	v := r.uvarint()
	return string(r.take(r.length(v >> 1))), v&1 != 0
}

func (r *reader) length(n uint64) int {
	if n > maxText {
		r.failf("a text of %d bytes: at most %d", n, maxText)
		return 0
	}
	return int(n)
}

func (r *reader) amount() amount.Amount {
	if b := r.take(32); b != nil {
		return amount.FromBytes32([32]byte(b))
	}
	return amount.Amount{}
}

func (r *reader) program() *Program {
	if string(r.take(len(magic))) != magic {
		r.failf("it is no program")
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

// rows reads a table whose rows take at least size bytes each.
func rows[T any](r *reader, size int, read func(*reader) T) []T {
	n := r.count(size)
	if n == 0 {
		return nil
	}
	table := make([]T, 0, n)
	for range n {
		if r.err != nil {
			return nil
		}
		table = append(table, read(r))
	}
	return table
}

func (r *reader) constant() (c constant) {
	c.kind = constantKind(r.byte())
	switch c.kind {
	case textsConstant, hostsConstant, pathsConstant:
		c.entries = rows(r, 1, (*reader).entry)
	case globsConstant:
		c.style = GlobStyle(r.byte())
		c.entries = rows(r, 1, (*reader).entry)
	case patternConstant:
		c.text, c.whole = r.flagged()
	case amountConstant:
		c.decimals, c.amount = r.byte(), r.amount()
	default:
		r.failf("%d is no kind of constant", c.kind)
	}
	return c
}

func (r *reader) entry() (e Entry) {
	e.Text, e.Fold = r.flagged()
	return e
}

func (r *reader) table() (t table) {
	t.cases = rows(r, 3, func(r *reader) (c switchCase) {
		c.text, c.prefix = r.flagged()
		c.target = r.uint16()
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
		r.failf("what stands behind the program is no debug section")
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
