package ledgertest

import (
	"bytes"
	"cmp"
	"slices"

	"bailiff/runtime/ledger"
)

func topicOf(d ledger.Decision) ledger.Topics {
	return map[ledger.Decision]ledger.Topics{
		ledger.Allowed: ledger.IntentAllowed, ledger.Denied: ledger.IntentDenied, ledger.Pending: ledger.IntentPending,
	}[d]
}

// deploy returns what a deployment must come to.
func (n *naive) deploy(d *ledger.Deployment) (ledger.Deployed, error) {
	key, now, ok := n.key(d.Key)
	done := ledger.Deployed{At: max(now, d.At), LSN: uint64(len(n.log) + 1)}
	var before [][32]byte
	usedUp := false
	for _, e := range n.log {
		if e.deployed == nil {
			continue
		}
		if e.key == d.Key {
			before = append(before, e.deployed.PolicyHash)
		}
		if a := e.deployed.Activation; a != nil && d.Activation != nil && *a == *d.Activation {
			usedUp = true
		}
	}
	done.Same = len(before) > 0 && before[len(before)-1] == d.PolicyHash
	done.Rollback = !done.Same && slices.Contains(before, d.PolicyHash)
	switch {
	case !ok:
		return done, ledger.ErrNotFound
	case key.Revoked != 0:
		return done, ledger.ErrKeyRevoked
	case len(before) > 0 && key.Operator != d.Operator:
		return done, ledger.ErrOperator
	case done.Rollback && d.RefuseRollback:
		return done, ledger.ErrRollback
	case d.Activation != nil && done.At >= d.Activation.Expires:
		return done, ledger.ErrExpired
	case usedUp:
		return done, ledger.ErrUsed
	}
	return done, nil
}

// use returns what using an attestation must come to.
func (n *naive) use(u *ledger.Use) (now int64, err error) {
	key, now, ok := n.key(u.Key)
	now = max(now, u.At)
	switch {
	case !ok || key.Revoked != 0:
		return now, ledger.ErrKeyRevoked
	case key.Epoch != u.Epoch:
		return now, ledger.ErrStale
	case now >= u.Expires:
		return now, ledger.ErrExpired
	}
	for _, e := range n.log {
		if e.token == u.Token {
			return now, ledger.ErrUsed
		}
	}
	return now, nil
}

// latest returns the latest time of any key that used something: what had expired then may be refused to all.
func (n *naive) latest() (latest int64) {
	for _, e := range n.log {
		if !e.token.IsZero() || e.deployed != nil && e.deployed.Activation != nil {
			latest = max(latest, e.now)
		}
	}
	return latest
}

// An overdue is a hold that expired while it was pending.
type overdue struct {
	key ledger.ID
	naiveHold
}

// overdue returns the holds whose expiry is to be recorded at a time, in order.
func (n *naive) overdue(at int64) (due []overdue) {
	for _, e := range n.log {
		if e.opened != nil && e.opened.expires <= at {
			due = append(due, overdue{e.key, *e.opened})
		}
	}
	for _, e := range n.log {
		due = slices.DeleteFunc(due, func(o overdue) bool { return o.id == e.settled || o.id == e.expired })
	}
	slices.SortFunc(due, func(a, b overdue) int {
		return cmp.Or(cmp.Compare(a.expires, b.expires), bytes.Compare(a.key[:], b.key[:]), bytes.Compare(a.id[:], b.id[:]))
	})
	return due
}

// A naiveDelivery is an event that waits for a webhook.
type naiveDelivery struct {
	key, hook ledger.ID
	lsn       uint64
	topic     ledger.Topics
	attempts  int
	next      int64
}

// outbox returns a key's webhooks and what waits for them.
func (n *naive) outbox(key ledger.ID) (hooks []ledger.Webhook, waiting []naiveDelivery) {
	for i, e := range n.log {
		if e.key != key {
			continue
		}
		if e.hooked != nil {
			hooks = append(hooks, *e.hooked)
		}
		hooks = slices.DeleteFunc(hooks, func(w ledger.Webhook) bool { return w.ID == e.unhooked })
		if e.attempt != nil {
			waiting = settled(hooks, waiting, e.attempt, e.now)
		}
		waiting = slices.DeleteFunc(waiting, func(d naiveDelivery) bool { return d.hook == e.unhooked })
		for _, w := range hooks {
			if w.Topics&e.topic != 0 && w.Disabled == 0 {
				waiting = append(waiting, naiveDelivery{key, w.ID, uint64(i + 1), e.topic, 0, e.now})
			}
		}
	}
	return hooks, waiting
}

// settled returns what waits after an attempt.
func settled(hooks []ledger.Webhook, waiting []naiveDelivery, r *ledger.DeliveryResult, now int64) []naiveDelivery {
	for i := range hooks {
		if hooks[i].ID == r.Webhook && r.Disable {
			hooks[i].Disabled = now
		}
	}
	var left []naiveDelivery
	for _, d := range waiting {
		switch {
		case d.hook != r.Webhook || d.lsn != r.LSN && !r.Disable:
			left = append(left, d)
		case !r.Disable && !r.Delivered && r.Next != 0:
			d.attempts, d.next = d.attempts+1, r.Next
			left = append(left, d)
		}
	}
	return left
}
