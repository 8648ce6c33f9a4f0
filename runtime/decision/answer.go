package decision

import (
	"time"

	"bailiff/runtime/metrics"
	"bailiff/vm/errcode"
)

// Answer is what authorize or test-run answers: a decision (specification, authorize.2). It may be used for
// one decision after the other, and keeps the memory of its message.
type Answer struct {
	HTTP   int    // the status code: 200, 202 or 403; always 200 on a test-run
	Status string // ALLOWED, DENIED or PENDING

	Code    errcode.Code // on denial and hold, and on what OBSERVE approved; else empty
	Rule    string       // matched_rule, section.key; empty where Code is, or where no rule is to name
	Message []byte

	PolicyHash  string // SHA-256 hex of the evaluated policy's signed bytes
	Attestation []byte // the JWT; nil unless allowed by authorize
	Claims      []byte // of the attestation, in its place, where Call.Unsigned asks for them; attest.ParseClaims reads them
	Nonce       string // request_nonce as sent; empty where none was

	HoldID      string // a UUID; on PENDING of authorize only
	ExpiresAt   int64  // of the hold, Unix seconds
	ApprovalURL string // where approvers decide the hold; empty where there are none

	Replayed bool // the answer to the same request as before, by its request_nonce

	TestRun bool // the answer of a test-run
	Observe bool // a test-run's observe_mode_active

	Details     Details      // of a denial or a hold by a rule, and of what OBSERVE approved
	Explanation *Explanation // nil where none was asked for

	// Timing is how long each stage took, where that was asked for; it is valid beside a failure, too.
	Timing [metrics.Stages]time.Duration
}
