package webhook

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/metrics"
)

const (
	// keptAttempts is how many attempts of one webhook a history has.
	keptAttempts = 20
	// keptHooks is how many webhooks a history has: 10,000 take about 40 MB.
	keptHooks = 10_000
)

// An Attempt is one attempt to deliver an event.
type Attempt struct {
	At     time.Time // when it ended
	LSN    uint64    // of the event
	Topic  string
	Number int // from 1
	Status int // of the answer; 0 where there was none
	// Fault says why there was no answer, without names and addresses; empty where there was one.
	Fault string
	Took  time.Duration
	Next  time.Time // when the delivery is attempted again; zero where it is not
	// Ended is how the delivery ended, or metrics.Failed where it is attempted again.
	Ended metrics.Delivery
}

// A History has the latest attempts of webhooks, in memory: a restart forgets them. It is safe for concurrent use.
type History struct {
	mu     sync.Mutex
	byHook map[ledger.ID][]Attempt // oldest first
}

// NewHistory returns an empty history.
func NewHistory() *History { return &History{byHook: map[ledger.ID][]Attempt{}} }

// Of returns the latest attempts of a webhook, the newest first. A nil history has none.
func (h *History) Of(hook ledger.ID) []Attempt {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.byHook[hook]
	list := make([]Attempt, len(kept))
	for i := range kept {
		list[len(kept)-1-i] = kept[i]
	}
	return list
}

func (h *History) add(hook ledger.ID, a Attempt) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	kept, known := h.byHook[hook]
	if !known && len(h.byHook) >= keptHooks {
		for other := range h.byHook { // any one
			delete(h.byHook, other)
			break
		}
	}
	if len(kept) == keptAttempts {
		copy(kept, kept[1:])
		kept = kept[:keptAttempts-1]
	}
	h.byHook[hook] = append(kept, a)
}

// faultOf says why a receiver gave no answer. What a look-up or a connection came to would tell the key's holder about the
// service's network.
func faultOf(err error) string {
	var late net.Error
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errAddress):
		return "the host's address is not one of the public Internet"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return "no answer within " + requestTimeout.String()
	}
	return "no connection, or no answer over it"
}
