package decision

import (
	"fmt"
	"strconv"
	"strings"

	"bailiff/runtime/ledger"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// Details are both sides of a denial or a hold, as data: what the request has, and what the policy says of it. What does
// not apply is empty. The slice is the policy's, which must not be changed.
type Details struct {
	// Value is what the rule is about, at most ledger.MaxDetailValue bytes of it. Where the rule is a limit, it is the amount or, of a
	// limit that lasts, the total that the intent would reach.
	Value   string
	Limit   string   // a decimal in the unit of Value
	Allowed []string // the first vm.MaxAllowedWords entries of a list that Value is not on, as the policy spells them
	Count   int      // how many entries that list has
	Entry   string   // the entry of a list that Value is denied by, as the policy spells it
	Line    int      // of the rule in the policy, from 1; 0 where it is not known
	unit    string   // of Value and Limit, in words
}

// IsZero reports whether there is nothing to tell.
func (d *Details) IsZero() bool { return d.Line == 0 && d.Value == "" && d.Limit == "" }

// Event returns what the record of a decision has of the details.
func (d *Details) Event() ledger.Details {
	return ledger.Details{Limit: d.Limit, Allowed: d.Allowed, Count: d.Count, Entry: d.Entry, Line: d.Line}
}

// details returns both sides of what came of the intent.
func (r *Request) details(outcome *ledger.Outcome) Details {
	switch outcome.Result {
	case ledger.Refused, ledger.RefusedGroups:
		if outcome.Reservation < 0 { // of a decision that is given again
			return Details{}
		}
		reservation := &r.plan.Reservations[outcome.Reservation]
		d := Details{Line: reservation.Line}
		if outcome.Result == ledger.Refused && outcome.Code == reservation.Code {
			d.Value, d.Limit = reservation.Reached(outcome.Used).Format(reservation.Decimals), reservation.Limit.Format(reservation.Decimals)
		}
		return d
	case ledger.Held, ledger.HoldDenied:
		if hold, ok := r.holding(outcome); ok {
			return r.reaches(r.policy.Find(vm.OpHold, hold))
		}
		return Details{}
	}
	if len(r.result.Violations) > 0 {
		return r.told.Details
	}
	return Details{}
}

// holding returns the rule that holds the intent. A replayed decision may be of a program that held it by another rule, or
// did not hold it: the compiler of another release made it.
func (r *Request) holding(outcome *ledger.Outcome) (rule uint16, ok bool) {
	if len(r.result.Holds) == 0 || r.policy.Program.Rule(r.result.Holds[0]).Name != outcome.Rule {
		return 0, false
	}
	return r.result.Holds[0], true
}

// reaches returns both sides of the rule at pc, which holds or notes the intent: of a threshold the amount that reaches it.
func (r *Request) reaches(pc uint16) Details {
	d := Details{Line: int(r.policy.Program.Span(pc).Line)}
	if pc == 0 {
		return d
	}
	d.Entry = r.policy.Program.Asker(pc, r.frame, &r.sought)
	if test := r.policy.Program.AmountTest(pc); test != nil && test.Compares && test.Register == 0 { // which no later amount takes
		if held := &r.result.Amounts[0]; held.Set {
			d.Value, d.Limit, d.unit = held.Value.Format(test.Decimals), test.Bound.Format(test.Decimals), test.Unit
		}
	}
	return d
}

// triggered returns the value that triggered a rule, for records: an amount as it is held against its limit, any other as
// it is, at most ledger.MaxEventDetail bytes of it.
func (r *Request) triggered(by *told, found *vm.Violation) string {
	if by.Limit != "" {
		return by.Value
	}
	return ledger.Clip(r.offending(found))
}

// told is what an answer says of one violation.
type told struct {
	Details
	reason   []byte // in words, without where the rule is
	declared bool   // the words name the declared amount
}

// tell says what violated a rule.
func (r *Request) tell(to *told, found *vm.Violation) {
	program := r.policy.Program
	rule, first := program.Rule(found.Rule), *found
	first.Element = program.First(found, r.frame)
	found = &first
	*to = told{reason: to.reason[:0], Details: Details{Value: strings.Clone(ledger.ClipTo(r.offending(found), ledger.MaxDetailValue)), Line: int(program.Span(found.PC).Line)}}
	list := program.Words(found.PC)
	switch {
	case r.tellBound(to, found, &rule):
	case list != nil && list.Allows:
		to.Allowed, to.Count = list.Texts, list.Count
		r.tellAllowed(to, found, &rule)
	default:
		if list != nil && r.judged(found) {
			to.Entry = program.Culprit(found, r.frame, &r.sought)
		}
		to.reason = r.appendViolation(to.reason, found)
		if to.Entry != "" {
			to.reason = append(append(to.reason, "; the entry is "...), to.Entry...)
		}
	}
	to.reason = r.appendActionHint(to.reason, &rule)
}

// tellBound says by how much an amount is above a limit, if that is what the violation is about.
func (r *Request) tellBound(to *told, found *vm.Violation, rule *vm.Rule) bool {
	test := r.policy.Program.AmountTest(found.PC)
	if test == nil || !test.Compares {
		return false
	}
	value, slot, ok := r.compared(found, test)
	if !ok {
		return false
	}
	limit, decimals, unit := test.Bound, test.Decimals, test.Unit
	name, counts := r.amountName(slot)
	if counts {
		unit = ""
	}
	to.declared = r.policy.Program.Fields()[slot] == derived.Amount
	to.Value, to.Limit = value.Format(decimals), limit.Format(decimals)
	switch {
	case limit.IsZero(): // no key says a limit
		to.reason = appendWithUnit(append(append(to.reason, rule.Message...), ": "...), to.Value, unit)
	default:
		if !to.declared {
			to.reason = append(append(to.reason, name...), ": "...)
		}
		to.reason = append(appendWithUnit(to.reason, to.Value, unit), " is above the limit of "...)
		to.reason = appendWithUnit(to.reason, to.Limit, unit)
	}
	to.reason = appendBaseHint(to.reason, &r.frame[slot], decimals, unit)
	return true
}

// compared returns the amount that the comparison of a denial was about, and its slot.
func (r *Request) compared(found *vm.Violation, test *vm.AmountTest) (value amount.Amount, slot uint16, ok bool) {
	if int(found.Slot) >= len(r.frame) {
		return value, 0, false
	}
	for _, compared := range r.machine.Compared() { // in mode All a later amount may be in the register by now
		if compared.PC == test.PC {
			return compared.Value, compared.Slot, compared.Set
		}
	}
	held := &r.result.Amounts[test.Register]
	return held.Value, found.Slot, held.Set
}

// appendBaseHint says that an amount above its limit looks like base units: a whole number of more digits than amounts in
// human units have.
func appendBaseHint(text []byte, v *vm.Value, decimals uint8, unit string) []byte {
	const few = 6 // digits of amounts that people write out
	if v.BaseUnits || v.Kind != vm.String || unit == "" || decimals < few || len(v.Text) <= max(few, int(decimals)-few) || strings.Contains(v.Text, ".") {
		return text
	}
	base, err := amount.Parse(v.Text, 0)
	if err != nil {
		return text
	}
	name := "base units"
	if unit == "ETH" {
		name = "wei"
	}
	text = fmt.Appendf(text, "; that looks like %s: for ", name)
	text = appendQuantity(text, base, decimals, unit)
	return fmt.Appendf(text, " send %q, or amount_unit \"base\"", base.Format(decimals))
}

// tellAllowed says what a list allows in the place of the value.
func (r *Request) tellAllowed(to *told, found *vm.Violation, rule *vm.Rule) {
	name := r.fieldName(found)
	why := r.unreadable(found)
	switch {
	case name == "" || why != "":
		to.reason = r.appendViolation(to.reason, found)
	case r.judged(found):
		to.reason = r.appendValue(append(append(to.reason, name...), " is "...), found)
	case r.absent(found):
		to.reason = append(append(to.reason, name...), " is missing"...)
	default:
		to.reason = append(to.reason, rule.Message...)
	}
	to.reason = append(to.reason, "; allowed: "...)
	for i, text := range to.Allowed {
		if i > 0 {
			to.reason = append(to.reason, ", "...)
		}
		to.reason = append(to.reason, text...)
	}
	if more := to.Count - len(to.Allowed); more > 0 {
		to.reason = fmt.Appendf(to.reason, " and %d more", more)
	}
}

// appendValue appends the value that violated a rule: a number as it is, a text in quotes.
func (r *Request) appendValue(text []byte, found *vm.Violation) []byte {
	if v := r.valueOf(found); v.Kind == vm.Number || v.Kind == vm.Bool {
		return append(text, clip(v.Text, maxQuoted)...)
	}
	return appendQuoted(text, r.offending(found))
}

// valueOf returns the value, or the element of it, that violated a rule.
func (r *Request) valueOf(found *vm.Violation) *vm.Value {
	if int(found.Slot) >= len(r.frame) {
		return new(vm.Value)
	}
	value := &r.frame[found.Slot]
	if found.Element >= 0 && int(found.Element) < len(value.Elems) {
		return &value.Elems[found.Element]
	}
	return value
}

// judged reports whether what violated a rule has a text of its own, or is a list.
func (r *Request) judged(found *vm.Violation) bool {
	return r.valueOf(found).Kind&(vm.String|vm.Number|vm.Bool|vm.List) != 0
}

// absent reports whether nothing was sent.
func (r *Request) absent(found *vm.Violation) bool {
	kind := r.valueOf(found).Kind
	return kind == vm.Missing || kind == vm.Null
}

// fieldName returns what a request calls the value that violated a rule, or "" where that has no name of its own.
func (r *Request) fieldName(found *vm.Violation) string {
	if int(found.Slot) >= len(r.frame) {
		return ""
	}
	name := r.policy.Program.Fields()[found.Slot]
	for _, prefix := range []string{slot.EachPrefix, slot.SentPrefix} {
		name = strings.TrimPrefix(name, prefix)
	}
	if strings.HasPrefix(name, "@") {
		return derived.Find(name).Called
	}
	return name
}

// appendPlace appends where a rule is.
func appendPlace(text []byte, rule string, line int) []byte {
	text = append(append(text, " ("...), rule...)
	if line > 0 {
		text = strconv.AppendInt(append(text, ", line "...), int64(line), 10)
	}
	return append(text, ')')
}

// amountProblem says why a text is not an amount of so many decimals, or "" where it is one.
func amountProblem(text string, decimals uint8, base bool) string {
	whole, fraction, pointed := strings.Cut(text, ".")
	digits := whole != "" && strings.Trim(whole, "0123456789") == "" && (!pointed || fraction != "" && strings.Trim(fraction, "0123456789") == "")
	quoted := string(appendQuoted(nil, text))
	switch {
	case base && (pointed || !digits):
		return quoted + " is not a whole number, and the amount is in base units; write digits only"
	case !digits:
		return quoted + " is not a number; write an amount such as 0.1"
	case len(fraction) > int(decimals):
		return fmt.Sprintf("%s has %d fraction digits; at most %d are allowed", quoted, len(fraction), decimals)
	}
	return quoted + " is too large: amounts are below 2^256 base units"
}

// amountCodes are the codes of denials of malformed amounts.
var amountCodes = map[errcode.Code]bool{errcode.AmountInvalid: true, errcode.TokenAmountInvalid: true}

// notAmount says why the value that violated a rule is not an amount, or "" where that is not what it is about.
func (r *Request) notAmount(found *vm.Violation) string {
	rule := r.policy.Program.Rule(found.Rule)
	test, v := r.policy.Program.AmountTest(found.PC), *r.valueOf(found)
	if !amountCodes[errcode.Code(rule.Code)] || test == nil || test.Compares {
		return ""
	}
	if v.Kind == vm.Object && r.policy.Program.Fields()[found.Slot] == slot.MaxFee.String() { // a text without a normal form
		v = vm.Value{Kind: vm.String, Text: r.in.Text(slot.MaxFee)}
	}
	if v.Kind&(vm.String|vm.Number) == 0 {
		return ""
	}
	return amountProblem(v.Text, test.Decimals, v.BaseUnits)
}
