package authority

import (
	"time"

	"bailiff/runtime/metrics"
	"bailiff/vm/errcode"
)

// Answer is what authorize or test-run answers: a decision (specification, "Authorization response"). It may be used for
// one decision after the other, and keeps the memory of its message.
type Answer struct {
	HTTP   int    // the status code: 200, 202 or 403; always 200 on a test-run
	Status string // ALLOWED, DENIED or PENDING

	Code    errcode.Code // on denial and hold, and on what OBSERVE approved; else empty
	Rule    string       // matched_rule, section.key; empty where Code is, or where no rule is to name
	Message []byte

	PolicyHash  string // SHA-256 hex of the evaluated policy's signed bytes
	Attestation []byte // the JWT; nil unless allowed by authorize
	Nonce       string // request_nonce as sent; empty where none was

	HoldID    string // a UUID; on PENDING of authorize only
	ExpiresAt int64  // of the hold, Unix seconds

	Replayed bool // the answer to the same request as before, by its request_nonce

	TestRun bool // the answer of a test-run
	Observe bool // a test-run's observe_mode_active

	Details     Details      // of a denial or a hold by a rule, and of what OBSERVE approved
	Explanation *Explanation // nil where none was asked for

	// Timing is how long each stage took, where that was asked for; it is valid beside a failure, too.
	Timing [metrics.Stages]time.Duration
}

// Failure is an answer that is no decision: authentication, validation, or trouble of the service's own.
type Failure struct {
	Code    errcode.Code
	Message string
	HTTP    int // the status of the answer; 0 for that of Code
	// Diagnostics is a JSON array of grammar.Report, of a policy that can't be deployed; nil for every other failure.
	Diagnostics []byte
	// RetryAfter is when to come again, where that is known; else zero.
	RetryAfter time.Duration
	// Faults are all faults of a request's body, of which the first gave Code and Message; nil where the body could not be
	// read, and for every other failure.
	Faults []Fault
}

// Fault is one fault of a request's body.
type Fault struct {
	Code    errcode.Code
	Field   string // its path: "intent.method"
	Message string
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

func failure(c errcode.Code, message string) *Failure { return &Failure{Code: c, Message: message} }

// unavailable is the answer where a decision could not be made durable: unknown, and never ALLOWED.
func unavailable() *Failure {
	return failure(errcode.StoreUnavailable, "the decision could not be stored, so none is given; ask again later")
}

// clockUnconfirmed is the answer to whatever needs the time, while that is in doubt (decisions, section 7).
func clockUnconfirmed() *Failure {
	return failure(errcode.ClockUnconfirmed, "the service's clock cannot be relied on, so it decides nothing; its operator has to set the clock, or to confirm it with `bailiff clock accept`")
}

// noRandomness is the answer where the system has no random bytes to give.
func noRandomness() *Failure {
	return failure(errcode.Internal, "the service could not draw random bytes; nothing was done")
}
