package decision

import (
	"context"
	"math/bits"
	"slices"
	"strings"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// maxFindings is how many violated rules an explanation lists: more than anybody mends at once, and few enough that
// a large policy cannot make the answer the attack.
const maxFindings = 100

// Explanation is what the rules of a policy made of one intent.
type Explanation struct {
	Violations []Finding        // the violated rules in the order of evaluation, at most maxFindings; never empty on DENIED by a rule
	Omitted    int              // violated rules beyond those
	Holds      []Finding        // the rules that ask for a human decision
	Notes      []Finding        // the rules that the message only mentions
	Limits     []Headroom       // that bind the intent, whether or not a rule denies it
	Change     *Change          // the smallest change of the intent that helps; nil where none is known
	Named      []policies.Place // the rules that the answer itself names: matched_rule and notes
}

// Finding is one rule and what it says of the intent.
type Finding struct {
	Rule    string // section.key
	Code    errcode.Code
	Message string
	Line    int // of the rule in the policy, from 1; 0 where it is not known
	Span    grammar.Span
	Value   string // what the rule is about, at most ledger.MaxEventDetail bytes; empty where it has no text
	Details Details
}

// Place returns where the rule of f is.
func (f *Finding) Place() policies.Place { return policies.Place{Rule: f.Rule, Line: f.Line} }

// oneIntent is the window of a bound that every single intent has to keep.
const oneIntent = "intent"

// Headroom says how much of a limit is left, as the intent found it. A bound on each single intent is a limit of the
// window oneIntent, of which the intent uses its amount. Of a model budget what the intent itself reports is used.
type Headroom struct {
	policies.Place
	Window   string   // hour, day, task, or oneIntent
	Groups   []Group  // what the limit counts by; none where it counts everything
	Missing  []string // of these the intent has no value, so that the use is unknown
	Limit    amount.Amount
	Used     amount.Amount
	Decimals uint8     // the amounts are in 10^-Decimals units
	Unit     string    // for people: ETH, USD, tokens, tool calls…
	Resets   time.Time // when an hour or a day ends; zero for others
}

// Group is one value by which a limit counts apart, cut to ledger.MaxGroupText bytes.
type Group struct{ Name, Value string }

// Left returns what may still be used.
func (h *Headroom) Left() amount.Amount { return minus(h.Limit, h.Used) }

// minus returns a-b, and zero where b is larger.
func minus(a, b amount.Amount) (left amount.Amount) {
	borrow := uint64(0)
	for i := range a {
		left[i], borrow = bits.Sub64(a[i], b[i], borrow)
	}
	if borrow != 0 {
		return amount.Amount{}
	}
	return left
}

// measure reads how far the counters of the policy have come for this intent.
func (a *Decider) measure(ctx context.Context, r *Request) error {
	program := r.policy.Program
	r.limits = r.limits[:0]
	for i := range program.Counters() {
		counter := program.Counter(uint16(i))
		limit := r.headroom(uint16(i), counter)
		if len(limit.Missing) == 0 {
			identity := r.counter(counter)
			used, err := a.usedOf(ctx, r.key.ID, identity, counter.Limit, r.plan.At)
			if err != nil {
				return err
			}
			if limit.Used, err = a.withSeen(ctx, r, identity, used); err != nil {
				return err
			}
		}
		r.limits = append(r.limits, limit)
	}
	return nil
}

// usedOf reads the use of a limit: all of it where the counter is used up.
func (a *Decider) usedOf(ctx context.Context, key ledger.ID, counter ledger.Counter, limit amount.Amount, at int64) (amount.Amount, error) {
	used, err := a.Ledger.Counter(ctx, key, counter, at)
	if used == ledger.UsedUp {
		used = limit
	}
	return used, err
}

// headroom describes the limit of a counter, without its use.
func (r *Request) headroom(index uint16, counter *vm.Counter) Headroom {
	program := r.policy.Program
	rule := program.Rule(counter.Rule).Name
	limit := Headroom{
		Place:  policies.Place{Rule: rule, Line: r.policy.Line(vm.OpReserve, index)},
		Window: counter.Window.String(), Limit: counter.Limit, Decimals: counter.Decimals, Unit: counter.Unit,
	}
	for _, by := range [...]struct {
		slot uint16
		name string
	}{{counter.Group, counter.GroupName}, {counter.Subgroup, counter.SubgroupName}} {
		switch {
		case by.slot == vm.NoSlot:
		case r.frame[by.slot].Kind&(vm.String|vm.Number|vm.Bool) == 0:
			limit.Missing = append(limit.Missing, by.name)
		default:
			limit.Groups = append(limit.Groups, Group{by.name, strings.Clone(clip(r.frame[by.slot].Text, ledger.MaxGroupText))})
		}
	}
	return limit
}

// withSeen returns how far a counter comes by what the request itself reports.
func (a *Decider) withSeen(ctx context.Context, r *Request, counter ledger.Counter, used amount.Amount) (amount.Amount, error) {
	for _, seen := range r.plan.Seen {
		if seen.Counter != counter {
			continue
		}
		if seen.Value.Cmp(used) > 0 {
			used = seen.Value
		}
		var sum amount.Amount
		for _, part := range seen.Parts {
			value, err := a.Ledger.Counter(ctx, r.key.ID, part, r.plan.At)
			if err == nil {
				value, err = a.withSeen(ctx, r, part, value)
			}
			if err != nil {
				return used, err
			}
			more, overflow := sum.Add(value) // only a counter that is used up comes near 2^256
			if sum = more; overflow {
				sum = ledger.UsedUp
			}
		}
		if sum.Cmp(used) > 0 {
			used = sum
		}
	}
	return used, nil
}

// explanation says what came of the intent that measure has measured.
func (r *Request) explanation(outcome *ledger.Outcome) *Explanation {
	e := &Explanation{}
	for i := range r.result.Violations {
		e.violated(r.violation(&r.result.Violations[i]))
	}
	for _, rule := range r.result.Holds {
		e.Holds = append(e.Holds, r.consent(vm.OpHold, rule))
	}
	for _, rule := range r.result.Notes {
		e.Notes = append(e.Notes, r.consent(vm.OpNote, rule))
	}
	r.refusals(e, outcome)
	e.Limits = r.binding(r.bounds())
	for i := range e.Limits {
		e.Limits[i].Resets = windowEnd(e.Limits[i].Window, outcome.Now)
	}
	e.Change = r.change(e, outcome)
	e.name(outcome)
	return e
}

func (e *Explanation) violated(finding Finding) {
	if len(e.Violations) == maxFindings {
		e.Omitted++
		return
	}
	e.Violations = append(e.Violations, finding)
}

// name notes which rules the answer names.
func (e *Explanation) name(outcome *ledger.Outcome) {
	switch {
	case len(e.Violations) > 0:
		e.Named = append(e.Named, e.Violations[0].Place())
	case outcome.Result == ledger.Held:
		e.Named = append(e.Named, e.Holds[0].Place())
	}
	for i := range e.Notes {
		e.Named = append(e.Named, e.Notes[i].Place())
	}
}

func (r *Request) violation(found *vm.Violation) Finding {
	rule := r.policy.Program.Rule(found.Rule)
	finding := findingAt(r.policy, found.PC, rule)
	var told told
	r.tell(&told, found)
	finding.Message, finding.Value, finding.Details = string(told.reason), strings.Clone(r.triggered(&told, found)), told.Details
	return finding
}

// consent is the finding of a rule that asks for, or mentions, a human decision.
func (r *Request) consent(op vm.Op, index uint16) Finding {
	pc := r.policy.Find(op, index)
	finding := findingAt(r.policy, pc, r.policy.Program.Rule(index))
	finding.Details = r.reaches(pc)
	finding.Message = string(r.appendConsent(nil, index, &finding.Details))
	return finding
}

// findingAt returns a rule at the place that the instruction at pc was made from.
func findingAt(p *policies.Policy, pc uint16, rule vm.Rule) Finding {
	span := p.Program.Span(pc)
	return Finding{
		Rule: rule.Name, Code: errcode.Code(rule.Code), Message: rule.Message,
		Line: int(span.Line), Span: grammar.Span{Start: int(span.Start), End: int(span.End)},
	}
}

// refusals adds what the ledger refused: an operator's denial, or every limit that would be exceeded.
func (r *Request) refusals(e *Explanation, outcome *ledger.Outcome) {
	switch outcome.Result {
	case ledger.HoldDenied:
		finding := Finding{Rule: outcome.Rule}
		if hold, ok := r.holding(outcome); ok {
			finding = r.consent(vm.OpHold, hold)
		}
		finding.Code, finding.Message = outcome.Code, holdDenied
		e.violated(finding)
	case ledger.Refused, ledger.RefusedGroups:
		for i, reservation := range r.result.Reservations {
			limit := &r.limits[reservation.Counter]
			if i == outcome.Reservation {
				limit.Used = outcome.Used // another request may have come between
			}
			if i == outcome.Reservation || i > outcome.Reservation && r.exceeds(limit, reservation) {
				e.violated(r.refusal(i, limit, outcome))
			}
		}
	}
}

// refusal is the finding of a limit that a reservation would exceed.
func (r *Request) refusal(index int, limit *Headroom, outcome *ledger.Outcome) Finding {
	number := r.result.Reservations[index].Counter
	rule := r.policy.Program.Rule(r.policy.Program.Counter(number).Rule)
	pc := r.policy.Find(vm.OpReserve, number)
	finding := findingAt(r.policy, pc, rule)
	finding.Details.Line = finding.Line
	switch {
	case index != outcome.Reservation:
	case outcome.Result == ledger.RefusedGroups:
		finding.Code, finding.Message = outcome.Code, string(appendTooManyGroups(nil))
		return finding
	case outcome.Code == errcode.ModelUsage:
		finding.Code, finding.Message = outcome.Code, usageUnknown
		return finding
	}
	finding.Message = string(r.appendRefusal(nil, index, limit.Used))
	reservation := &r.plan.Reservations[index]
	finding.Details = Details{
		Value: reservation.Reached(limit.Used).Format(reservation.Decimals), Limit: reservation.Limit.Format(reservation.Decimals), Line: finding.Line,
	}
	return finding
}

// exceeds reports whether a counter would go beyond its limit.
func (r *Request) exceeds(limit *Headroom, by vm.Reservation) bool {
	if r.policy.Program.Counter(by.Counter).Op == vm.Max {
		return limit.Used.Cmp(limit.Limit) > 0 || by.Amount.Cmp(limit.Limit) > 0
	}
	return limit.Used.Cmp(limit.Limit) > 0 || by.Amount.Cmp(limit.Left()) > 0
}

// binding appends the limits that bind the intent: those that its run came to, whichever way it ended. One for which the
// intent lacks a value is among the violations instead.
func (r *Request) binding(limits []Headroom) []Headroom {
	for i := range r.limits {
		number := uint16(i)
		reached := slices.ContainsFunc(r.result.Reached, func(r vm.Reservation) bool { return r.Counter == number })
		violated := slices.ContainsFunc(r.result.Violations, func(v vm.Violation) bool {
			in := r.policy.Program.Instruction(v.PC)
			return in.Op == vm.OpReserve && in.C == number
		})
		if reached || violated {
			limits = append(limits, r.limits[i])
		}
	}
	return limits
}

// bounds returns what the intent's amounts leave of the bounds that they were held against.
func (r *Request) bounds() (bounds []Headroom) {
	for _, compared := range r.machine.Compared() {
		test := r.policy.Program.AmountTestAt(compared.PC)
		if test == nil || !compared.Set {
			continue
		}
		bounds = append(bounds, Headroom{
			Place:  policies.Place{Rule: r.policy.Program.Rule(test.Rule).Name, Line: int(r.policy.Program.Span(compared.PC).Line)},
			Window: oneIntent, Limit: test.Bound, Used: compared.Value, Decimals: test.Decimals, Unit: test.Unit,
		})
	}
	return bounds
}

// windowEnd returns when the window that holds a time ends: zero where time does not end it.
func windowEnd(window string, now int64) time.Time {
	length := map[string]time.Duration{ledger.Hour.String(): time.Hour, ledger.Day.String(): 24 * time.Hour}[window]
	if length == 0 {
		return time.Time{}
	}
	return time.Unix(0, now).UTC().Truncate(length).Add(length)
}
