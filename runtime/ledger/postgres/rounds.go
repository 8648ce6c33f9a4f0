package pgledger

import (
	"sync"
	"sync/atomic"
)

// rounds are the statements by which an owner proves that it owns its slot: its appends, and what it asks for that alone. They are
// numbered in the order in which they begin, over all logs of the process.
type rounds struct {
	begun *atomic.Uint64
	since uint64 // a number that no mark has which was made before the log was taken

	mu     sync.Mutex
	proven uint64        // the latest round that proved it
	asking bool          // a round is under way that is for the proof alone
	ended  chan struct{} // closed when that round ends
}

// begin begins a round.
func (r *rounds) begin() uint64 { return r.begun.Add(1) }

// prove notes that a round has proved it.
func (r *rounds) prove(round uint64) {
	r.mu.Lock()
	r.proven = max(r.proven, round)
	r.mu.Unlock()
}

// after reports whether a round that began after a mark has proved it. Otherwise wait is closed when the round under way ends; it is nil
// where the caller has to ask, and to call answered then.
func (r *rounds) after(mark uint64) (proved bool, wait <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.proven > mark:
		return true, nil
	case r.asking:
		return false, r.ended
	}
	r.asking, r.ended = true, make(chan struct{})
	return false, nil
}

// answered ends the round under way.
func (r *rounds) answered() {
	r.mu.Lock()
	r.asking = false
	close(r.ended)
	r.mu.Unlock()
}
