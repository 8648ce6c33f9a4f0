package decision

import (
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
