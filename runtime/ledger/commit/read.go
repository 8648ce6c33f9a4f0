package commit

import (
	"context"
	"errors"
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
	"bailiff/vm/amount"
)

// CreateKey implements ledger.Ledger.
func (l *Ledger) CreateKey(ctx context.Context, key ledger.Key) error {
	return l.step(ctx, key.ID, func(r *state.Record) error {
		return l.state.CreateKey(&key, r)
	}, func() { l.stage(key.ID) })
}

// RevokeKey implements ledger.Ledger.
func (l *Ledger) RevokeKey(ctx context.Context, id ledger.ID, at int64) (ledger.Key, error) {
	var key ledger.Key
	err := l.step(ctx, id, func(r *state.Record) error {
		return l.state.RevokeKey(id, at, r)
	}, func() { key = l.stage(id) })
	if err != nil {
		return ledger.Key{}, err
	}
	return key, nil
}

// stage has a key published when the open group is durable.
func (l *Ledger) stage(id ledger.ID) ledger.Key {
	key, _ := l.state.Key(id)
	g := l.open()
	g.keys = append(g.keys, key)
	return key
}

// LookupKey implements ledger.Ledger.
func (l *Ledger) LookupKey(hash [32]byte) (*ledger.Key, bool) { return l.keys.lookup(hash) }

// Keys implements ledger.Ledger.
func (l *Ledger) Keys(context.Context) ([]ledger.Key, error) {
	l.mu.Lock()
	err := l.refusal()
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return l.keys.all(), nil
}

// ResolveHold implements ledger.Ledger.
func (l *Ledger) ResolveHold(ctx context.Context, q ledger.Resolution) (ledger.Hold, error) {
	err := l.step(ctx, q.Key, func(r *state.Record) error {
		return l.state.ResolveHold(&q, r)
	}, func() {})
	if err != nil {
		return ledger.Hold{}, err
	}
	return l.Hold(ctx, q.Key, q.Hold, q.At)
}

// Hold implements ledger.Ledger.
func (l *Ledger) Hold(ctx context.Context, key, id ledger.ID, at int64) (ledger.Hold, error) {
	var hold ledger.Hold
	var lsn uint64
	var found bool
	err := l.view(ctx, key, func(s *state.State) { hold, lsn, found = s.Hold(key, id, at) })
	switch {
	case err != nil:
		return ledger.Hold{}, err
	case !found:
		return ledger.Hold{}, fmt.Errorf("%w: hold %s", ledger.ErrNotFound, id)
	}
	return l.wholeHold(lsn, hold)
}

// Holds implements ledger.Ledger.
func (l *Ledger) Holds(ctx context.Context, key ledger.ID, at int64) ([]ledger.Hold, error) {
	var holds []ledger.Hold
	var lsns []uint64
	err := l.view(ctx, key, func(s *state.State) { holds, lsns = s.Holds(key, at) })
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(holds); {
		filled, err := l.bodies(lsns[i:], holds[i:])
		if err != nil {
			return nil, err
		}
		i += filled
	}
	for i := range holds {
		holds[i].Intent = nil
	}
	return holds, nil
}

// Counter implements ledger.Ledger.
func (l *Ledger) Counter(ctx context.Context, key ledger.ID, counter ledger.Counter, at int64) (value amount.Amount, err error) {
	err = l.view(ctx, key, func(s *state.State) { value = s.Counter(key, counter, at) })
	return value, err
}

// Usage implements ledger.Ledger.
func (l *Ledger) Usage(ctx context.Context, key ledger.ID) (usage []ledger.Usage, err error) {
	err = l.view(ctx, key, func(s *state.State) { usage = s.Usage(key) })
	return usage, err
}

// view shows the state of a key to look, and returns when all that it could see of the key is durable. After an
// error what was seen must not be told.
func (l *Ledger) view(ctx context.Context, key ledger.ID, look func(*state.State)) error {
	l.mu.Lock()
	err := l.refusal()
	var commitment *ledger.Commitment
	if err == nil {
		look(l.state)
		commitment = l.commitmentOf(key)
	}
	l.mu.Unlock()
	if commitment == nil {
		return err
	}
	err = commitment.Wait(ctx)
	if errors.Is(err, ledger.ErrUnknown) {
		return fmt.Errorf("%w: reading what may not have been kept: %v", ledger.ErrUnavailable, err) //nolint:errorlint // for a read nothing is unknown, so that ErrUnknown must not shine through
	}
	return err
}

func (l *Ledger) wholeHold(lsn uint64, hold ledger.Hold) (ledger.Hold, error) {
	holds := []ledger.Hold{hold}
	if _, err := l.bodies([]uint64{lsn}, holds); err != nil {
		return ledger.Hold{}, err
	}
	return holds[0], nil
}

// bodies reads from the log what memory does not keep of holds: of the first one, and of those after it that were
// opened in the same group. It returns how many these are. The LSNs ascend.
func (l *Ledger) bodies(lsns []uint64, holds []ledger.Hold) (filled int, err error) {
	var problem error
	err = l.log.Read(lsns[0], func(_ uint64, b []byte) bool {
		filled, problem = fillBodies(b, lsns, holds)
		return false
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: reading hold %s: %w", ledger.ErrUnavailable, holds[0].ID, err)
	case problem != nil:
		return 0, fmt.Errorf("%w: reading hold %s: %w", ledger.ErrCorrupt, holds[0].ID, problem)
	case filled == 0:
		return 0, fmt.Errorf("%w: record %d does not open hold %s", ledger.ErrCorrupt, lsns[0], holds[0].ID)
	}
	return filled, nil
}

func fillBodies(b []byte, lsns []uint64, holds []ledger.Hold) (filled int, err error) {
	s, err := parse(b)
	if err != nil {
		return 0, err
	}
	var r state.Record
	err = s.each(&r, func(lsn uint64) error {
		if filled < len(lsns) && lsn == lsns[filled] && r.Body(&holds[filled]) {
			filled++
		}
		return nil
	})
	return filled, err
}

// Events implements ledger.Ledger.
func (l *Ledger) Events(ctx context.Context, query ledger.EventQuery) (ledger.EventPage, error) {
	if query.Limit < 1 || query.Limit > ledger.MaxEventPage {
		return ledger.EventPage{}, fmt.Errorf("%w: a page of %d events: ask for 1 to %d", ledger.ErrInvalid, query.Limit, ledger.MaxEventPage)
	}
	l.mu.Lock()
	err := l.refusal()
	durable := l.groups[0].first - 1
	l.mu.Unlock()
	if err != nil {
		return ledger.EventPage{}, err
	}
	p := pager{ctx: ctx, query: query, durable: durable, page: ledger.EventPage{Next: query.After}}
	if query.After < durable {
		err = l.log.Read(query.After+1, p.group)
	}
	if err = errors.Join(p.problem, err); err != nil {
		return ledger.EventPage{}, fmt.Errorf("ledger: reading events after %d: %w", query.After, err)
	}
	return p.page, nil
}

// A pager fills one page of events.
type pager struct {
	ctx     context.Context
	query   ledger.EventQuery
	durable uint64
	record  state.Record
	page    ledger.EventPage
	problem error
}

var errPageFull = errors.New("the page is full")

// group adds the events of one group, and reports whether the page wants more.
func (p *pager) group(first uint64, b []byte) bool {
	if first > p.durable {
		return false
	}
	s, err := parse(b)
	if err == nil {
		err = s.each(&p.record, p.event)
	}
	switch {
	case errors.Is(err, errPageFull):
		p.page.More = true
		return false
	case err != nil:
		p.problem = fmt.Errorf("%w: group %d: %w", ledger.ErrCorrupt, first, err)
	default:
		p.problem = context.Cause(p.ctx)
	}
	return p.problem == nil
}

func (p *pager) event(lsn uint64) error {
	if lsn <= p.query.After {
		return nil
	}
	if len(p.page.Events) == p.query.Limit {
		return errPageFull
	}
	if p.query.Key.IsZero() || p.query.Key == p.record.Key {
		p.page.Events = append(p.page.Events, p.record.View(lsn))
	}
	p.page.Next = lsn
	return nil
}
