package commit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// Groups implements ledger.Ledger.
func (l *Ledger) Groups(ctx context.Context, after uint64, most int) (path ledger.Path, head ledger.Head, err error) {
	l.cutting.RLock()
	defer l.cutting.RUnlock()
	l.mu.Lock()
	head, err = l.head, l.refusal()
	begins := l.base.begins().LSN
	l.mu.Unlock()
	switch {
	case err != nil || after >= head.LSN:
		return path, head, err
	case after < begins:
		return path, head, fmt.Errorf("%w: the log begins at record %d, and what follows %d was asked for", ledger.ErrDropped, begins+1, after)
	}
	var problem error
	size := 0
	err = l.log.Read(after+1, func(first uint64, b []byte) bool {
		size += len(b)
		if problem = context.Cause(ctx); problem != nil || first > head.LSN || len(path.Groups) > 0 && size > most {
			return false
		}
		if first <= after {
			problem = fmt.Errorf("%w: no group ends with record %d", ledger.ErrInvalid, after)
		} else if problem = chain(&path.End, first, b); problem != nil {
			problem = fmt.Errorf("%w: %w", ledger.ErrCorrupt, problem)
		}
		path.Groups = append(path.Groups, slices.Clone(b))
		return problem == nil
	})
	return path, head, errors.Join(problem, err)
}

// A Restoring fills an empty log with the groups of a backup.
type Restoring struct {
	log    Log
	past   *past
	record state.Record
	group  *group // of records that are not in the log yet; nil where there are none
	groups int
	bytes  int64
}

// Restore begins to fill a log, which has to be empty.
func Restore(log Log) (*Restoring, error) {
	if head, err := log.Head(); err != nil || head != 0 {
		return nil, errors.Join(err, fmt.Errorf("%w: the log that is to be filled has records", ledger.ErrInvalid))
	}
	return &Restoring{log: log, past: &past{state: state.New(state.Secret{})}}, nil
}

// RestoreAs is Restore for a log that begins with a state, of no records.
func RestoreAs(log Log, fresh *state.State) (*Restoring, error) {
	r, err := Restore(log)
	if err == nil {
		r.past.state = fresh
	}
	return r, err
}

// Continue begins to add to a log that no ledger has open.
func Continue(log Log, random io.Reader) (*Restoring, error) {
	l := &Ledger{log: log}
	if err := l.draw(random); err != nil {
		return nil, err
	}
	b, err := baseOf(log)
	if err != nil {
		return nil, err
	}
	p, err := l.recall(b)
	if err == nil {
		err = l.replay(p)
	}
	if err = errors.Join(err, b.close()); err != nil {
		return nil, err
	}
	return &Restoring{log: log, past: p}, nil
}

// Latest returns the time of the latest record, in Unix nanoseconds; 0 where there is none.
func (r *Restoring) Latest() (latest int64) {
	latest = r.past.state.Latest()
	for _, s := range r.past.times.segments {
		latest = max(latest, s.times.to)
	}
	return latest
}

// Freeze adds the freeze that comes with a restoration, for the logs that follow this one.
func (r *Restoring) Freeze(v *ledger.Restoration) error {
	_, err := r.Put(&state.Record{Kind: ledger.ServiceFrozen, Now: v.At, Halt: &ledger.Halt{Stop: true, At: v.At, Reason: v.Reason()}})
	return errors.Join(err, r.Flush())
}

// Put adds a record, and returns its LSN. It is in the log after Flush, and earlier where many are put.
func (r *Restoring) Put(record *state.Record) (lsn uint64, err error) {
	if r.group == nil {
		r.group = newGroup(r.past.head.LSN+1, nil)
	}
	lsn = r.group.first + uint64(r.group.count)
	r.group.add(record)
	if len(r.group.records) >= groupBytes {
		err = r.Flush()
	}
	return lsn, err
}

// Flush has the records that were put in the log.
func (r *Restoring) Flush() error {
	if r.group == nil {
		return nil
	}
	g := r.group
	r.group = nil
	return r.Add(g.seal(nil, r.past.head.Stream, r.past.head.Hash))
}

// PutFirst adds a record that begins a stream, and returns its LSN. It is in the log then.
func (r *Restoring) PutFirst(record *state.Record, stream [16]byte) (lsn uint64, err error) {
	if err := r.Flush(); err != nil {
		return 0, err
	}
	g := newGroup(r.past.head.LSN+1, nil)
	g.add(record)
	g.begins = true
	return g.first, r.Add(g.seal(nil, stream, r.past.head.Hash))
}

// State returns what the log comes to, without records that were put and not flushed. It is the log's.
func (r *Restoring) State() *state.State { return r.past.state }

// Verify reads the log again, which has to come to the same, and gives it a snapshot where it keeps one.
func (r *Restoring) Verify() error {
	if err := comesTo(r.log, r.past); err != nil {
		return err
	}
	if store, ok := r.log.(Snapshots); ok {
		return store.SaveSnapshot(r.past.snapshot())
	}
	return nil
}

// Begin has the log begin as one does whose first groups were dropped: with what is in their place, and the base. The error wraps
// ledger.ErrCorrupt where these do not fit each other. Whose signature it has is for the caller to verify.
func (r *Restoring) Begin(group []byte, from io.Reader) (ledger.Beginning, error) {
	g, err := readBeginning(group)
	if err != nil {
		return ledger.Beginning{}, err
	}
	store, ok := r.log.(Dropper)
	if !ok || r.past.head.LSN != 0 {
		return g.Beginning, errors.Join(ledger.ErrNotRetained, fmt.Errorf("%d records are there", r.past.head.LSN))
	}
	nothing := func(ledger.RetentionStep) error { return nil }
	err = store.SaveBase(g.After.LSN, func(to io.Writer) error {
		_, err := io.Copy(to, from)
		return err
	}, nothing)
	if err == nil {
		err = store.Drop(g.After.LSN, group, nothing)
	}
	if err != nil {
		return g.Beginning, err
	}
	b, err := openBase(r.log, *g)
	if err != nil {
		return g.Beginning, fmt.Errorf("%w: the base of its retention checkpoint %w", ledger.ErrCorrupt, err)
	}
	defer b.file.Close()
	if err := b.verify(); err != nil {
		return g.Beginning, err
	}
	r.past, err = b.past(nil)
	return g.Beginning, err
}

// Add adds the next group, after it was found to follow the one before. The error wraps ledger.ErrCorrupt where it does not.
func (r *Restoring) Add(group []byte) error {
	first := r.past.head.LSN + 1
	if err := r.past.replay(&r.record, first, group, func() {}); err != nil {
		return fmt.Errorf("%w: %w", ledger.ErrCorrupt, err)
	}
	r.groups, r.bytes = r.groups+1, r.bytes+int64(len(group))
	return r.log.Append(first, group)
}

// Filled returns how far the log is filled.
func (r *Restoring) Filled() Copied {
	filled := Copied{Head: r.past.head, Groups: r.groups, Bytes: r.bytes, Environments: map[string]int{}}
	r.past.state.Keys(func(key ledger.Key) {
		if filled.Keys++; key.Revoked == 0 {
			filled.Environments[key.Environment]++
		}
	})
	return filled
}

// Head returns the end of the log as far as it is filled.
func (r *Restoring) Head() ledger.Head { return r.past.head }

// Finish begins a new stream, whose id random gives, with the record of a restoration, in which it sets the stream before.
func (r *Restoring) Finish(v ledger.Restoration, random io.Reader) (ledger.Head, error) {
	v.Before = r.past.stream()
	if err := r.past.state.Restore(&v, &r.record); err != nil {
		return ledger.Head{}, err
	}
	var stream [16]byte
	if _, err := io.ReadFull(random, stream[:]); err != nil {
		return ledger.Head{}, fmt.Errorf("ledger: reading randomness for the stream id: %w", err)
	}
	_, err := r.PutFirst(&r.record, stream)
	return r.past.head, err
}
