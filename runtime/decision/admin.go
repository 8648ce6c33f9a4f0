package decision

import (
	"context"

	"bailiff/runtime/accounts"
	"bailiff/runtime/events"
	"bailiff/runtime/holds"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
)

// Admin is what the operator of a service may do with its ledger: on the ledger itself, or, while the service
// holds it, through the service's admin socket.
type Admin struct {
	*service.Service
	*accounts.Accounts
	*holds.Holds
	*policies.Policies
	*events.Reader
	Decider *Decider // the service that runs; nil where none does
}

// NewAdmin returns what an operator may do on a ledger that no service uses. Of the configuration Ledger, Environment, Hosted,
// Clock and Random are needed.
func NewAdmin(c service.Config) *Admin {
	s := service.New(c)
	a := accounts.New(s, accounts.Config{})
	p := policies.New(s, a, policies.Config{})
	return &Admin{s, a, holds.New(s, a, 0), p, events.New(s, a, p.DefaultText), nil}
}

// Admin returns what the operator of the service that runs may do.
func (a *Decider) Admin() *Admin {
	return &Admin{a.Service, a.Accounts, a.Holds, a.Policies, a.Reader, a}
}

// FindHold is [holds.Holds.FindHold], and has the summary that approvers are shown where a service runs.
func (a *Admin) FindHold(ctx context.Context, prefix string) (*holds.OperatorView, error) {
	view, err := a.Holds.FindHold(ctx, prefix)
	if err != nil || a.Decider == nil {
		return view, err
	}
	key, err := a.KeyOf(view.KeyID)
	if err != nil {
		return nil, err
	}
	hold, fault := a.HoldOf(ctx, key, view.HoldID)
	if fault != nil {
		return nil, accounts.AsError(fault)
	}
	policy, err := a.Decider.PolicyOfHold(ctx, key, hold)
	if err != nil {
		return nil, err
	}
	summary, fault := a.Decider.SummarizeHold(ctx, key, hold, policy)
	if fault != nil {
		return nil, accounts.AsError(fault)
	}
	view.Summary = summary.Text
	return view, nil
}
