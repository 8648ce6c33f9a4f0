package slots

import (
	"context"

	"bailiff/runtime/ledger"
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

// Events implements ledger.Log. A page that looks at so many records at most ends where the record was divided.
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
	page.Next, page.More = d.at, true
	if query.Examine > 0 || len(page.Events) == query.Limit {
		return page, nil
	}
	query.After, query.Limit = d.at, query.Limit-len(page.Events)
	rest, err := d.Log.Events(ctx, query)
	if err != nil {
		return ledger.EventPage{}, err
	}
	page.Events, page.Next, page.More = append(page.Events, rest.Events...), rest.Next, rest.More
	return page, nil
}
