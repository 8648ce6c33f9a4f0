package authority

import (
	"context"
	"encoding/hex"
	"time"

	"bailiff/runtime/accounts"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/mask"
	"bailiff/runtime/service"
)

// Admin is what the operator of a service may do with its ledger: on the ledger itself, or, while the service
// holds it, through the service's admin socket.
type Admin struct {
	*service.Service
	*accounts.Accounts
	Decider *Authority // the service that runs; nil where none does
}

// NewAdmin returns what an operator may do on a ledger that no service uses. Of the configuration Ledger, Environment, Hosted,
// Clock and Random are needed.
func NewAdmin(c service.Config) *Admin {
	s := service.New(c)
	return &Admin{Service: s, Accounts: accounts.New(s, accounts.Config{})}
}

// Admin returns what the operator of the service that runs may do.
func (a *Authority) Admin() *Admin { return &Admin{a.Service, a.Accounts, a} }

// HoldView is a hold as a list shows it.
type HoldView struct {
	HoldID     string    `json:"holdId"`
	KeyID      string    `json:"keyId"`
	Status     string    `json:"status"`
	Method     string    `json:"method"`
	AgentID    string    `json:"agentId"`
	PolicyRule string    `json:"policyRule"`
	Entry      string    `json:"entry,omitempty"` // of the rule's list, which asks for a decision
	PolicyHash string    `json:"policyHash"`
	IntentHash string    `json:"intentHash"`
	CreatedAt  time.Time `json:"createdAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// Holds lists the unexpired holds of all keys, key by key, oldest first.
func (a *Admin) Holds(ctx context.Context) ([]HoldView, error) {
	keys, err := a.Ledger.Keys(ctx)
	if err != nil {
		return nil, err
	}
	views := []HoldView{}
	for i := range keys {
		holds, err := a.Ledger.Holds(ctx, keys[i].ID, a.Clock().UnixNano())
		if err != nil {
			return nil, err
		}
		for j := range holds {
			views = append(views, viewHold(&holds[j]))
		}
	}
	return views, nil
}

func viewHold(hold *ledger.Hold) HoldView {
	return HoldView{
		HoldID: hold.ID.String(), KeyID: hold.Key.String(), Status: hold.State.String(),
		Method: hold.Method, AgentID: hold.AgentID, PolicyRule: hold.Rule, Entry: mask.Text(hold.Entry),
		PolicyHash: hex.EncodeToString(hold.PolicyHash[:]), IntentHash: hex.EncodeToString(hold.IntentHash[:]),
		CreatedAt: clock.Moment(hold.Created), ExpiresAt: clock.Moment(hold.Expires),
	}
}
