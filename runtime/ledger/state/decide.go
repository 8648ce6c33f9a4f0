package state

import (
	"fmt"

	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// Decide judges a plan and fills in the record of its effects; where there is nothing to record r.Kind is NoRecord. It
// changes nothing but r. An error says that no ledger would decide p, and wraps ledger.ErrInvalid.
//
// The order is: key, halts, epoch, default policy, replay, sightings, hold, reservations, quota. The step's time is the plan's or the key's, whichever is later.
func (s *State) Decide(p *ledger.Plan, r *Record) (ledger.Outcome, error) {
	r.reset()
	out := ledger.Outcome{Reservation: -1}
	if err := p.Validate(); err != nil {
		return out, err
	}
	k := s.keys[p.Key]
	if k == nil || k.key.Revoked != 0 {
		out.Result = ledger.KeyRevoked
		return out, nil
	}
	out.Now = max(k.now, p.At)
	if p.Malformed {
		r.Kind, r.Key, r.Now, r.Plan, r.Ending, r.Event = ledger.RequestMalformed, p.Key, out.Now, p.ID, ledger.Ending{Code: p.Pass.Code}, p.Event
		r.Event.Value, r.Event.Detail = ledger.Clip(p.Event.Value), ledger.Clip(p.Event.Detail)
		return out, nil
	}
	if s.stops(k) {
		out.Result = ledger.Halted
		return out, nil
	}
	if p.Epoch != k.key.Epoch || s.replacedDefault(p.Default) {
		out.Result = ledger.Stale
		return out, nil
	}
	if lsn, found := s.findReplay(k, p); found {
		out.Result, out.LSN = ledger.Replayed, lsn
		return out, nil
	}
	if p.Hold != nil {
		if _, taken := k.holds.byID[p.Hold.Candidate]; taken {
			return out, fmt.Errorf("%w: hold %s exists already", ledger.ErrInvalid, p.Hold.Candidate)
		}
	}
	s.judge(k, p, &out, r)
	s.conclude(k, p, &out, r)
	return out, nil
}

// judge finds the result and its ending.
func (s *State) judge(k *keyState, p *ledger.Plan, out *ledger.Outcome, r *Record) {
	s.roomKnown = false
	s.see(k, p, out.Now, r)
	seen := len(r.Counters)
	out.Result, out.Ending = ledger.Passed, p.Pass
	if p.Hold != nil && !k.judgeHold(p.Hold, out, r) {
		return
	}
	for i := range p.Reservations {
		if !s.reserve(k, p, i, out, r) {
			r.Counters = r.Counters[:seen] // what was seen stays seen
			return
		}
	}
}

// see raises the counters of what the request reports, as far as the key has room for them.
func (s *State) see(k *keyState, p *ledger.Plan, now int64, r *Record) {
	for i := range p.Seen {
		counter := p.Seen[i].Counter.Bounded()
		id := s.identify(counter)
		value := larger(p.Seen[i].Value, s.sum(k, p.Seen[i].Parts, now, r))
		if value.Cmp(k.counters.value(id, now)) <= 0 {
			continue
		}
		if effect := r.effectOn(id); effect != nil {
			effect.Value = larger(effect.Value, value)
		} else if k.counters.has(id, now) || s.takeRoom(k, p, now) {
			r.Counters = append(r.Counters, CounterEffect{Counter: counter, Value: value, id: id})
		}
	}
}

// sum adds up what counters are by now, those included that the plan has raised.
func (s *State) sum(k *keyState, counters []ledger.Counter, now int64, r *Record) (sum amount.Amount) {
	for _, counter := range counters {
		id := s.identify(counter.Bounded())
		value := k.counters.value(id, now)
		if effect := r.effectOn(id); effect != nil {
			value = effect.Value
		}
		more, overflow := sum.Add(value)
		if overflow {
			return ledger.UsedUp
		}
		sum = more
	}
	return sum
}

// judgeHold reports whether the plan may go on: an operator has allowed the hold.
func (k *keyState) judgeHold(q *ledger.HoldRequest, out *ledger.Outcome, r *Record) bool {
	id, h, found := k.holds.find(holdIntent{q.IntentHash, q.PolicyHash}, q.Fee, out.Now)
	if !found {
		k.openHold(q, out, r)
		return false
	}
	out.Hold, out.HoldExpires = id, h.expires
	r.Hold = HoldEffect{Action: HoldFound, ID: id}
	switch h.state {
	case ledger.HoldPending:
		out.Result, out.Ending = ledger.Held, q.Pending
		return false
	case ledger.HoldAllowed:
		r.Hold.Action = HoldUsedUp
		return true
	}
	out.Result, out.Ending = ledger.HoldDenied, q.Denied
	return false
}

// openHold opens the candidate, where the key may have one more.
func (k *keyState) openHold(q *ledger.HoldRequest, out *ledger.Outcome, r *Record) {
	if k.holds.open(out.Now) >= ledger.MaxOpenHolds {
		out.Result, out.Ending = ledger.TooManyHolds, ledger.Ending{}
		return
	}
	lifetime := q.Lifetime
	if lifetime == 0 {
		lifetime = ledger.HoldLifetime
	}
	out.Result, out.Ending = ledger.Held, q.Pending
	out.Hold, out.HoldExpires, out.HoldOpened = q.Candidate, out.Now+int64(lifetime), true
	r.Hold = HoldEffect{
		Action: HoldOpened, ID: q.Candidate, Version: ledger.IntentHashVersion, Expires: out.HoldExpires,
		IntentHash: q.IntentHash, PolicyHash: q.PolicyHash,
		Method: q.Method, AgentID: q.AgentID, PolicyVersion: q.PolicyVersion, Intent: q.Intent, AmountSent: q.AmountSent, Fee: q.Fee,
	}
}

// reserve judges one reservation on top of those before it, and reports whether it fits.
func (s *State) reserve(k *keyState, p *ledger.Plan, i int, out *ledger.Outcome, r *Record) bool {
	q := &p.Reservations[i]
	counter := q.Counter.Bounded()
	id := s.identify(counter)
	effect := r.effectOn(id)
	used := s.used(k, counter, id, out.Now)
	if effect != nil {
		used = effect.Value
	}
	if q.Unseen != "" && effect == nil && !k.counters.has(id, out.Now) {
		refuse(out, ledger.Refused, i, used, ledger.Ending{Decision: ledger.Denied, Code: q.Unseen, Rule: q.Rule})
		return false
	}
	value, fits := next(q, used)
	if used == ledger.UsedUp { // which says nothing to a reader
		used = q.Limit
	}
	if effect != nil {
		effect.judged(value, q.Limit)
	}
	if !fits {
		refuse(out, ledger.Refused, i, used, ledger.Ending{Decision: ledger.Denied, Code: q.Code, Rule: q.Rule})
		return false
	}
	if value == used { // a sum of nothing advances nothing
		return true
	}
	if effect != nil {
		effect.Value = value
		return true
	}
	if !k.counters.has(id, out.Now) && !s.takeRoom(k, p, out.Now) {
		refuse(out, ledger.RefusedGroups, i, used, ledger.Ending{Decision: ledger.Denied, Code: p.TooManyGroups, Rule: q.Rule})
		return false
	}
	r.Counters = append(r.Counters, CounterEffect{Counter: counter, Value: value, id: id})
	r.Counters[len(r.Counters)-1].judged(value, q.Limit)
	return true
}

// judged notes whether a limit leaves the counter room at a value. One that any limit leaves none is used up.
func (e *CounterEffect) judged(value, limit amount.Amount) {
	used := value.Cmp(limit) >= 0
	e.usedUp = e.usedUp || used
	e.Room = e.Counter.Window == ledger.Task && !e.usedUp
}

// effectOn returns the effect that an earlier reservation of the same plan has on a counter.
func (r *Record) effectOn(id counterID) *CounterEffect {
	for i := range r.Counters {
		if r.Counters[i].id == id {
			return &r.Counters[i]
		}
	}
	return nil
}

// next returns the value after a reservation, and whether the limit allows it.
func next(q *ledger.Reservation, used amount.Amount) (value amount.Amount, fits bool) {
	if q.Op == ledger.Max {
		value = larger(used, q.Amount)
		return value, value.Cmp(q.Limit) <= 0
	}
	step := q.Amount
	if q.Op == ledger.Count {
		step = amount.FromUint64(1)
	}
	value, overflow := used.Add(step)
	return value, !overflow && value.Cmp(q.Limit) <= 0
}

func larger(a, b amount.Amount) amount.Amount {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

func refuse(out *ledger.Outcome, result ledger.Result, i int, used amount.Amount, ending ledger.Ending) {
	out.Result, out.Reservation, out.Used, out.Ending = result, i, used, ending
}

// conclude turns what the plan observes, judges the quota, and fills in what all records have.
func (s *State) conclude(k *keyState, p *ledger.Plan, out *ledger.Outcome, r *Record) {
	if out.Decision == ledger.Denied && p.Observe {
		out.Decision, out.Observed = ledger.Allowed, true
	}
	if out.Decision == ledger.Allowed && !k.countUsage(p.Quota, out.Now, r) {
		*out = ledger.Outcome{Result: ledger.QuotaExceeded, Reservation: -1, Now: out.Now}
	}
	if r.Hold.Action == HoldUsedUp && (out.Result != ledger.Passed || out.Decision != ledger.Allowed) {
		r.Hold.Action = HoldFound // a refusal leaves the hold as it is
	}
	if !out.Result.Recorded() {
		r.reset()
		return
	}
	r.Kind, r.Key, r.Now, r.Plan = ledger.Decided, p.Key, out.Now, p.ID
	r.Result, r.Ending, r.Observed, r.Event = out.Result, out.Ending, out.Observed, p.Event
	r.Event.Value, r.Event.Detail = ledger.Clip(p.Event.Value), ledger.Clip(p.Event.Detail)
	s.makeRoom(k, r)
	if out.Result == ledger.Refused && out.Reservation >= 0 {
		tellRefusal(&r.Event, &p.Reservations[out.Reservation], out, p.HideValue)
	}
	if p.TestRun {
		r.withoutEffects()
		if out.HoldOpened {
			out.Hold, out.HoldExpires, out.HoldOpened = ledger.ID{}, 0, false
		}
		return
	}
	if out.Decision == ledger.Allowed {
		r.Replay = p.Replay
	}
	k.tell(r)
}

// tellRefusal says in an event which limit the intent would exceed, and by what.
func tellRefusal(e *ledger.Event, q *ledger.Reservation, out *ledger.Outcome, hide bool) {
	e.Details = ledger.Details{Line: q.Line}
	if out.Code != q.Code { // for want of a value
		return
	}
	if e.Details.Limit = q.Limit.Format(q.Decimals); !hide {
		e.Value = q.Reached(out.Used).Format(q.Decimals)
	}
}

// countUsage counts one more ALLOWED decision, and reports whether the quota allows it.
func (k *keyState) countUsage(quota uint64, now int64, r *Record) bool {
	month := monthOf(now)
	used := k.usageOf(month)
	if quota > 0 && used >= quota {
		return false
	}
	r.Usage = ledger.Usage{Month: month, Count: used + 1}
	return true
}

// withoutEffects makes the record of a decision one of a test-run.
func (r *Record) withoutEffects() {
	r.Kind, r.Ending.Decision = ledger.Simulated, ledger.TestRun
	r.Counters, r.Forgets, r.Hold, r.Usage = r.Counters[:0], 0, HoldEffect{}, ledger.Usage{}
}
