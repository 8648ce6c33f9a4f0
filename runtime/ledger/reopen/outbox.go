package reopen

import (
	"context"
	"errors"
	"sync"

	"bailiff/runtime/ledger"
)

// An outbox is what is known of deliveries across sessions. It holds no more than was handed out.
type outbox struct {
	mu      sync.Mutex
	out     map[handOut]bool                  // not settled yet
	results map[handOut]ledger.DeliveryResult // of those that no ledger could be told of
}

type handOut struct {
	webhook ledger.ID
	lsn     uint64
}

func newOutbox() outbox {
	return outbox{out: map[handOut]bool{}, results: map[handOut]ledger.DeliveryResult{}}
}

// Outboxed implements ledger.Ledger. The channel is the same for as long as the ledger is; it also gets a value when
// the ledger is open again.
func (l *Ledger) Outboxed() <-chan struct{} { return l.outboxed }

// Due implements ledger.Ledger. A delivery that a ledger before this one has handed out is left out.
func (l *Ledger) Due(ctx context.Context, at int64, limit int) (due []ledger.Delivery, next int64, err error) {
	s, err := l.enter()
	if err != nil {
		return nil, 0, err
	}
	defer s.calls.RUnlock()
	due, next, err = s.inner.Due(ctx, at, limit)
	l.look(err)
	return l.outbox.handOut(due), next, err
}

// handOut returns the deliveries that are not out already, and notes them.
func (o *outbox) handOut(due []ledger.Delivery) []ledger.Delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	fresh := due[:0]
	for _, d := range due {
		if h := (handOut{d.Webhook.ID, d.LSN}); !o.out[h] {
			o.out[h] = true
			fresh = append(fresh, d)
		}
	}
	return fresh
}

// SettleDelivery implements ledger.Ledger. A result that comes while the ledger is away is kept until it is back.
func (l *Ledger) SettleDelivery(r ledger.DeliveryResult) error {
	h := handOut{r.Webhook, r.LSN}
	s, err := l.enter()
	if err != nil {
		return l.outbox.keep(h, r, err)
	}
	defer s.calls.RUnlock()
	// It is taken back before it is settled: it may be due at once, and has to be handed out then.
	was := l.outbox.takeBack(h)
	err = s.inner.SettleDelivery(r)
	l.look(err)
	if was && errors.Is(err, ledger.ErrUnavailable) {
		l.outbox.note(h)
		return l.outbox.keep(h, r, err)
	}
	return err
}

func (o *outbox) note(h handOut) {
	o.mu.Lock()
	o.out[h] = true
	o.mu.Unlock()
}

// takeBack forgets that a delivery is out, and reports whether it was.
func (o *outbox) takeBack(h handOut) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.out[h]
	delete(o.out, h)
	return was
}

// keep keeps the result of a delivery that is out. Of others there is nothing to keep, and err is returned.
func (o *outbox) keep(h handOut, r ledger.DeliveryResult, err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.out[h] {
		return err
	}
	o.results[h] = r
	return nil
}

// settle tells a ledger the results that were kept. What it does not take now is tried again; what it does not know
// any more is dropped.
func (o *outbox) settle(inner ledger.Ledger) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for h, r := range o.results {
		delete(o.out, h)
		if err := inner.SettleDelivery(r); errors.Is(err, ledger.ErrUnavailable) {
			o.out[h] = true
			continue
		}
		delete(o.results, h)
	}
}
