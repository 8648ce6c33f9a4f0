package authority

import (
	"bailiff/runtime/accounts"
	"bailiff/runtime/events"
	"bailiff/runtime/holds"
	"bailiff/runtime/service"
)

// Admin is what the operator of a service may do with its ledger: on the ledger itself, or, while the service
// holds it, through the service's admin socket.
type Admin struct {
	*service.Service
	*accounts.Accounts
	*holds.Holds
	*Policies
	*events.Reader
	Decider *Authority // the service that runs; nil where none does
}

// NewAdmin returns what an operator may do on a ledger that no service uses. Of the configuration Ledger, Environment, Hosted,
// Clock and Random are needed.
func NewAdmin(c service.Config) *Admin {
	s := service.New(c)
	a := accounts.New(s, accounts.Config{})
	p := newPolicies(s, a, PoliciesConfig{})
	return &Admin{s, a, holds.New(s, a, 0), p, events.New(s, a, p.DefaultText), nil}
}

// Admin returns what the operator of the service that runs may do.
func (a *Authority) Admin() *Admin {
	return &Admin{a.Service, a.Accounts, a.Holds, a.Policies, a.Reader, a}
}
