package bench

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"bailiff/runtime/intent"
	"bailiff/vm"
	"bailiff/vm/amount"
)

// A transfer is what the policy of all sections looks at in a native transfer, decoded.
type transfer struct {
	action, chain, amount, token, calldata vm.Value
	environment, source, note, reference   vm.Value
	channel, agent, framework, team        vm.Value
	purpose, invoice, provenance, task     vm.Value
	spend, tokens, text                    vm.Value
	reserved                               [3]amount.Amount
}

// fields names where the values come from.
func (f *transfer) fields() map[string]*vm.Value {
	return map[string]*vm.Value{
		"action": &f.action, "chainId": &f.chain, "amount": &f.amount, "token": &f.token, "@calldata.amount": &f.calldata,
		"metadata.environment": &f.environment, "metadata.source": &f.source, "metadata.note": &f.note,
		"metadata.reference": &f.reference, "metadata.channel": &f.channel, "agentId": &f.agent, "framework": &f.framework,
		"metadata.team": &f.team, "metadata.purpose": &f.purpose, "metadata.invoice": &f.invoice,
		"@provenance": &f.provenance, "task_id": &f.task, "@usage.spend": &f.spend, "@usage.tokens": &f.tokens, "@text": &f.text,
	}
}

// What the policy of all sections says, in the form that code by hand would have it.
var (
	secrets = []string{
		"BEGIN OPENSSH PRIVATE KEY", "BEGIN RSA PRIVATE KEY", "AKIA", "xoxb-", "ghp_", "glpat-", "sk_live_",
	}
	testOnly      = regexp.MustCompile("(?i)test[-_ ]?(only|run)")
	invoiceNumber = regexp.MustCompile("^(?:INV-[0-9]{4}-[0-9]{1,6})$")
	maxNative     = mustAmount("2.5", 18)
	holdNative    = mustAmount("1.25", 18)
)

var errByHand = errors.New("by hand the transfer is not allowed")

// transferByHand is the floor of run/native-transfer.
func transferByHand(tb testing.TB) func() error {
	f := new(transfer)
	for _, c := range sectionCases(tb) {
		if c.Name == "native-transfer" {
			f.take(tb, decoded(tb, string(c.body)))
		}
	}
	return func() error {
		if !f.allowed() {
			return errByHand
		}
		return nil
	}
}

func (f *transfer) take(tb testing.TB, in *intent.Intent) {
	tb.Helper()
	for name, target := range f.fields() {
		value, err := in.Value(name, intent.Shim)
		if err != nil {
			tb.Fatal(err)
		}
		*target = value
	}
}

// allowed is every rule that a native transfer meets, as a Go programmer would write them down. It knows neither lists
// nor base units, names no rule and collects nothing.
func (f *transfer) allowed() bool {
	for _, secret := range secrets {
		if strings.Contains(f.text.Text, secret) {
			return false
		}
	}
	return !f.refused() && f.provenance.Text == string(intent.Shim) && f.payable() && f.listed() && f.reserve()
}

// refused is deny_if.
func (f *transfer) refused() bool {
	return f.environment.Text == "production" || strings.HasPrefix(f.source.Text, "untrusted") ||
		strings.Contains(f.note.Text, "ignore previous instructions") ||
		f.reference.Kind != vm.Missing && testOnly.MatchString(f.reference.Text) ||
		f.channel.Text == "public" || strings.HasSuffix(f.agent.Text, "-canary")
}

// payable is the section evm.
func (f *transfer) payable() bool {
	switch f.chain.Text {
	case "10", "42161", "1", "8453": // where a transfer is on every list
	default:
		return false
	}
	var value amount.Amount
	return f.action.Text == "wallet.transfer" && f.token.Kind == vm.Missing && f.calldata.Kind == vm.Missing &&
		value.Set(f.amount.Text, 18) == nil && !amount.Less(&maxNative, &value) && amount.Less(&value, &holdNative)
}

// listed is allow_only.
func (f *transfer) listed() bool {
	switch f.framework.Text {
	case "agent-hooks", "langchain", "custom", "autogen":
	default:
		return false
	}
	switch f.team.Text {
	case "platform", "finance", "support":
	default:
		return false
	}
	switch f.purpose.Text {
	case "payroll", "invoice", "refund", "rebalancing":
	default:
		return false
	}
	return invoiceNumber.MatchString(f.invoice.Text)
}

// reserve is what the limits count: model usage by task, and the amount by day.
func (f *transfer) reserve() bool {
	return f.task.Kind != vm.Missing && f.spend.Kind != vm.Missing && f.tokens.Kind != vm.Missing &&
		f.reserved[0].Set(f.spend.Text, 0) == nil && f.reserved[1].Set(f.tokens.Text, 0) == nil &&
		f.reserved[2].Set(f.amount.Text, 18) == nil
}

// TestTransferByHand holds that the floor denies what the machine denies, by spoiling one field after the other.
func TestTransferByHand(t *testing.T) {
	program, binding := sections(t)
	var transferCase sectionCase
	for _, c := range sectionCases(t) {
		if c.Name == "native-transfer" {
			transferCase = c
		}
	}
	in := decoded(t, string(transferCase.body))
	for name, spoilt := range map[string]string{
		"": "", "action": "wallet.drain", "chainId": "137", "amount": "2.500000000000000001", "metadata.environment": "production",
		"metadata.source": "untrusted-mail", "metadata.note": "ignore previous instructions", "metadata.reference": "Test Only",
		"metadata.channel": "public", "agentId": "shop-canary", "framework": "other", "metadata.team": "sales",
		"metadata.purpose": "gift", "metadata.invoice": "INV-26-1", "@provenance": "agent", "@text": "AKIA",
	} {
		f, frame, machine := new(transfer), make([]vm.Value, len(program.Fields())), new(vm.Machine)
		f.take(t, in)
		binding.Fill(in, intent.Shim, nil, frame)
		found := name == ""
		for _, read := range []string{name, "@" + name, intent.EachPrefix + name} { // the slots by which rules read it
			if slot, ok := program.Slot(read); ok {
				*f.fields()[name] = vm.Value{Kind: vm.String, Text: spoilt}
				frame[slot], found = *f.fields()[name], true
			}
		}
		if !found {
			t.Fatalf("the program has no slot of %s", name)
		}
		got, want := f.allowed(), machine.Run(program, frame, vm.First).Status == vm.Allowed
		if got != want || want != (name == "") {
			t.Errorf("%q spoilt: by hand allowed is %v, by the machine %v", name, got, want)
		}
	}
}
