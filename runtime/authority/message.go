package authority

import (
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/vm"
)

// maxQuoted bounds what a message repeats of a request, in bytes: agents choose the texts.
const maxQuoted = 120

// observedPrefix begins the message of a denial that OBSERVE mode made an ALLOWED.
const observedPrefix = "OBSERVE mode let this pass: "

// appendMessage says in words what came of the intent. It repeats the amount with its unit, whatever the outcome
// (decisions, section 2, "Amounts and tokens").
func (w *worker) appendMessage(text []byte, outcome *ledger.Outcome) []byte {
	text = w.appendReason(text, outcome)
	for _, note := range w.result.Notes {
		text = append(append(text, "; "...), w.policy.program.Rule(note).Message...)
	}
	if w.result.Class == vm.EVM {
		text = w.appendAmount(append(text, "; amount: "...))
	}
	return text
}

func (w *worker) appendReason(text []byte, outcome *ledger.Outcome) []byte {
	if outcome.Observed {
		text = append(text, observedPrefix...)
	}
	switch {
	case outcome.Result == ledger.Held:
		text = append(text, w.policy.program.Rule(w.result.Holds[0]).Message...)
		return append(text, ": a human operator has to decide"...)
	case outcome.Result == ledger.HoldDenied:
		return append(text, "the operator denied the hold of this intent"...)
	case outcome.Result == ledger.Refused:
		return w.appendRefusal(text, outcome)
	case outcome.Result == ledger.RefusedGroups:
		return fmt.Appendf(text, "the key has %d live counter groups and can have no more", ledger.MaxGroups)
	case len(w.result.Violations) > 0:
		return w.appendViolation(text, &w.result.Violations[0])
	}
	return append(text, "every rule of the policy passed"...)
}

// appendViolation says which rule was violated, and by which value or why that could not be read.
func (w *worker) appendViolation(text []byte, violation *vm.Violation) []byte {
	text = append(text, w.policy.program.Rule(violation.Rule).Message...)
	if value := w.offending(violation); value != "" {
		return appendQuoted(append(text, ": "...), value)
	}
	if reason := w.unreadable(violation); reason != "" {
		return append(append(text, ": "...), reason...)
	}
	return text
}

func (w *worker) appendRefusal(text []byte, outcome *ledger.Outcome) []byte {
	reservation := &w.plan.Reservations[outcome.Reservation]
	text = fmt.Appendf(text, "%s: %s of %s used in this %s", reservation.Counter.Limit,
		outcome.Used.String(), reservation.Limit.String(), reservation.Counter.Window)
	if reservation.Counter.Group != "" {
		text = append(appendQuoted(append(text, " ("...), reservation.Counter.Group), ')')
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

// appendAmount appends the declared amount with its unit.
func (w *worker) appendAmount(text []byte) []byte {
	register := &w.result.Amounts[0]
	switch {
	case !w.in.Has(intent.Amount):
		return append(text, "none given"...)
	case register.Set:
		text = register.Value.AppendFormat(text, register.Decimals)
	case w.in.AmountInBaseUnits():
		text = append(appendQuoted(text, w.in.Text(intent.Amount)), " base units of"...)
	default:
		text = appendQuoted(text, w.in.Text(intent.Amount))
	}
	return appendUnit(append(text, ' '), w.in.Text(intent.Token))
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

// appendQuoted appends a text between quotes, shortened, with what is not printable escaped.
func appendQuoted(dst []byte, text string) []byte {
	if len(text) <= maxQuoted {
		return strconv.AppendQuote(dst, text)
	}
	end := maxQuoted
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return append(strconv.AppendQuote(dst, text[:end]), "…"...)
}
