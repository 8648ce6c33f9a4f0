package intent

import (
	"strconv"
	"strings"

	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/slot"
)

// Usage is the cumulative model usage of a task (decisions, section 2, "Limits"). A request may leave out any
// part of it; whether what it says is enough is for the budgets to judge.
type Usage struct {
	Provider, Model string
	// Tokens is total_tokens, and never less than the sum of input_tokens and output_tokens, which it is where it is absent.
	Tokens uint64
	// Input and Output are input_tokens and output_tokens, 0 where they are absent.
	Input, Output uint64
	// SpendMicroUSD is estimated_spend_usd in millionths, rounded up.
	SpendMicroUSD amount.Amount
	// HasTokens is false where total_tokens and one of the other two are absent: half a sum is no total.
	HasTokens bool
	// HasSpend is false where estimated_spend_usd is absent.
	HasSpend bool
}

// maxSpendFraction is the largest number of fraction digits of estimated_spend_usd.
const maxSpendFraction = 18

// checkUsage reads metadata.model_usage.
func (in *Intent) checkUsage() {
	object := in.member(in.at[slot.Metadata], modelUsage)
	if object == 0 {
		return
	}
	if in.nodes[object].kind != vm.Object {
		in.fault(slot.NoField, invalid("intent.metadata.model_usage", "must be an object; leave it out where nothing was used"))
		return
	}
	in.hasUsage = true
	for i := object + 1; i < in.nodes[object].next; i = in.nodes[i].next {
		if problem := in.usage.set(&in.nodes[i]); problem != "" {
			in.fault(slot.NoField, invalid("intent.metadata.model_usage."+in.nodes[i].name, problem))
		}
	}
	in.usage.total()
}

// usageReader collects the members of model_usage.
type usageReader struct {
	Usage
	whole                         uint64
	hasInput, hasOutput, hasWhole bool
}

// set reads one member and returns its fault. Members that no budget reads are left alone.
func (u *usageReader) set(n *node) string {
	switch n.name {
	case "provider":
		return setName(&u.Provider, n)
	case "model":
		return setName(&u.Model, n)
	case "input_tokens":
		return setCount(&u.Input, &u.hasInput, n)
	case "output_tokens":
		return setCount(&u.Output, &u.hasOutput, n)
	case "total_tokens":
		return setCount(&u.whole, &u.hasWhole, n)
	case "estimated_spend_usd":
		return u.setSpend(n)
	}
	return ""
}

func setName(name *string, n *node) string {
	if n.kind != vm.String {
		return "must be a string"
	}
	*name = n.text
	return ""
}

func setCount(count *uint64, has *bool, n *node) string {
	value, err := strconv.ParseUint(n.text, 10, 64)
	if n.kind != vm.Number || err != nil {
		return "must be an integer of zero or more"
	}
	*count, *has = value, true
	return ""
}

// setSpend reads dollars, and rounds them up to millionths.
func (u *usageReader) setSpend(n *node) string {
	const problem = "must be a decimal string of up to 18 fraction digits, such as \"0.25\""
	if n.kind != vm.String {
		return problem
	}
	if _, err := amount.Parse(n.text, maxSpendFraction); err != nil {
		return problem
	}
	kept, more := n.text, false
	if point := strings.IndexByte(n.text, '.'); point >= 0 && len(n.text) > point+7 {
		kept = n.text[:point+7]
		more = strings.Trim(n.text[point+7:], "0") != ""
	}
	micro, err := amount.Parse(kept, 6)
	if err != nil {
		return problem
	}
	if more {
		micro, _ = micro.Add(amount.FromUint64(1)) // far from 2^256: it fitted with 12 more digits
	}
	u.SpendMicroUSD, u.HasSpend = micro, true
	return ""
}

// total decides how many tokens were used. Integers of a request are below 2^53, so the sum can't wrap.
func (u *usageReader) total() {
	if u.hasWhole || u.hasInput && u.hasOutput {
		u.Tokens, u.HasTokens = max(u.whole, u.Input+u.Output), true
	}
}

func derivedSpend(in *Intent, _ Provenance) vm.Value {
	if !in.usage.HasSpend {
		return vm.Value{}
	}
	return in.quantity(in.usage.SpendMicroUSD)
}

func derivedTokens(in *Intent, _ Provenance) vm.Value {
	if !in.usage.HasTokens {
		return vm.Value{}
	}
	return in.quantity(amount.FromUint64(in.usage.Tokens))
}
