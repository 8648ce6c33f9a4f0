package authority

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/vm"
)

// maxQuoted bounds what a message repeats of a request, in bytes: agents choose the texts.
const maxQuoted = 120

// message says in words what came of the intent. It repeats the amount with its unit, whatever the outcome
// (decisions, section 2, "Amounts and tokens").
func (w *worker) message(outcome *ledger.Outcome) string {
	var text strings.Builder
	text.WriteString(w.reason(outcome))
	for _, note := range w.result.Notes {
		text.WriteString("; " + w.policy.program.Rule(note).Message)
	}
	if w.result.Class == vm.EVM {
		text.WriteString("; amount: " + w.amountInWords())
	}
	return text.String()
}

func (w *worker) reason(outcome *ledger.Outcome) string {
	switch {
	case outcome.Result == ledger.Held:
		return w.policy.program.Rule(w.result.Holds[0]).Message + ": a human operator has to decide"
	case outcome.Result == ledger.HoldDenied:
		return "the operator denied the hold of this intent"
	case outcome.Result == ledger.Refused:
		return w.refusal(outcome)
	case outcome.Result == ledger.RefusedGroups:
		return fmt.Sprintf("the key has %d live counter groups and can have no more", ledger.MaxGroups)
	case len(w.result.Violations) > 0:
		return w.violation(outcome.Observed)
	}
	return "every rule of the policy passed"
}

func (w *worker) violation(observed bool) string {
	violation := &w.result.Violations[0]
	text := w.policy.program.Rule(violation.Rule).Message
	if value := w.offending(violation); value != "" {
		text += ": " + quote(value)
	} else if reason := w.unreadable(violation); reason != "" {
		text += ": " + reason
	}
	if observed {
		return "OBSERVE mode let this pass: " + text
	}
	return text
}

func (w *worker) refusal(outcome *ledger.Outcome) string {
	reservation := &w.plan.Reservations[outcome.Reservation]
	text := fmt.Sprintf("%s: %s of %s used in this %s", reservation.Counter.Limit,
		outcome.Used.String(), reservation.Limit.String(), reservation.Counter.Window)
	if reservation.Counter.Group != "" {
		text += " (" + quote(reservation.Counter.Group) + ")"
	}
	if outcome.Observed {
		return "OBSERVE mode let this pass: " + text
	}
	return text
}

// offending is the value that violated a rule, or empty where it is missing or has no text of its own.
func (w *worker) offending(violation *vm.Violation) string {
	if int(violation.Slot) >= len(w.frame) || w.policy.program.Fields()[violation.Slot] == "@text" {
		return ""
	}
	value := &w.frame[violation.Slot]
	if violation.Element >= 0 && int(violation.Element) < len(value.Elems) {
		value = &value.Elems[violation.Element]
	}
	return value.Text
}

// symbol is what a token can be called without quotes.
var symbol = regexp.MustCompile(`^[0-9A-Za-z]{1,42}$`)

// unreadable says why the value that violated a rule could not be read, and is empty where it could.
func (w *worker) unreadable(violation *vm.Violation) string {
	if int(violation.Slot) >= len(w.frame) || w.frame[violation.Slot].Kind != vm.Invalid {
		return ""
	}
	return w.in.Unreadable(w.policy.program.Fields()[violation.Slot])
}

// amountInWords is the declared amount with its unit.
func (w *worker) amountInWords() string {
	unit := "ETH"
	if token := w.in.Text(intent.Token); token != "" {
		if unit = token; !symbol.MatchString(token) {
			unit = quote(token)
		}
	}
	switch text := w.in.Text(intent.Amount); {
	case !w.in.Has(intent.Amount):
		return "none given"
	case w.result.Amounts[0].Set:
		register := &w.result.Amounts[0]
		return register.Value.Format(register.Decimals) + " " + unit
	case w.in.AmountInBaseUnits():
		return quote(text) + " base units of " + unit
	default:
		return quote(text) + " " + unit
	}
}

// quote puts a text between quotes, shortened, with what is not printable escaped.
func quote(text string) string {
	if len(text) <= maxQuoted {
		return strconv.Quote(text)
	}
	end := maxQuoted
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strconv.Quote(text[:end]) + "…"
}
