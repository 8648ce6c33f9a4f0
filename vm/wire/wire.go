// Package wire writes and reads the values that programs are made of: numbers as varints of the shortest form, texts behind their
// length, amounts in 32 bytes, tables behind the number of their rows. Each value has one encoding, so that what was read and is
// written again has the same bytes.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"bailiff/vm/amount"
)

// AppendCount appends the number of rows that follow.
func AppendCount(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

// AppendText appends a text behind its length in bytes.
func AppendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// AppendFlagged appends a text with a flag in the lowest bit of its length.
func AppendFlagged(b []byte, text string, flag bool) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))<<1|uint64(Bit(flag))), text...)
}

// Bit returns 1 for true and 0 for false.
func Bit(flag bool) byte {
	if flag {
		return 1
	}
	return 0
}

// AppendAmount appends an amount in 32 bytes, big-endian.
func AppendAmount(b []byte, a amount.Amount) []byte {
	bytes := a.Bytes32()
	return append(b, bytes[:]...)
}

// A Reader takes an encoding apart. After its first error it gives zeros.
type Reader struct {
	rest    []byte
	longest int // bytes of a text
	err     error
}

// NewReader returns a reader of data, whose texts have at most so many bytes.
func NewReader(data []byte, longest int) Reader { return Reader{rest: data, longest: longest} }

var errShort = errors.New("the program is cut off")

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Left returns how many bytes have not been read.
func (r *Reader) Left() int { return len(r.rest) }

// Failf keeps an error, if it is the first.
func (r *Reader) Failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// Take returns the next n bytes, nil where they are not there.
func (r *Reader) Take(n int) []byte {
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

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint16 reads two bytes, big-endian.
func (r *Reader) Uint16() uint16 {
	if b := r.Take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

// Uvarint reads a number in its shortest form.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.advance(n)
	return v
}

// Varint reads a signed number in its shortest form.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.rest)
	r.advance(n)
	return v
}

// advance goes behind a number of n bytes. A number's last byte is zero only if it is padded.
func (r *Reader) advance(n int) {
	if n <= 0 {
		r.Failf("a number is expected here")
	}
	if b := r.Take(max(n, 0)); n > 1 && b != nil && b[n-1] == 0 {
		r.Failf("a number is not in its shortest form")
	}
}

// Count reads the number of rows that follow, each of at least size bytes.
func (r *Reader) Count(size int) int {
	n := r.Uvarint()
	if n > uint64(len(r.rest)/size) {
		r.Failf("%d rows are announced where %d bytes follow", n, len(r.rest))
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// Text reads a text.
func (r *Reader) Text() string { return string(r.Take(r.length(r.Uvarint()))) }

// Flagged reads a text with a flag.
func (r *Reader) Flagged() (text string, flag bool) {
	v := r.Uvarint()
	return string(r.Take(r.length(v >> 1))), v&1 != 0
}

func (r *Reader) length(n uint64) int {
	if n > uint64(r.longest) {
		r.Failf("a text of %d bytes: at most %d", n, r.longest)
		return 0
	}
	return int(n)
}

// Amount reads an amount.
func (r *Reader) Amount() amount.Amount {
	if b := r.Take(32); b != nil {
		return amount.FromBytes32([32]byte(b))
	}
	return amount.Amount{}
}

// A table is read from a [Reader], or from a type that has one.
type table interface {
	Count(size int) int
	Err() error
}

// Rows reads a table whose rows take at least size bytes each, nil where it has none or an error.
func Rows[R table, T any](r R, size int, read func(R) T) []T {
	n := r.Count(size)
	if n == 0 {
		return nil
	}
	rows := make([]T, 0, n)
	for range n {
		if r.Err() != nil {
			return nil
		}
		rows = append(rows, read(r))
	}
	return rows
}
