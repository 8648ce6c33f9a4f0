package state

import "bailiff/runtime/ledger"

// View returns what readers of the log see of r; its Kind is 0 where that is nothing. Its texts share r's memory; its
// counters are a copy.
func (r *Record) View(lsn uint64) ledger.LoggedEvent {
	e := ledger.LoggedEvent{LSN: lsn, Key: r.Key, At: r.Now}
	switch r.Kind {
	case Decision, TestRun:
		r.viewDecision(&e)
	case Malformed:
		e.Kind, e.Plan, e.Ending.Code, e.Event = ledger.RequestMalformed, r.Plan, r.Ending.Code, r.Event
	case KeyCreated:
		e.Kind, e.Tier, e.Scopes = ledger.KeyCreated, r.Created.Tier, r.Created.Scopes
	case KeyRevoked:
		e.Kind = ledger.KeyWasRevoked
	case KeyChanged:
		e.Kind, e.Tier, e.Scopes = ledger.KeyChanged, r.Created.Tier, r.Created.Scopes
	case HoldResolved:
		e.Kind, e.Hold, e.HoldState = ledger.HoldResolved, r.Hold.ID, r.Hold.State
	case HoldExpired:
		e.Kind, e.Hold = ledger.HoldExpired, r.Hold.ID
	case PolicyDeployed:
		e.Kind, e.Event.PolicyHash, e.Rollback = ledger.PolicyBound, r.Deployed.PolicyHash, r.Deployed.Rollback
	case ClockSet:
		e.Kind = ledger.ClockSet
	case DefaultBound:
		e.Kind, e.Event.PolicyHash, e.Rollback = ledger.DefaultBound, r.Default.PolicyHash, r.Default.Rollback
	case AttestationUsed:
		e.Kind, e.Token, e.Event = ledger.AttestationUsed, r.Token, r.Event
	case WebhookCreated:
		e.Kind, e.Webhook, e.WebhookChange = ledger.WebhookChanged, r.Webhook.ID, ledger.WebhookRegistered
	case WebhookRemoved:
		e.Kind, e.Webhook, e.WebhookChange = ledger.WebhookChanged, r.Webhook.ID, ledger.WebhookRemoved
	case PinsChanged:
		e.Kind, e.Server, e.Pins = ledger.PinsChanged, r.Pins.Server, r.Pins.view()
	case WebhookEnabled:
		e.Kind, e.Webhook, e.WebhookChange = ledger.WebhookChanged, r.Webhook.ID, ledger.WebhookEnabled
	case DeliverySettled:
		if r.Settled.Action == DeliveryDisables {
			e.Kind, e.Webhook, e.WebhookChange = ledger.WebhookChanged, r.Webhook.ID, ledger.WebhookDisabled
		}
	}
	return e
}

func (r *Record) viewDecision(e *ledger.LoggedEvent) {
	e.Kind = ledger.Decided
	e.Plan, e.Result, e.Ending, e.Observed, e.Event = r.Plan, r.Result, r.Ending, r.Observed, r.Event
	e.Hold, e.HoldState, e.HoldExpires = r.Hold.ID, r.Hold.Action.state(), r.Hold.Expires
	for i := range r.Counters {
		e.Counters = append(e.Counters, ledger.CounterValue{Counter: r.Counters[i].Counter, Value: r.Counters[i].Value})
	}
}

// Matches reports whether a query wants r, but for its place in the log.
func (r *Record) Matches(q *ledger.EventQuery) bool {
	switch {
	case !q.Key.IsZero() && q.Key != r.Key, q.From != 0 && r.Now < q.From, q.To != 0 && r.Now >= q.To:
		return false
	case q.Decision == ledger.NoDecision && q.Rule == "":
		return true
	case r.Kind != Decision && r.Kind != TestRun:
		return false
	}
	return (q.Decision == ledger.NoDecision || q.Decision == r.Ending.Decision) && (q.Rule == "" || q.Rule == r.Ending.Rule)
}

// state returns what a hold becomes by an action, 0 where it stays as it is.
func (a HoldAction) state() ledger.HoldState {
	switch a {
	case HoldOpened:
		return ledger.HoldPending
	case HoldUsedUp:
		return ledger.HoldUsed
	}
	return 0
}

// Body fills in what memory does not keep of a hold, from the record that opened it. It reports whether r is that
// record.
func (r *Record) Body(h *ledger.Hold) bool {
	if r.Kind != Decision || r.Hold.Action != HoldOpened || r.Hold.ID != h.ID || r.Key != h.Key {
		return false
	}
	h.Rule, h.Method, h.AgentID = r.Ending.Rule, r.Hold.Method, r.Hold.AgentID
	h.PolicyVersion, h.Intent = r.Hold.PolicyVersion, r.Hold.Intent
	return true
}

// KeyOf returns the key of an encoded record without decoding the rest, false where it is too short for one.
func KeyOf(data string) (key ledger.ID, ok bool) {
	if len(data) < 1+len(key) {
		return key, false
	}
	copy(key[:], data[1:])
	return key, true
}
