package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Refused is an answer of the service that decides nothing: every 4xx, but for the 403 that is a denial.
type Refused struct {
	Status     int             // of HTTP
	Code       string          // such as SVC_API_KEY_INVALID; empty where the answer has none
	Message    string          // for people
	Details    json.RawMessage // the faults of a request's body, or the diagnostics of a policy; nil where there are none
	RetryAfter time.Duration   // how long to wait before the request is sent again; 0 where the service does not say
}

// Error says what the service said.
func (r *Refused) Error() string {
	if r.Code == "" {
		return fmt.Sprintf("the service answered %d %s", r.Status, http.StatusText(r.Status))
	}
	return fmt.Sprintf("the service refused (%d %s): %s", r.Status, r.Code, r.Message)
}

// Unreachable is a request without an answer of the service: no connection, a timeout, a redirect, a 5xx, or an answer that
// is malformed or too large. Whether the service decided is unknown.
type Unreachable struct {
	Err        error         // what went wrong; a [*Status] for a status of HTTP
	RetryAfter time.Duration // how long to wait before the request is sent again; 0 where the service does not say
}

// Error says what went wrong.
func (u *Unreachable) Error() string { return "no usable answer from the service: " + u.Err.Error() }

// Unwrap returns what went wrong.
func (u *Unreachable) Unwrap() error { return u.Err }

// Status is a redirect, or a failure of the service.
type Status struct {
	HTTP    int
	Code    string // such as SVC_STORE_UNAVAILABLE; empty where the answer has none
	Message string // for people
}

// Error says what was answered.
func (s *Status) Error() string {
	if s.Code == "" {
		return fmt.Sprintf("it answered %d %s", s.HTTP, http.StatusText(s.HTTP))
	}
	return fmt.Sprintf("it answered %d %s: %s", s.HTTP, s.Code, s.Message)
}
