package commit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// The index of keys says which groups have records of a key, so that a page of one key's events reads these and no others.
// It is a copy and never the truth: a goroutine of its own makes it from the durable log, and what it does not cover yet is
// read from the log. An index that does not fit the log, or cannot be read, is removed and made again.
//
// It is made stretch by stretch: whole groups, of at least IndexEvery records together. For each key in a stretch it has a
// list of groups. A list depends on the log alone, so the index can be checked by making it again (VerifyIndex).
const (
	// IndexEvery is how many records a stretch of the index has at least, unless Options say otherwise: few enough to be
	// read from the log for each page while they wait for the index.
	IndexEvery = 4096

	indexMagic = "bli1"
	markBytes  = len(indexMagic) + 8 + headBytes
	headBytes  = 16 + 8 + 32

	// indexMagicFrom begins a mark with two heads: the index begins after the second, because what was before it was dropped.
	indexMagicFrom = "bli2"
)

// Indexes is what a Log has that can keep an index of keys as well.
type Indexes interface {
	// OpenIndex opens the index, and makes an empty one where there is none or where it cannot be opened. It returns nil
	// where there is none and the log is only read.
	OpenIndex() (Index, error)
	// RemoveIndex removes the index, which is not open.
	RemoveIndex() error
}

// An Index maps keys to lists, each under the LSN with which its stretch begins. One goroutine calls Put; others may call
// Lists meanwhile. Close is called alone.
type Index interface {
	// Mark returns the mark of the last Put, nil where there was none.
	Mark() ([]byte, error)
	// Put adds the lists of a stretch and replaces the mark, both or neither. It need not be durable: after a crash the
	// index may be what it was after any earlier Put.
	Put(mark []byte, stretch uint64, lists map[ledger.ID][]byte) error
	// Drop removes the lists of the stretches that begin before an LSN and replaces the mark, as Put does.
	Drop(mark []byte, before uint64) error
	// Lists calls yield with the lists of a key in the order of their stretches, from the last one that begins at the LSN
	// from or before it, until yield returns false. The list's memory is valid during the call only.
	Lists(key ledger.ID, from uint64, yield func(stretch uint64, list []byte) bool) error
	// Each calls yield with every list, in any order, until yield returns false.
	Each(yield func(key ledger.ID, stretch uint64, list []byte) bool) error
	Close() error
}

// A mark says how far an index goes.
type mark struct {
	every uint64      // records of a stretch
	head  ledger.Head // the end of the last stretch
	from  ledger.Head // what the first stretch follows; zero where it is the first of a whole log
}

func (m *mark) encode() []byte {
	magic := indexMagic
	if m.from.LSN != 0 {
		magic = indexMagicFrom
	}
	b := append(make([]byte, 0, markBytes+headBytes), magic...)
	b = binary.BigEndian.AppendUint64(b, m.every)
	if b = appendHead(b, m.head); m.from.LSN != 0 {
		b = appendHead(b, m.from)
	}
	return b
}

func appendHead(b []byte, h ledger.Head) []byte {
	b = append(b, h.Stream[:]...)
	b = binary.BigEndian.AppendUint64(b, h.LSN)
	return append(b, h.Hash[:]...)
}

func readHead(b []byte) (h ledger.Head) {
	h.LSN = binary.BigEndian.Uint64(b[16:])
	copy(h.Stream[:], b)
	copy(h.Hash[:], b[24:])
	return h
}

var errIndex = errors.New("ledger: the index of keys can't be used")

// readMark reads the mark of an index that is to fit a log that begins after a place.
func readMark(index Index, log Log, begins ledger.Head) (m mark, err error) {
	b, err := index.Mark()
	switch {
	case err != nil:
		return m, fmt.Errorf("%w: %w", errIndex, err)
	case b == nil:
		m.head, m.from = begins, begins
		return m, nil
	case len(b) == markBytes && string(b[:len(indexMagic)]) == indexMagic:
	case len(b) == markBytes+headBytes && string(b[:len(indexMagic)]) == indexMagicFrom:
		m.from = readHead(b[markBytes:])
	default:
		return m, fmt.Errorf("%w: another version wrote it", errIndex)
	}
	m.every, m.head = binary.BigEndian.Uint64(b[len(indexMagic):]), readHead(b[len(indexMagic)+8:])
	for _, end := range []ledger.Head{m.head, m.from} {
		if end.LSN < begins.LSN || end.LSN == 0 {
			continue // the lists up to the beginning are yet to be dropped
		}
		if err := fits(end, log); err != nil {
			return m, fmt.Errorf("%w: %w", errIndex, err)
		}
	}
	return m, nil
}

// leftOf returns what the first stretch follows that begins after a place, at which the log begins, and the LSN that it begins with.
func (m *mark) leftOf(index Index, log Log, begins ledger.Head) (from ledger.Head, next uint64, err error) {
	if m.from.LSN >= begins.LSN {
		return m.from, m.from.LSN + 1, nil
	}
	next = m.head.LSN + 1 // where no stretch is left
	if err := index.Each(func(_ ledger.ID, stretch uint64, _ []byte) bool {
		if stretch > begins.LSN {
			next = min(next, stretch)
		}
		return true
	}); err != nil {
		return from, next, err
	}
	from, err = endBefore(log, next)
	return from, next, err
}

// endBefore returns the place that a group follows which begins with an LSN.
func endBefore(log Log, lsn uint64) (end ledger.Head, err error) {
	var problem error
	err = log.Read(lsn-1, func(_ uint64, b []byte) bool {
		if end, problem = headOf(b); problem == nil && end.LSN != lsn-1 {
			problem = fmt.Errorf("no group ends with record %d", lsn-1)
		}
		return false
	})
	return end, errors.Join(problem, err)
}

// A stretch is what the index has of some groups of the log.
type stretch struct {
	first uint64 // LSN
	head  ledger.Head
	lists map[ledger.ID][]byte
	last  map[ledger.ID]uint64 // the group that ends each list
}

// readStretch reads the stretch that follows head, of groups that begin at the LSN until or before it. It reports whether
// there are enough of them.
func readStretch(log Log, head ledger.Head, every, until uint64) (s stretch, complete bool, err error) {
	s = stretch{first: head.LSN + 1, head: head, lists: map[ledger.ID][]byte{}, last: map[ledger.ID]uint64{}}
	var problem error
	err = log.Read(s.first, func(first uint64, b []byte) bool {
		switch {
		case first < s.first: // the group before
			return true
		case first > until:
			return false
		}
		problem = s.add(first, b)
		complete = problem == nil && s.head.LSN-head.LSN >= every
		return problem == nil && !complete
	})
	return s, complete, errors.Join(problem, err)
}

// add adds a group: to the list of each key that has records in it, the distance from the group before in that list, or
// from the start of the stretch.
func (s *stretch) add(first uint64, b []byte) error {
	group, err := follow(&s.head, first, b)
	if err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrCorrupt, err)
	}
	return group.scan(func(lsn uint64, data string) error {
		key, ok := state.KeyOf(data)
		if !ok {
			return fmt.Errorf("%w: record %d is too short", ledger.ErrCorrupt, lsn)
		}
		before, known := s.last[key]
		switch {
		case !known:
			before = s.first
		case before == first:
			return nil
		}
		s.lists[key] = binary.AppendUvarint(s.lists[key], first-before)
		s.last[key] = first
		return nil
	})
}

// appendGroups appends the first LSNs of a list's groups. Each begins before its stretch has every records.
func appendGroups(groups []uint64, stretch uint64, list []byte, every uint64) ([]uint64, error) {
	first := stretch
	for start := len(groups); len(list) > 0; {
		distance, n := binary.Uvarint(list)
		if n <= 0 || distance == 0 && len(groups) > start || distance >= every-(first-stretch) {
			return nil, fmt.Errorf("%w: a list that is not as it was written", errIndex)
		}
		first, list = first+distance, list[n:]
		groups = append(groups, first)
	}
	return groups, nil
}

// groupsOf returns groups of a key in ascending order, from the last one that begins at the LSN from or before it: all
// groups of some lists, which end with the list that reaches limit. next is the LSN to continue at, 0 where there is no
// more. The stretches of the index have every records.
func groupsOf(index Index, key ledger.ID, from, every uint64, limit int) (groups []uint64, next uint64, err error) {
	var problem error
	err = index.Lists(key, from, func(stretch uint64, list []byte) bool {
		if len(groups) >= limit {
			next = stretch
			return false
		}
		groups, problem = appendGroups(groups, stretch, list, every)
		return problem == nil
	})
	if err = errors.Join(problem, err); err != nil {
		return nil, 0, err
	}
	after, exact := slices.BinarySearch(groups, from)
	if !exact && after > 0 {
		after--
	}
	return groups[after:], next, nil
}

// ErrIndexChanged is a ledger.ErrCorrupt of VerifyIndex: the log is whole, and its index of keys is not what it comes to.
var ErrIndexChanged = fmt.Errorf("%w: the index of keys is not what the log comes to", ledger.ErrCorrupt)

// VerifyIndex compares the index of keys of a log that no ledger has open with the log: an edited index could hide events
// from queries for those of a key. It returns the LSN that the index covers, 0 where there is none, or none that would
// be used. It fails with [ErrIndexChanged], or as [VerifyLog] does.
func VerifyIndex(log Log) (covers uint64, err error) {
	store, ok := log.(Indexes)
	if !ok {
		return 0, nil
	}
	index, err := store.OpenIndex()
	if index == nil || err != nil { // opening the ledger makes another one
		return 0, nil
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	b, err := beginningOf(log)
	if err != nil {
		return 0, err
	}
	var begins ledger.Head
	if b != nil {
		begins = b.After
	}
	m, err := readMark(index, log, begins)
	if err != nil || m.head.LSN == 0 || m.head.LSN < begins.LSN { // opening the ledger makes another one
		return 0, nil
	}
	from, next, err := m.leftOf(index, log, begins)
	if err != nil {
		return 0, fmt.Errorf("%w: its first stretch: %w", ErrIndexChanged, err)
	}
	lists := 0
	for head := from; head != m.head; {
		s, complete, err := readStretch(log, head, m.every, m.head.LSN)
		switch {
		case err != nil:
			return 0, err
		case !complete:
			return 0, fmt.Errorf("%w: it ends with record %d, within a stretch", ErrIndexChanged, m.head.LSN)
		}
		if err := s.compare(index); err != nil {
			return 0, err
		}
		lists += len(s.lists)
		head = s.head
	}
	if err := index.Each(func(_ ledger.ID, stretch uint64, _ []byte) bool {
		if stretch >= next {
			lists--
		}
		return true
	}); err != nil || lists != 0 {
		return 0, errors.Join(fmt.Errorf("%w: it has %d lists too many", ErrIndexChanged, -lists), err)
	}
	if m.head == from {
		return 0, nil
	}
	return m.head.LSN, nil
}

// compare returns why an index does not have the lists of s.
func (s *stretch) compare(index Index) error {
	for key, want := range s.lists {
		same := false
		err := index.Lists(key, s.first, func(stretch uint64, list []byte) bool {
			same = stretch == s.first && string(list) == string(want)
			return false
		})
		if err != nil || !same {
			return errors.Join(fmt.Errorf("%w: the groups of key %s, of records %d to %d", ErrIndexChanged, key, s.first, s.head.LSN), err)
		}
	}
	return nil
}
