package decision

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// maxQuoted bounds what a message repeats of a request, in bytes: agents choose the texts.
const maxQuoted = 120

// observedPrefix begins the message of a denial that OBSERVE mode made an ALLOWED.
const observedPrefix = "OBSERVE mode let this pass: "

// appendMessage says in words what came of the intent. It repeats the amount with its unit, whatever the outcome
// (decisions, section 2, "Amounts and tokens").
func (r *Request) appendMessage(text []byte, outcome *ledger.Outcome) []byte {
	text = r.appendReason(text, outcome)
	named := r.namesAmount(outcome)
	for _, note := range r.noted(outcome) {
		d := r.reaches(r.policy.Find(vm.OpNote, note))
		text = r.appendConsent(append(text, "; "...), note, &d)
		text = appendPlace(text, r.policy.Program.Rule(note).Name, d.Line)
		named = named || d.Limit != ""
	}
	if r.result.Class == vm.EVM && !named {
		text = r.appendAmount(append(text, "; amount: "...))
	}
	return text
}

// noted returns the rules that the message mentions. With a denial it mentions none: how many a run comes to depends on
// whether it is explained.
func (r *Request) noted(outcome *ledger.Outcome) []uint16 {
	if len(r.result.Violations) > 0 || outcome.Result != ledger.Passed && outcome.Result != ledger.Held {
		return nil
	}
	return r.result.Notes
}

// appendConsent says why a rule asks for, or mentions, a human decision: by which amount, where it is about one.
func (r *Request) appendConsent(text []byte, index uint16, d *Details) []byte {
	rule := r.policy.Program.Rule(index)
	if d.Limit == "" {
		text = append(text, rule.Message...)
		if d.Entry != "" {
			text = append(append(text, "; the entry is "...), d.Entry...)
		}
		return text
	}
	text = appendWithUnit(text, d.Value, d.unit)
	return appendWithUnit(append(text, " reaches the threshold of "...), d.Limit, d.unit)
}

// namesAmount reports whether the reason begins with the declared amount.
func (r *Request) namesAmount(outcome *ledger.Outcome) bool {
	if outcome.Result == ledger.Held {
		d := r.details(outcome)
		return d.Limit != ""
	}
	return outcome.Result == ledger.Passed && len(r.result.Violations) > 0 && r.told.declared
}

func (r *Request) appendReason(text []byte, outcome *ledger.Outcome) []byte {
	if outcome.Observed {
		text = append(text, observedPrefix...)
	}
	switch {
	case outcome.Result == ledger.Held:
		rule, d := r.policy.Program.Rule(r.result.Holds[0]), r.details(outcome)
		text = r.appendConsent(text, r.result.Holds[0], &d)
		if rule.Code == string(errcode.HoldConsensus) { // the messages of approvals say who has to decide
			text = append(text, ": a human operator has to decide"...)
		}
		return appendPlace(text, rule.Name, d.Line)
	case outcome.Result == ledger.HoldDenied:
		return append(text, holdDenied...)
	case (outcome.Result == ledger.Refused || outcome.Result == ledger.RefusedGroups) && outcome.Reservation < 0: // what was used then is not known any more
		return append(append(text, "the intent would exceed "...), outcome.Rule...)
	case outcome.Result == ledger.Refused || outcome.Result == ledger.RefusedGroups:
		counter := r.result.Reservations[outcome.Reservation].Counter
		switch {
		case outcome.Result == ledger.RefusedGroups:
			text = appendTooManyGroups(text)
		case outcome.Code == errcode.ModelUsage:
			text = append(text, usageUnknown...)
		default:
			text = r.appendRefusal(text, outcome.Reservation, outcome.Used)
		}
		return appendPlace(text, outcome.Rule, r.policy.CounterLines[counter])
	case len(r.result.Violations) > 0:
		return appendPlace(append(text, r.told.reason...), r.policy.Program.Rule(r.result.Violations[0].Rule).Name, r.told.Line)
	}
	return append(text, "every rule of the policy passed"...)
}

// appendViolation says which rule was violated, and by which value or why that could not be read.
func (r *Request) appendViolation(text []byte, violation *vm.Violation) []byte {
	if why := r.notAmount(violation); why != "" {
		return r.appendAmountProblem(text, violation, why)
	}
	value, reason := r.offending(violation), r.unreadable(violation)
	if value != "" && reason != "" {
		text = appendQuoted(append(append(text, r.fieldName(violation)...), ' '), value)
		return append(append(text, " can't be judged: "...), reason...)
	}
	text = append(text, r.policy.Program.Rule(violation.Rule).Message...)
	if value != "" {
		return appendQuoted(append(text, ": "...), value)
	}
	if reason != "" {
		return append(append(text, ": "...), reason...)
	}
	return text
}

// appendAmountProblem says why a text is not an amount, and of what where it is not the declared one.
func (r *Request) appendAmountProblem(text []byte, violation *vm.Violation, why string) []byte {
	if name, _ := r.amountName(violation.Slot); r.policy.Program.Fields()[violation.Slot] != derived.Amount {
		text = append(append(text, name...), ": "...)
	}
	return append(text, why...)
}

// usageUnknown is the reason where neither the request nor one before says what the task has used.
const usageUnknown = "the policy limits what a task uses of models, and nothing says what this task has used: send metadata.model_usage"

// holdDenied is the reason where an operator has denied the hold.
const holdDenied = "the operator denied the hold of this intent"

func appendTooManyGroups(text []byte) []byte {
	return fmt.Appendf(text, "the key has %d live counter groups, the most there may be, and none of them can make room yet: "+
		"use fewer values in group_by and task_id, or wait until groups have been idle for a day", ledger.MaxGroups)
}

// appendRefusal says of which limit how much is used, and by how much the intent would go beyond.
func (r *Request) appendRefusal(text []byte, index int, used amount.Amount) []byte {
	reservation, counter := &r.plan.Reservations[index], r.policy.Program.Counter(r.result.Reservations[index].Counter)
	unit := counter.Unit
	text = append(used.AppendFormat(text, counter.Decimals), " of "...)
	text = appendQuantity(text, reservation.Limit, counter.Decimals, unit)
	text = append(append(text, " used in this "...), counter.Window.String()...)
	if counter.Window != vm.Task {
		text = append(text, " (UTC)"...)
	}
	text = r.appendGroup(text, counter.Group, " (")
	text = r.appendGroup(text, counter.Subgroup, ", ")
	if counter.Group != vm.NoSlot {
		text = append(text, ')')
	}
	if counter.Op == vm.Sum {
		text = appendQuantity(append(text, ", and the intent adds "...), reservation.Amount, counter.Decimals, unit)
	}
	return text
}

// appendGroup appends what a counter counts by, if anything.
func (r *Request) appendGroup(text []byte, slot uint16, before string) []byte {
	if slot == vm.NoSlot {
		return text
	}
	return appendQuoted(append(text, before...), r.frame[slot].Text)
}

// appendQuantity appends an amount with its unit.
func appendQuantity(text []byte, value amount.Amount, decimals uint8, unit string) []byte {
	return appendUnitName(value.AppendFormat(text, decimals), unit)
}

// appendWithUnit appends an amount that is formatted already with its unit.
func appendWithUnit(text []byte, value, unit string) []byte {
	return appendUnitName(append(text, value...), unit)
}

func appendUnitName(text []byte, unit string) []byte {
	if unit == "" {
		return text
	}
	return append(append(text, ' '), unit...)
}

// offending is the value that violated a rule, or empty where it is missing or has no text of its own.
func (r *Request) offending(violation *vm.Violation) string {
	if int(violation.Slot) >= len(r.frame) || slices.Contains(joined, r.policy.Program.Fields()[violation.Slot]) {
		return ""
	}
	value := r.valueOf(violation).Text
	if r.policy.Program.Fields()[violation.Slot] == derived.Calls {
		return intent.ShowCall(value)
	}
	return value
}

// joined are the slots that hold several values, so that none of them is the one that violated a rule.
var joined = []string{derived.Text, derived.Caseless}

// symbol is what a token can be called without quotes.
var symbol = regexp.MustCompile(`^[0-9A-Za-z]{1,42}$`)

// unreadable says why the value that violated a rule, or its element that did, could not be read. It is empty where it
// could.
func (r *Request) unreadable(violation *vm.Violation) string {
	if int(violation.Slot) >= len(r.frame) {
		return ""
	}
	if r.valueOf(violation).Kind != vm.Invalid {
		return ""
	}
	return r.in.Unreadable(r.policy.Program.Fields()[violation.Slot])
}

// appendAmount appends the declared amount with its unit.
func (r *Request) appendAmount(text []byte) []byte {
	value, decimals, ok := r.in.AmountInUnits(r.policy.Binding.Tokens()) // however far the machine came
	switch {
	case !r.in.Has(slot.Amount):
		return append(text, "none given"...)
	case ok:
		text = value.AppendFormat(text, decimals)
	case r.in.AmountInBaseUnits():
		text = append(appendQuoted(text, r.in.Text(slot.Amount)), " base units of"...)
	default:
		text = appendQuoted(text, r.in.Text(slot.Amount))
	}
	return appendUnit(append(text, ' '), r.in.Text(slot.Token))
}

// appendUnit names a token, in quotes where its name is nothing to be trusted, or the native currency.
func appendUnit(text []byte, token string) []byte {
	switch {
	case token == "":
		return append(text, "ETH"...)
	case symbol.MatchString(token):
		return append(text, token...)
	}
	return appendQuoted(text, token)
}

// appendQuoted appends a text between quotes, shortened, with unprintable characters escaped.
func appendQuoted(dst []byte, text string) []byte {
	if len(text) <= maxQuoted {
		return strconv.AppendQuote(dst, text)
	}
	return append(strconv.AppendQuote(dst, clip(text, maxQuoted)), "…"...)
}

// clip returns text cut to at most limit bytes, at the start of a character.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
