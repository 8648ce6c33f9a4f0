// Package codec writes and reads the values that records and snapshots of the ledger are made of: varints, texts after their
// length, amounts without leading zeros, times. Each value has one encoding, so that reading and writing again gives the same
// bytes.
package codec

import (
	"encoding/binary"

	"bailiff/vm/amount"
)

// AppendBytes appends a value behind its length.
func AppendBytes(b, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

// AppendText appends a text behind its length.
func AppendText(b []byte, text string) []byte {
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

// AppendAmount appends the bytes of an amount, without leading zeros, behind their number.
func AppendAmount(b []byte, a amount.Amount) []byte {
	full := a.Bytes32()
	start := 0
	for start < len(full) && full[start] == 0 {
		start++
	}
	b = append(b, byte(len(full)-start))
	return append(b, full[start:]...)
}

// Bit returns 1 for true and 0 for false.
func Bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// AppendCount appends how many of something follow.
func AppendCount(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

// AppendMoment appends a time in nanoseconds.
func AppendMoment(b []byte, at int64) []byte { return binary.AppendUvarint(b, uint64(at)) }
