package holds

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"bailiff/runtime/accounts"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/mask"
	"bailiff/runtime/service"
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

// minPrefix is how many characters of an id an operator has to give at least.
const minPrefix = 4

// OperatorView is a hold as the operator reads it.
type OperatorView struct {
	View
	KeyID   string `json:"keyId"`
	Line    int    `json:"line,omitempty"`    // of the policy: where its rule is
	Summary string `json:"summary,omitempty"` // what an approver's page shows of it, lines; absent where no service runs
	Others  int    `json:"others"`            // further holds that wait for a decision about the same agent of the key
	Waiting int    `json:"waiting"`           // of all keys, this one included
}

// FindHold returns the one unexpired hold whose id begins with a text. ledger.ErrNotFound where there is none, ledger.ErrInvalid
// where there are several.
func (a *Holds) FindHold(ctx context.Context, prefix string) (*OperatorView, error) {
	if len(prefix) < minPrefix {
		return nil, fmt.Errorf("%w: %.64q is not enough of the id of a hold; give %d characters at least", ledger.ErrInvalid, prefix, minPrefix)
	}
	all, err := a.AllHolds(ctx)
	if err != nil {
		return nil, err
	}
	var found []Summary
	for _, hold := range all {
		if strings.HasPrefix(hold.HoldID, strings.ToLower(prefix)) {
			found = append(found, hold)
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("%w: no hold that has not expired has an id that begins with %.64q; bailiff holds list shows them", ledger.ErrNotFound, prefix)
	case len(found) > 1:
		return nil, fmt.Errorf("%w: the ids of %d holds begin with %.64q; give more of it", ledger.ErrInvalid, len(found), prefix)
	}
	key, err := a.accounts.KeyOf(found[0].KeyID)
	if err != nil {
		return nil, err
	}
	hold, fault := a.HoldOf(ctx, key, found[0].HoldID)
	if fault != nil {
		return nil, accounts.AsError(fault)
	}
	one := &OperatorView{View: *readHold(hold), KeyID: found[0].KeyID, Line: hold.Line}
	for _, hold := range all {
		if hold.Status != ledger.HoldPending.String() {
			continue
		}
		one.Waiting++
		if hold.KeyID == one.KeyID && hold.AgentID == one.AgentID && hold.HoldID != one.HoldID {
			one.Others++
		}
	}
	return one, nil
}

// Resolve is [Holds.ResolveHold] for the operator, who needs no API key: the signature says who decides. It takes a whole id.
func (a *Holds) Resolve(ctx context.Context, keyID, id string, body json.RawMessage) (*View, error) {
	key, err := a.accounts.KeyOf(keyID)
	if err != nil {
		return nil, err
	}
	view, fault := a.ResolveHold(ctx, key, id, body)
	if fault != nil {
		return nil, accounts.AsError(fault)
	}
	return view, nil
}
