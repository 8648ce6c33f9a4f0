package commit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// A snapshot is what the log came to up to some group, so that opening need not read what was before. It is a copy and
// never the truth: one that does not fit the log is passed over, and the log read from its beginning.
//
//	offset  0  magic "bls1"; the digit is the version
//	        4  stream id, 16 bytes
//	       20  LSN of the last record, 8 bytes
//	       28  SHA-256 of the group that it ends
//	       60  the index of times: number of segments, and of each its first LSN, count, first and last time as varints
//	           in "bls2", of a log into which logs of slots were joined: how often they were, and of each time the LSN of the record as
//	           a varint, and the stream that began with it
//	           the state, as its own package writes it
//	   end-32  SHA-256 of all bytes before
//
// It is made beside the ledger, from the snapshot before and the log, so that no decision waits for it, and is therefore
// as true as a replay is: it is one.
const (
	snapshotMagic  = "bls1"
	snapshotJoined = "bls2"
	snapshotHeader = 60

	// snapshotEvery is how many records are written between two snapshots, unless Options say otherwise: about ten
	// seconds' reading when the ledger is opened.
	snapshotEvery = 4 << 20
)

// Snapshots is what a Log has that can keep a snapshot as well. Both are called by one goroutine at a time, beside the
// Log's own methods.
type Snapshots interface {
	// SaveSnapshot durably puts a snapshot in the place of the one before. After an error either is there.
	SaveSnapshot(snapshot []byte) error
	// LoadSnapshot returns the snapshot, nil where there is none.
	LoadSnapshot() ([]byte, error)
}

// A past is what a ledger knows from its durable log.
type past struct {
	state *state.State
	head  ledger.Head
	times timeIndex

	joined []joined
}

// A joined is a record after which records have other LSNs than they had in the logs of slots that became one.
type joined struct {
	lsn    uint64
	stream [16]byte // that began with it
}

// renumbered returns the stream in which a record has got its LSN anew; zeros where none did.
func (p *past) renumbered(lsn uint64) (stream [16]byte) {
	for _, j := range p.joined {
		if j.lsn < lsn {
			stream = j.stream
		}
	}
	return stream
}

// stream is the one that the log is in; zeros as long as it has no records.
func (p *past) stream() (stream [16]byte) {
	if p.head.LSN > 0 {
		stream = p.head.Stream
	}
	return stream
}

// replay adds a group, and calls visit after each of its records.
func (p *past) replay(r *state.Record, first uint64, b []byte, visit func()) error {
	before := p.stream()
	s, err := follow(&p.head, first, b)
	if err != nil {
		return err
	}
	times := noTime
	err = s.each(r, func(lsn uint64) error {
		restored := r.Kind == ledger.ServiceRestored
		if s.begins != (restored || r.Kind == ledger.StoreJoined) || s.begins && s.count != 1 || restored && r.Restored.Before != before {
			return fmt.Errorf("record %d: a new stream begins with a restoration of the one before, or with the records of slots, and with nothing else", lsn)
		}
		times = times.with(r.Now)
		if r.Kind == ledger.StoreJoined {
			p.joined = append(p.joined, joined{lsn, s.stream})
		}
		if err := p.state.Apply(lsn, r); err != nil {
			return err
		}
		visit()
		return nil
	})
	if err != nil {
		return fmt.Errorf("group %d: %w", first, err)
	}
	p.times.add(first, s.count, times)
	return nil
}

// snapshot returns the snapshot of p.
func (p *past) snapshot() []byte {
	b := []byte(snapshotMagic)
	if len(p.joined) > 0 {
		b = []byte(snapshotJoined)
	}
	b = append(b, p.head.Stream[:]...)
	b = binary.BigEndian.AppendUint64(b, p.head.LSN)
	b = append(b, p.head.Hash[:]...)
	b = binary.AppendUvarint(b, uint64(len(p.times.segments)))
	for _, s := range p.times.segments {
		b = binary.AppendUvarint(binary.AppendUvarint(b, s.first), s.count)
		b = binary.AppendVarint(binary.AppendVarint(b, s.times.from), s.times.to)
	}
	if len(p.joined) > 0 {
		b = binary.AppendUvarint(b, uint64(len(p.joined)))
		for _, j := range p.joined {
			b = append(binary.AppendUvarint(b, j.lsn), j.stream[:]...)
		}
	}
	b = p.state.AppendSnapshot(b)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

var errSnapshot = errors.New("ledger: the snapshot can't be used")

// readSnapshot returns the past of a snapshot.
func readSnapshot(b []byte) (*past, error) {
	end := len(b) - sha256.Size
	switch {
	case end < snapshotHeader || sha256.Sum256(b[:end]) != [sha256.Size]byte(b[end:]):
		return nil, fmt.Errorf("%w: it is not as it was written", errSnapshot)
	case string(b[:len(snapshotMagic)]) != snapshotMagic && string(b[:len(snapshotMagic)]) != snapshotJoined:
		return nil, fmt.Errorf("%w: another version wrote it", errSnapshot)
	}
	p := &past{head: ledger.Head{LSN: binary.BigEndian.Uint64(b[20:])}}
	copy(p.head.Stream[:], b[4:])
	copy(p.head.Hash[:], b[28:])
	rest := bytes.NewReader(b[snapshotHeader:end])
	segments, err := readSegments(rest)
	if err != nil {
		return nil, fmt.Errorf("%w: its index of times: %w", errSnapshot, err)
	}
	p.times.segments = segments
	if string(b[:len(snapshotMagic)]) == snapshotJoined {
		if p.joined, err = readJoined(rest); err != nil {
			return nil, fmt.Errorf("%w: its joinings: %w", errSnapshot, err)
		}
	}
	if p.state, err = state.ReadSnapshot(b[end-rest.Len() : end]); err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshot, err)
	}
	return p, nil
}

func readJoined(r *bytes.Reader) (all []joined, err error) {
	n, err := binary.ReadUvarint(r)
	for ; n > 0 && err == nil; n-- {
		var j joined
		if j.lsn, err = binary.ReadUvarint(r); err == nil {
			_, err = io.ReadFull(r, j.stream[:])
		}
		all = append(all, j)
	}
	return all, err
}

func readSegments(r *bytes.Reader) (segments []segment, err error) {
	n, err := binary.ReadUvarint(r)
	for ; n > 0 && err == nil; n-- {
		var s segment
		var problems [4]error
		s.first, problems[0] = binary.ReadUvarint(r)
		s.count, problems[1] = binary.ReadUvarint(r)
		s.times.from, problems[2] = binary.ReadVarint(r)
		s.times.to, problems[3] = binary.ReadVarint(r)
		segments, err = append(segments, s), errors.Join(problems[:]...)
	}
	return segments, err
}

// load returns the past of the log's snapshot, nil where there is none, or none after the beginning of the log, which has a base where
// b is not nil. An error says why it can't be used.
func load(log Log, b *base) (*past, error) {
	store, ok := log.(Snapshots)
	if !ok {
		return nil, nil
	}
	text, err := store.LoadSnapshot()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSnapshot, err)
	}
	if text == nil {
		return nil, nil
	}
	p, err := readSnapshot(text)
	if err != nil {
		return nil, err
	}
	if begins := b.begins().LSN; begins != 0 {
		if p.head.LSN < begins {
			return nil, nil
		}
		p.times.dropThrough(begins)
	}
	if err := fits(p.head, log); err != nil {
		return p, fmt.Errorf("%w: %w", errSnapshot, err)
	}
	return p, nil
}

// fits returns why what ends with a group was not made of a log: the log has to have that group.
func fits(end ledger.Head, log Log) error {
	found := ledger.Head{}
	err := log.Read(end.LSN, func(_ uint64, b []byte) bool {
		if head, err := headOf(b); err == nil {
			found = head
		}
		return false
	})
	if err == nil && found != end {
		err = fmt.Errorf("it ends with record %d of a log that is not this one", end.LSN)
	}
	return err
}

// A snapshotter makes snapshots of a ledger.
type snapshotter struct {
	worker
	log    Log
	store  Snapshots
	every  uint64
	covers uint64 // the LSN of the last snapshot, or of the last attempt; under the ledger's lock
}

func newSnapshotter(log Log, every uint64, covers uint64) *snapshotter {
	store, ok := log.(Snapshots)
	if !ok {
		return nil
	}
	if every == 0 {
		every = snapshotEvery
	}
	return &snapshotter{worker: newWorker(), log: log, store: store, every: every, covers: covers}
}

// grown is called, under the lock, when the log has become longer.
func (n *snapshotter) grown(head uint64) {
	if n == nil || head < n.covers+n.every {
		return
	}
	n.covers = head
	n.nudge()
}

// makeSnapshots is the snapshotter's goroutine.
func (l *Ledger) makeSnapshots(n *snapshotter) {
	defer close(n.done)
	for {
		select {
		case <-n.stop:
			return
		case <-n.wake:
		}
		if n.stopped() { // both had come
			return
		}
		if err := l.makeSnapshot(n); err != nil && !errors.Is(err, ledger.ErrClosed) {
			l.report("%v: opening the ledger will take longer; the next one is tried %d records on", err, n.every)
		}
	}
}

// makeSnapshot makes one of the log as far as it is durable now.
func (l *Ledger) makeSnapshot(n *snapshotter) error {
	l.rewriting.Lock()
	defer l.rewriting.Unlock()
	l.mu.Lock()
	target, b := l.head, l.base
	l.mu.Unlock()
	p, err := load(n.log, b)
	if p == nil || err != nil { // what can't be used is put right by this one
		if p, err = b.past(l.freshPast); err != nil {
			return fmt.Errorf("ledger: making a snapshot: %w", err)
		}
	}
	var r state.Record
	var problem error
	err = n.log.Read(p.head.LSN+1, func(first uint64, b []byte) bool {
		switch {
		case n.stopped():
			problem = ledger.ErrClosed
		case first > target.LSN:
			return false
		case first > p.head.LSN:
			problem = p.replay(&r, first, b, func() {})
		}
		return problem == nil
	})
	switch err = errors.Join(problem, err); {
	case err != nil:
	case p.head != target:
		err = fmt.Errorf("reading the log led to record %d instead of %d", p.head.LSN, target.LSN)
	default:
		err = n.store.SaveSnapshot(p.snapshot())
	}
	if err != nil {
		return fmt.Errorf("ledger: making a snapshot: %w", err)
	}
	return nil
}
