package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/state"
)

// Events implements ledger.Ledger. Where the query names times, it reads only those stretches of the log that may have
// records of them. Where it names a key, it reads only the groups that have records of the key, up to where the index of
// keys ends, and every group after that.
func (l *Ledger) Events(ctx context.Context, query ledger.EventQuery) (ledger.EventPage, error) {
	if err := validate(&query); err != nil {
		return ledger.EventPage{}, err
	}
	l.cutting.RLock()
	defer l.cutting.RUnlock()
	memory := pageMemory.Get().(*[]byte)
	defer pageMemory.Put(memory)
	p := pager{ctx: ctx, query: query, page: ledger.EventPage{Next: query.After}, left: query.Examine, memory: memory}
	for {
		start, found, err := l.stretch(&p)
		switch {
		case err != nil:
			return ledger.EventPage{}, err
		case !found:
			return p.page, nil
		}
		read, err := l.read(&p, start)
		switch {
		case err != nil:
			return ledger.EventPage{}, fmt.Errorf("ledger: reading events after %d: %w", p.page.Next, err)
		case p.page.More:
			return p.page, nil
		case read:
			p.page.Next = max(p.page.Next, p.end-1)
		}
	}
}

// read adds the events of the stretch from start to p.end. Where the index covers the start but not the end, or begins after the start,
// it reads up to where that changes and moves p.end there. It reports false where the index could not be used: the page continues
// after its Next without it.
func (l *Ledger) read(p *pager, start uint64) (read bool, err error) {
	from, covered := p.indexer.covered(p.query.Key)
	switch {
	case start > covered:
	case start <= from: // not covered any more
		p.end = min(p.end, from+1)
	default:
		p.end = min(p.end, covered+1)
		err := l.readIndexed(p, start)
		switch {
		case errors.Is(err, errIndexGone):
			return false, nil
		case errors.Is(err, errIndex):
			p.indexer.drop()
			return false, nil
		}
		return true, err
	}
	p.expected = start
	err = l.log.Read(start, p.group)
	if err == nil && p.problem == nil && !p.page.More {
		p.missing(p.end)
	}
	return true, errors.Join(p.problem, err)
}

// readIndexed adds the events of the stretch from start to p.end, which the index covers.
func (l *Ledger) readIndexed(p *pager, start uint64) error {
	for from, more := start, true; more && from < p.end; {
		groups, next, err := p.indexer.groups(p.query.Key, from, p.end-1)
		switch {
		case errors.Is(err, errIndexGone):
			return err
		case err != nil:
			return fmt.Errorf("%w: %w", errIndex, err)
		}
		for len(groups) > 0 && groups[0] < p.end {
			rest, err := p.groups(l.log, groups)
			if err != nil || p.page.More {
				return err
			}
			groups = rest
		}
		from, more = next, next != 0
	}
	return nil
}

func validate(q *ledger.EventQuery) error {
	switch {
	case q.Limit < 1 || q.Limit > ledger.MaxEventPage:
		return fmt.Errorf("%w: a page of %d events: ask for 1 to %d", ledger.ErrInvalid, q.Limit, ledger.MaxEventPage)
	case q.AfterEach != nil:
		return fmt.Errorf("%w: the cursor is of the logs of %d slots, and the question is of one log", ledger.ErrInvalid, len(q.AfterEach))
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
	p.indexer = l.indexer
	if begins := l.base.begins().LSN; p.page.Next < begins {
		p.page.Next, p.page.Dropped = begins, begins
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
	indexer  *indexer
	end      uint64 // of the stretch that is being read: the LSN after it
	expected uint64 // the LSN that the next group has to have, or to start with
	left     int    // how many records may be looked at, where query.Examine says how many
	unpacked int    // bytes of groups that were looked at
	memory   *[]byte
	record   state.Record
	page     ledger.EventPage
	problem  error
}

// pageMemory is what the groups of pages are unpacked into, one after the other. Each page took megabytes of its own: those of
// sixty keys that asked all the time had the heap of a service grow to whatever it was allowed.
var pageMemory = sync.Pool{New: func() any { return new([]byte) }}

// pageBytes is how many bytes of groups a page looks at that may only look at so many records: then it ends, and says that
// there is more.
const pageBytes = 16 << 20

var errPageFull = errors.New("the page is full")

// group adds the events of one group, and reports whether the page wants more.
func (p *pager) group(first uint64, b []byte) bool {
	if p.missing(first) || first >= p.end {
		return false
	}
	s, memory, err := parseInto(*p.memory, b)
	*p.memory = memory
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
		p.unpacked += len(s.records)
		p.page.More = p.query.Examine > 0 && p.unpacked >= pageBytes
	}
	return p.problem == nil && !p.page.More
}

// nearGroups is how many records may be between two groups that are wanted for the second to be found by going on from the
// first, which is faster than to look for it.
const nearGroups = 256

// groups adds the events of the first of some groups, and of those after it that are near. It returns those that are left.
func (p *pager) groups(log Log, firsts []uint64) (rest []uint64, err error) {
	rest = firsts
	err = log.Read(firsts[0], func(first uint64, b []byte) bool {
		p.expected = rest[0]
		switch {
		case len(rest) < len(firsts) && first < rest[0]: // one between two that are wanted
			return true
		case first != rest[0]:
			p.problem = fmt.Errorf("%w: it names a group %d, where the log has %d", errIndex, rest[0], first)
			return false
		case !p.group(first, b):
			rest = nil
			return false
		}
		rest = rest[1:]
		return len(rest) > 0 && rest[0] < p.end && rest[0]-first <= nearGroups
	})
	if err == nil && p.problem == nil && len(rest) == len(firsts) {
		p.problem = fmt.Errorf("%w: it names a group %d behind the log", errIndex, rest[0])
	}
	err, p.problem = errors.Join(p.problem, err), nil
	return rest, err
}

// missing reports whether there should be a group before a record: entries before the snapshot are not read when the log
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
	if key, ok := state.KeyOf(data); p.query.Key.IsZero() || !ok || key == p.query.Key {
		if err := p.record.Decode(strings.Clone(data)); err != nil { // of which the event has parts
			return fmt.Errorf("record %d: %w", lsn, err)
		}
		if p.record.Matches(&p.query) {
			if e := p.record.View(lsn); e.Kind != 0 {
				p.page.Events = append(p.page.Events, e)
			}
		}
	}
	p.left--
	p.page.Next = lsn
	return nil
}
