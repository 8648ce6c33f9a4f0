// Package turns limits the concurrency of slow work: one piece at a time for a key, and a few at a time for all keys. A Watch
// counts and logs how such a bound is used.
package turns

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
)

// HalfOf is how many processors work of one kind gets at most: half of them, and one at least.
func HalfOf() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// MaxWaiting is how many requests of one key wait for a turn to be judged, and how many texts wait to be loaded. Others
// are told to come again.
const MaxWaiting = 16

// Turns has work of a key done one after the other, and in all no more of it at once than there are places.
type Turns struct {
	places chan struct{}
	shared chan struct{} // places that other kinds of work share; nil for none
	most   int           // of a key's requests that wait
	watch  *Watch
	mu     sync.Mutex
	keys   map[ledger.ID]*queue
}

// A queue is a key's work that is under way or waits.
type queue struct {
	turn  chan struct{} // holds a token while the key's work is under way
	count int           // of those under way and waiting
}

// New returns turns with so many places. Of one key so many requests wait; shared are the places of other work that counts, too, nil
// for none.
func New(places, mostWaiting int, shared chan struct{}, w *Watch) *Turns {
	return &Turns{watch: w, places: make(chan struct{}, places), shared: shared, most: mostWaiting, keys: map[ledger.ID]*queue{}}
}

// Take waits for the key's turn and for a place. It is not ok where too many wait already, or ctx ends. What it returns
// gives both back.
func (t *Turns) Take(ctx context.Context, key ledger.ID) (done func(), ok bool) {
	t.mu.Lock()
	q := t.keys[key]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		t.keys[key] = q
	}
	if q.count > t.most {
		t.mu.Unlock()
		t.watch.Exceeded()
		return nil, false
	}
	q.count++
	waiting := q.count - 1
	t.mu.Unlock()
	t.watch.Use(waiting, t.most)
	var taken []chan struct{}
	done = func() {
		for _, place := range slices.Backward(taken) {
			<-place
		}
		t.leave(key, q)
	}
	for _, place := range []chan struct{}{q.turn, t.places, t.shared} {
		if place == nil {
			continue
		}
		select {
		case place <- struct{}{}:
			taken = append(taken, place)
		case <-ctx.Done():
			if len(taken) > 0 { // not only the key's own work was in the way
				t.watch.Exceeded()
			}
			done()
			return nil, false
		}
	}
	return done, true
}

// leave forgets one of a key's queue, and an empty queue.
func (t *Turns) leave(key ledger.ID, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.count--; q.count == 0 {
		delete(t.keys, key)
	}
}

// UnderWay returns how many have a place.
func (t *Turns) UnderWay() int { return len(t.places) }

// A Watch counts and logs how a budget is used: a WARN where four fifths are, and one where it has no room, each at most
// once a minute, since clients can have it happen at will.
type Watch struct {
	budget  metrics.Budget
	name    string
	log     *slog.Logger
	clock   clock.Clock
	metrics *metrics.Metrics
	latest  [2]atomic.Int64 // Unix minutes of the last lines
}

// NewWatch returns the watch of a budget.
func NewWatch(b metrics.Budget, log *slog.Logger, now clock.Clock, m *metrics.Metrics) *Watch {
	return &Watch{budget: b, name: b.String(), log: log, clock: now, metrics: m}
}

// Use notes how much is used of how much there is.
func (w *Watch) Use(used, most int) {
	if most > 0 && used*5 >= most*4 {
		w.warn(0, "a budget is used up to 80 %", "used", used, "limit", most)
	}
}

// Exceeded notes that there was no room.
func (w *Watch) Exceeded() {
	w.metrics.Beyond(w.budget)
	w.warn(1, "a budget is used up; what comes beyond it is refused or dropped")
}

func (w *Watch) warn(line int, what string, about ...any) {
	minute := w.clock().Unix() / 60
	if last := w.latest[line].Load(); minute != last && w.latest[line].CompareAndSwap(last, minute) {
		w.log.Warn(what, append([]any{"budget", w.name}, about...)...)
	}
}
