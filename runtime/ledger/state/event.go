package state

import (
	"bailiff/runtime/ledger"
	"bailiff/runtime/subject"
)

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
		e.Resolved, e.Signature = r.Resolved, r.Signature
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
	e.IntentHash = r.Hold.IntentHash
	for i := range r.Counters {
		e.Counters = append(e.Counters, ledger.CounterValue{Counter: r.Counters[i].Counter, Value: r.Counters[i].Value})
	}
}

// Matches reports whether a query wants r, but for its place in the log.
func (r *Record) Matches(q *ledger.EventQuery) bool {
	switch {
	case !q.Key.IsZero() && q.Key != r.Key, q.From != 0 && r.Now < q.From, q.To != 0 && r.Now >= q.To:
		return false
	case !q.Hold.IsZero() && q.Hold != r.Hold.ID, !q.Plan.IsZero() && q.Plan != r.Plan:
		return false
	case q.Decision == ledger.NoDecision && q.Rule == "" && q.Agent == "" && q.Task == "" && q.Action == "":
		return true
	case r.Kind != Decision && r.Kind != TestRun:
		return false
	}
	return (q.Decision == ledger.NoDecision || q.Decision == r.Ending.Decision) &&
		wants(q.Rule, r.Ending.Rule) && wants(q.Agent, r.Event.AgentID) && wants(q.Action, r.Event.Action) &&
		wants(q.Task, r.Event.Subject.Texts[subject.Task])
}

// wants reports whether a part of a query, where it has one, is what a record has.
func wants(asked, has string) bool { return asked == "" || asked == has }

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
	h.Entry = r.Event.Details.Entry
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
