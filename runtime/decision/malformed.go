package decision

import (
	"sync"

	"bailiff/runtime/ledger"
	"bailiff/runtime/mask"
	"bailiff/runtime/service"
)

// maxMalformed is how many malformed requests a minute and key leave an event. The others are counted.
const maxMalformed = 60

// malformed counts the malformed requests of the current minute by key, as far as they leave events.
type malformed struct {
	mu     sync.Mutex
	minute int64
	keys   map[ledger.ID]int
}

// admit reports whether one more malformed request of a key leaves an event, at a time in Unix seconds. A clock that goes back
// begins no minute anew.
func (m *malformed) admit(key ledger.ID, now int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if minute := now / 60; minute > m.minute || m.keys == nil {
		m.minute, m.keys = minute, map[ledger.ID]int{}
	}
	if m.keys[key] >= maxMalformed {
		return false
	}
	m.keys[key]++
	return true
}

// noteMalformed counts a request that was not decided because of its body, and leaves its event: the code and the field,
// without a value. The event goes with the next group, and what becomes of it changes no answer.
func (a *Decider) noteMalformed(r *Request, key *ledger.Key, fault *service.Failure) {
	admitted := a.malformed.admit(key.ID, r.now.Unix())
	a.Metrics.Malformed(admitted)
	if !admitted {
		return
	}
	plan := ledger.Plan{
		ID: r.ID, At: r.now.UnixNano(), Key: key.ID, TestRun: true, Malformed: true,
		Pass:  ledger.Ending{Decision: ledger.Denied, Code: fault.Code},
		Event: ledger.Event{Endpoint: r.endpoint(), RequestID: r.RequestID},
	}
	if len(fault.Faults) > 0 {
		plan.Event.Detail = mask.Text(fault.Faults[0].Field)
	}
	a.Ledger.Submit(&plan)
}

// endpoint is the route that a request came by.
func (r *Request) endpoint() string {
	if r.TestRun {
		return "/v1/authorize/test-run"
	}
	return "/v1/authorize"
}
