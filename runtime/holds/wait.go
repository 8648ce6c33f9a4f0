package holds

import (
	"context"
	"sync"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/runtime/turns"
)

const (
	// MaxWait is the longest that one request waits for a hold.
	MaxWait = 30 * time.Second
	// MaxWaits is how many requests wait for holds at once, unless New is told otherwise; and a quarter of
	// them are the most of one key. A request without room gets the hold as it is.
	MaxWaits = 4096
)

// holdWaits wakes the requests that wait for holds. A hold has one entry, however many wait for it.
type holdWaits struct {
	most  int // in all
	watch *turns.Watch
	mu    sync.Mutex
	count int
	byKey map[ledger.ID]int
	holds map[ledger.ID]*holdWait
}

// A holdWait is a hold that is waited for.
type holdWait struct {
	waiters  int
	resolved chan struct{} // closed when the members below are set
	state    ledger.HoldState
	at       int64
	note     string
}

func newHoldWaits(most int, w *turns.Watch) *holdWaits {
	if most <= 0 {
		most = MaxWaits
	}
	return &holdWaits{most: most, watch: w, byKey: map[ledger.ID]int{}, holds: map[ledger.ID]*holdWait{}}
}

// add has a request of a key wait for a hold; leave ends that. It is not ok where there is no room.
func (h *holdWaits) add(key, hold ledger.ID) (w *holdWait, leave func(), ok bool) {
	h.mu.Lock()
	if h.count >= h.most || h.byKey[key] >= max(1, h.most/4) {
		h.mu.Unlock()
		h.watch.Exceeded()
		return nil, nil, false
	}
	h.count++
	h.byKey[key]++
	w = h.holds[hold]
	if w == nil {
		w = &holdWait{resolved: make(chan struct{})}
		h.holds[hold] = w
	}
	w.waiters++
	count := h.count
	h.mu.Unlock()
	h.watch.Use(count, h.most)
	return w, func() { h.leave(key, hold, w) }, true
}

func (h *holdWaits) leave(key, hold ledger.ID, w *holdWait) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
	if h.byKey[key]--; h.byKey[key] == 0 {
		delete(h.byKey, key)
	}
	if w.waiters--; w.waiters == 0 && h.holds[hold] == w {
		delete(h.holds, hold)
	}
}

// wake tells all that wait for a hold what became of it.
func (h *holdWaits) wake(hold *ledger.Hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.holds[hold.ID]; w != nil {
		w.state, w.at, w.note = hold.State, hold.Resolved, hold.Note
		close(w.resolved)
		delete(h.holds, hold.ID)
	}
}

// waiting returns how many wait.
func (h *holdWaits) waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

// Wake tells the requests that wait for a hold what became of it, where that was not done by these holds.
func (a *Holds) Wake(hold *ledger.Hold) { a.waits.wake(hold) }

// Waiting returns how many requests wait for holds.
func (a *Holds) Waiting() int { return a.waits.waiting() }

// WaitHold is Hold that waits, at most MaxWait, for the hold to be resolved. It reads the hold once. Where the wait or ctx
// ends before, or too many wait already, the hold is PENDING; where the hold expires meanwhile it is not found.
func (a *Holds) WaitHold(ctx context.Context, key *ledger.Key, id string, wait time.Duration) (*View, *service.Failure) {
	parsed, _ := ledger.ParseID(id) // as Hold has it
	waiter, leave, ok := a.waits.add(key.ID, parsed)
	if !ok {
		return a.Hold(ctx, key, id)
	}
	defer leave()
	hold, fault := a.HoldOf(ctx, key, id)
	if fault != nil {
		return nil, fault
	}
	if hold.State == ledger.HoldPending {
		if fault := a.awaitHold(ctx, key, hold, waiter, wait); fault != nil {
			return nil, fault
		}
	}
	return readHold(hold), nil
}

// awaitHold waits, and updates the hold.
func (a *Holds) awaitHold(ctx context.Context, key *ledger.Key, hold *ledger.Hold, waiter *holdWait, wait time.Duration) *service.Failure {
	left := time.Duration(hold.Expires - a.Clock().UnixNano())
	timer := a.Timers.Alarm(min(wait, MaxWait, left))
	defer timer.Stop()
	select {
	case <-waiter.resolved:
		hold.State, hold.Resolved, hold.Note = waiter.state, waiter.at, waiter.note
	case <-timer.C:
	case <-ctx.Done():
	}
	// The state may have changed since the wait began.
	if now, found := a.Ledger.LookupKeyID(key.ID); !found || now.Revoked != 0 {
		return service.BadKey()
	}
	if err := a.Ledger.Health(); err != nil {
		return a.StoreFault("a hold can't be read: uses can't be metered", err)
	}
	if a.Clock().UnixNano() >= hold.Expires {
		return a.holdFault(ledger.ErrNotFound)
	}
	return nil
}
