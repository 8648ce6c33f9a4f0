package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"bailiff/runtime/ledger"
)

// record notes a record that the model has, and whether it was waited for.
func (h *history) record(e entry, acknowledged bool) {
	h.model.log = append(h.model.log, e)
	if acknowledged {
		h.acked = len(h.model.log)
	}
}

// once returns the id of something usable once, and when it expires: a few exist for each hour.
func (h *history) once(arg uint32) (n uint64, expires int64) {
	n = uint64(max(h.at-Start, 0)/hour) + uint64(arg%3)
	return n, Start + int64(n+1)*hour
}

// deploy deploys one of three policies, by one of two operators.
func (h *history) deploy(arg uint32) error {
	d := &ledger.Deployment{
		Key: ID('k', uint64(arg%8/7)), At: h.at, Operator: [32]byte{1 + byte(arg>>3%8/7)}, PolicyHash: [32]byte{1 + byte(arg>>6%3)},
		PolicyVersion: "2.0.0", Text: bytes.Repeat([]byte("t"), 1+int(arg>>5%16)), Program: []byte{byte(arg)}, Machine: 1, RefuseRollback: arg>>8%4 == 0,
	}
	if arg>>16%2 == 0 {
		d.MaxStored = 20
	}
	if arg>>20%8 == 0 {
		d.Named, d.Serial = arg>>23%2 == 0, uint64(arg>>24%8)
	}
	if arg>>10%2 == 0 {
		n, expires := h.once(arg >> 11)
		d.Activation = &ledger.Activation{ID: [32]byte{'a', byte(n), byte(n >> 8), byte(n >> 16)}, Expires: expires}
	}
	want, wantErr := h.model.deploy(d)
	got, err := h.l.Deploy(context.Background(), d)
	switch {
	case errors.Is(err, ledger.ErrExpired) && wantErr == nil && d.Activation != nil && d.Activation.Expires <= h.model.latest():
		return nil // for another key it has expired
	case !errors.Is(err, wantErr) || wantErr == nil && err != nil:
		if !(errors.Is(wantErr, ledger.ErrUsed) && errors.Is(err, ledger.ErrExpired)) {
			return fmt.Errorf("deploying: %v, the model says %v", err, wantErr)
		}
	}
	h.reached["deploying: "+reason(err)]++
	if err != nil {
		return nil
	}
	h.record(entry{key: d.Key, now: want.At, deployed: d, rollback: want.Rollback, topic: ledger.PolicyDeployed}, true)
	want.Key, _, _ = h.model.key(d.Key)
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("deploying (-model +ledger):\n%s", diff)
	}
	return nil
}

// reason returns which of the ledger's errors err is.
func reason(err error) string {
	for _, known := range []error{
		ledger.ErrOperator, ledger.ErrNotNamed, ledger.ErrSerial, ledger.ErrStatementSerial, ledger.ErrRollback, ledger.ErrStorage, ledger.ErrUsed, ledger.ErrExpired, ledger.ErrStale, ledger.ErrHalted, ledger.ErrKeyRevoked, ledger.ErrNotFound,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return fmt.Sprint(err)
}

// use uses up an attestation.
func (h *history) use(arg uint32) error {
	n, expires := h.once(arg)
	u := &ledger.Use{Key: ID('k', uint64(arg>>2%8/7)), Token: ID('t', n), Expires: expires, At: h.at, Issued: max(h.at-int64(arg>>23%3)*1e9, 0), Event: ledger.Event{Endpoint: "/rpc"}}
	key, _, _ := h.model.key(u.Key)
	if u.Epoch = key.Epoch; arg>>5%8 == 0 {
		u.Epoch++
	}
	if arg>>27%4 == 0 {
		u.Default = [32]byte{byte(arg >> 29 % 4)}
	}
	now, want := h.model.use(u)
	err := h.l.UseOnce(context.Background(), u)
	switch {
	case errors.Is(err, ledger.ErrExpired) && (want == nil && expires <= h.model.latest() || errors.Is(want, ledger.ErrUsed)):
	case !errors.Is(err, want) || want == nil && err != nil:
		return fmt.Errorf("UseOnce: %v, the model says %v", err, want)
	}
	if h.reached["using: "+reason(err)]++; err == nil {
		h.record(entry{key: u.Key, now: now, token: u.Token}, true)
	}
	return nil
}

// expire records what has expired.
func (h *history) expire(arg uint32) error {
	due := h.model.overdue(h.at)
	due = due[:min(len(due), int(arg%3)+1)]
	n, err := h.l.ExpireHolds(context.Background(), h.at, int(arg%3)+1)
	if err != nil || n != len(due) {
		return fmt.Errorf("ExpireHolds: %d, %v, the model says %d", n, err, len(due))
	}
	for _, o := range due {
		h.reached["hold expired"]++
		_, now, _ := h.model.key(o.key)
		h.record(entry{key: o.key, now: max(now, h.at), expired: o.id, topic: ledger.TopicHoldExpired}, true)
	}
	return nil
}

// hook creates a webhook or, seldom, removes the oldest, or changes the key's tier.
func (h *history) hook(arg uint32) error {
	key := ID('k', uint64(arg%8/7))
	known, now, ok := h.model.key(key)
	hooks, _ := h.model.outbox(key)
	now = max(now, h.at)
	operator := arg>>13%2 == 0
	switch {
	case !ok || known.Revoked != 0:
		return nil
	case arg>>3%4 == 0:
		change := ledger.KeyChange{ID: key, At: h.at, Tier: []string{"growth", "enterprise"}[arg>>5%2], Scopes: ledger.Scopes(1 + arg>>6%7)}
		h.record(entry{key: key, now: now, changed: &change}, true)
		want, _, _ := h.model.key(key)
		if got, err := h.l.ChangeKey(context.Background(), change); err != nil || got != want {
			return fmt.Errorf("ChangeKey: %+v, %v, the model says %+v", got, err, want)
		}
	case len(hooks) > 0 && arg>>3%4 == 2 && hooks[0].Disabled != 0:
		if done, err := h.changeHook(h.l.EnableWebhook, known, hooks[0], operator); !done {
			return err
		}
		h.reached["webhook enabled"]++
		h.record(entry{key: key, now: now, enabled: hooks[0].ID}, true)
	case len(hooks) >= 2 || len(hooks) > 0 && arg>>3%4 == 1:
		if done, err := h.changeHook(h.l.RemoveWebhook, known, hooks[0], operator); !done {
			return err
		}
		h.record(entry{key: key, now: now, unhooked: hooks[0].ID}, true)
	default:
		h.ids++
		w := ledger.Webhook{ID: ID('w', h.ids), Key: key, URL: "https://example.com/", Topics: ledger.Topics(1 + arg>>5%63), Secret: make([]byte, 24), Created: h.at, Operator: operator}
		switch err := h.l.CreateWebhook(context.Background(), w); {
		case !operator && h.model.stopped(known) && errors.Is(err, ledger.ErrHalted):
			h.reached["webhook refused"]++
			return nil
		case err != nil || !operator && h.model.stopped(known):
			return fmt.Errorf("a new webhook, of the operator %v: %w", operator, err)
		}
		h.record(entry{key: key, now: now, hooked: &w}, true)
	}
	return nil
}

// changeHook changes a webhook, and reports whether that was done, as the model says it must be.
func (h *history) changeHook(change func(context.Context, ledger.WebhookChange) error, key ledger.Key, hook ledger.Webhook, operator bool) (done bool, _ error) {
	err := change(context.Background(), ledger.WebhookChange{Key: key.ID, ID: hook.ID, At: h.at, Operator: operator})
	var want error
	switch {
	case operator:
	case hook.Operator:
		want = ledger.ErrNotFound
	case h.model.stopped(key):
		want = ledger.ErrHalted
	}
	if !errors.Is(err, want) {
		return false, fmt.Errorf("changing a webhook: %v, the model says %v", err, want)
	}
	if want != nil {
		h.reached["webhook refused"]++
	}
	return want == nil, nil
}

// deliver takes what is due, compares it with the model, and settles some of it.
func (h *history) deliver(arg uint32) error {
	due, _, err := h.l.Due(context.Background(), h.at, 1000)
	if err != nil {
		return err
	}
	var want []naiveDelivery
	for n := range uint64(2) {
		_, waiting := h.model.outbox(ID('k', n))
		want = append(want, waiting...)
	}
	for _, d := range due {
		i := slices.IndexFunc(want, func(w naiveDelivery) bool { return w.hook == d.Webhook.ID && w.lsn == d.LSN })
		if i < 0 || h.out[naiveRef{d.Webhook.ID, d.LSN}] {
			return fmt.Errorf("record %d is handed out for webhook %s: the model has nothing that waits, or it was handed out", d.LSN, d.Webhook.ID)
		}
		if w := want[i]; w.next > h.at || w.topic != d.Topic || w.attempts != d.Attempts || d.Event.LSN != d.LSN || d.Event.Key != w.key {
			return fmt.Errorf("handed out %+v, the model says %+v", d, w)
		}
		h.out[naiveRef{d.Webhook.ID, d.LSN}] = true
	}
	for _, w := range want {
		if w.lsn <= uint64(h.acked) && w.next <= h.at && !h.out[naiveRef{w.hook, w.lsn}] {
			return fmt.Errorf("record %d waits for webhook %s, and is not handed out", w.lsn, w.hook)
		}
	}
	for i, d := range due {
		if err := h.settle(&d, arg>>(2*i%20)%8); err != nil {
			return err
		}
	}
	return nil
}

// settle tells what came of a delivery, or forgets to.
func (h *history) settle(d *ledger.Delivery, how uint32) error {
	r := ledger.DeliveryResult{Key: d.Webhook.Key, Webhook: d.Webhook.ID, LSN: d.LSN, At: h.at}
	switch {
	case how < 3:
		r.Delivered = true
	case how < 5:
		r.Next = h.at + hour/2
	case how == 5:
		r.Disable = true
	case how > 6:
		return nil
	}
	_, waiting := h.model.outbox(r.Key)
	if !slices.ContainsFunc(waiting, func(w naiveDelivery) bool { return w.hook == r.Webhook && w.lsn == r.LSN }) {
		return h.l.SettleDelivery(r) // it was disabled a moment ago: nothing is recorded
	}
	if err := h.l.SettleDelivery(r); err != nil {
		return err
	}
	now := r.At
	if r.Disable {
		_, known, _ := h.model.key(r.Key)
		now = max(known, now, 1)
	}
	h.reached[fmt.Sprintf("settled: done %t, again %t, disabled %t", r.Delivered, r.Next != 0, r.Disable)]++
	h.record(entry{key: r.Key, now: now, attempt: &r}, false)
	delete(h.out, naiveRef{r.Webhook, r.LSN})
	return nil
}

// A naiveRef names a delivery.
type naiveRef struct {
	hook ledger.ID
	lsn  uint64
}

// compareService compares what can be read of a key's policies and webhooks.
func (h *history) compareService(id ledger.ID) error {
	var want []ledger.DeploymentView
	var last *ledger.Deployment
	for i, e := range h.model.log {
		if e.key != id || e.deployed == nil {
			continue
		}
		view := ledger.DeploymentView{PolicyHash: e.deployed.PolicyHash, At: e.now, LSN: uint64(i + 1), Rollback: e.rollback, Named: e.deployed.Named, Serial: e.deployed.Serial}
		want, last = append(want, view), e.deployed
	}
	got, err := h.l.Deployments(context.Background(), id)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		return fmt.Errorf("deployments, %v (-model +ledger):\n%s", err, diff)
	}
	policy, err := h.l.Policy(context.Background(), id)
	if last == nil && !errors.Is(err, ledger.ErrNotFound) || last != nil && (err != nil || policy.PolicyHash != last.PolicyHash || !slices.Equal(policy.Program, last.Program)) {
		return fmt.Errorf("policy %+v, %v, the model says %+v", policy, err, last)
	}
	wantHooks, _ := h.model.outbox(id)
	hooks, err := h.l.Webhooks(context.Background(), id)
	if diff := cmp.Diff(wantHooks, hooks, cmp.Transformer("nil", func(w []ledger.Webhook) string { return fmt.Sprint(w) })); err != nil || diff != "" {
		return fmt.Errorf("webhooks, %v (-model +ledger):\n%s", err, diff)
	}
	return nil
}

// halt stops a key or the service, is refused meanwhile, and mostly lets it go on.
func (h *history) halt(arg uint32) error {
	halt := &ledger.Halt{At: max(h.at, 1), Stop: arg>>1%8 != 0, Reason: []string{"", "drill"}[arg>>4%2]}
	if arg>>5%3 > 0 {
		halt.Key = ID('k', uint64(arg>>7%8/7))
	}
	if arg>>10%4 != 0 {
		halt.Signed = &ledger.HaltStatement{Serial: uint64(1 + arg>>12%4), At: 1}
	}
	if err := h.stop(halt); err != nil || arg>>14%8 == 0 {
		return err
	}
	if err := errors.Join(h.submit(h.plan(arg), true), h.use(arg)); err != nil {
		return err
	}
	on := *halt
	on.Stop, on.Signed = false, nil
	return h.stop(&on)
}

// rotate replaces the operator's key, seldom one that is not the operator's, and lets the key that was replaced try it again.
func (h *history) rotate(arg uint32) error {
	before, want := h.model.operators(), error(nil)
	q := &ledger.Rotation{From: [32]byte{1}, To: [32]byte{3 + byte(len(before.Keys))}, At: max(h.at, 1)}
	if n := len(before.Keys); n > 0 && arg%4 != 0 {
		q.From = before.Keys[n-1]
	} else if n > 0 {
		want = ledger.ErrOperator
	}
	if arg>>2%2 == 0 {
		if q.Signed = (&ledger.HaltStatement{Serial: uint64(1 + arg>>3%8), At: 1}); q.Signed.Serial <= before.Serial {
			want = ledger.ErrStatementSerial
		}
	}
	err := h.l.RotateOperator(context.Background(), q)
	if h.reached["rotating: "+reason(err)]++; err == nil {
		h.record(entry{now: q.At, rotation: q}, true)
	}
	if diff := cmp.Diff(h.model.operators(), h.l.Operators()); !errors.Is(err, want) || diff != "" {
		return fmt.Errorf("rotating: %v, the model says %v; operators (-model +ledger):\n%s", err, want, diff)
	}
	if err == nil {
		err = h.l.RotateOperator(context.Background(), &ledger.Rotation{From: q.From, To: [32]byte{2}, At: q.At})
		if h.reached["rotating: "+reason(err)]++; !errors.Is(err, ledger.ErrOperator) {
			return fmt.Errorf("the key that was replaced replaces another: %v", err)
		}
	}
	return nil
}

// stop carries out a halt and compares what comes of it.
func (h *history) stop(halt *ledger.Halt) error {
	state, now, want := h.model.frozen(), halt.At, error(nil)
	if !halt.Key.IsZero() {
		key, latest, ok := h.model.key(halt.Key)
		switch state, now = key.Halt, max(latest, halt.At); {
		case !ok:
			want = ledger.ErrNotFound
		case key.Revoked != 0:
			want = ledger.ErrKeyRevoked
		}
	}
	if want == nil && halt.Signed != nil && halt.Signed.Serial <= state.Serial {
		want = ledger.ErrStatementSerial
	}
	err := h.l.Halt(context.Background(), halt)
	if !errors.Is(err, want) || want == nil && err != nil {
		return fmt.Errorf("halting: %v, the model says %v", err, want)
	}
	h.reached["halting: "+reason(err)]++
	if err == nil && (halt.Stop != state.Stopped() || halt.Signed != nil) {
		h.record(entry{key: halt.Key, now: now, halt: halt}, true)
	}
	if got, want := h.l.Frozen(), h.model.frozen(); got != want {
		return fmt.Errorf("frozen is %+v, the model says %+v", got, want)
	}
	return nil
}
