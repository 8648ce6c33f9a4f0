package slots

import (
	"bytes"
	"context"
	"errors"
	"io"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
)

// A dividedLog is the log of a key whose record was divided over slots: the part before that is in the first slot's log, and what came after
// it in the log of the key's slot. LSNs go on from the one to the other.
type dividedLog struct {
	ledger.Log // of the key's slot
	before     ledger.Log
	at         uint64 // the last record before
}

// logOf returns the log of a key whose slot has another one.
func (l *Ledger) logOf(own ledger.Log) ledger.Log {
	if l.options.Divided == 0 || own.Beginning().After.LSN > l.options.Divided { // retention has dropped later ones
		return own
	}
	before, err := l.ask(0)
	if err != nil {
		return unread{err}
	}
	return dividedLog{own, before, l.options.Divided}
}

// Beginning implements ledger.Log.
func (d dividedLog) Beginning() ledger.Beginning { return d.before.Beginning() }

// Path implements ledger.Log.
func (d dividedLog) Path(ctx context.Context, lsn uint64, most int) (ledger.Path, error) {
	if lsn <= d.at {
		return d.before.Path(ctx, lsn, most)
	}
	return d.Log.Path(ctx, lsn, most)
}

// Events implements ledger.Log. A page that the first slot's log has filled, or that has looked at as many records there as it may, ends where
// the record was divided.
func (d dividedLog) Events(ctx context.Context, query ledger.EventQuery) (ledger.EventPage, error) {
	if query.After >= d.at {
		return d.Log.Events(ctx, query)
	}
	page, err := d.before.Events(ctx, query)
	if err != nil || page.More && page.Next < d.at {
		return page, err
	}
	for n, event := range page.Events {
		if event.LSN > d.at {
			page.Events = page.Events[:n]
			break
		}
	}
	full := page.More && query.Examine > 0 || len(page.Events) == query.Limit
	if page.Next, page.More = d.at, true; full {
		return page, nil
	}
	query.After, query.Limit = d.at, query.Limit-len(page.Events)
	rest, err := d.Log.Events(ctx, query)
	if err != nil || rest.Dropped > d.at { // as logOf, which may have been told of it too early
		return rest, err
	}
	page.Events, page.Next, page.More = append(page.Events, rest.Events...), rest.Next, rest.More
	return page, nil
}

// Path implements ledger.Ledger, for a store of one slot, and for the part of the first slot's log before it was divided.
func (l *Ledger) Path(ctx context.Context, lsn uint64, most int) (ledger.Path, error) {
	if lsn <= l.options.Divided {
		at, err := l.ask(0)
		if err != nil {
			return ledger.Path{}, err
		}
		return at.Path(ctx, lsn, most)
	}
	c, err := l.only()
	if err != nil {
		return ledger.Path{}, err
	}
	return c.Path(ctx, lsn, most)
}

// openGlobals returns a ledger in memory that has followed the first slot's log to its end. Of one that was divided it does not read the records
// of all keys: another slot's log begins with their service-wide state.
func openGlobals(o *Options) (*commit.Ledger, error) {
	log := &begun{Log: memory.NewLog()}
	if o.Divided != 0 {
		if err := o.Store.Second(func(other commit.Log) error { return commit.BeginAs(log, other) }); err != nil {
			return nil, err
		}
	}
	l, err := commit.Open(log, commit.Options{Random: o.Commit.Random})
	if err != nil {
		return nil, err
	}
	end, err := o.Store.End()
	if err == nil {
		err = l.Follow(context.Background(), o.Store, end)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// A begun log is one in memory that may begin with a base.
type begun struct {
	*memory.Log
	base bytes.Buffer
}

var _ commit.Dropper = (*begun)(nil)

// SaveBase implements commit.Dropper.
func (b *begun) SaveBase(_ uint64, write func(io.Writer) error, _ func(ledger.RetentionStep) error) error {
	return write(&b.base)
}

// OpenBase implements commit.Dropper.
func (b *begun) OpenBase(uint64) (commit.Base, error) {
	return keptBase{bytes.NewReader(b.base.Bytes())}, nil
}

// Drop implements commit.Dropper. There are no groups yet.
func (b *begun) Drop(lsn uint64, beginning []byte, _ func(ledger.RetentionStep) error) error {
	return b.Append(lsn, beginning)
}

// Free implements commit.Dropper.
func (*begun) Free(uint64, func(ledger.RetentionStep) error) error { return nil }

// A keptBase is a base in memory.
type keptBase struct{ *bytes.Reader }

// Size implements commit.Base.
func (b keptBase) Size() (int64, error) { return b.Reader.Size(), nil }

// Close implements io.Closer.
func (keptBase) Close() error { return nil }
