package policies

import (
	"bytes"
	"context"
	"errors"

	"bailiff/grammar"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// Report is the policy in force for a key.
type Report struct {
	Hash    string // policyHash
	Own     bool   // the key has deployed it; otherwise it is the default policy
	Text    string // as it was signed
	Rules   []Place
	Version string // of the policy format
}

// errOtherText says that the text of the default policy is not that of the policy in force.
var errOtherText = errors.New("the text of the default policy is not that of the policy in force")

// PolicyReport returns the policy in force for a key, with its text.
func (a *Policies) PolicyReport(ctx context.Context, key *ledger.Key) (*Report, *service.Failure) {
	policy, fault, again := a.Of(ctx, key, a.Clock().UnixNano())
	switch {
	case again:
		return nil, service.Retryable(errcode.EvaluationBusy, "the policy is being replaced; ask again", service.ComeAgain)
	case fault != nil:
		return nil, fault
	}
	report := &Report{Hash: policy.Hash, Version: policy.Version, Own: key.PolicyHash != [32]byte{}, Rules: policy.Places()}
	text := policy.Text
	if report.Own {
		stored, err := a.Ledger.Policy(ctx, key.ID)
		if err != nil {
			return nil, a.StoreFault("the policy could not be read", err)
		}
		text = stored.Text
	}
	framed, found := grammar.Split(grammar.NewSource("warranty.md", text))
	if found.HasErrors() || grammar.PolicyHash(framed.Body) != policy.Hash {
		return nil, a.StoreFault("the policy could not be read", errOtherText)
	}
	report.Text = string(bytes.ToValidUTF8(text, []byte("\uFFFD")))
	return report, nil
}
