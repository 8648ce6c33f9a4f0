package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// Retain implements ledger.Ledger. It exports the groups that are old, makes the base of what follows them, records the drop, and then
// puts the beginning in the place of the groups, which is the one step that counts: before it the log is whole, after it the log
// begins later. Decisions go on meanwhile.
func (l *Ledger) Retain(ctx context.Context, q *ledger.Retention) (*ledger.Drop, error) {
	store, ok := l.log.(Dropper)
	if !ok {
		return nil, ledger.ErrNotRetained
	}
	l.rewriting.Lock()
	defer l.rewriting.Unlock()
	r := retaining{l: l, q: q, store: store, ctx: ctx}
	if q.Reached == nil {
		q.Reached = func(ledger.RetentionStep) error { return nil }
	}
	until, err := r.until()
	if err == nil {
		err = r.tidy()
	}
	if err != nil || until == 0 {
		return nil, err
	}
	if err := r.export(until); err != nil || r.empty {
		return nil, err
	}
	return &r.drop, r.run()
}

// A retaining is one pass of retention.
type retaining struct {
	l     *Ledger
	q     *ledger.Retention
	store Dropper
	ctx   context.Context

	before *base // of the log when the pass began
	past   *past // what the log comes to up to the drop
	drop   ledger.Drop
	empty  bool // there is nothing worth a drop
}

// tidy removes what a drop has left that a crash has interrupted.
func (r *retaining) tidy() error {
	if r.l.tidied {
		return nil
	}
	err := r.store.Free(r.before.begins().LSN, func(ledger.RetentionStep) error { return nil })
	r.l.tidied = err == nil
	return err
}

// until returns the LSN up to which records are old, 0 where none that are there are. It is the end of a group.
func (r *retaining) until() (until uint64, err error) {
	l := r.l
	l.mu.Lock()
	r.before = l.base
	segments, head, err := slices.Clone(l.times.segments), l.head.LSN, l.refusal()
	l.mu.Unlock()
	if err != nil {
		return 0, err
	}
	begins := r.before.begins().LSN
	until = begins
	for _, s := range segments {
		end := min(s.first+s.count-1, head)
		if end <= until {
			continue
		}
		if s.times.to >= r.q.Before || r.q.Keep != 0 && end > r.q.Keep {
			last, err := r.oldUntil(until, end)
			if err != nil || last < end {
				return zeroUnless(last, begins), err
			}
		}
		until = end
	}
	return zeroUnless(until, begins), nil
}

func zeroUnless(until, more uint64) uint64 {
	if until <= more {
		return 0
	}
	return until
}

// oldUntil returns the LSN that the groups up to one end at of which every record is old, in the part of the log after an LSN.
func (r *retaining) oldUntil(after, end uint64) (until uint64, err error) {
	until = after
	var problem error
	var record state.Record
	err = r.l.log.Read(after+1, func(first uint64, b []byte) bool {
		if first <= after {
			return true
		}
		s, err := parse(b)
		last := s.first + uint64(s.count) - 1
		if err != nil || last > end || r.q.Keep != 0 && last > r.q.Keep {
			problem = err
			return false
		}
		young := false
		problem = s.each(&record, func(uint64) error {
			young = young || record.Now >= r.q.Before && record.Now <= r.q.Now
			return nil
		})
		if young || problem != nil {
			return false
		}
		until = last
		return true
	})
	return until, errors.Join(problem, err)
}

// export writes the groups up to an LSN into a file, as far as one pass goes, and replays them.
func (r *retaining) export(until uint64) (err error) {
	if r.past, err = r.before.past(r.l.freshPast); err != nil {
		return err
	}
	var out ledger.Exporter
	var problem error
	var record state.Record
	size, worth, from := int64(0), false, r.past.head
	err = r.l.log.Read(from.LSN+1, func(first uint64, b []byte) bool {
		if first <= from.LSN {
			return true
		}
		if size += int64(len(b)); first > until || out != nil && size > r.q.Most {
			return false
		}
		if problem = context.Cause(r.ctx); problem == nil && out == nil {
			out, problem = r.q.Export(r.before.begins())
		}
		if problem == nil {
			problem = out.Add(b)
		}
		if problem == nil {
			problem = r.past.replay(&record, first, b, func() { worth = worth || record.Kind != ledger.EventsDropped })
		}
		return problem == nil
	})
	if err = errors.Join(problem, err); out == nil {
		r.empty = true
		return err
	}
	if r.empty = !worth; err != nil || r.empty { // records of drops alone would beget the next one
		out.Abandon()
		return err
	}
	r.drop = ledger.Drop{At: r.q.Now, Through: r.past.head}
	r.drop.Export, err = out.Close(r.past.head)
	if err != nil {
		return fmt.Errorf("ledger: exporting old events: %w", err)
	}
	return nil
}

// run makes the base, and drops the exported groups.
func (r *retaining) run() error {
	if err := r.saveBase(); err != nil {
		return fmt.Errorf("ledger: making the base of what is left: %w", err)
	}
	signed, err := r.q.Sign(&r.drop)
	if err != nil {
		return fmt.Errorf("ledger: signing the retention checkpoint: %w", err)
	}
	g := beginning{ledger.Beginning{After: r.drop.Through, Base: r.drop.Base, Signed: signed}}
	after, err := openBase(r.l.log, g)
	if err != nil {
		return fmt.Errorf("ledger: the base of what is left %w", err)
	}
	noted := r.drop
	err = r.l.step(r.ctx, func(record *state.Record) error { return r.l.state.DropEvents(&noted, record) }, func(uint64) {})
	if err == nil {
		err = r.q.Reached(ledger.DropRecorded)
	}
	if err != nil {
		return errors.Join(err, after.file.Close())
	}
	if err := r.cut(after); err != nil {
		return err
	}
	r.l.noteBeginning()
	return r.store.Free(after.After.LSN, r.q.Reached)
}

// saveBase writes the base of what the log has come to.
func (r *retaining) saveBase() (err error) {
	r.past.times.dropThrough(r.past.head.LSN)
	r.drop.Base, err = saveBase(r.store, r.past, r.l.log, r.before, r.q.Reached)
	return err
}

// cut drops the groups, and has readers begin after them. No reader is between two groups meanwhile. Where it fails the log is in doubt.
func (r *retaining) cut(after *base) error {
	l := r.l
	l.cutting.Lock()
	defer l.cutting.Unlock()
	if err := r.store.Drop(after.After.LSN, after.seal(), r.q.Reached); err != nil {
		err = fmt.Errorf("dropping the groups up to record %d: %w", after.After.LSN, err)
		if !errors.Is(err, ErrNotDropped) {
			l.Fail(err)
		}
		return errors.Join(fmt.Errorf("ledger: %w", err), after.file.Close())
	}
	l.mu.Lock()
	before := l.base
	l.base = after
	l.times.dropThrough(after.After.LSN)
	l.mu.Unlock()
	return before.close()
}

// noteBeginning has the index of keys begin where the log does.
func (l *Ledger) noteBeginning() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.indexer != nil {
		l.indexer.nudge()
	}
}

// Beginning implements ledger.Ledger.
func (l *Ledger) Beginning() ledger.Beginning {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.base == nil {
		return ledger.Beginning{}
	}
	return l.base.Beginning
}

// ReadBase implements ledger.Ledger.
func (l *Ledger) ReadBase(of uint64, at int64, most int) (part, group []byte, size int64, err error) {
	l.cutting.RLock()
	defer l.cutting.RUnlock()
	b := l.base
	if b == nil || b.After.LSN != of {
		return nil, nil, 0, fmt.Errorf("%w: the log does not begin after record %d any more", ledger.ErrNotFound, of)
	}
	size, err = b.file.Size()
	if err != nil || at < 0 || at > size {
		return nil, nil, 0, errors.Join(err, fmt.Errorf("%w: the base has %d bytes", ledger.ErrInvalid, size))
	}
	part = make([]byte, min(int64(most), size-at))
	_, err = b.file.ReadAt(part, at)
	return part, b.seal(), size, err
}
