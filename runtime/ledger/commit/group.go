package commit

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"unsafe"

	"github.com/klauspost/compress/s2"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// A group of version 2 is what one sync makes durable:
//
//	offset  0  magic "blg2"; the digit is the version of the group
//	        4  stream id, 16 bytes, the same in every group of a log up to a restoration
//	       20  first LSN, 8 bytes
//	       28  number of records, 4 bytes, at least 1
//	       32  SHA-256 of the whole group before; zeros in the first group
//	       64  records, each with its length before it in 4 bytes, together as one S2 block
//	   end-4   CRC-32C of all bytes before
//
// A group of the version "blg3" is as one of version 2, and begins a new stream: it has the one record of a restoration, from a backup
// of the log up to the group before, or that of a store.joined. The groups after it are of its stream.
//
// Integers are big-endian. The chain of hashes makes a removed, exchanged or altered group visible wherever it is.
// Records of one group repeat each other's names and hashes, so that packed they take a third of the bytes, all of which
// are copied, summed, hashed and written several times on their way to the disk. A group of version 1, "blg1", has them
// as they are, and is read as well.
const (
	magic       = "blg2"
	magicPlain  = "blg1"
	magicBegins = "blg3"
	headerBytes = 64
	sumBytes    = 4
	lengthBytes = 4
)

// maxUnpacked bounds what a group may unpack to: a full group whose last record is the largest that there is.
var maxUnpacked = groupBytes + lengthBytes + state.MaxRecord()

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errTorn says that a group was changed since it was sealed: it is cut short, or its sum is wrong. At the end of a log that
// is a write that never was acknowledged; elsewhere the log is corrupt.
var errTorn = errors.New("the group's checksum does not fit")

// A group is records on their way to the log.
type group struct {
	first      uint64
	count      uint32
	records    []byte // each after its length
	begins     bool   // a new stream
	wanted     bool   // somebody waits, or it is large enough: do not wait for more records
	underWay   bool   // the committer has it
	keys       []ledger.Key
	outbox     []state.Waiting // deliveries of its events
	times      span
	commitment *ledger.Commitment
}

func newGroup(first uint64, memory []byte) *group {
	return &group{first: first, records: memory[:0], times: noTime, commitment: ledger.NewCommitment()}
}

// add appends a record.
func (g *group) add(r *state.Record) {
	start := len(g.records)
	g.records = r.Append(append(g.records, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(g.records[start:], uint32(len(g.records)-start-lengthBytes))
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

// seal returns the group's bytes for the log, written over dst.
func (g *group) seal(dst []byte, stream [16]byte, before [32]byte) []byte {
	kind := magic
	if g.begins {
		kind = magicBegins
	}
	dst = append(dst[:0], kind...)
	dst = append(dst, stream[:]...)
	dst = binary.BigEndian.AppendUint64(dst, g.first)
	dst = binary.BigEndian.AppendUint32(dst, g.count)
	dst = append(dst, before[:]...)
	dst = slices.Grow(dst, s2.MaxEncodedLen(len(g.records))+sumBytes)
	packed := s2.Encode(dst[len(dst):cap(dst)], g.records)
	dst = dst[:len(dst)+len(packed)]
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst, castagnoli))
}

// holds reports whether the record with the LSN is in the group.
func (g *group) holds(lsn uint64) bool { return lsn >= g.first && lsn-g.first < uint64(g.count) }

// A sealed is a group as it was read.
type sealed struct {
	begins  bool // a new stream
	stream  [16]byte
	first   uint64
	count   uint32
	before  [32]byte
	records string
}

// parse takes a group apart and checks its sum; the records are looked at by each.
func parse(b []byte) (sealed, error) {
	s, _, err := parseInto(nil, b)
	return s, err
}

// parseInto is parse with memory for the records, which may grow: it is returned with them in it, and they are there for as
// long as nothing else is written to it.
func parseInto(memory, b []byte) (s sealed, records []byte, err error) {
	if len(b) < headerBytes+sumBytes {
		return s, memory, fmt.Errorf("%w: it has %d bytes", errTorn, len(b))
	}
	body := b[:len(b)-sumBytes]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(b[len(body):]) {
		return s, memory, errTorn
	}
	if records, err = unpack(memory, string(b[:len(magic)]), body[headerBytes:]); err != nil {
		return s, memory, err
	}
	s.begins = string(b[:len(magic)]) == magicBegins
	s.stream = [16]byte(body[4:20])
	s.first = binary.BigEndian.Uint64(body[20:28])
	s.count = binary.BigEndian.Uint32(body[28:32])
	s.before = [32]byte(body[32:64])
	s.records = unsafe.String(unsafe.SliceData(records), len(records))
	return s, records, nil
}

// unpack returns the records of a group that starts with a magic, in memory where that has room.
func unpack(memory []byte, magicOf string, packed []byte) ([]byte, error) {
	switch magicOf {
	case magicPlain:
		return append(memory[:0], packed...), nil
	case magic, magicBegins:
	default:
		return nil, fmt.Errorf("it starts with %q instead of %q: another version wrote it: %w", magicOf, magic, state.ErrNewer)
	}
	if size, err := s2.DecodedLen(packed); err != nil || size > maxUnpacked {
		return nil, fmt.Errorf("its records unpack to %d bytes, of at most %d, %w", size, maxUnpacked, cmp.Or(err, s2.ErrTooLarge))
	}
	records, err := s2.Decode(memory[:0], packed)
	if err != nil {
		return nil, fmt.Errorf("its records don't unpack: %w", err)
	}
	return records, nil
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

// LastOf returns the LSN of the last record of a group that was sealed, by its header alone. That of a beginning, which retention has put
// in the place of groups, is the last one that was dropped.
func LastOf(group []byte) (lsn uint64, err error) {
	if len(group) < headerBytes+sumBytes {
		return 0, fmt.Errorf("%w: it has %d bytes", errTorn, len(group))
	}
	if isBeginning(group) {
		return binary.BigEndian.Uint64(group[20:]), nil
	}
	return binary.BigEndian.Uint64(group[20:]) + uint64(binary.BigEndian.Uint32(group[28:])) - 1, nil
}
