package vm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"bailiff/vm/amount"
)

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

// appendAmount appends an amount in 32 bytes.
func appendAmount(b []byte, a amount.Amount) []byte {
	bytes := a.Bytes32()
	return append(b, bytes[:]...)
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
		r.failf("a number is expected here")
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
