package commit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"bailiff/runtime/ledger"
)

// A log whose oldest groups retention has dropped begins with a beginning in their place, under the LSN of the record dropped last:
//
//	offset  0  magic "blg4", which releases before retention refuse as another version's
//	        4  stream id of the group dropped last, 16 bytes
//	       20  LSN of the record dropped last, 8 bytes
//	       28  SHA-256 of the group dropped last, which the first group that is left has as that of the group before
//	       60  SHA-256 of the base
//	       92  the retention checkpoint, a signed note
//	   end-4   CRC-32C of all bytes before
const (
	magicBeginning  = "blg4"
	beginningHeader = 92
)

// A beginning is what a log begins with where groups were dropped.
type beginning struct{ ledger.Beginning }

// seal returns the bytes of a beginning.
func (g *beginning) seal() []byte {
	b := append([]byte(magicBeginning), g.After.Stream[:]...)
	b = binary.BigEndian.AppendUint64(b, g.After.LSN)
	b = append(append(b, g.After.Hash[:]...), g.Base[:]...)
	b = append(b, g.Signed...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// isBeginning reports whether b is one, damaged or not.
func isBeginning(b []byte) bool {
	return len(b) >= len(magicBeginning) && string(b[:len(magicBeginning)]) == magicBeginning
}

// Begins returns the place after which a log begins whose first group is given: the zero Head where retention has dropped nothing.
func Begins(group []byte) (ledger.Head, error) {
	if !isBeginning(group) {
		return ledger.Head{}, nil
	}
	g, err := readBeginning(group)
	if err != nil {
		return ledger.Head{}, err
	}
	return g.After, nil
}

// readBeginning reads what seal wrote.
func readBeginning(b []byte) (*beginning, error) {
	end := len(b) - sumBytes
	if end < beginningHeader || crc32.Checksum(b[:end], castagnoli) != binary.BigEndian.Uint32(b[end:]) {
		return nil, fmt.Errorf("%w: what retention has put at the beginning of the log is not as it was written", ledger.ErrCorrupt)
	}
	g := new(beginning)
	copy(g.After.Stream[:], b[4:])
	g.After.LSN = binary.BigEndian.Uint64(b[20:])
	copy(g.After.Hash[:], b[28:])
	copy(g.Base[:], b[60:])
	g.Signed = slices.Clone(b[beginningHeader:end])
	return g, nil
}

// beginningOf returns the beginning of a log, nil where the log begins with record 1 or is empty.
func beginningOf(log Log) (g *beginning, err error) {
	var problem error
	err = log.Read(0, func(first uint64, b []byte) bool {
		switch {
		case isBeginning(b):
			if g, problem = readBeginning(b); problem == nil && g.After.LSN != first {
				problem = fmt.Errorf("%w: the beginning of the log after record %d is kept under %d", ledger.ErrCorrupt, g.After.LSN, first)
			}
		case first > 1:
			problem = fmt.Errorf("%w: the log begins at record %d where 1 is expected, and the retention checkpoint that would say why is missing: restore the directory from a backup", ledger.ErrCorrupt, first)
		}
		return false
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("ledger: reading the beginning of the log: %w", err)
	case problem != nil:
		return nil, problem
	}
	return g, nil
}

// headOf returns the place at which a group, or a beginning, ends.
func headOf(b []byte) (ledger.Head, error) {
	if isBeginning(b) {
		g, err := readBeginning(b)
		if err != nil {
			return ledger.Head{}, err
		}
		return g.After, nil
	}
	s, err := parse(b)
	if err != nil {
		return ledger.Head{}, err
	}
	return ledger.Head{Stream: s.stream, LSN: s.first + uint64(s.count) - 1, Hash: sha256.Sum256(b)}, nil
}
