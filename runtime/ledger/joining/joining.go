// Package joining makes one log of those of a store's slots, for a service that has no slots any more.
package joining

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/heap"
	"bailiff/runtime/ledger/state"
)

// Options say which logs become one.
type Options struct {
	// From are the logs of the slots, the first one's first.
	From []commit.Log
	// Divided is the LSN after which the others begin, where a log was divided over the slots; 0 where they begin with record 1.
	Divided uint64
	// Dropped calls visit with the records that retention has dropped from the log of a slot, up to where that begins, as far as they are at hand.
	// nil: none are.
	Dropped func(slot int, begins ledger.Head, visit func(lsn uint64, r *state.Record) error) error
	// At is the time of the joining, in Unix nanoseconds, where no record says which time it was before.
	At int64
	// Random gives the secret of the state in snapshots.
	Random io.Reader
	// Told is called with each LSN that was reached.
	Told func(lsn uint64)
}

// A Joined is what came of it. Bytes and Groups are those of the log that was made.
type Joined struct {
	commit.Copied
	Ends    []ledger.Head // of the slots' logs
	divided uint64
	numbers [][]uint64 // by slot: which LSNs its records after divided have in the log that was made, 0 for one that is not there
}

// Reached returns the last LSN up to which the log that was made has nothing of a slot but its records up to one.
func (j *Joined) Reached(slot int, lsn uint64) uint64 {
	if lsn < j.divided {
		return lsn
	}
	all := j.numbers[slot]
	for _, number := range all[min(lsn-j.divided, uint64(len(all))):] {
		if number != 0 {
			return number - 1
		}
	}
	return j.LSN
}

// Join fills an empty log with those of slots. It has the log that was divided, byte for byte, where one was; then the record of the joining,
// which begins a stream; then the records of all slots, in the order of their times, each slot's in its own order, with new LSNs. A record of
// the whole service comes once, after all that a slot has before its copy. Records of one slot alone are left out: copies, those of retention, and the
// division. A clock that was set back is told as that of its slot's keys and, at the end,
// as that of all, with the latest time at which a slot is. The log is read again, and has to come to the same of every key as
// its slot's alone. The error wraps ledger.ErrDropped where retention has dropped records of a slot that are not at hand.
func Join(to commit.Log, o *Options) (*Joined, error) {
	if len(o.From) < 3 { // the first has no keys
		return nil, fmt.Errorf("%w: %d logs to be joined", ledger.ErrInvalid, len(o.From))
	}
	j := &joining{Options: o, joined: &Joined{divided: o.Divided, numbers: make([][]uint64, len(o.From))}, defaults: make([]*state.Record, len(o.From))}
	if err := j.begin(to); err != nil {
		return nil, err
	}
	for slot := range o.From {
		j.sources = append(j.sources, newSource(slot, o, j.begins[slot], j.reached[slot]))
	}
	defer func() {
		for _, s := range j.sources {
			s.stop()
		}
	}()
	if err := j.merge(); err != nil {
		return nil, err
	}
	if err := j.filling.Verify(); err != nil {
		return nil, err
	}
	j.joined.Copied = j.filling.Filled()
	return j.joined, j.compare()
}

// A joining is a Join under way.
type joining struct {
	*Options
	joined   *Joined
	filling  *commit.Restoring
	begins   []ledger.Head // where the slots' logs begin, the first one's where it was divided
	reached  []int64       // the times at which they are there, but of the first one, whose keys the others have
	stream   [16]byte
	whole    []byte    // the state where a log was divided; nil where no slot's records after that were dropped
	bound    *[32]byte // the default policy that the record before has bound; nil where it is another record
	sources  []*source
	ready    heap.Heap[*source] // those whose record may be next
	waiting  []*source
	copied   uint64          // LSN of the first slot's latest record of the whole service that is there
	restored int             // how many restorations are there
	defaults []*state.Record // by slot, the one that has bound the latest default policy
	inForce  [32]byte        // the default policy that was bound last in the log that is made
	set      bool            // the clock of a slot was set back
}

// begin checks where the logs begin, and has the one that is made begin.
func (j *joining) begin(to commit.Log) error {
	ends := sha256.New()
	ends.Write([]byte("joined"))
	var fresh *state.State
	for slot, log := range j.From {
		begins, from, err := beginning(log)
		if err == nil {
			err = j.mayJoin(slot, begins.LSN)
		}
		if err != nil {
			return err
		}
		reached := int64(0)
		if from != nil && slot > 0 {
			reached = from.Reached()
		}
		j.reached = append(j.reached, reached)
		if begins.LSN == j.Divided && from != nil { // with its secret the states can be compared
			fresh = from.Fresh()
		}
		end, err := commit.EndOf(log)
		if err == nil && slot > 0 && begins.LSN != 0 && begins.LSN == j.Divided {
			err = commit.VerifyDivided(j.From[0], slot, begins)
		}
		if err != nil {
			return fmt.Errorf("slot %d: %w", slot, err)
		}
		j.begins, j.joined.Ends = append(j.begins, begins), append(j.joined.Ends, end)
		ends.Write(binary.BigEndian.AppendUint64(end.Stream[:], end.LSN))
		ends.Write(end.Hash[:])
	}
	j.stream = [16]byte(ends.Sum(nil))
	return j.copyDivided(to, fresh)
}

// beginning returns the place after which a log begins, and the state there, nil where that is record 0.
func beginning(log commit.Log) (after ledger.Head, from *state.State, err error) {
	var problem error
	err = log.Read(0, func(_ uint64, group []byte) bool {
		after, problem = commit.Begins(group)
		return false
	})
	if err = errors.Join(problem, err); err != nil || after.LSN == 0 {
		return after, nil, err
	}
	err = commit.Records(log, func(_ uint64, at *state.State) { from = at }, func(uint64, string) error { return errStopped })
	if errors.Is(err, errStopped) {
		err = nil
	}
	return after, from, err
}

// mayJoin returns an error where records of a slot are not at hand.
func (j *joining) mayJoin(slot int, begins uint64) error {
	switch {
	case slot == 0 && (begins == 0 || begins < j.Divided), slot > 0 && begins == j.Divided, slot > 0 && begins > j.Divided && j.Dropped != nil:
		return nil
	}
	return fmt.Errorf("%w: the log of slot %d begins after record %d", ledger.ErrDropped, slot, begins)
}

// copyDivided copies the log that was divided.
func (j *joining) copyDivided(to commit.Log, fresh *state.State) (err error) {
	if fresh == nil {
		if fresh, err = commit.DrawnState(j.Random); err != nil {
			return err
		}
	}
	if j.Divided == 0 {
		j.filling, err = commit.RestoreAs(to, fresh)
		return err
	}
	if j.filling, err = commit.CopyGroups(j.From[0], to, j.Divided, fresh, j.Told); err != nil {
		return err
	}
	if j.begins[0] = j.filling.Head(); j.begins[0].LSN != j.Divided {
		return fmt.Errorf("%w: the log of slot 0 has no group that ends with record %d, after which it was divided", ledger.ErrCorrupt, j.Divided)
	}
	if slices.ContainsFunc(j.begins[1:], func(begins ledger.Head) bool { return begins.LSN > j.Divided }) {
		j.whole = j.filling.State().AppendSnapshot(nil)
	}
	return nil
}

// merge adds the records of all slots.
func (j *joining) merge() error {
	for _, s := range j.sources {
		if err := j.advance(s); err != nil {
			return err
		}
	}
	if err := j.first(); err != nil {
		return err
	}
	for {
		for j.ready.Len() > 0 {
			s := j.ready.Pop()
			err := j.add(s)
			if err == nil {
				err = j.advance(s)
			}
			if err != nil {
				return err
			}
		}
		if len(j.waiting) == 0 {
			return errors.Join(j.bindLatest(), j.setClock(), j.filling.Flush())
		}
		if err := j.release(); err != nil {
			return err
		}
	}
}

// first adds the record of the joining, with the earliest time of those after it, so that retention drops it with them.
func (j *joining) first() error {
	r := state.Record{Kind: ledger.StoreJoined, Now: j.At, Slots: len(j.From) - 1}
	for n, s := range slices.Concat(j.ready.Items(), j.waiting) {
		if n == 0 || s.record.Now < r.Now {
			r.Now = s.record.Now
		}
	}
	_, err := j.filling.PutFirst(&r, j.stream)
	return err
}

// bindLatest has the default policy with the highest serial be the last one that is bound, and of those without the one that was bound last: slots
// may have different ones, as long as not every instance has the new one.
func (j *joining) bindLatest() error {
	var latest *state.Record
	for _, r := range j.defaults {
		if r == nil {
			continue
		}
		if latest == nil || r.Default.Serial > latest.Default.Serial || r.Default.Serial == latest.Default.Serial && r.Now > latest.Now {
			latest = r
		}
	}
	if latest == nil || latest.Default.PolicyHash == j.inForce {
		return nil
	}
	_, err := j.filling.Put(latest)
	return err
}

// setClock brings what all keys have in common back to the latest time at which a slot is, where a clock was set back.
func (j *joining) setClock() error {
	if !j.set {
		return nil
	}
	latest := slices.MaxFunc(j.sources, func(a, b *source) int { return cmp.Compare(a.latest, b.latest) }).latest
	_, err := j.filling.Put(&state.Record{Kind: ledger.ClockSet, Now: latest})
	return err
}

// advance reads a slot's next record, and notes whether it may be next in the log that is made.
func (j *joining) advance(s *source) error {
	for {
		more, err := s.advance()
		switch {
		case err != nil:
			return fmt.Errorf("slot %d: %w", s.slot, err)
		case !more && s.chain.Head != j.joined.Ends[s.slot]:
			return fmt.Errorf("%w: the log of slot %d was read up to record %d, and ends with %d", ledger.ErrCorrupt, s.slot, s.lsn, j.joined.Ends[s.slot].LSN)
		case !more:
			return nil
		case j.skips(s):
			j.number(s, 0)
		case s.record.Kind == ledger.ServiceRestored, s.record.Follows(): // it comes after all that slots have before it
			j.waiting = append(j.waiting, s)
			return nil
		default:
			j.ready.Push(s)
			return nil
		}
	}
}

// number notes which LSN a slot's record has in the log that is made.
func (j *joining) number(s *source, lsn uint64) {
	j.joined.numbers[s.slot] = append(j.joined.numbers[s.slot], lsn)
}

// skips reports whether a record is of its slot alone, or is there already.
func (j *joining) skips(s *source) bool {
	switch r := &s.record; r.Kind {
	case ledger.StoreDivided, ledger.EventsDropped:
		return true
	case ledger.ServiceRestored: // each log has all of them
		if s.restored < j.restored {
			s.restored++
			return true
		}
		return false
	default:
		return r.Origin != 0 && r.Origin <= j.copied
	}
}

// release adds the first slot's record of the whole service, for which the others wait, and looks at these again.
func (j *joining) release() error {
	waiting, first := j.waiting, j.waiting[0]
	j.waiting = nil
	for _, s := range waiting {
		if s.slot == 0 {
			first = s
		}
	}
	if first.slot != 0 {
		return fmt.Errorf("%w: record %d of slot %d is of the whole service, and slot 0 lacks it", ledger.ErrCorrupt, first.lsn, first.slot)
	}
	if err := j.add(first); err != nil {
		return err
	}
	if first.record.Kind == ledger.ServiceRestored {
		j.restored++
		first.restored++
	} else {
		j.copied = first.lsn
	}
	for _, s := range waiting {
		if s != first && !j.skips(s) {
			j.waiting = append(j.waiting, s)
			continue
		}
		if s != first {
			j.number(s, 0)
		}
		if err := j.advance(s); err != nil {
			return err
		}
	}
	return nil
}

// add adds a slot's record.
func (j *joining) add(s *source) error {
	r := &s.record
	if s.slot == 0 && r.Key != (ledger.ID{}) {
		return fmt.Errorf("%w: record %d of slot 0 is of a key", ledger.ErrCorrupt, s.lsn)
	}
	switch r.Kind {
	case ledger.DefaultBound:
		bound := *r
		j.defaults[s.slot], j.inForce = &bound, r.Default.PolicyHash
	case ledger.ClockSet:
		r.Slots, r.Slot, j.set = len(j.From)-1, s.slot, true
	}
	if j.isBound(r) {
		j.number(s, 0)
		return nil
	}
	if err := j.joined.renumber(s.slot, r); err != nil {
		return fmt.Errorf("%w: record %d of slot %d %w", ledger.ErrCorrupt, s.lsn, s.slot, err)
	}
	lsn, err := j.put(r)
	if err == nil {
		j.number(s, lsn)
		j.Told(lsn)
	}
	return err
}

// isBound reports whether the record before binds the same default policy: each slot has one.
func (j *joining) isBound(r *state.Record) (bound bool) {
	if r.Kind != ledger.DefaultBound {
		j.bound = nil
		return false
	}
	hash := r.Default.PolicyHash
	bound = j.bound != nil && *j.bound == hash
	j.bound = &hash
	return bound
}

// put adds a record to the log that is made. A restoration begins a stream there, too.
func (j *joining) put(r *state.Record) (lsn uint64, err error) {
	if r.Kind != ledger.ServiceRestored {
		return j.filling.Put(r)
	}
	if err := j.filling.Flush(); err != nil {
		return 0, err
	}
	before := j.filling.Head()
	sum := sha256.Sum256(append(append([]byte("restored"), before.Stream[:]...), before.Hash[:]...))
	r.Restored.Before = before.Stream
	return j.filling.PutFirst(r, [16]byte(sum[:]))
}

// renumber has a slot's record name others as the log that is made does.
func (j *Joined) renumber(slot int, r *state.Record) error {
	for _, lsn := range []*uint64{&r.Settled.LSN, &r.Forgets} {
		if *lsn <= j.divided {
			continue
		}
		i := *lsn - j.divided - 1
		if i >= uint64(len(j.numbers[slot])) || j.numbers[slot][i] == 0 {
			return fmt.Errorf("names record %d, which is not there", *lsn)
		}
		*lsn = j.numbers[slot][i]
	}
	return nil
}

// compare reads each slot's log again, by itself, and holds what it comes to of its keys against the log that was made.
func (j *joining) compare() error {
	made := j.filling.State()
	keys := 0
	for slot := 1; slot < len(j.From); slot++ {
		alone, err := j.alone(slot)
		if err != nil {
			return fmt.Errorf("slot %d: %w", slot, err)
		}
		var differs *ledger.ID
		alone.Keys(func(key ledger.Key) {
			keys++
			if there, _ := made.Key(key.ID); there != key || !bytes.Equal(alone.AppendKey(nil, key.ID), made.AppendKey(nil, key.ID)) {
				differs = &key.ID
			}
		})
		if differs != nil {
			return fmt.Errorf("%w: the joined log comes to another state of key %s than that of slot %d", ledger.ErrCorrupt, differs, slot)
		}
	}
	if keys != j.joined.Keys {
		return fmt.Errorf("%w: the joined log has %d keys, and those of the slots %d", ledger.ErrCorrupt, j.joined.Keys, keys)
	}
	return nil
}

// alone returns what a slot's log comes to, with the LSNs that its records have in the log that was made.
func (j *joining) alone(slot int) (*state.State, error) {
	alone, err := j.from(slot)
	if err != nil {
		return nil, err
	}
	s := newSource(slot, j.Options, j.begins[slot], 0)
	defer s.stop()
	for last := j.Divided; ; {
		more, err := s.advance()
		if err != nil || !more {
			return alone, err
		}
		r := &s.record
		if r.Kind == ledger.EventsDropped {
			continue
		}
		if number := j.joined.numbers[slot][s.lsn-j.Divided-1]; number != 0 {
			last = number
		}
		if err = j.joined.renumber(slot, r); err == nil {
			err = alone.Apply(last, r)
		}
		if err != nil {
			return nil, err
		}
	}
}

// from returns the state that a slot's log begins with: where retention has dropped records since, that of the log that was divided.
func (j *joining) from(slot int) (*state.State, error) {
	switch {
	case j.Divided == 0:
		return j.filling.State().Fresh(), nil
	case j.begins[slot].LSN == j.Divided:
		_, from, err := beginning(j.From[slot])
		return from, err
	}
	from, err := state.ReadSnapshot(j.whole)
	if err == nil {
		from.Keep(func(key *ledger.Key) bool { return ledger.SlotOf(key.Hash, len(j.From)) == slot }, j.Divided)
	}
	return from, err
}
