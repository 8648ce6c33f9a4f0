package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"bailiff/runtime/ledger"
)

// Checks say how a Checked ledger is watched. All of it is optional.
type Checks struct {
	Groups  int            // the most live counter groups of a key; 0 means ledger.MaxGroups
	Durable func() uint64  // the LSN up to which the disk has the log
	Damaged func() bool    // whether what the disk has was altered, so that reads may find it corrupt
	Go      func(func())   // starts what waits for tickets; nil: the one that waits for a ticket calls Acknowledged
	Reached map[string]int // counts kinds of outcome
	// Elsewhere reports whether an activation may be used by keys of other logs only; nil where there is one log.
	Elsewhere func(activation [32]byte) bool
}

// A Checked is a ledger that holds each step of another one against the naive model when it is taken, and each acknowledgement
// against the disk when it is given. It is for one step at a time: between the call of a step and the moment at which it waits,
// nothing else may call it. The first finding is its Violation.
type Checked struct {
	ledger.Ledger
	checks    Checks
	model     naive
	acked     int // of the model's log, so much is known to be durable
	out       map[naiveRef]bool
	kept      []ledger.DeliveryResult // results that came while the ledger refused
	violation error
	opened    int                  // how often the ledger has been opened
	plans     map[ledger.ID]uint64 // their records
	reread    bool                 // its log was opened again, with so many records, which the model has to learn
	records   int
}

// Check returns a ledger that is held against the model of an empty one.
func Check(l ledger.Ledger, checks Checks) *Checked {
	if checks.Groups == 0 {
		checks.Groups = ledger.MaxGroups
	}
	if checks.Reached == nil {
		checks.Reached = map[string]int{}
	}
	return &Checked{Ledger: l, checks: checks, model: naive{groups: checks.Groups}, out: map[naiveRef]bool{}, plans: map[ledger.ID]uint64{}}
}

// Violation returns the first finding, nil while all is well.
func (c *Checked) Violation() error { return c.violation }

func (c *Checked) violate(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if c.violation == nil {
		c.violation = err
	}
	return err
}

// Acknowledged returns how many records are known to be durable, because a caller was told.
func (c *Checked) Acknowledged() int { return c.acked }

// Recorded returns how many records there are, durable or not.
func (c *Checked) Recorded() int { return len(c.model.log) }

// Restarted has another ledger continue the log, after the one before was closed or has crashed. It returns the problem with the records that
// survived. Calls of the one before that return later are not looked at any more. start is as in Checks.
func (c *Checked) Restarted(l ledger.Ledger, start func(func())) error {
	if err := c.follow(); err != nil {
		return err
	}
	c.Ledger, c.kept, c.checks.Go = l, nil, start
	c.opened++
	clear(c.out)
	head, err := c.Ledger.Head(context.Background())
	if err != nil {
		return c.violate("reading the end of the log: %w", err)
	}
	return c.survive(int(head.LSN))
}

// Crashed says that no caller gets an answer of the ledger from now on.
func (c *Checked) Crashed() { c.opened++ }

// Reread says that the ledger reads its log again, having failed, and that the log has records up to head. The ledger refuses
// until it has read them. Then it records the results that it has kept, even if it is closed before the next call.
func (c *Checked) Reread(head uint64) { c.reread, c.records = true, int(head) }

// follow has the model do what the ledger does when it has read its log again.
func (c *Checked) follow() error {
	if !c.reread {
		return nil
	}
	c.reread = false
	if err := c.survive(c.records); err != nil {
		return err
	}
	c.settleKept()
	return nil
}

// survive takes over so many records, which survived.
func (c *Checked) survive(survived int) error {
	if survived < c.acked || survived > len(c.model.log) {
		return c.violate("%d records survived of %d, of which %d were acknowledged", survived, len(c.model.log), c.acked)
	}
	if survived < len(c.model.log) {
		c.checks.Reached["lost by a crash"]++
	} else if c.acked < survived {
		c.checks.Reached["kept by a crash"]++
	}
	c.model.log, c.acked = c.model.log[:survived], survived
	return nil
}

// refuses reports whether the ledger refuses everything now. Where it has read its log again, the model follows first.
func (c *Checked) refuses() bool {
	if c.Ledger.Health() != nil {
		return true
	}
	_ = c.follow() // which is a violation
	return false
}

// away reports whether an error says that the ledger does not work.
func away(err error) bool {
	return errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrUnknown) || errors.Is(err, ledger.ErrClosed)
}

// take takes one of the rarer steps: it is to come to want or, where that is nil, to append entries to the log. also are other
// errors that are as right as want.
func (c *Checked) take(what string, want error, entries []entry, call func() error, also ...error) error {
	refuses, opened := c.refuses(), c.opened
	if !refuses && want == nil {
		c.model.log = append(c.model.log, entries...)
	}
	basis, recorded := c.basis(), len(c.model.log)
	err := call()
	isOther := slices.ContainsFunc(also, func(a error) bool { return errors.Is(err, a) })
	switch {
	case opened != c.opened:
		return err
	case refuses:
		if !away(err) {
			return c.violate("%s while the ledger refuses: %w", what, err)
		}
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded): // its record may be durable later
		return err
	case err != nil && away(err):
		if c.Ledger.Health() == nil && !c.reread {
			return c.violate("%s failed on a ledger that works: %w", what, err)
		}
		return err
	case want == nil && isOther && len(c.model.log) == recorded:
		c.model.log = c.model.log[:recorded-len(entries)]
		return err
	case want == nil && err != nil, !errors.Is(err, want) && !isOther:
		return c.violate("%s: %v, the model says %v", what, err, want)
	}
	c.Acknowledge(what, basis)
	return err
}

// basis returns the last record that somebody may rest on.
func (c *Checked) basis() int {
	for i := len(c.model.log); i > 0; i-- {
		if !c.model.log[i-1].rides() {
			return i
		}
	}
	return 0
}

// Acknowledge notes that a caller has been told of the log up to a record.
func (c *Checked) Acknowledge(what string, lsn int) {
	if c.checks.Durable != nil && c.checks.Durable() < uint64(lsn) {
		_ = c.violate("%s was acknowledged up to record %d, and the disk has the log up to record %d", what, lsn, c.checks.Durable())
	}
	c.acked = max(c.acked, lsn)
}

// Submit implements ledger.Ledger.
func (c *Checked) Submit(p *ledger.Plan) ledger.Ticket {
	if c.refuses() {
		ticket := c.Ledger.Submit(p)
		if ticket.Outcome().Result != ledger.Unknown {
			_ = c.violate("a ledger that refuses decides %s", ticket.Outcome().Result)
		}
		c.checks.Reached["refused after failure"]++
		return c.relay(ticket, p, 0)
	}
	changed := c.model.changed(p.Key)
	want, e := c.decide(p, true)
	ticket := c.Ledger.Submit(p)
	if ticket.Outcome().Result == ledger.Unknown && c.Ledger.Health() != nil { // it has failed this moment
		if e != nil && !errors.Is(ticket.Wait(context.Background()), ledger.ErrUnknown) { // of another instance, it may be recorded
			c.model.log = c.model.log[:len(c.model.log)-1]
		}
		c.checks.Reached["refused after failure"]++
		return c.relay(ticket, p, 0)
	}
	if want.Result == ledger.Replayed && ticket.Outcome().Result != ledger.Replayed {
		want, e = c.decide(p, false)
	}
	if diff := cmp.Diff(want, ticket.Outcome()); diff != "" {
		_ = c.violate("outcome (-model +ledger):\n%s", diff)
	}
	c.note(ticket.Outcome(), e)
	switch {
	case p.TestRun && want.Result != ledger.Stale && want.Result != ledger.KeyRevoked:
		return c.relay(ticket, p, 0)
	case want.LSN == 0:
		return c.relay(ticket, p, changed)
	}
	return c.relay(ticket, p, int(want.LSN))
}

// decide has the model decide a plan and record it. It repeats an earlier decision where that is open, if repeat is set.
func (c *Checked) decide(p *ledger.Plan, repeat bool) (ledger.Outcome, *entry) {
	want, e := c.model.decide(p, repeat)
	if e != nil {
		c.model.log = append(c.model.log, *e)
		want.LSN = uint64(len(c.model.log))
		c.plans[p.ID] = want.LSN
	}
	return want, e
}

// changed returns the record that has changed a key last, in a way that a refusal rests on.
func (n *naive) changed(key ledger.ID) int {
	for i := len(n.log); i > 0; i-- {
		if e := &n.log[i-1]; e.key == key && (e.created != nil || e.revoked || e.deployed != nil || e.halt != nil) {
			return i
		}
	}
	return 0
}

// relay returns a ticket whose end is held against the disk.
func (c *Checked) relay(t ledger.Ticket, p *ledger.Plan, lsn int) ledger.Ticket {
	if c.checks.Go == nil {
		return t
	}
	opened, refused, id := c.opened, t.Outcome().Result == ledger.Unknown, p.ID
	told := ledger.NewCommitment()
	c.checks.Go(func() {
		err := t.Wait(context.Background())
		switch {
		case opened != c.opened:
		case err == nil && refused:
			_ = c.violate("plan %s is refused, and acknowledged", id)
		case err == nil:
			c.Acknowledge("plan "+id.String(), lsn)
		case !away(err):
			_ = c.violate("waiting for plan %s: %w", id, err)
		}
		told.Settle(err)
	})
	return ledger.NewTicket(t.Outcome(), told, nil)
}

// note counts a kind of outcome.
func (c *Checked) note(o ledger.Outcome, e *entry) {
	c.checks.Reached[o.Result.String()]++
	if o.Observed {
		c.checks.Reached["observed"]++
	}
	if e != nil && !e.used.IsZero() {
		c.checks.Reached["hold used"]++
	}
	if e != nil && len(e.forgot) > 0 {
		c.checks.Reached["made room"]++
	}
}

// Replay implements ledger.Ledger.
func (c *Checked) Replay(ctx context.Context, key ledger.ID, lsn uint64) (ledger.ReplayedDecision, error) {
	opened := c.opened
	got, err := c.Ledger.Replay(ctx, key, lsn)
	if err != nil || opened != c.opened || lsn > uint64(len(c.model.log)) || c.model.log[lsn-1].again == nil {
		return got, err
	}
	if diff := cmp.Diff(*c.model.log[lsn-1].again, got); diff != "" {
		return got, c.violate("replay of %d (-model +ledger):\n%s", lsn, diff)
	}
	return got, nil
}

// CreateKey implements ledger.Ledger.
func (c *Checked) CreateKey(ctx context.Context, key ledger.Key) error {
	var want error
	if slices.ContainsFunc(c.model.log, func(e entry) bool { return e.created != nil && (e.created.ID == key.ID || e.created.Hash == key.Hash) }) {
		want = ledger.ErrKeyExists
	}
	return c.take("CreateKey", want, []entry{{key: key.ID, now: key.Created, created: &key}}, func() error { return c.Ledger.CreateKey(ctx, key) })
}

// known returns a key, the time of its next step at a time, and why it cannot be changed.
func (n *naive) known(id ledger.ID, at int64) (key ledger.Key, now int64, err error) {
	key, now, ok := n.key(id)
	switch {
	case !ok:
		err = ledger.ErrNotFound
	case key.Revoked != 0:
		err = ledger.ErrKeyRevoked
	}
	return key, max(now, at), err
}

// RevokeKey implements ledger.Ledger.
func (c *Checked) RevokeKey(ctx context.Context, id ledger.ID, at int64) (got ledger.Key, err error) {
	c.refuses()
	_, now, want := c.model.known(id, at)
	err = c.take("RevokeKey", want, []entry{{key: id, now: max(now, 1), revoked: true}}, func() (err error) {
		got, err = c.Ledger.RevokeKey(ctx, id, at)
		return err
	})
	return got, err
}

// ChangeKey implements ledger.Ledger.
func (c *Checked) ChangeKey(ctx context.Context, change ledger.KeyChange) (got ledger.Key, err error) {
	c.refuses()
	key, now, want := c.model.known(change.ID, change.At)
	key.Tier, key.Scopes = change.Tier, change.Scopes
	err = c.take("ChangeKey", want, []entry{{key: change.ID, now: now, changed: &change}}, func() (err error) {
		if got, err = c.Ledger.ChangeKey(ctx, change); err == nil && got != key {
			err = fmt.Errorf("%+v, the model says %+v", got, key)
		}
		return err
	})
	return got, err
}

// ResolveHold implements ledger.Ledger. The model knows no approvers.
func (c *Checked) ResolveHold(ctx context.Context, r ledger.Resolution) (got ledger.Hold, err error) {
	c.refuses()
	owner, now, exists := c.model.key(r.Key)
	now = max(now, r.At)
	want := ledger.ErrNotFound
	for _, known := range c.model.holds(r.Key, now) {
		if known.id == r.Hold {
			want = nil
			if known.state != ledger.HoldPending {
				want = ledger.ErrHoldResolved
			}
		}
	}
	if exists && c.model.stopped(owner) {
		want = ledger.ErrHalted
	}
	err = c.take("ResolveHold", want, []entry{{key: r.Key, now: now, settled: r.Hold, allow: r.Allow, topic: ledger.TopicHoldResolved}}, func() (err error) {
		got, err = c.Ledger.ResolveHold(ctx, r)
		return err
	})
	return got, err
}

// due returns the records of the holds that are overdue at a time, of no more than so many.
func (c *Checked) due(at int64, limit int) (entries []entry) {
	due := c.model.overdue(at)
	for _, o := range due[:min(len(due), limit)] {
		_, now, _ := c.model.key(o.key)
		entries = append(entries, entry{key: o.key, now: max(now, at), expired: o.id, topic: ledger.TopicHoldExpired})
	}
	return entries
}

// ExpireHolds implements ledger.Ledger.
func (c *Checked) ExpireHolds(ctx context.Context, at int64, limit int) (n int, err error) {
	c.refuses()
	due := c.due(at, limit)
	basis := 0 // where nothing is due, nothing is waited for
	if len(due) > 0 {
		basis = 1
	}
	if basis == 0 {
		if n, err = c.Ledger.ExpireHolds(ctx, at, limit); n != 0 || err != nil && !away(err) {
			return n, c.violate("ExpireHolds: %d, %v, the model says 0", n, err)
		}
		return n, err
	}
	err = c.take("ExpireHolds", nil, due, func() (err error) {
		if n, err = c.Ledger.ExpireHolds(ctx, at, limit); err == nil && n != len(due) {
			err = fmt.Errorf("%d, the model says %d", n, len(due))
		}
		return err
	})
	if err == nil {
		c.checks.Reached["hold expired"] += n
	}
	return n, err
}
