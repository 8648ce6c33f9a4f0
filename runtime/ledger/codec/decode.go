package codec

import (
	"encoding/binary"
	"math"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// A Decoder takes an encoding apart. After the first problem it returns zeros only, and the problem stays.
type Decoder struct {
	data    string
	at      int // how many bytes have been read; an index costs no write barrier, where the rest of data would
	problem string
}

// NewDecoder returns a decoder of data.
func NewDecoder(data string) Decoder { return Decoder{data: data} }

// At returns how many bytes have been read.
func (d *Decoder) At() int { return d.at }

// Problem returns the first problem, or "".
func (d *Decoder) Problem() string { return d.problem }

// Left returns how many bytes are left.
func (d *Decoder) Left() int { return len(d.data) - d.at }

// Fail keeps the problem, if it is the first.
func (d *Decoder) Fail(problem string) {
	if d.problem == "" {
		d.problem = problem
	}
}

// Check keeps the problem unless ok.
func (d *Decoder) Check(ok bool, problem string) {
	if !ok {
		d.Fail(problem)
	}
}

// Take returns the next n bytes.
func (d *Decoder) Take(n int) string {
	if d.problem != "" || n > d.Left() {
		d.Fail("too short")
		return ""
	}
	d.at += n
	return d.data[d.at-n : d.at]
}

// Byte reads one byte.
func (d *Decoder) Byte() byte {
	if d.problem != "" || d.Left() == 0 {
		d.Fail("too short")
		return 0
	}
	d.at++
	return d.data[d.at-1]
}

// Bool reads a byte that is 0 or 1.
func (d *Decoder) Bool() bool {
	b := d.Byte()
	d.Check(b <= 1, "a flag that is neither 0 nor 1")
	return b == 1
}

// Copy fills dst.
func (d *Decoder) Copy(dst []byte) { copy(dst, d.Take(len(dst))) }

// Uvarint reads an unsigned varint of the shortest form.
func (d *Decoder) Uvarint() uint64 {
	var value uint64
	for shift := 0; ; shift += 7 {
		b := d.Byte()
		if d.problem != "" {
			return 0
		}
		if shift > 0 && b == 0 || shift == 63 && b > 1 {
			d.Fail("a varint that is too long")
			return 0
		}
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
}

// Time reads a time in nanoseconds, of at most MaxTime and a hold's lifetime.
func (d *Decoder) Time() int64 {
	t := d.Uvarint()
	if t > ledger.MaxTime+uint64(ledger.MaxHoldLifetime) {
		d.Fail("a time out of range")
		return 0
	}
	return int64(t)
}

// Text reads a text of at most limit bytes, which shares the memory of data.
func (d *Decoder) Text(limit int) string {
	n := d.Uvarint()
	if n > uint64(limit) {
		d.Fail("a text that is too long")
		return ""
	}
	return d.Take(int(n))
}

// Bytes reads a text and returns a copy, nil where it is empty.
func (d *Decoder) Bytes(limit int) []byte {
	if text := d.Text(limit); text != "" {
		return []byte(text)
	}
	return nil
}

// Amount reads an amount of the shortest form.
func (d *Decoder) Amount() amount.Amount {
	n := int(d.Byte())
	if n > 32 {
		d.Fail("an amount of more than 32 bytes")
		return amount.Amount{}
	}
	digits := d.Take(n)
	if digits != "" && digits[0] == 0 {
		d.Fail("an amount with a leading zero")
		return amount.Amount{}
	}
	var full [32]byte
	copy(full[32-len(digits):], digits)
	return amount.FromBytes32(full)
}

// Half reads eight bytes, half of a secret.
func (d *Decoder) Half() uint64 {
	var b [8]byte
	d.Copy(b[:])
	return binary.BigEndian.Uint64(b[:])
}

// Count reads how many of something follow. Each takes a byte at least, so that no count asks for more memory than the
// snapshot has.
func (d *Decoder) Count() int {
	n := d.Uvarint()
	if n > uint64(d.Left()) {
		d.Fail("a count of more than there is")
		return 0
	}
	return int(n)
}

// Moment reads a time in nanoseconds, which may be one that never comes.
func (d *Decoder) Moment() int64 {
	at := d.Uvarint()
	if at > math.MaxInt64 {
		d.Fail("a time out of range")
		return 0
	}
	return int64(at)
}

// Int32 reads a number that fits into 31 bits.
func (d *Decoder) Int32() int {
	n := d.Uvarint()
	d.Check(n <= math.MaxInt32, "a number that is too large")
	return int(n & math.MaxInt32)
}
