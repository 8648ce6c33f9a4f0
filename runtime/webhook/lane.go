package webhook

import (
	"maps"

	"bailiff/runtime/ledger"
)

const (
	// maxRunning is how many requests are under way at most, and maxSlow how many of them to receivers that failed or
	// were slow the last time.
	maxRunning = 512
	maxSlow    = maxRunning / 2
	// perReceiver is how many requests to one receiver are under way at most. A key has at most ledger.MaxWebhooks of
	// them.
	perReceiver = 4
	// wholeEvents is how many deliveries of one receiver wait with their events in memory. Of the others the event is
	// read again when it is their turn.
	wholeEvents = 16
	// maxIdle is how many receivers with nothing to do are remembered as slow, more or less.
	maxIdle = 4096
)

// A lane is the deliveries that wait for one receiver.
type lane struct {
	hook    ledger.ID
	queue   []ledger.Delivery
	running int
	slow    bool // it failed or was slow the last time
	listed  bool // in ready or parked
}

// A slot is what a request under way counts as.
type slot bool

const slowSlot slot = true

// room reports whether another request to the receiver may start.
func (l *lane) room() bool {
	most := perReceiver
	if l.slow {
		most = 1
	}
	return len(l.queue) > 0 && l.running < most
}

func (l *lane) pop() ledger.Delivery {
	item := l.queue[0]
	l.queue[0] = ledger.Delivery{} // its event is not needed any more
	if l.queue = l.queue[1:]; len(l.queue) == 0 {
		l.queue = nil
	}
	return item
}

// isIdle reports whether the lane has nothing to do.
func (l *lane) isIdle() bool { return len(l.queue) == 0 && l.running == 0 }

// lanes share out the requests that may be under way: round about, a request each.
type lanes struct {
	byHook  map[ledger.ID]*lane
	ready   []*lane // in turn
	parked  []*lane // wait for a slot of the slow
	queued  int     // deliveries in all queues
	running int
	slow    int // of those that are running
	idle    int // lanes that became idle and were kept, since the last sweep
}

// add queues a delivery.
func (s *lanes) add(item ledger.Delivery) {
	l := s.byHook[item.Webhook.ID]
	if l == nil {
		l = &lane{hook: item.Webhook.ID}
		s.byHook[l.hook] = l
	}
	if len(l.queue) >= wholeEvents {
		item = ledger.Delivery{
			Webhook: ledger.Webhook{ID: item.Webhook.ID, Key: item.Webhook.Key},
			LSN:     item.LSN, Topic: item.Topic, Attempts: item.Attempts,
		}
	}
	l.queue = append(l.queue, item)
	s.queued++
	s.list(l)
}

// list gives a lane its turn where it has something to do.
func (s *lanes) list(l *lane) {
	if !l.listed && l.room() {
		l.listed = true
		s.ready = append(s.ready, l)
	}
}

// take returns the next delivery to make, and reports false where none may start now.
func (s *lanes) take() (l *lane, kind slot, item ledger.Delivery, ok bool) {
	for s.running < maxRunning && len(s.ready) > 0 {
		l, s.ready = s.ready[0], s.ready[1:]
		if l.slow && s.slow >= maxSlow {
			s.parked = append(s.parked, l)
			continue
		}
		l.listed = false
		if !l.room() { // it has become slow in the meantime
			continue
		}
		item = l.pop()
		l.running++
		s.running++
		s.queued--
		if kind = slot(l.slow); kind == slowSlot {
			s.slow++
		}
		s.list(l)
		return l, kind, item, true
	}
	return nil, false, ledger.Delivery{}, false
}

// done gives a slot back, with how the receiver has done.
func (s *lanes) done(l *lane, kind slot, slow bool) {
	l.running--
	s.running--
	l.slow = slow
	if kind == slowSlot {
		s.slow--
	}
	if s.slow < maxSlow {
		s.ready = append(s.ready, s.parked...)
		s.parked = nil
	}
	s.list(l)
	if l.isIdle() {
		s.forget(l)
	}
}

// forget gives an idle lane back. That a receiver is slow is remembered, but not for ever of all there ever were.
func (s *lanes) forget(l *lane) {
	if !l.slow {
		delete(s.byHook, l.hook)
		return
	}
	if s.idle++; s.idle > maxIdle {
		s.idle = 0
		maps.DeleteFunc(s.byHook, func(_ ledger.ID, l *lane) bool { return l.isIdle() })
	}
}
