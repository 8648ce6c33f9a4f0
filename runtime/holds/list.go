package holds

import (
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/mask"
	"bailiff/runtime/service"
	"context"
	"encoding/hex"
	"time"
)

// Summary is a hold as a list shows it.
type Summary struct {
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

// AllHolds lists the unexpired holds of all keys, key by key, oldest first.
func (a *Holds) AllHolds(ctx context.Context) ([]Summary, error) {
	keys, err := a.Ledger.Keys(ctx)
	if err != nil {
		return nil, err
	}
	views := []Summary{}
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

func viewHold(hold *ledger.Hold) Summary {
	return Summary{
		HoldID: hold.ID.String(), KeyID: hold.Key.String(), Status: hold.State.String(),
		Method: hold.Method, AgentID: hold.AgentID, PolicyRule: hold.Rule, Entry: mask.Text(hold.Entry),
		PolicyHash: hex.EncodeToString(hold.PolicyHash[:]), IntentHash: hex.EncodeToString(hold.IntentHash[:]),
		CreatedAt: clock.Moment(hold.Created), ExpiresAt: clock.Moment(hold.Expires),
	}
}

// HoldsOf lists the unexpired holds of a key, oldest first.
func (a *Holds) HoldsOf(ctx context.Context, key *ledger.Key) ([]Summary, *service.Failure) {
	holds, err := a.Ledger.Holds(ctx, key.ID, a.Clock().UnixNano())
	if err != nil {
		return nil, a.StoreFault("holds could not be read", err)
	}
	views := make([]Summary, len(holds))
	for i := range holds {
		views[i] = viewHold(&holds[i])
	}
	return views, nil
}
