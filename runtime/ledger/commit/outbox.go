package commit

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/heap"
	"bailiff/runtime/ledger/state"
)

// An outbox has the deliveries to hand out, in the order in which they fall due. One that is handed out is not in the queue
// until its result says that it is due again, also when the log was opened again in between; that is forgotten when the ledger is
// closed, and the delivery made again.
type outbox struct {
	queue heap.Heap[waiting]
	out   map[handOut]bool                  // handed out, and without a result so far
	kept  map[handOut]ledger.DeliveryResult // results of these that came while the ledger refused
}

func newOutbox() outbox {
	return outbox{out: map[handOut]bool{}, kept: map[handOut]ledger.DeliveryResult{}}
}

// fill queues all that waits and is not handed out.
func (o *outbox) fill(s *state.State) {
	o.queue = heap.Heap[waiting]{}
	s.Waiting(func(w state.Waiting) {
		if !o.out[handOut{w.Webhook, w.LSN}] {
			o.add(w)
		}
	})
}

// keep keeps the result of a delivery that is out until the ledger works again. Of others there is nothing to keep, and err, which
// says why the ledger refuses, is returned.
func (o *outbox) keep(q *ledger.DeliveryResult, err error) error {
	h := handOut{q.Webhook, q.LSN}
	if !o.out[h] {
		return err
	}
	o.kept[h] = *q
	return nil
}

// A handOut names a delivery that was handed out.
type handOut struct {
	webhook ledger.ID
	lsn     uint64
}

// A waiting is a delivery in the queue.
type waiting state.Waiting

// Before orders a heap.
func (w waiting) Before(other waiting) bool {
	if w.Next != other.Next {
		return w.Next < other.Next
	}
	if w.LSN != other.LSN {
		return w.LSN < other.LSN
	}
	return bytes.Compare(w.Webhook[:], other.Webhook[:]) < 0
}

func (o *outbox) add(w state.Waiting) { o.queue.Push(waiting(w)) }

// take removes up to limit deliveries that are due at a time. Those that wait no more, because their webhook is gone
// or they were settled otherwise, are dropped on the way.
func (o *outbox) take(s *state.State, at int64, limit int) (due []state.Waiting, next int64) {
	for o.queue.Len() > 0 {
		first := state.Waiting(o.queue.Min())
		switch {
		case !s.Waits(first):
		case first.Next > at || len(due) == limit:
			return due, first.Next
		default:
			due = append(due, first)
		}
		o.queue.Pop()
	}
	return due, 0
}

// bring has what is due later than a time fall due then.
func (o *outbox) bring(at int64) {
	waits := o.queue.Items()
	for i := range waits {
		waits[i].Next = min(waits[i].Next, at)
	}
	o.queue.Keep(func(waiting) bool { return true }) // puts them in order
}

// CreateWebhook implements ledger.Ledger.
func (l *Ledger) CreateWebhook(ctx context.Context, w ledger.Webhook) error {
	return l.step(ctx, func(r *state.Record) error { return l.state.CreateWebhook(&w, r) }, func(uint64) {})
}

// RemoveWebhook implements ledger.Ledger.
func (l *Ledger) RemoveWebhook(ctx context.Context, c ledger.WebhookChange) error {
	return l.step(ctx, func(r *state.Record) error {
		return l.state.RemoveWebhook(&c, r)
	}, func(uint64) { l.forgetGone() })
}

// EnableWebhook implements ledger.Ledger.
func (l *Ledger) EnableWebhook(ctx context.Context, c ledger.WebhookChange) error {
	return l.step(ctx, func(r *state.Record) error { return l.state.EnableWebhook(&c, r) }, func(uint64) {})
}

// forgetGone gives back the memory of deliveries that wait no more, where they are many.
func (l *Ledger) forgetGone() {
	if l.outbox.queue.Len() > 2*l.state.Outbox()+1024 {
		l.outbox.queue.Keep(func(w waiting) bool { return l.state.Waits(state.Waiting(w)) })
	}
}

// Webhooks implements ledger.Ledger.
func (l *Ledger) Webhooks(ctx context.Context, key ledger.ID) (hooks []ledger.Webhook, err error) {
	err = l.view(ctx, key, func(s *state.State) { hooks = s.Webhooks(key) })
	if err != nil {
		return nil, err
	}
	return hooks, nil
}

// Has implements ledger.Ledger.
func (l *Ledger) Has(*ledger.Delivery) bool { return true }

// Outboxed implements ledger.Ledger.
func (l *Ledger) Outboxed() <-chan struct{} { return l.told }

// Due implements ledger.Ledger.
func (l *Ledger) Due(ctx context.Context, at int64, limit int) (due []ledger.Delivery, next int64, err error) {
	if limit < 1 {
		return nil, 0, fmt.Errorf("%w: %d deliveries: ask for one at least", ledger.ErrInvalid, limit)
	}
	l.mu.Lock()
	if err := l.refusal(); err != nil {
		l.mu.Unlock()
		return nil, 0, err
	}
	taken, next := l.outbox.take(l.state, at, limit)
	slices.SortFunc(taken, func(a, b state.Waiting) int { return cmp.Compare(a.LSN, b.LSN) })
	for _, w := range taken {
		due = append(due, l.state.Delivery(w))
		due[len(due)-1].Renumbered = l.renumbered(w.LSN)
		l.outbox.out[handOut{w.Webhook, w.LSN}] = true
	}
	l.mu.Unlock()
	if err := l.fillEvents(ctx, due); err != nil {
		l.mu.Lock()
		for _, w := range taken {
			delete(l.outbox.out, handOut{w.Webhook, w.LSN})
			l.outbox.add(w)
		}
		l.mu.Unlock()
		return nil, 0, err
	}
	return due, next, nil
}

// fillEvents reads the events of deliveries, which are in the order of the log, group by group.
func (l *Ledger) fillEvents(ctx context.Context, due []ledger.Delivery) error {
	lsns := make([]uint64, len(due))
	for i := range due {
		lsns[i] = due[i].LSN
	}
	for done := 0; done < len(due); {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		filled := 0
		err := l.pickAt("event", lsns[done], lsns[done:], func(i int, r *state.Record) bool {
			due[done+i].Event = r.View(lsns[done+i])
			filled++
			return true
		})
		switch {
		case err != nil:
			return err
		case filled == 0:
			return fmt.Errorf("%w: event %d is not in the log", ledger.ErrCorrupt, lsns[done])
		}
		done += filled
	}
	return nil
}

// SettleDelivery implements ledger.Ledger.
func (l *Ledger) SettleDelivery(q ledger.DeliveryResult) error {
	l.mu.Lock()
	err := l.settleLocked(&q)
	l.mu.Unlock()
	l.rouse()
	return err
}

func (l *Ledger) settleLocked(q *ledger.DeliveryResult) error {
	if err := l.refusal(); err != nil {
		return l.outbox.keep(q, err)
	}
	if q.LSN > l.head.LSN { // deliveries are handed out only when they are durable
		return nil
	}
	err := l.state.SettleDelivery(q, &l.record)
	if err == nil && l.record.Kind != ledger.NoRecord {
		if _, err := l.append(); err != nil {
			return l.outbox.keep(q, err)
		}
	}
	delete(l.outbox.out, handOut{q.Webhook, q.LSN})
	if err != nil || l.record.Kind == ledger.NoRecord {
		return err
	}
	switch e := &l.record.Settled; e.Action {
	case state.DeliveryAgain:
		l.outbox.add(state.Waiting{Key: q.Key, Webhook: q.Webhook, LSN: q.LSN, Next: e.Next, Attempts: e.Attempts})
	case state.DeliveryDisables:
		l.forgetGone()
	}
	l.closeLargeGroup()
	return nil
}

// settleKept records the results that came while the ledger refused, in the order of their events. What the state does not know
// any more is dropped.
func (l *Ledger) settleKept() {
	order := slices.SortedFunc(maps.Keys(l.outbox.kept), func(a, b handOut) int {
		return cmp.Or(cmp.Compare(a.lsn, b.lsn), bytes.Compare(a.webhook[:], b.webhook[:]))
	})
	for _, h := range order {
		if l.refusal() != nil {
			return
		}
		q := l.outbox.kept[h]
		delete(l.outbox.kept, h)
		_ = l.settleLocked(&q) // a time out of bounds, which no ledger takes
	}
}
