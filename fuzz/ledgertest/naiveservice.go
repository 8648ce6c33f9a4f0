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
	usedUp, deployed := false, false
	done.Stored = d.Size()
	for _, e := range n.log {
		if e.deployed == nil {
			continue
		}
		if e.key == d.Key {
			deployed = true
			done.Stored += uint64(len(e.deployed.Text) + len(e.deployed.Program))
		}
		if a := e.deployed.Activation; a != nil && d.Activation != nil && *a == *d.Activation {
			usedUp = true
		}
	}
	before, operators := n.governed(d.Key), n.operators()
	named, serial := bound(before)
	done.Same = len(before) > 0 && before[len(before)-1].hash == d.PolicyHash
	done.Rollback = !done.Same && slices.ContainsFunc(before, func(g governor) bool { return g.hash == d.PolicyHash })
	switch {
	case !ok:
		return done, ledger.ErrNotFound
	case key.Revoked != 0:
		return done, ledger.ErrKeyRevoked
	case n.stopped(key):
		return done, ledger.ErrHalted
	case operators.Replaced(d.Operator), deployed && operators.Current(key.Operator) != d.Operator:
		return done, ledger.ErrOperator
	case named && !d.Named && !done.Same:
		return done, ledger.ErrNotNamed
	case serial > 0 && d.Serial <= serial && !done.Same:
		return done, ledger.ErrSerial
	case done.Rollback && d.RefuseRollback:
		return done, ledger.ErrRollback
	case d.MaxStored > 0 && done.Stored > d.MaxStored:
		return done, ledger.ErrStorage
	case d.Activation != nil && done.At >= d.Activation.Expires:
		return done, ledger.ErrExpired
	case usedUp:
		return done, ledger.ErrUsed
	}
	return done, nil
}

// A governor is a policy that governs a key, or did.
type governor struct {
	hash   [32]byte // zeros where none does
	named  bool
	serial uint64
}

// governed returns the policies that governed a key, in order: the default ones, until it deployed one.
func (n *naive) governed(key ledger.ID) (all []governor) {
	var standard *governor
	exists, own := false, false
	for _, e := range n.log {
		switch {
		case e.standard != nil:
			standard = &governor{e.standard.PolicyHash, e.standard.Named, e.standard.Serial}
			if exists && !own {
				all = append(all, *standard)
			}
		case e.key == key && e.created != nil:
			if exists = true; standard != nil {
				all = append(all, *standard)
			}
		case e.key == key && e.deployed != nil:
			own = true
			all = append(all, governor{e.deployed.PolicyHash, e.deployed.Named, e.deployed.Serial})
		}
	}
	return all
}

// bound returns whether one of some policies names keys, and their highest serial.
func bound(all []governor) (named bool, serial uint64) {
	for _, g := range all {
		if g.hash != [32]byte{} {
			named, serial = named || g.named, max(serial, g.serial)
		}
	}
	return named, serial
}

// bindDefault returns what binding a default policy must come to.
func (n *naive) bindDefault(d *ledger.DefaultPolicy) (done ledger.BoundDefault, err error) {
	var all []governor
	var last, latest [32]byte
	for _, e := range n.log {
		if e.standard == nil {
			continue
		}
		if last = e.standard.PolicyHash; last != [32]byte{} {
			latest = last
			all = append(all, governor{last, e.standard.Named, e.standard.Serial})
		}
	}
	named, serial := bound(all)
	had := slices.ContainsFunc(all, func(g governor) bool { return g.hash == d.PolicyHash })
	switch none := d.PolicyHash == [32]byte{}; {
	case d.PolicyHash == last:
		done.Same = true
	case none || d.PolicyHash == latest: // no policy, or the one before there was none
	case serial > 0 && d.Serial <= serial:
		return done, ledger.ErrSerial
	default:
		done.Rollback, done.Unnamed = had, named && !d.Named
	}
	return done, nil
}

// replacedDefault reports whether the default policy is another one than that of hash. Zeros and a log without any name none.
func (n *naive) replacedDefault(hash [32]byte) (replaced bool) {
	for _, e := range n.log {
		if e.standard != nil {
			replaced = hash != [32]byte{} && e.standard.PolicyHash != hash
		}
	}
	return replaced
}

// replayed returns the record of the decision that a plan asks for again, 0 where there is none. It is open whether the ledger
// repeats one that had expired when a later one was made: it may have forgotten it before the clock was put back.
func (n *naive) replayed(p *ledger.Plan) (lsn uint64, open bool) {
	if p.Replay == nil || p.TestRun {
		return 0, false
	}
	standard, own, latest := 0, false, int64(0)
	for i, e := range n.log {
		if e.again != nil {
			latest = max(latest, e.again.Replay.Expires-int64(ledger.ReplayLife))
		}
		switch {
		case e.standard != nil:
			standard = i + 1
		case e.key == p.Key && e.deployed != nil:
			own = true
		case e.key == p.Key && e.again != nil && e.again.Replay.ID == p.Replay.ID:
			lsn, latest = uint64(i+1), 0
		}
	}
	if lsn == 0 {
		return 0, false
	}
	first := n.log[lsn-1]
	issued := first.again.Replay.Expires - int64(ledger.ReplayLife)
	key, _, _ := n.key(p.Key)
	last := max(n.frozen().Last, key.Halt.Last)
	switch {
	case p.At >= first.again.Replay.Expires || p.At < issued:
		return 0, false
	case first.epoch != p.Epoch || !own && int(lsn) < standard, last > 0 && issued <= last:
		return 0, false
	}
	return lsn, latest >= first.again.Replay.Expires
}

// use returns what using an attestation must come to.
func (n *naive) use(u *ledger.Use) (now int64, err error) {
	key, now, ok := n.key(u.Key)
	now = max(now, u.At)
	switch {
	case !ok || key.Revoked != 0:
		return now, ledger.ErrKeyRevoked
	case n.stopped(key), u.Issued <= max(n.frozen().Last, key.Halt.Last) && max(n.frozen().Last, key.Halt.Last) > 0:
		return now, ledger.ErrHalted
	case key.Epoch != u.Epoch || n.replacedDefault(u.Default):
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
		for i := range hooks {
			if hooks[i].ID == e.enabled {
				hooks[i].Disabled = 0
			}
		}
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
		switch given := !r.Delivered && r.Next == 0; {
		case hooks[i].ID != r.Webhook:
		case r.Disable:
			hooks[i].Disabled = now
		case given && slices.ContainsFunc(waiting, func(d naiveDelivery) bool { return d.hook == r.Webhook && d.lsn == r.LSN }):
			hooks[i].Dropped++
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
