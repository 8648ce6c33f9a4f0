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

// once returns the id of something usable once, and when it expires: a few exist for each hour.
func (h *history) once(arg uint32) (n uint64, expires int64) {
	n = uint64(max(h.at-Start, 0)/hour) + uint64(arg%3)
	return n, Start + int64(n+1)*hour
}

// deploy deploys one of three policies, by one of two operators.
func (h *history) deploy(arg uint32) error {
	h.deployBy([32]byte{1 + byte(arg>>3%8/7)}, arg)
	return nil
}

// deployBy deploys one of three policies by an operator.
func (h *history) deployBy(operator [32]byte, arg uint32) {
	d := &ledger.Deployment{
		Key: ID('k', uint64(arg%8/7)), At: h.at, Operator: operator, PolicyHash: [32]byte{1 + byte(arg>>6%3)},
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
	_, _ = h.of(d.Key).Deploy(context.Background(), d)
}

// reason returns which of the ledger's errors err is.
func reason(err error) string {
	for _, known := range []error{
		ledger.ErrOperator, ledger.ErrNotNamed, ledger.ErrSerial, ledger.ErrStatementSerial, ledger.ErrRollback, ledger.ErrStorage, ledger.ErrUsed, ledger.ErrExpired, ledger.ErrStale, ledger.ErrHalted, ledger.ErrKeyRevoked, ledger.ErrNotFound, ledger.ErrUnavailable, ledger.ErrUnknown,
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
	key, _, _ := h.of(u.Key).model.key(u.Key)
	if u.Epoch = key.Epoch; arg>>5%8 == 0 {
		u.Epoch++
	}
	if arg>>27%4 == 0 {
		u.Default = [32]byte{byte(arg >> 29 % 4)}
	}
	_ = h.of(u.Key).UseOnce(context.Background(), u)
	return nil
}

// expire records what has expired.
func (h *history) expire(arg uint32) error {
	return h.expireAll(int(arg%3) + 1)
}

// hook creates a webhook or, seldom, removes the oldest, or changes the key's tier.
func (h *history) hook(arg uint32) error {
	key := ID('k', uint64(arg%8/7))
	at := h.of(key)
	known, _, ok := at.model.key(key)
	hooks, _ := at.model.outbox(key)
	operator := arg>>13%2 == 0
	switch {
	case !ok || known.Revoked != 0:
		return nil
	case arg>>3%4 == 0:
		change := ledger.KeyChange{ID: key, At: h.at, Tier: []string{"growth", "enterprise"}[arg>>5%2], Scopes: ledger.Scopes(1 + arg>>6%7)}
		_, err := at.ChangeKey(context.Background(), change)
		return err
	case len(hooks) > 0 && arg>>3%4 == 2 && hooks[0].Disabled != 0:
		return unlessRefused(at.EnableWebhook(context.Background(), ledger.WebhookChange{Key: key, ID: hooks[0].ID, At: h.at, Operator: operator}))
	case len(hooks) >= 2 || len(hooks) > 0 && arg>>3%4 == 1:
		return unlessRefused(at.RemoveWebhook(context.Background(), ledger.WebhookChange{Key: key, ID: hooks[0].ID, At: h.at, Operator: operator}))
	}
	h.ids++
	return unlessRefused(at.CreateWebhook(context.Background(), ledger.Webhook{ID: ID('w', h.ids), Key: key, URL: "https://example.com/", Topics: ledger.Topics(1 + arg>>5%63), Secret: make([]byte, 24), Created: h.at, Operator: operator}))
}

// unlessRefused returns an error that is not a refusal, which the checked ledger has judged.
func unlessRefused(err error) error {
	if errors.Is(err, ledger.ErrHalted) || errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	return err
}

// deliver takes what is due, compares it with the model, and settles some of it.
func (h *history) deliver(arg uint32) error {
	for _, part := range h.parts {
		due, _, err := part.Due(context.Background(), h.at, 1000)
		if err != nil {
			return err
		}
		for i, d := range due {
			if err := h.settle(&d, arg>>(2*i%20)%8); err != nil {
				return err
			}
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
	return h.of(r.Key).SettleDelivery(r)
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
	for i, e := range h.of(id).model.log {
		if e.key != id || e.deployed == nil {
			continue
		}
		view := ledger.DeploymentView{PolicyHash: e.deployed.PolicyHash, At: e.now, LSN: uint64(i + 1), Rollback: e.rollback, Named: e.deployed.Named, Serial: e.deployed.Serial}
		want, last = append(want, view), e.deployed
	}
	got, err := h.of(id).Deployments(context.Background(), id)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		return fmt.Errorf("deployments, %w (-model +ledger):\n%s", err, diff)
	}
	policy, err := h.of(id).Policy(context.Background(), id)
	if last == nil && !errors.Is(err, ledger.ErrNotFound) || last != nil && (err != nil || policy.PolicyHash != last.PolicyHash || !slices.Equal(policy.Program, last.Program)) {
		return fmt.Errorf("policy %+v, %w, the model says %+v", policy, err, last)
	}
	wantHooks, _ := h.of(id).model.outbox(id)
	hooks, err := h.of(id).Webhooks(context.Background(), id)
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
	if err := errors.Join(h.stop(halt), h.stop(halt)); err != nil || arg>>14%8 == 0 { // a statement counts once
		return err
	}
	if err := errors.Join(h.submit(h.plan(arg), true), h.use(arg)); err != nil {
		return err
	}
	on := *halt
	on.Stop, on.Signed = false, nil
	return h.stop(&on)
}

// rotate replaces the operator's key, seldom one that is not the operator's. Then the key that was replaced tries it again, a statement is used
// again, and both keys deploy.
func (h *history) rotate(arg uint32) error {
	before := h.parts[0].model.operators()
	first := [32]byte{1}
	q := &ledger.Rotation{From: first, At: max(h.at, 1)}
	if n := len(before.Keys); n > 0 {
		q.From = before.Keys[n-1]
	}
	q.To = [32]byte{max(q.From[0], 2) + 1} // 2 comes below
	if arg%4 == 0 {
		q.From = first
	}
	if arg>>2%2 == 0 {
		q.Signed = &ledger.HaltStatement{Serial: uint64(1 + arg>>3%8), At: 1}
	}
	err := h.parts[0].RotateOperator(context.Background(), q)
	if unlike := cmp.Diff(h.parts[0].model.operators(), h.whole.Operators()); unlike != "" {
		return fmt.Errorf("operators (-model +ledger):\n%s", unlike)
	}
	if err != nil {
		return nil
	}
	err = h.parts[0].RotateOperator(context.Background(), &ledger.Rotation{From: q.From, To: [32]byte{2}, At: q.At})
	if !errors.Is(err, ledger.ErrOperator) {
		return fmt.Errorf("the key that was replaced replaces another: %v", err)
	}
	if q.Signed != nil {
		err = h.parts[0].RotateOperator(context.Background(), &ledger.Rotation{From: q.To, To: [32]byte{2}, At: q.At, Signed: q.Signed})
		if !errors.Is(err, ledger.ErrStatementSerial) {
			return fmt.Errorf("a statement replaces two keys: %v", err)
		}
	}
	for _, key := range []uint32{arg &^ 7, arg | 7} { // both keys, of which one may have no policy yet
		h.deployBy(q.From, key)
		h.deployBy(q.To, key)
	}
	return nil
}

// stop carries out a halt and compares what comes of it.
func (h *history) stop(halt *ledger.Halt) error {
	_ = h.of(halt.Key).Halt(context.Background(), halt)
	if got, want := h.whole.Frozen(), h.parts[0].model.frozen(); got != want {
		return fmt.Errorf("frozen is %+v, the model says %+v", got, want)
	}
	return nil
}
