package ledgertest

import (
	"math/big"
	"slices"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// A naive is the ledger as simple as can be: the list of all that was recorded. Every question is answered by going
// through all of it, with big integers and calendar time. It shares no code with the ledgers.
type naive struct {
	log    []entry
	groups int // the most live groups of a key
}

// An entry is one record.
type entry struct {
	key     ledger.ID
	now     int64
	testRun bool
	allowed bool
	seen    []addition // what was reported, whatever came of it
	adds    []addition
	roomy   map[ledger.Counter]bool // of the counters that it advances, those that may make room later
	forgot  []ledger.Counter        // made room
	opened  *naiveHold
	used    ledger.ID // hold
	settled ledger.ID // hold
	allow   bool
	created *ledger.Key
	revoked bool

	topic    ledger.Topics // what webhooks are told
	changed  *ledger.KeyChange
	deployed *ledger.Deployment
	rollback bool      // what was deployed had governed the key before, and another policy since
	token    ledger.ID // that was used
	expired  ledger.ID // hold
	hooked   *ledger.Webhook
	unhooked ledger.ID
	enabled  ledger.ID // a webhook
	attempt  *ledger.DeliveryResult
	again    *ledger.ReplayedDecision // an ALLOWED that can be asked for again
	epoch    uint64                   // of the key then
	standard *ledger.DefaultPolicy    // that is in force from then on
	pins     *pinsEntry
	halt     *ledger.Halt // of the key, or of the service where there is none
	rotation *ledger.Rotation
}

// rides reports whether nobody waits for an entry's record.
func (e *entry) rides() bool { return e.testRun || e.attempt != nil && !e.attempt.Disable }

// An addition adds to a counter, or raises it to the value.
type addition struct {
	counter ledger.Counter
	value   *big.Int
	raises  bool
}

// to returns what a total becomes.
func (a addition) to(total *big.Int) *big.Int {
	switch {
	case !a.raises:
		return new(big.Int).Add(total, a.value)
	case a.value.Cmp(total) > 0:
		return new(big.Int).Set(a.value)
	}
	return total
}

type naiveHold struct {
	id             ledger.ID
	intent, policy [32]byte
	fee            ledger.Fee
	expires        int64
	state          ledger.HoldState
}

// key returns a key and its time as the log has them.
func (n *naive) key(id ledger.ID) (key ledger.Key, now int64, ok bool) {
	for i, e := range n.log {
		if e.key != id || e.rides() {
			continue
		}
		now = e.now
		if e.changed != nil {
			key.Tier, key.Scopes = e.changed.Tier, e.changed.Scopes
		}
		if d := e.deployed; d != nil {
			key.Epoch, key.Operator, key.PolicyHash, key.PolicyLSN = key.Epoch+1, d.Operator, d.PolicyHash, uint64(i+1)
		}
		if e.created != nil {
			key, ok = *e.created, true
			key.Epoch = 1
		}
		if e.halt != nil {
			key.Epoch, key.Halt = key.Epoch+1, applyHalt(key.Halt, &e)
		}
		if e.revoked {
			key.Epoch, key.Revoked = key.Epoch+1, e.now
		}
	}
	return key, now, ok
}

// applyHalt returns a halt's state after an entry.
func applyHalt(state ledger.HaltState, e *entry) ledger.HaltState {
	state.Reason, state.Since = e.halt.Reason, 0
	if e.halt.Stop {
		state.Since, state.Last = e.now, e.now
	}
	if e.halt.Signed != nil {
		state.Serial = e.halt.Signed.Serial
	}
	return state
}

// operators returns the operator's keys.
func (n *naive) operators() (all ledger.Operators) {
	for i := range n.log {
		if q := n.log[i].rotation; q != nil {
			all.Keys = append(append(all.Keys[:max(len(all.Keys)-1, 0)], q.From), q.To)
			if q.Signed != nil {
				all.Serial = q.Signed.Serial
			}
		}
	}
	return all
}

// frozen returns how far the service is stopped.
func (n *naive) frozen() (state ledger.HaltState) {
	for i := range n.log {
		if e := &n.log[i]; e.halt != nil && e.key.IsZero() {
			state = applyHalt(state, e)
		}
	}
	return state
}

// stopped reports whether nothing may be done for a key.
func (n *naive) stopped(key ledger.Key) bool {
	frozen := n.frozen()
	return frozen.Stopped() || key.Halt.Stopped()
}

// counter adds up what was added in the window that holds now.
func (n *naive) counter(key ledger.ID, c ledger.Counter, now int64) *big.Int {
	total := new(big.Int)
	var last int64
	for _, e := range n.log {
		if e.key == key && slices.Contains(e.forgot, c) { // if its plan names the group, it did not advance it
			total, last = new(big.Int), 0
			continue
		}
		for _, a := range slices.Concat(e.seen, e.adds) {
			if e.key != key || a.counter != c {
				continue
			}
			if !sameWindow(c.Window, last, e.now) {
				total = new(big.Int)
			}
			if next := a.to(total); next.Cmp(total) != 0 {
				total, last = next, e.now
			}
		}
	}
	if !sameWindow(c.Window, last, now) {
		total.SetInt64(0)
	}
	return total
}

func sameWindow(w ledger.Window, last, now int64) bool {
	a, b := time.Unix(0, last).UTC(), time.Unix(0, now).UTC()
	switch w {
	case ledger.Hour:
		return a.Format("2006-01-02T15") == b.Format("2006-01-02T15")
	case ledger.Day:
		return a.Format(time.DateOnly) == b.Format(time.DateOnly)
	}
	forgotten := a.Add(ledger.TaskIdle)
	if whole := forgotten.Truncate(time.Hour); whole != forgotten {
		forgotten = whole.Add(time.Hour)
	}
	return b.Before(forgotten)
}

// holds returns the unexpired holds of key, in order.
func (n *naive) holds(key ledger.ID, now int64) []naiveHold {
	var holds []naiveHold
	for _, e := range n.log {
		if e.key != key {
			continue
		}
		if e.opened != nil {
			holds = append(holds, *e.opened)
		}
		for i := range holds {
			switch {
			case holds[i].id == e.used:
				holds[i].state = ledger.HoldUsed
			case holds[i].id == e.settled && e.allow:
				holds[i].state = ledger.HoldAllowed
			case holds[i].id == e.settled:
				holds[i].state = ledger.HoldRefused
			}
		}
	}
	return slices.DeleteFunc(holds, func(h naiveHold) bool { return h.expires <= now })
}

// usage counts the ALLOWED decisions of the month that holds now.
func (n *naive) usage(key ledger.ID, now int64) (count uint64) {
	month := time.Unix(0, now).UTC().Format("2006-01")
	for _, e := range n.log {
		if e.key == key && e.allowed && time.Unix(0, e.now).UTC().Format("2006-01") == month {
			count++
		}
	}
	return count
}

// decide returns what a plan must come to, and the entry that must be recorded, if one must. Where it is open whether an earlier decision
// is repeated, repeat says so.
func (n *naive) decide(p *ledger.Plan, repeat bool) (ledger.Outcome, *entry) {
	out := ledger.Outcome{Reservation: -1}
	key, now, ok := n.key(p.Key)
	if !ok || key.Revoked != 0 {
		out.Result = ledger.KeyRevoked
		return out, nil
	}
	now = max(now, p.At)
	out.Now = now
	if n.stopped(key) {
		out.Result = ledger.Halted
		return out, nil
	}
	if p.Epoch != key.Epoch || n.replacedDefault(p.Default) {
		out.Result = ledger.Stale
		return out, nil
	}
	if lsn, open := n.replayed(p); lsn > 0 && (repeat || !open) {
		out.Result, out.LSN = ledger.Replayed, lsn
		return out, nil
	}
	e := &entry{key: p.Key, now: now, roomy: map[ledger.Counter]bool{}}
	n.see(p, e)
	out.Result, out.Ending = ledger.Passed, p.Pass
	if p.Hold == nil || n.decideHold(p, &out, e) {
		n.decideReservations(p, &out, e)
	}
	if p.Observe && out.Decision == ledger.Denied {
		out.Decision, out.Observed = ledger.Allowed, true
	}
	if out.Decision == ledger.Allowed {
		if p.Quota > 0 && n.usage(p.Key, now) >= p.Quota {
			return ledger.Outcome{Result: ledger.QuotaExceeded, Reservation: -1, Now: now}, nil
		}
		e.allowed = true
		if p.Replay != nil {
			e.epoch = p.Epoch
			e.again = &ledger.ReplayedDecision{Result: out.Result, Ending: out.Ending, Observed: out.Observed, Now: now, Replay: *p.Replay}
		}
	}
	if out.Result != ledger.Passed {
		e.adds, e.used = nil, ledger.ID{}
	}
	n.makeRoom(e)
	e.topic = topicOf(out.Decision)
	if p.TestRun {
		if out.HoldOpened {
			out.Hold, out.HoldExpires, out.HoldOpened = ledger.ID{}, 0, false
		}
		e = &entry{key: p.Key, now: now, testRun: true}
	}
	return out, e
}

// see adds what a plan reports to its entry, as far as there is room for it.
func (n *naive) see(p *ledger.Plan, e *entry) {
	for _, s := range p.Seen {
		value := number(s.Value)
		sum := new(big.Int)
		for _, part := range s.Parts {
			sum.Add(sum, n.after(p.Key, part, e))
		}
		if sum.Cmp(value) > 0 {
			value = sum
		}
		a := addition{s.Counter, value, true}
		if n.fits(p, e, a) {
			e.seen = append(e.seen, a)
		}
	}
}

// decideHold reports whether the plan goes on.
func (n *naive) decideHold(p *ledger.Plan, out *ledger.Outcome, e *entry) bool {
	var latest *naiveHold
	for _, h := range n.holds(p.Key, e.now) {
		if h.intent == p.Hold.IntentHash && h.policy == p.Hold.PolicyHash && h.state != ledger.HoldUsed && coversFee(h.fee, p.Hold.Fee) {
			if latest == nil || latest.state != ledger.HoldAllowed || h.state == ledger.HoldAllowed {
				latest = &h
			}
		}
	}
	if latest == nil {
		lifetime := p.Hold.Lifetime
		if lifetime == 0 {
			lifetime = ledger.HoldLifetime
		}
		e.opened = &naiveHold{p.Hold.Candidate, p.Hold.IntentHash, p.Hold.PolicyHash, p.Hold.Fee, e.now + int64(lifetime), ledger.HoldPending}
		out.Result, out.Ending, out.Hold, out.HoldExpires, out.HoldOpened = ledger.Held, p.Hold.Pending, e.opened.id, e.opened.expires, true
		return false
	}
	out.Hold, out.HoldExpires = latest.id, latest.expires
	switch latest.state {
	case ledger.HoldPending:
		out.Result, out.Ending = ledger.Held, p.Hold.Pending
	case ledger.HoldRefused:
		out.Result, out.Ending = ledger.HoldDenied, p.Hold.Denied
	default:
		e.used = latest.id
	}
	return latest.state == ledger.HoldAllowed
}

// coversFee says again when an approval of one fee is one of another.
func coversFee(approved, asked ledger.Fee) bool {
	if !approved.Declared || !asked.Declared {
		return !approved.Declared && !asked.Declared
	}
	return number(asked.Amount).Cmp(number(approved.Amount)) <= 0
}

// after returns how far a counter has come with what an entry adds.
func (n *naive) after(key ledger.ID, c ledger.Counter, e *entry) *big.Int {
	used := n.counter(key, c, e.now)
	for _, a := range slices.Concat(e.seen, e.adds) {
		if a.counter == c {
			used = a.to(used)
		}
	}
	return used
}

func (n *naive) decideReservations(p *ledger.Plan, out *ledger.Outcome, e *entry) {
	for i, r := range p.Reservations {
		used := n.after(p.Key, r.Counter, e)
		if r.Unseen != "" && used.Sign() == 0 {
			out.Result, out.Reservation = ledger.Refused, i
			out.Ending = ledger.Ending{Decision: ledger.Denied, Code: r.Unseen, Rule: r.Rule}
			return
		}
		step := addition{r.Counter, big.NewInt(1), r.Op == ledger.Max}
		if r.Op != ledger.Count {
			step.value = number(r.Amount)
		}
		full := step.to(used).Cmp(number(r.Limit)) >= 0
		roomy, judged := e.roomy[r.Counter]
		e.roomy[r.Counter] = !full && (roomy || !judged)
		if step.to(used).Cmp(number(r.Limit)) > 0 {
			out.Result, out.Reservation = ledger.Refused, i
			out.Ending = ledger.Ending{Decision: ledger.Denied, Code: r.Code, Rule: r.Rule}
			out.Used = amount.FromUint64(used.Uint64())
			return
		}
		if !n.fits(p, e, step) {
			out.Result, out.Reservation, out.Used = ledger.RefusedGroups, i, amount.FromUint64(used.Uint64())
			out.Ending = ledger.Ending{Decision: ledger.Denied, Code: p.TooManyGroups, Rule: r.Rule}
			return
		}
		e.adds = append(e.adds, step)
	}
}

func number(a amount.Amount) *big.Int {
	b := a.Bytes32()
	return new(big.Int).SetBytes(b[:])
}
