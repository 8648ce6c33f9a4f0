package commit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// A group of version 1 is what one sync makes durable:
//
//	offset  0  magic "blg1"; the digit is the version of group and records
//	        4  stream id, 16 bytes, the same in every group of a log
//	       20  first LSN, 8 bytes
//	       28  number of records, 4 bytes, at least 1
//	       32  SHA-256 of the whole group before; zeros in the first group
//	       64  records, each with its length before it in 4 bytes
//	   end-4   CRC-32C of all bytes before
//
// Integers are big-endian. The chain of hashes makes a removed, exchanged or altered group visible wherever it is.
const (
	magic       = "blg1"
	headerBytes = 64
	sumBytes    = 4
	lengthBytes = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errTorn says that a group is not what was sealed: it is cut short, or its sum is wrong. At the end of a log that
// is a write that never was acknowledged; elsewhere the log is corrupt.
var errTorn = errors.New("the group's checksum does not fit")

// A group is records on their way to the log.
type group struct {
	first      uint64
	count      uint32
	buf        []byte // header, then records; sealed by seal
	wanted     bool   // somebody waits, or it is large enough: do not wait for more records
	underWay   bool   // the committer has it
	keys       []ledger.Key
	outbox     []state.Waiting // deliveries of its events
	times      span
	commitment *ledger.Commitment
}

func newGroup(first uint64, buf []byte) *group {
	if cap(buf) < headerBytes {
		buf = make([]byte, headerBytes, 16<<10)
	}
	return &group{first: first, buf: buf[:headerBytes], times: noTime, commitment: ledger.NewCommitment()}
}

// add appends a record.
func (g *group) add(r *state.Record) {
	start := len(g.buf)
	g.buf = r.Append(append(g.buf, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(g.buf[start:], uint32(len(g.buf)-start-lengthBytes))
	g.count++
	g.times = g.times.with(r.Now)
}

// tell notes the deliveries that a record asks for.
func (g *group) tell(lsn uint64, r *state.Record) {
	for _, e := range r.Outbox {
		if !e.Dropped {
			g.outbox = append(g.outbox, state.Waiting{Key: r.Key, Webhook: e.Webhook, LSN: lsn, Next: r.Now})
		}
	}
}

// seal completes the group's bytes.
func (g *group) seal(stream [16]byte, before [32]byte) {
	header := append(g.buf[:0], magic...)
	header = append(header, stream[:]...)
	header = binary.BigEndian.AppendUint64(header, g.first)
	header = binary.BigEndian.AppendUint32(header, g.count)
	copy(g.buf[len(header):headerBytes], before[:])
	g.buf = binary.BigEndian.AppendUint32(g.buf, crc32.Checksum(g.buf, castagnoli))
}

// holds reports whether the record with the LSN is in the group.
func (g *group) holds(lsn uint64) bool { return lsn >= g.first && lsn-g.first < uint64(g.count) }

// A sealed is a group as it was read.
type sealed struct {
	stream  [16]byte
	first   uint64
	count   uint32
	before  [32]byte
	records string
}

// parse takes a group apart and checks its sum; the records are looked at by each.
func parse(b []byte) (sealed, error) {
	var s sealed
	if len(b) < headerBytes+sumBytes {
		return s, fmt.Errorf("%w: it has %d bytes", errTorn, len(b))
	}
	body := b[:len(b)-sumBytes]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(b[len(body):]) {
		return s, errTorn
	}
	if !bytes.HasPrefix(b, []byte(magic)) {
		return s, fmt.Errorf("it starts with %q instead of %q: another version wrote it", b[:len(magic)], magic)
	}
	s.stream = [16]byte(body[4:20])
	s.first = binary.BigEndian.Uint64(body[20:28])
	s.count = binary.BigEndian.Uint32(body[28:32])
	s.before = [32]byte(body[32:64])
	s.records = string(body[headerBytes:])
	return s, nil
}

// each decodes the records in order into r and calls visit for each, until visit returns an error.
func (s *sealed) each(r *state.Record, visit func(lsn uint64) error) error {
	return s.scan(func(lsn uint64, data string) error {
		if err := r.Decode(data); err != nil {
			return fmt.Errorf("record %d: %w", lsn, err)
		}
		return visit(lsn)
	})
}

// scan calls visit with the encoding of each record in order, until visit returns an error.
func (s *sealed) scan(visit func(lsn uint64, data string) error) error {
	rest := s.records
	for i := uint64(0); i < uint64(s.count); i++ {
		if len(rest) < lengthBytes {
			return fmt.Errorf("record %d is missing", s.first+i)
		}
		n := uint64(rest[0])<<24 | uint64(rest[1])<<16 | uint64(rest[2])<<8 | uint64(rest[3])
		if rest = rest[lengthBytes:]; n > uint64(len(rest)) {
			return fmt.Errorf("record %d is cut short", s.first+i)
		}
		if err := visit(s.first+i, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if rest != "" || s.count == 0 {
		return fmt.Errorf("%d records, and %d bytes after them", s.count, len(rest))
	}
	return nil
}
