package state

import (
	"fmt"
	"slices"
	"strings"

	"bailiff/runtime/ledger"
)

// A hookTable has the webhooks of one key, and what waits for them: the key's outbox.
type hookTable struct {
	list    []*hook // in the order of creation
	waiting int     // deliveries, of all of them
}

type hook struct {
	ledger.Webhook
	queue map[uint64]delivery // by the event's LSN
}

// A delivery is what memory keeps of an event on its way; the event stays in the log.
type delivery struct {
	next     int64 // when it is due
	attempts uint32
	topic    ledger.Topics
}

// find returns a webhook, nil where there is none.
func (t *hookTable) find(id ledger.ID) *hook {
	if t != nil {
		for _, h := range t.list {
			if h.ID == id {
				return h
			}
		}
	}
	return nil
}

// tell fills in who is told of r.
func (k *keyState) tell(r *Record) {
	if k.hooks == nil {
		return
	}
	topic := r.topic()
	waiting := k.hooks.waiting
	for _, h := range k.hooks.list {
		if h.Topics&topic == 0 || h.Disabled != 0 {
			continue
		}
		dropped := !h.room(waiting)
		if !dropped {
			waiting++
		}
		r.Outbox = append(r.Outbox, OutboxEffect{Webhook: h.ID, Dropped: dropped})
	}
}

// room reports whether another delivery may wait for h, where so many wait for all webhooks of its key.
func (h *hook) room(waiting int) bool {
	return waiting < ledger.MaxOutbox || len(h.queue) < ledger.OutboxShare
}

func (r *Record) decisionTopic() ledger.Topics {
	switch r.Ending.Decision {
	case ledger.Allowed:
		return ledger.IntentAllowed
	case ledger.Denied:
		return ledger.IntentDenied
	case ledger.Pending:
		return ledger.IntentPending
	}
	return 0
}

// applyOutbox puts what r says into the outbox.
func (s *State) applyOutbox(k *keyState, lsn uint64, r *Record) error {
	topic := r.topic()
	for _, e := range r.Outbox {
		h := k.hooks.find(e.Webhook)
		if h == nil || h.Disabled != 0 || h.Topics&topic == 0 {
			return fmt.Errorf("webhook %s is not told of this", e.Webhook)
		}
		if e.Dropped {
			h.Dropped++
			continue
		}
		if _, twice := h.queue[lsn]; twice || !h.room(k.hooks.waiting) {
			return fmt.Errorf("webhook %s is told twice, or the outbox is full", e.Webhook)
		}
		if h.queue == nil {
			h.queue = map[uint64]delivery{}
		}
		h.queue[lsn] = delivery{next: r.Now, topic: topic}
		s.wait(k, 1)
	}
	return nil
}

// wait adds n to the deliveries of a key that wait.
func (s *State) wait(k *keyState, n int) {
	k.hooks.waiting += n
	s.waiting += n
}

// CreateWebhook fills in the record of a new webhook, or returns why there is none.
func (s *State) CreateWebhook(w *ledger.Webhook, r *Record) error {
	r.reset()
	if err := w.Validate(); err != nil {
		return err
	}
	k := s.keys[w.Key]
	switch {
	case k == nil:
		return fmt.Errorf("%w: key %s", ledger.ErrNotFound, w.Key)
	case k.key.Revoked != 0:
		return fmt.Errorf("%w: %s", ledger.ErrKeyRevoked, w.Key)
	case !w.Operator && s.stops(k):
		return fmt.Errorf("%w: a webhook for key %s", ledger.ErrHalted, w.Key)
	case k.hooks.find(w.ID) != nil:
		return fmt.Errorf("%w: webhook %s exists already", ledger.ErrInvalid, w.ID)
	case k.hooks != nil && len(k.hooks.list) >= ledger.MaxWebhooks:
		return fmt.Errorf("%w: a key has at most %d webhooks", ledger.ErrTooMany, ledger.MaxWebhooks)
	}
	r.Kind, r.Key, r.Now, r.Webhook = ledger.WebhookCreated, w.Key, max(k.now, w.Created), w
	return nil
}

func (s *State) applyHook(k *keyState, _ uint64, r *Record) error {
	if k.hooks == nil {
		k.hooks = &hookTable{}
	}
	if k.hooks.find(r.Webhook.ID) != nil || len(k.hooks.list) >= ledger.MaxWebhooks {
		return fmt.Errorf("webhook %s exists already, or is one too many", r.Webhook.ID)
	}
	h := &hook{Webhook: *r.Webhook}
	h.URL, h.Secret = strings.Clone(h.URL), slices.Clone(h.Secret)
	k.hooks.list = append(k.hooks.list, h)
	return nil
}

// RemoveWebhook fills in the record of a webhook's removal, or returns why there is none.
func (s *State) RemoveWebhook(c *ledger.WebhookChange, r *Record) error {
	_, _, err := s.changeHook(ledger.WebhookRemoved, c, r)
	return err
}

// EnableWebhook fills in the record of a webhook's being enabled again, or returns why there is none. r.Kind is NoRecord where
// it was not disabled.
func (s *State) EnableWebhook(c *ledger.WebhookChange, r *Record) error {
	k, h, err := s.changeHook(ledger.WebhookEnabled, c, r)
	switch {
	case err != nil:
		return err
	case k.key.Revoked != 0:
		return fmt.Errorf("%w: %s", ledger.ErrKeyRevoked, c.Key)
	case h.Disabled == 0:
		r.Kind = ledger.NoRecord
	}
	return nil
}

// changeHook fills in the record of a change of one webhook, which names it alone.
func (s *State) changeHook(kind ledger.Kind, c *ledger.WebhookChange, r *Record) (k *keyState, h *hook, err error) {
	r.reset()
	if c.At < 0 || c.At > ledger.MaxTime {
		return nil, nil, fmt.Errorf("%w: a webhook changes at the time %d: use Unix nanoseconds", ledger.ErrInvalid, c.At)
	}
	if k = s.keys[c.Key]; k != nil {
		h = k.hooks.find(c.ID)
	}
	switch {
	case h == nil || h.Operator && !c.Operator:
		return nil, nil, fmt.Errorf("%w: webhook %s", ledger.ErrNotFound, c.ID)
	case !c.Operator && s.stops(k):
		return nil, nil, fmt.Errorf("%w: webhook %s", ledger.ErrHalted, c.ID)
	}
	r.Kind, r.Key, r.Now, r.Webhook = kind, c.Key, max(k.now, c.At), &ledger.Webhook{ID: c.ID, Key: c.Key}
	return k, h, nil
}

func (s *State) applyEnabled(k *keyState, _ uint64, r *Record) error {
	h := k.hooks.find(r.Webhook.ID)
	if h == nil || h.Disabled == 0 {
		return fmt.Errorf("webhook %s does not exist, or is not disabled", r.Webhook.ID)
	}
	h.Disabled = 0
	return nil
}

func (s *State) applyUnhook(k *keyState, _ uint64, r *Record) error {
	h := k.hooks.find(r.Webhook.ID)
	if h == nil {
		return fmt.Errorf("webhook %s does not exist", r.Webhook.ID)
	}
	s.wait(k, -len(h.queue))
	k.hooks.list = slices.DeleteFunc(k.hooks.list, func(other *hook) bool { return other == h })
	if len(k.hooks.list) == 0 {
		k.hooks = nil
	}
	return nil
}

// Webhooks returns the webhooks of a key, oldest first.
func (s *State) Webhooks(key ledger.ID) []ledger.Webhook {
	k := s.keys[key]
	if k == nil || k.hooks == nil {
		return nil
	}
	hooks := make([]ledger.Webhook, len(k.hooks.list))
	for i, h := range k.hooks.list {
		hooks[i] = h.Webhook
		hooks[i].Secret = slices.Clone(h.Secret)
	}
	return hooks
}

// A Waiting is a delivery that waits: what of it is in memory.
type Waiting struct {
	Key, Webhook ledger.ID
	LSN          uint64 // of the event
	Next         int64  // when it is due
	Attempts     uint32 // made so far
}

// Waiting calls yield with all deliveries that wait, in no order.
func (s *State) Waiting(yield func(Waiting)) {
	for key, k := range s.keys {
		if k.hooks == nil {
			continue
		}
		for _, h := range k.hooks.list {
			for lsn, d := range h.queue {
				yield(Waiting{Key: key, Webhook: h.ID, LSN: lsn, Next: d.next, Attempts: d.attempts})
			}
		}
	}
}

// Outbox returns how many deliveries wait.
func (s *State) Outbox() int { return s.waiting }

// Waits reports whether a delivery still waits as w says.
func (s *State) Waits(w Waiting) bool {
	k := s.keys[w.Key]
	if k == nil {
		return false
	}
	h := k.hooks.find(w.Webhook)
	if h == nil {
		return false
	}
	d, ok := h.queue[w.LSN]
	return ok && d.attempts == w.Attempts
}

// Delivery returns a delivery that waits, without its event.
func (s *State) Delivery(w Waiting) ledger.Delivery {
	h := s.keys[w.Key].hooks.find(w.Webhook)
	d := ledger.Delivery{Webhook: h.Webhook, LSN: w.LSN, Topic: h.queue[w.LSN].topic, Attempts: int(w.Attempts)}
	d.Webhook.Secret = slices.Clone(h.Secret)
	return d
}

// SettleDelivery fills in the record of what came of an attempt; r.Kind is NoRecord where the delivery does not wait any
// more.
func (s *State) SettleDelivery(q *ledger.DeliveryResult, r *Record) error {
	r.reset()
	if err := q.Validate(); err != nil {
		return err
	}
	k := s.keys[q.Key]
	if k == nil {
		return nil
	}
	h := k.hooks.find(q.Webhook)
	if h == nil {
		return nil
	}
	d, ok := h.queue[q.LSN]
	if !ok {
		return nil
	}
	r.Kind, r.Key, r.Now, r.Webhook = ledger.DeliverySettled, q.Key, q.At, &ledger.Webhook{ID: q.Webhook, Key: q.Key}
	r.Settled = SettleEffect{LSN: q.LSN, Action: DeliveryGivenUp}
	switch {
	case q.Disable:
		r.Settled.Action = DeliveryDisables
		r.Now = max(k.now, q.At, 1) // a Disabled of 0 would say that the webhook works
	case q.Delivered:
		r.Settled.Action = DeliveryDone
	case q.Next != 0:
		r.Settled = SettleEffect{LSN: q.LSN, Action: DeliveryAgain, Attempts: d.attempts + 1, Next: q.Next}
	}
	return nil
}

// applySettled changes a delivery. Only a webhook's being disabled counts as a change of the key.
func (s *State) applySettled(k *keyState, lsn uint64, r *Record) error {
	h, e := k.hooks.find(r.Webhook.ID), &r.Settled
	if h == nil {
		return fmt.Errorf("webhook %s does not exist", r.Webhook.ID)
	}
	d, ok := h.queue[e.LSN]
	if !ok {
		return fmt.Errorf("record %d does not wait for webhook %s", e.LSN, r.Webhook.ID)
	}
	switch e.Action {
	case DeliveryAgain:
		if e.Attempts != d.attempts+1 {
			return fmt.Errorf("%d attempts cannot follow %d", e.Attempts, d.attempts)
		}
		d.attempts, d.next = e.Attempts, e.Next
		h.queue[e.LSN] = d
		return nil
	case DeliveryDisables:
		if r.Now < max(k.now, 1) {
			return fmt.Errorf("its time %d is before the key's, %d", r.Now, k.now)
		}
		k.now, k.lsn, h.Disabled = r.Now, lsn, r.Now
		s.wait(k, -len(h.queue))
		h.queue = nil
		return nil
	}
	if e.Action == DeliveryGivenUp {
		h.Dropped++
	}
	delete(h.queue, e.LSN)
	s.wait(k, -1)
	return nil
}
