package state

import "bailiff/runtime/ledger"

// View returns what readers of the log see of r. Its texts share r's memory; its counters are a copy.
func (r *Record) View(lsn uint64) ledger.LoggedEvent {
	e := ledger.LoggedEvent{LSN: lsn, Key: r.Key, At: r.Now}
	switch r.Kind {
	case KeyCreated:
		e.Kind = ledger.KeyCreated
	case KeyRevoked:
		e.Kind = ledger.KeyWasRevoked
	case HoldResolved:
		e.Kind, e.Hold, e.HoldState = ledger.HoldResolved, r.Hold.ID, r.Hold.State
	default:
		e.Kind = ledger.Decided
		e.Plan, e.Result, e.Ending, e.Observed, e.Event = r.Plan, r.Result, r.Ending, r.Observed, r.Event
		e.Hold, e.HoldState = r.Hold.ID, r.Hold.Action.state()
		for i := range r.Counters {
			e.Counters = append(e.Counters, ledger.CounterValue{Counter: r.Counters[i].Counter, Value: r.Counters[i].Value})
		}
	}
	return e
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
