package state

import (
	"bailiff/runtime/ledger"
	"bailiff/runtime/subject"
)

// View returns what readers of the log see of r; its Kind is NoRecord where that is nothing. Its texts share r's memory; its
// counters are a copy.
func (r *Record) View(lsn uint64) ledger.LoggedEvent {
	e := ledger.LoggedEvent{LSN: lsn, Kind: r.Kind, Key: r.Key, At: r.Now, Origin: r.Origin}
	if show := kinds[r.Kind].show; show != nil {
		show(r, &e)
	}
	return e
}

func (r *Record) showDecision(e *ledger.LoggedEvent) {
	e.Plan, e.Result, e.Ending, e.Observed, e.Event = r.Plan, r.Result, r.Ending, r.Observed, r.Event
	e.Hold, e.HoldState, e.HoldExpires = r.Hold.ID, r.Hold.Action.state(), r.Hold.Expires
	e.IntentHash = r.Hold.IntentHash
	for i := range r.Counters {
		e.Counters = append(e.Counters, ledger.CounterValue{Counter: r.Counters[i].Counter, Value: r.Counters[i].Value})
	}
}

func (r *Record) showMalformed(e *ledger.LoggedEvent) {
	e.Plan, e.Ending.Code, e.Event = r.Plan, r.Ending.Code, r.Event
}

func (r *Record) showKey(e *ledger.LoggedEvent) { e.Tier, e.Scopes = r.Created.Tier, r.Created.Scopes }

func (r *Record) showHold(e *ledger.LoggedEvent) { e.Hold = r.Hold.ID }

func (r *Record) showResolution(e *ledger.LoggedEvent) {
	e.Approval, e.Note = r.Approval, r.Note
	e.Hold, e.HoldState, e.Resolved, e.Signature = r.Hold.ID, r.Hold.State, r.Resolved, r.Signature
}

func (r *Record) showDeployment(e *ledger.LoggedEvent) {
	e.Event.PolicyHash, e.Rollback = r.Deployed.PolicyHash, r.Deployed.Rollback
}

func (r *Record) showDefault(e *ledger.LoggedEvent) {
	e.Event.PolicyHash, e.Rollback = r.Default.PolicyHash, r.Default.Rollback
}

func (r *Record) showUse(e *ledger.LoggedEvent) { e.Token, e.Event = r.Token, r.Event }

func (r *Record) showWebhook(e *ledger.LoggedEvent) { e.Webhook = r.Webhook.ID }

// showSettlement shows that a webhook was disabled; what came of a single delivery is not an event.
func (r *Record) showSettlement(e *ledger.LoggedEvent) {
	if r.keepsWebhook() {
		e.Kind = ledger.NoRecord
		return
	}
	r.showWebhook(e)
}

// keepsWebhook reports whether a delivery's result leaves its webhook as it is.
func (r *Record) keepsWebhook() bool { return r.Settled.Action != DeliveryDisables }

func (r *Record) showPins(e *ledger.LoggedEvent) { e.Server, e.Pins = r.Pins.Server, r.Pins.Views() }

// Matches reports whether a query wants r, but for its place in the log.
func (r *Record) Matches(q *ledger.EventQuery) bool {
	switch {
	case !q.Key.IsZero() && q.Key != r.Key, q.From != 0 && r.Now < q.From, q.To != 0 && r.Now >= q.To:
		return false
	case !q.Hold.IsZero() && q.Hold != r.Hold.ID, !q.Plan.IsZero() && q.Plan != r.Plan:
		return false
	case q.Decision == ledger.NoDecision && q.Rule == "" && q.Agent == "" && q.Task == "" && q.Action == "":
		return true
	case !r.Kind.IsDecision():
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
	if r.Kind != ledger.Decided || r.Hold.Action != HoldOpened || r.Hold.ID != h.ID || r.Key != h.Key {
		return false
	}
	h.Rule, h.Method, h.AgentID = r.Ending.Rule, r.Hold.Method, r.Hold.AgentID
	h.Entry, h.Line = r.Event.Details.Entry, r.Event.Details.Line
	h.PolicyVersion, h.Intent, h.AmountSent = r.Hold.PolicyVersion, r.Hold.Intent, r.Hold.AmountSent
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
