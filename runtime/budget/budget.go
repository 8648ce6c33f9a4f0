// Package budget bounds how much memory of one kind is held at once: in all, and for one source.
//
// A [Budget] counts bytes. They are taken before the memory is allocated and given back when its use ends, so that the
// bound holds at every moment, and not on average. A caller for whom nothing is left is refused at once ([Budget.Take]) or
// waits ([Budget.Wait]).
package budget

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

// Errors of a budget that has no room.
var (
	errFull  = errors.New("the budget is used up")
	ErrShare = errors.New("the source's share of the budget is used up")
)

const (
	// A budget warns when it is filled above warnPercent, and again only after it was below calmPercent and a minute has
	// passed: a load that swings around the mark would fill the log otherwise.
	warnPercent = 80
	calmPercent = 60
	warnEvery   = time.Minute
)

// Options make a budget. Name, Most, Clock and Log are required.
type Options struct {
	Name string // of what is held, for the log
	Most int64  // bytes in all
	// Share is how many bytes one source may hold; 0: as many as there are.
	Share int64
	// Kept is the part of Most that is not given to sources, only to takers without one; see [Budget.Take].
	Kept  int64
	Clock func() time.Time
	Log   *slog.Logger
	// Exceeded is called for each taker that found no room at once; nil for never. It must not use the budget.
	Exceeded func()
}

// A Budget is a bound of memory. It is safe for concurrent use.
type Budget struct {
	Options
	mu       sync.Mutex
	held     int64
	bySource map[netip.Addr]int64
	waiting  list.List // of *waiter; those that hold something already are first
	warned   bool
	told     time.Time // when it warned last
}

// A waiter is a taker whose turn has not come.
type waiter struct {
	source  netip.Addr
	bytes   int64
	granted chan struct{} // closed when the bytes are its own
}

// New returns a budget of which nothing is held.
func New(o Options) *Budget { return &Budget{Options: o, bySource: map[netip.Addr]int64{}} }

// Held returns how many bytes are held now.
func (b *Budget) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Take takes bytes for a source, or none of them: the error is errFull or ErrShare. A taker without a source (the zero
// address) has no share, and may use what is kept from sources.
func (b *Budget) Take(source netip.Addr, bytes int64) error {
	b.mu.Lock()
	err := b.room(source, bytes)
	if err == nil {
		b.add(source, bytes)
	}
	warn, held := b.alarm(err), b.held
	b.mu.Unlock()
	b.tell(warn, held)
	return err
}

// Force takes bytes whether or not there is room: for what must not fail.
func (b *Budget) Force(source netip.Addr, bytes int64) {
	b.mu.Lock()
	b.add(source, bytes)
	warn, held := b.alarm(nil), b.held
	b.mu.Unlock()
	b.tell(warn, held)
}

// Wait takes bytes for a source as soon as there is room. What has begun, and so holds bytes that it gives back only when
// it ends, goes before what has not. The error, errFull or ErrShare, says why there was no room until ctx ended.
func (b *Budget) Wait(ctx context.Context, source netip.Addr, bytes int64, begun bool) error {
	b.mu.Lock()
	reason := b.room(source, bytes)
	if reason == nil {
		b.add(source, bytes)
		warn, held := b.alarm(nil), b.held
		b.mu.Unlock()
		b.tell(warn, held)
		return nil
	}
	w := &waiter{source, bytes, make(chan struct{})}
	place := b.enqueue(w, begun)
	warn, held := b.alarm(reason), b.held
	b.mu.Unlock()
	b.tell(warn, held)
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.granted: // both had come
		return nil
	default:
	}
	b.waiting.Remove(place)
	return reason
}

func (b *Budget) enqueue(w *waiter, begun bool) *list.Element {
	if begun {
		return b.waiting.PushFront(w)
	}
	return b.waiting.PushBack(w)
}

// Give gives bytes of a source back, and grants them to those that wait and whom they suffice.
func (b *Budget) Give(source netip.Addr, bytes int64) {
	if bytes == 0 {
		return
	}
	b.mu.Lock()
	b.add(source, -bytes)
	for place := b.waiting.Front(); place != nil; {
		w, next := place.Value.(*waiter), place.Next()
		if b.room(w.source, w.bytes) == nil {
			b.add(w.source, w.bytes)
			b.waiting.Remove(place)
			close(w.granted)
		}
		place = next
	}
	if b.held < b.Most/100*calmPercent {
		b.warned = false
	}
	b.mu.Unlock()
}

// room says why bytes can't be had now; nil: they can. The caller has the lock, here and below.
func (b *Budget) room(source netip.Addr, bytes int64) error {
	most := b.Most
	if source.IsValid() {
		most -= b.Kept
		if b.Share > 0 && b.bySource[source]+bytes > b.Share {
			return ErrShare
		}
	}
	if b.held+bytes > most {
		return errFull
	}
	return nil
}

func (b *Budget) add(source netip.Addr, bytes int64) {
	b.held += bytes
	if !source.IsValid() || bytes == 0 {
		return
	}
	if b.bySource[source] += bytes; b.bySource[source] == 0 {
		delete(b.bySource, source)
	}
}

// alarm notes that a taker found no room, for a reason, or did, and reports whether a warning is due, which is then taken as given. A taker that found no room counts as a full budget:
// sources never fill the part that is kept from them.
func (b *Budget) alarm(reason error) bool {
	full := errors.Is(reason, errFull)
	if reason != nil && b.Exceeded != nil {
		b.Exceeded()
	}
	if b.warned || !full && b.held < b.Most/100*warnPercent {
		return false
	}
	now := b.Clock()
	if !b.told.IsZero() && now.Sub(b.told) < warnEvery {
		return false
	}
	b.warned, b.told = true, now
	return true
}

func (b *Budget) tell(due bool, held int64) {
	if due {
		b.Log.Warn("a budget of memory is nearly used up; what exceeds it is refused", "budget", b.Name, "heldBytes", held, "mostBytes", b.Most)
	}
}
