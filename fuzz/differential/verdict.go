package differential

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"bailiff/fuzz/oracle"
	"bailiff/runtime/intent"
	"bailiff/vm"
)

// Verdict is what one of the two says of an intent, in words that both have.
type Verdict struct {
	Status       string // ALLOWED, DENIED, PENDING or ERROR
	Code, Rule   string // of the first violation or hold; of an ERROR the code alone
	Holds, Notes []string
	Reservations []Reservation
}

// Reservation is one counter that the decision would advance.
type Reservation struct {
	Counter, Window, Group string
	Op                     string
	Amount, Limit          string // in base units
	Code, Rule             string
}

// String is the form of the golden files: the decision on the first line, what else it says below.
func (v *Verdict) String() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(v.Status + " " + v.Rule + " " + v.Code))
	for _, hold := range v.Holds {
		b.WriteString("\n  hold " + hold)
	}
	for _, note := range v.Notes {
		b.WriteString("\n  note " + note)
	}
	for i := range v.Reservations {
		r := &v.Reservations[i]
		fmt.Fprintf(&b, "\n  reserve %q by %s, a %s within %s: %s of %s, else %s %s", r.Counter, r.Window, r.Op, quoteGroup(r.Group), r.Amount, r.Limit, r.Rule, r.Code)
	}
	return b.String()
}

func quoteGroup(group string) string { return fmt.Sprintf("%q", group) }

// Difference names the first part in which two verdicts differ, or "".
func (v *Verdict) Difference(o *Verdict) string {
	switch {
	case v.Status != o.Status:
		return "status"
	case v.Rule != o.Rule:
		return "rule"
	case v.Code != o.Code:
		return "code"
	case !slices.Equal(v.Holds, o.Holds):
		return "holds"
	case !slices.Equal(v.Notes, o.Notes):
		return "notes"
	case !slices.Equal(v.Reservations, o.Reservations):
		return "reservations"
	}
	return ""
}

// statuses are those of the machine in the words of an answer.
var statuses = map[vm.Status]string{vm.Allowed: oracle.Allowed, vm.Denied: oracle.Denied, vm.Pending: oracle.Pending, vm.Rejected: oracle.Error}

// ofMachine reads a result of the machine, whose frame is still filled.
func ofMachine(p *vm.Program, frame []vm.Value, result *vm.Result) *Verdict {
	v := &Verdict{Status: statuses[result.Status]}
	switch result.Status {
	case vm.Denied:
		rule := p.Rule(result.Violations[0].Rule)
		v.Code, v.Rule = rule.Code, rule.Name
		return v // holds and notes of a denial are nobody's concern
	case vm.Rejected:
		v.Code = p.Rule(result.Violations[0].Rule).Code
		return v
	case vm.Pending:
		rule := p.Rule(result.Holds[0])
		v.Code, v.Rule = rule.Code, rule.Name
	}
	v.Holds, v.Notes = names(p, result.Holds), names(p, result.Notes)
	for _, reservation := range result.Reservations {
		v.Reservations = append(v.Reservations, ofReservation(p, frame, reservation))
	}
	return v
}

// names returns the names of rules, each once: declared amount and call data may reach the threshold of one rule.
func names(p *vm.Program, rules []uint16) []string {
	var all []string
	for _, rule := range rules {
		if name := p.Rule(rule).Name; !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

func ofReservation(p *vm.Program, frame []vm.Value, reservation vm.Reservation) Reservation {
	counter := p.Counter(reservation.Counter)
	rule := p.Rule(counter.Rule)
	return Reservation{
		Counter: counter.Name, Window: counter.Window.String(), Group: group(frame, counter), Op: counter.Op.String(),
		Amount: amountOf(frame, counter, reservation), Limit: counter.Limit.String(), Code: rule.Code, Rule: rule.Name,
	}
}

// amountOf is by how much the counter advances. A maximum that the intent says nothing of is judged by what was seen for
// the task, and the machine gives it as zero.
func amountOf(frame []vm.Value, counter *vm.Counter, reservation vm.Reservation) string {
	if counter.Op == vm.Max && frame[counter.Amount].Kind == vm.Missing {
		return number(nil)
	}
	return reservation.Amount.String()
}

// group is what the counter's totals are kept apart by, as the service gives it to the ledger: the text of its slot or,
// of two slots, of both. It is copied, since it belongs to the decoder.
func group(frame []vm.Value, counter *vm.Counter) string {
	switch {
	case counter.Group == vm.NoSlot:
		return ""
	case counter.Subgroup == vm.NoSlot:
		return strings.Clone(frame[counter.Group].Text)
	}
	return frame[counter.Group].Text + "\x00" + frame[counter.Subgroup].Text
}

// ofOracle reads a verdict of the oracle.
func ofOracle(o *oracle.Verdict) *Verdict {
	v := &Verdict{Status: o.Status, Code: o.Code, Rule: o.Rule}
	switch o.Status {
	case oracle.Error:
		v.Rule = ""
		return v
	case oracle.Denied:
		return v
	}
	v.Holds, v.Notes = o.Holds, o.Notes
	for i := range o.Reservations {
		r := &o.Reservations[i]
		v.Reservations = append(v.Reservations, Reservation{
			Counter: r.Counter, Window: r.Window, Group: strings.Clone(r.Group), Op: r.Op,
			Amount: number(r.Amount), Limit: number(r.Limit), Code: r.Code, Rule: r.Rule,
		})
	}
	return v
}

func number(n *big.Int) string {
	if n == nil {
		return "none"
	}
	return n.String()
}

// Provenance names who sends a request.
func Provenance(shim bool) intent.Provenance {
	if shim {
		return intent.Shim
	}
	return intent.Agent
}
