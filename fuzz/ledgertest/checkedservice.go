package ledgertest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	diff "github.com/google/go-cmp/cmp"

	"bailiff/runtime/ledger"
)

// Deploy implements ledger.Ledger.
func (c *Checked) Deploy(ctx context.Context, d *ledger.Deployment) (got ledger.Deployed, err error) {
	c.refuses()
	want, wantErr := c.model.deploy(d)
	var also []error
	elsewhere := c.checks.Elsewhere != nil && d.Activation != nil && c.checks.Elsewhere(d.Activation.ID)
	if elsewhere { // nothing else is looked at
		wantErr = ledger.ErrUsed
	}
	switch {
	case elsewhere:
	case errors.Is(wantErr, ledger.ErrUsed): // a use is forgotten when it has expired, and has expired then
		also = []error{ledger.ErrExpired}
	case d.Activation != nil && d.Activation.Expires <= c.model.latest():
		also = []error{ledger.ErrExpired} // for another key it has
	}
	e := entry{key: d.Key, now: want.At, deployed: d, rollback: want.Rollback, topic: ledger.PolicyDeployed}
	err = c.take("Deploy", wantErr, []entry{e}, func() (err error) {
		if wantErr == nil {
			want.Key, _, _ = c.model.key(d.Key)
		}
		got, err = c.Ledger.Deploy(ctx, d)
		if unlike := diff.Diff(want, got); err == nil && unlike != "" {
			err = fmt.Errorf("(-model +ledger):\n%s", unlike)
		}
		return err
	}, also...)
	c.checks.Reached["deploying: "+reason(err)]++
	return got, err
}

// BindDefault implements ledger.Ledger.
func (c *Checked) BindDefault(ctx context.Context, d *ledger.DefaultPolicy) (got ledger.BoundDefault, err error) {
	c.refuses()
	want, wantErr := c.model.bindDefault(d)
	entries := []entry{{now: d.At, standard: d}}
	if want.Same {
		entries = nil
	}
	err = c.take("BindDefault", wantErr, entries, func() (err error) {
		got, err = c.Ledger.BindDefault(ctx, d)
		if unlike := diff.Diff(want, got); err == nil && unlike != "" {
			err = fmt.Errorf("(-model +ledger):\n%s", unlike)
		}
		return err
	})
	switch {
	case err != nil:
		c.checks.Reached["default policy refused"]++
	case want.Same:
		c.checks.Reached["default policy again"]++
	default:
		c.checks.Reached["default policy"]++
	}
	return got, err
}

// UseOnce implements ledger.Ledger.
func (c *Checked) UseOnce(ctx context.Context, u *ledger.Use) error {
	c.refuses()
	now, want := c.model.use(u)
	var also []error
	switch {
	case errors.Is(want, ledger.ErrUsed):
		also = []error{ledger.ErrExpired}
	case u.Expires <= c.model.latest():
		also = []error{ledger.ErrExpired}
	}
	err := c.take("UseOnce", want, []entry{{key: u.Key, now: now, token: u.Token}}, func() error { return c.Ledger.UseOnce(ctx, u) }, also...)
	c.checks.Reached["using: "+reason(err)]++
	return err
}

// Halt implements ledger.Ledger.
func (c *Checked) Halt(ctx context.Context, h *ledger.Halt) error {
	c.refuses()
	state, now, want := c.model.frozen(), h.At, error(nil)
	if !h.Key.IsZero() {
		var key ledger.Key
		key, now, want = c.model.known(h.Key, h.At)
		state = key.Halt
	}
	if want == nil && h.Signed != nil && h.Signed.Serial <= state.Serial {
		want = ledger.ErrStatementSerial
	}
	var entries []entry
	if h.Stop != state.Stopped() || h.Signed != nil {
		entries = []entry{{key: h.Key, now: now, halt: h}}
	}
	err := c.take("Halt", want, entries, func() error { return c.Ledger.Halt(ctx, h) })
	c.checks.Reached["halting: "+reason(err)]++
	return err
}

// RotateOperator implements ledger.Ledger.
func (c *Checked) RotateOperator(ctx context.Context, q *ledger.Rotation) error {
	c.refuses()
	before, want := c.model.operators(), error(nil)
	switch n := len(before.Keys); {
	case q.Signed != nil && q.Signed.Serial <= before.Serial:
		want = ledger.ErrStatementSerial
	case n > 0 && before.Keys[n-1] != q.From:
		want = ledger.ErrOperator
	}
	err := c.take("RotateOperator", want, []entry{{now: q.At, rotation: q}}, func() error { return c.Ledger.RotateOperator(ctx, q) }, ledger.ErrOperator)
	c.checks.Reached["rotating: "+reason(err)]++
	return err
}

// CreateWebhook implements ledger.Ledger.
func (c *Checked) CreateWebhook(ctx context.Context, w ledger.Webhook) error {
	c.refuses()
	key, now, want := c.model.known(w.Key, w.Created)
	switch hooks, _ := c.model.outbox(w.Key); {
	case want != nil:
	case !w.Operator && c.model.stopped(key):
		want = ledger.ErrHalted
	case len(hooks) >= ledger.MaxWebhooks:
		want = ledger.ErrTooMany
	}
	err := c.take("CreateWebhook", want, []entry{{key: w.Key, now: now, hooked: &w}}, func() error { return c.Ledger.CreateWebhook(ctx, w) })
	c.noteRefused(err)
	return err
}

// noteRefused counts a change of a webhook that is refused.
func (c *Checked) noteRefused(err error) {
	if errors.Is(err, ledger.ErrHalted) || errors.Is(err, ledger.ErrNotFound) {
		c.checks.Reached["webhook refused"]++
	}
}

// changes returns a webhook to change, nil where there is none for who asks, and what the change is to come to.
func (c *Checked) changes(q ledger.WebhookChange) (hook *ledger.Webhook, now int64, want error) {
	key, now, _ := c.model.known(q.Key, q.At)
	hooks, _ := c.model.outbox(q.Key)
	i := slices.IndexFunc(hooks, func(w ledger.Webhook) bool { return w.ID == q.ID })
	switch {
	case i < 0 || hooks[i].Operator && !q.Operator:
		return nil, now, ledger.ErrNotFound
	case !q.Operator && c.model.stopped(key):
		return &hooks[i], now, ledger.ErrHalted
	}
	return &hooks[i], now, nil
}

// RemoveWebhook implements ledger.Ledger.
func (c *Checked) RemoveWebhook(ctx context.Context, q ledger.WebhookChange) error {
	c.refuses()
	_, now, want := c.changes(q)
	err := c.take("RemoveWebhook", want, []entry{{key: q.Key, now: now, unhooked: q.ID}}, func() error { return c.Ledger.RemoveWebhook(ctx, q) })
	c.noteRefused(err)
	return err
}

// EnableWebhook implements ledger.Ledger.
func (c *Checked) EnableWebhook(ctx context.Context, q ledger.WebhookChange) error {
	c.refuses()
	hook, now, want := c.changes(q)
	if want == nil {
		_, _, want = c.model.known(q.Key, q.At) // the key may be revoked
	}
	var entries []entry
	if want == nil && hook.Disabled != 0 {
		entries = []entry{{key: q.Key, now: now, enabled: q.ID}}
	}
	err := c.take("EnableWebhook", want, entries, func() error { return c.Ledger.EnableWebhook(ctx, q) })
	if c.noteRefused(err); err == nil && entries != nil {
		c.checks.Reached["webhook enabled"]++
	}
	return err
}

// waiting returns what waits for webhooks, of all keys.
func (n *naive) waiting() (all []naiveDelivery) {
	for _, e := range n.log {
		if e.created != nil {
			_, waiting := n.outbox(e.key)
			all = append(all, waiting...)
		}
	}
	return all
}

// Due implements ledger.Ledger.
func (c *Checked) Due(ctx context.Context, at int64, limit int) (due []ledger.Delivery, next int64, err error) {
	refuses, opened := c.refuses(), c.opened
	due, next, err = c.Ledger.Due(ctx, at, limit)
	if err != nil || opened != c.opened {
		if err != nil && opened == c.opened && !away(err) && ctx.Err() == nil && !errors.Is(err, errDisk) && !(errors.Is(err, ledger.ErrCorrupt) && c.checks.Damaged != nil && c.checks.Damaged()) {
			return due, next, c.violate("Due: %w", err)
		}
		return due, next, err
	}
	if refuses {
		return due, next, c.violate("a ledger that refuses hands out %d deliveries", len(due))
	}
	return due, next, c.handedOut(due, at, limit)
}

// errDisk is what reads of a disk fail with that was made to fail: see [ErrDisk].
var errDisk = ErrDisk

// ErrDisk is wrapped by the errors of a disk that a test makes fail.
var ErrDisk = errors.New("the disk was made to fail")

// handedOut compares deliveries that are handed out with the model.
func (c *Checked) handedOut(due []ledger.Delivery, at int64, limit int) error {
	want := c.model.waiting()
	for _, d := range due {
		i := slices.IndexFunc(want, func(w naiveDelivery) bool { return w.hook == d.Webhook.ID && w.lsn == d.LSN })
		if i < 0 || c.out[naiveRef{d.Webhook.ID, d.LSN}] {
			return c.violate("record %d is handed out for webhook %s: the model has nothing that waits, or it was handed out", d.LSN, d.Webhook.ID)
		}
		if w := want[i]; w.next > at || w.topic != d.Topic || w.attempts != d.Attempts || d.Event.LSN != d.LSN || d.Event.Key != w.key {
			return c.violate("handed out %+v, the model says %+v", d, w)
		}
		if c.checks.Durable != nil && d.LSN > c.checks.Durable() {
			return c.violate("record %d is handed out for a webhook, and the disk has the log up to record %d", d.LSN, c.checks.Durable())
		}
		c.out[naiveRef{d.Webhook.ID, d.LSN}] = true
	}
	if len(due) >= limit {
		return nil
	}
	for _, w := range want {
		if w.lsn <= uint64(c.acked) && w.next <= at && !c.out[naiveRef{w.hook, w.lsn}] {
			return c.violate("record %d waits for webhook %s, and is not handed out", w.lsn, w.hook)
		}
	}
	return nil
}

// SettleDelivery implements ledger.Ledger.
func (c *Checked) SettleDelivery(r ledger.DeliveryResult) error {
	if c.refuses() {
		err := c.Ledger.SettleDelivery(r)
		if err == nil && c.out[naiveRef{r.Webhook, r.LSN}] {
			c.kept = append(c.kept, r)
		}
		return err
	}
	c.settle(r)
	err := c.Ledger.SettleDelivery(r)
	if err != nil && !away(err) {
		return c.violate("SettleDelivery: %w", err)
	}
	return err
}

// settle has the model record a result. That of a delivery that does not wait any more is not recorded.
func (c *Checked) settle(r ledger.DeliveryResult) {
	delete(c.out, naiveRef{r.Webhook, r.LSN})
	_, waiting := c.model.outbox(r.Key)
	if !slices.ContainsFunc(waiting, func(w naiveDelivery) bool { return w.hook == r.Webhook && w.lsn == r.LSN }) {
		return
	}
	now := r.At
	if r.Disable {
		_, known, _ := c.model.key(r.Key)
		now = max(known, now, 1)
	}
	c.checks.Reached[fmt.Sprintf("settled: done %t, again %t, disabled %t", r.Delivered, r.Next != 0, r.Disable)]++
	c.model.log = append(c.model.log, entry{key: r.Key, now: now, attempt: &r})
}

// settleKept does so with the results that came while the ledger refused, in the order of their events.
func (c *Checked) settleKept() {
	slices.SortStableFunc(c.kept, func(a, b ledger.DeliveryResult) int {
		return cmp.Or(cmp.Compare(a.LSN, b.LSN), bytes.Compare(a.Webhook[:], b.Webhook[:]))
	})
	for i, r := range c.kept {
		if i+1 < len(c.kept) && c.kept[i+1].Webhook == r.Webhook && c.kept[i+1].LSN == r.LSN {
			continue // the later one counts
		}
		c.settle(r)
	}
	c.kept = nil
}
