package commit

import (
	"context"
	"errors"
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// Events implements ledger.Ledger. Where the query names times, only those stretches of the log are read that may have
// some of them.
func (l *Ledger) Events(ctx context.Context, query ledger.EventQuery) (ledger.EventPage, error) {
	if err := validate(&query); err != nil {
		return ledger.EventPage{}, err
	}
	p := pager{ctx: ctx, query: query, page: ledger.EventPage{Next: query.After}, left: query.Examine}
	for {
		start, found, err := l.stretch(&p)
		switch {
		case err != nil:
			return ledger.EventPage{}, err
		case !found:
			return p.page, nil
		}
		p.expected = start
		err = l.log.Read(start, p.group)
		if err == nil && p.problem == nil && !p.page.More {
			p.missing(p.end)
		}
		if err = errors.Join(p.problem, err); err != nil {
			return ledger.EventPage{}, fmt.Errorf("ledger: reading events after %d: %w", p.page.Next, err)
		}
		if p.page.More {
			return p.page, nil
		}
		p.page.Next = max(p.page.Next, p.end-1)
	}
}

func validate(q *ledger.EventQuery) error {
	switch {
	case q.Limit < 1 || q.Limit > ledger.MaxEventPage:
		return fmt.Errorf("%w: a page of %d events: ask for 1 to %d", ledger.ErrInvalid, q.Limit, ledger.MaxEventPage)
	case q.After > ledger.MaxLSN:
		return fmt.Errorf("%w: events behind record %d: no log has so many", ledger.ErrInvalid, q.After)
	case q.Examine < 0 || q.From < 0 || q.To < 0:
		return fmt.Errorf("%w: events from %d to %d, of %d records: give no negative numbers", ledger.ErrInvalid, q.From, q.To, q.Examine)
	}
	return nil
}

// stretch finds what of the log p is to read next. Where there is nothing more, the page ends with the log.
func (l *Ledger) stretch(p *pager) (start uint64, found bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refusal(); err != nil {
		return 0, false, err
	}
	start, p.end, found = l.times.next(p.page.Next+1, p.query.From, p.query.To)
	if !found {
		p.page.Next = max(p.page.Next, l.head.LSN)
	}
	return start, found, nil
}

// A pager fills one page of events.
type pager struct {
	ctx      context.Context
	query    ledger.EventQuery
	end      uint64 // of the stretch that is being read: the LSN after it
	expected uint64 // the LSN that the next group has to have, or to start with
	left     int    // how many records may be looked at, where query.Examine says how many
	record   state.Record
	page     ledger.EventPage
	problem  error
}

var errPageFull = errors.New("the page is full")

// group adds the events of one group, and reports whether the page wants more.
func (p *pager) group(first uint64, b []byte) bool {
	if p.missing(first) || first >= p.end {
		return false
	}
	s, err := parse(b)
	if err == nil {
		err = s.scan(p.event)
	}
	switch {
	case errors.Is(err, errPageFull):
		p.page.More = true
		return false
	case err != nil:
		p.problem = fmt.Errorf("%w: group %d: %w", ledger.ErrCorrupt, first, err)
	default:
		p.expected = first + uint64(s.count)
		p.problem = context.Cause(p.ctx)
	}
	return p.problem == nil
}

// missing reports whether there should be a group before a record: nobody looks at what is before the snapshot when the log
// is opened, and a page with a hole in it would pass for the whole.
func (p *pager) missing(before uint64) bool {
	if before <= p.expected {
		return false
	}
	p.problem = fmt.Errorf("%w: records %d to %d are missing", ledger.ErrCorrupt, p.expected, before-1)
	return true
}

func (p *pager) event(lsn uint64, data string) error {
	if lsn <= p.page.Next {
		return nil
	}
	if len(p.page.Events) == p.query.Limit || p.query.Examine > 0 && p.left == 0 {
		return errPageFull
	}
	if err := p.record.Decode(data); err != nil {
		return fmt.Errorf("record %d: %w", lsn, err)
	}
	if p.record.Matches(&p.query) {
		if e := p.record.View(lsn); e.Kind != 0 {
			p.page.Events = append(p.page.Events, e)
		}
	}
	p.left--
	p.page.Next = lsn
	return nil
}
