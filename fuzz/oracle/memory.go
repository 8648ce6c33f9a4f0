package oracle

import (
	"math/big"
	"time"

	"bailiff/vm/errcode"
)

// A Memory is what the service remembers of one API key, as simply as can be: maps of big integers, and a list of holds.
// A decision with a history is [Policy.Judge] and then [Memory.Decide]. The zero value remembers nothing. It is for one
// goroutine.
type Memory struct {
	counters map[counterName]counted
	usage    map[string]Usage // by task
	holds    []*Hold
}

// A counterName is what a counter is known by: "key, limit, window, group". The key is the Memory's.
type counterName struct{ limit, window, group string }

// A counted is a total and the hour or day that it is of; a task's has no end here.
type counted struct {
	total  *big.Int
	period int64
}

// A Hold is an intent that waits for the operator, or that the operator has decided.
type Hold struct {
	ID      string // as the service names it; the caller fills it in
	State   string // Pending, Allowed, Denied, or Used
	Expires time.Time

	intent, policy string
	fee            *big.Int // nil where none was declared
}

// Used is the state of an allowed hold whose approval was spent. On the wire it is still ALLOWED.
const Used = "USED"

// HoldLifetime is for how long a hold is open: "for 24 hours".
const HoldLifetime = 24 * time.Hour

// A Decision is a verdict after counters and holds were asked.
type Decision struct {
	Status     string
	Code, Rule string
	Hold       *Hold // that was opened, found or spent; nil for none
	Opened     bool  // the hold is a new one
	Spent      bool  // the hold's approval was spent
}

// Decide says what an authorize with this verdict is answered at a time, and remembers it. intentHash and policyHash are
// what a hold is found again by.
func (m *Memory) Decide(v *Verdict, intentHash, policyHash string, now time.Time) Decision {
	return m.decide(v, intentHash, policyHash, now, true)
}

// TestRun is Decide without any effect: "It reads counters, usage and holds as they are, and judges a `model_usage` that it
// is sent."
func (m *Memory) TestRun(v *Verdict, intentHash, policyHash string, now time.Time) Decision {
	return m.decide(v, intentHash, policyHash, now, false)
}

func (m *Memory) decide(v *Verdict, intentHash, policyHash string, now time.Time, lasting bool) Decision {
	if v.Status == Error {
		return Decision{Status: Error, Code: v.Code}
	}
	usage := m.usage[v.Task].with(v.Usage)
	if lasting && v.Task != "" { // "whatever the decision"
		if m.usage == nil {
			m.usage = map[string]Usage{}
		}
		m.usage[v.Task] = usage
	}
	d := Decision{Status: v.Status, Code: v.Code, Rule: v.Rule}
	if v.Status == Denied {
		return d
	}
	if v.Status == Pending {
		d.Hold = m.find(intentHash, policyHash, v.Fee, now)
		switch {
		case d.Hold == nil:
			if lasting {
				d.Opened = true
				d.Hold = &Hold{State: Pending, Expires: now.Add(HoldLifetime), intent: intentHash, policy: policyHash, fee: v.Fee}
				m.holds = append(m.holds, d.Hold)
			}
			return d
		case d.Hold.State == Pending:
			return d
		case d.Hold.State == Denied:
			d.Status, d.Code = Denied, string(errcode.HoldDenied)
			return d
		}
	}
	added, refused := m.reserve(v.Reservations, usage, now)
	if refused != nil {
		return Decision{Status: Denied, Code: refused.Code, Rule: refused.Rule, Hold: d.Hold}
	}
	d.Status, d.Code, d.Rule = Allowed, "", ""
	if d.Spent = d.Hold != nil; d.Spent && lasting {
		d.Hold.State = Used
	}
	if lasting {
		if m.counters == nil {
			m.counters = map[counterName]counted{}
		}
		for name, total := range added {
			m.counters[name] = total
		}
	}
	return d
}

// find returns "the latest that an operator has allowed, or, where there is none, the latest" of the holds that cover the fee
// and are neither spent nor expired.
func (m *Memory) find(intentHash, policyHash string, fee *big.Int, now time.Time) (found *Hold) {
	for _, h := range m.holds {
		switch {
		case h.intent != intentHash || h.policy != policyHash || h.State == Used || !h.Expires.After(now) || !covers(h.fee, fee):
		case found == nil || found.State != Allowed || h.State == Allowed:
			found = h
		}
	}
	return found
}

// covers: "its approval covers that fee or a lower one", and none covers none.
func covers(approved, asked *big.Int) bool {
	if approved == nil || asked == nil {
		return approved == nil && asked == nil
	}
	return asked.Cmp(approved) <= 0
}

// reserve returns what the counters become, or the first reservation that does not fit.
func (m *Memory) reserve(plan []Reservation, usage Usage, now time.Time) (added map[counterName]counted, refused *Reservation) {
	added = map[counterName]counted{}
	for i := range plan {
		r := &plan[i]
		if r.Op == top {
			if refused := r.judgeUsage(usage); refused != nil {
				return nil, refused
			}
			continue
		}
		name, period := counterName{r.Counter, r.Window, r.Group}, periodOf(r.Window, now)
		before, planned := added[name]
		if !planned {
			before = m.counters[name]
		}
		total := new(big.Int).Set(r.Amount)
		if before.total != nil && before.period == period {
			total.Add(total, before.total)
		}
		if total.Cmp(r.Limit) > 0 {
			return nil, r
		}
		added[name] = counted{total, period}
	}
	return added, nil
}

// judgeUsage judges a budget by "the highest usage that any valid authorize of the task reported".
func (r *Reservation) judgeUsage(usage Usage) (refused *Reservation) {
	seen := usage.tokens()
	if r.Counter == spendBudget {
		seen = usage.Spend
	}
	switch {
	case r.Amount == nil && (seen == nil || seen.Sign() == 0):
		unseen := *r
		unseen.Code = string(errcode.ModelUsage)
		return &unseen
	case seen != nil && seen.Cmp(r.Limit) > 0:
		return r
	}
	return nil
}

// periodOf numbers hours and days, which "are those of UTC".
func periodOf(window string, now time.Time) int64 {
	switch window {
	case hour:
		return now.Unix() / 3600
	case day:
		return now.Unix() / 86400
	}
	return 0
}

// Limit is a counter as `GET /v1/limits` shows it, for a reservation that was made.
func (m *Memory) Limit(r *Reservation, now time.Time) *big.Int {
	before := m.counters[counterName{r.Counter, r.Window, r.Group}]
	if before.total == nil || before.period != periodOf(r.Window, now) {
		return new(big.Int)
	}
	return before.total
}
