package decision

import (
	"slices"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/slot/derived"
)

// Change is the smallest change that lets an intent pass, of the kinds that numbers tell: less of an amount, a later
// time, another task.
type Change struct {
	Field    string        // the amount to lower; empty where lowering none helps
	To, By   amount.Amount // lowered to this, by that
	Decimals uint8         // the amounts are in 10^-Decimals units
	Unit     string
	Pending  bool      // the intent is PENDING, and less than To needs no approval
	Consent  bool      // a person has to decide on the lowered amount
	Resets   time.Time // when the window of the limit ends; zero where waiting does not help
	Task     bool      // another task has a count of its own
}

// String says the change in words.
func (c *Change) String() string {
	if c.Pending {
		return "below " + c.quantity(c.To) + " no approval is needed"
	}
	var text string
	or := func(words string) {
		if text != "" {
			text += ", or "
		}
		text += words
	}
	if c.Field != "" {
		or("lower " + c.Field + " to " + c.quantity(c.To) + " (by " + c.quantity(c.By) + ")")
	}
	if !c.Resets.IsZero() {
		or("ask again at " + c.Resets.Format(time.RFC3339))
	}
	if c.Task {
		or("use another task_id")
	}
	if c.Consent {
		text += "; a person has to decide then"
	}
	return text
}

func (c *Change) quantity(value amount.Amount) string {
	return string(appendQuantity(nil, value, c.Decimals, c.Unit))
}

// change finds the smallest change: where exactly one rule is in the way, and it is a bound.
func (r *Request) change(e *Explanation, outcome *ledger.Outcome) *Change {
	switch {
	case outcome.Result == ledger.Held:
		return r.withoutConsent()
	case len(e.Violations) != 1:
		return nil
	case outcome.Result == ledger.Refused && outcome.Reservation >= 0:
		return r.withinLimit(r.result.Reservations[outcome.Reservation], outcome.Now)
	case len(r.result.Violations) == 1:
		return r.withinBound(r.result.Violations[0].PC)
	}
	return nil
}

// withinBound is the change for an amount above the bound of the denial at pc.
func (r *Request) withinBound(pc uint16) *Change {
	test := r.policy.Program.AmountTest(pc)
	for _, compared := range r.machine.Compared() {
		if test != nil && compared.PC == test.PC && compared.Set && compared.Value.Cmp(test.Bound) > 0 {
			return r.lowered(compared.Slot, compared.Value, test.Bound, test.Decimals, test.Unit)
		}
	}
	return nil
}

// withinLimit is the change, at a time, for a limit that lasts.
func (r *Request) withinLimit(by vm.Reservation, now int64) *Change {
	counter, limit := r.policy.Program.Counter(by.Counter), &r.limits[by.Counter]
	change := &Change{}
	if left := limit.Left(); counter.Op == vm.Sum && !left.IsZero() {
		if lowered := r.lowered(counter.Amount, by.Amount, left, limit.Decimals, limit.Unit); lowered != nil {
			change = lowered
		}
	}
	if counter.Op == vm.Max || by.Amount.Cmp(limit.Limit) <= 0 { // otherwise a fresh count refuses it, too
		change.Resets = windowEnd(limit.Window, now)
		change.Task = counter.Window == vm.Task
	}
	if *change == (Change{}) {
		return nil
	}
	return change
}

// lowered is the change that lowers the amount in a slot, as far as limits that add it up ask for more, or nil where
// the intent would not pass with it either.
func (r *Request) lowered(slot uint16, from, to amount.Amount, decimals uint8, unit string) *Change {
	status, fits, passes := r.again(slot, to, decimals)
	if !passes && fits.Cmp(to) < 0 && !fits.IsZero() {
		to = fits
		status, _, passes = r.again(slot, to, decimals)
	}
	if !passes {
		return nil
	}
	name, counts := r.amountName(slot)
	if counts {
		unit = ""
	}
	return &Change{
		Field: name, To: to, By: minus(from, to), Decimals: decimals, Unit: unit, Consent: status == vm.Pending,
	}
}

// withoutConsent is the change for an amount whose threshold is the one reason that somebody has to decide.
func (r *Request) withoutConsent() *Change {
	if len(r.result.Holds) != 1 {
		return nil
	}
	for _, compared := range r.machine.Compared() {
		test := r.policy.Program.AmountTestAt(compared.PC)
		if test == nil || !compared.Set || test.Rule != r.result.Holds[0] || compared.Value.Cmp(test.Bound) < 0 || test.Bound.IsZero() {
			continue
		}
		if status, _, passes := r.again(compared.Slot, minus(test.Bound, amount.FromUint64(1)), test.Decimals); passes && status == vm.Allowed {
			return &Change{To: test.Bound, Decimals: test.Decimals, Unit: test.Unit, Pending: true}
		}
	}
	return nil
}

// again judges the intent once more with another amount in a slot, and reports whether it passes all rules and fits into
// all limits. Where limits refuse it that add up this slot alone, fits is what they have left; otherwise it is zero.
func (r *Request) again(slot uint16, value amount.Amount, decimals uint8) (status vm.Status, fits amount.Amount, passes bool) {
	frame := slices.Clone(r.frame)
	changed := &frame[slot]
	if changed.BaseUnits {
		decimals = 0
	}
	changed.Text = value.Format(decimals)
	var machine vm.Machine
	result := machine.Run(r.policy.Program, frame, vm.All)
	fits, passes = value, result.Status == vm.Allowed || result.Status == vm.Pending
	for _, reservation := range result.Reservations {
		counter, limit := r.policy.Program.Counter(reservation.Counter), &r.limits[reservation.Counter]
		if !r.exceeds(limit, reservation) {
			continue
		}
		passes = false
		if counter.Op != vm.Sum || counter.Amount != slot {
			return result.Status, amount.Amount{}, false
		}
		if left := limit.Left(); left.Cmp(fits) < 0 {
			fits = left
		}
	}
	return result.Status, fits, passes
}

// amountName is what a slot's amount is called in a request, and whether it is a number of things, which needs no unit.
func (r *Request) amountName(slot uint16) (name string, counts bool) {
	name = r.policy.Program.Fields()[slot]
	if row := derived.Find(name); row.Called != "" {
		return row.Called, row.Counts
	}
	return name, false
}
