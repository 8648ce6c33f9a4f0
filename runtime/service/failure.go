package service

import (
	"strings"
	"time"

	"bailiff/runtime/strictjson"
	"bailiff/vm/errcode"
)

// Failure is an answer that is not a decision: authentication, validation, or trouble of the service's own.
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

// Fail returns a failure.
func Fail(c errcode.Code, message string) *Failure { return &Failure{Code: c, Message: message} }

// Unavailable is the answer where a decision could not be made durable: unknown, and never ALLOWED.
func Unavailable() *Failure {
	return Fail(errcode.StoreUnavailable, "the decision could not be stored, so none is given; ask again later")
}

// clockUnconfirmed is the answer to whatever needs the time, while that is in doubt (decisions, section 7).
func clockUnconfirmed() *Failure {
	return Fail(errcode.ClockUnconfirmed, "the service's clock cannot be relied on, so it decides nothing; its operator has to set the clock, or to confirm it with `bailiff clock accept`")
}

// NoRandomness is the answer where the system has no random bytes to give.
func NoRandomness() *Failure {
	return Fail(errcode.Internal, "the service could not draw random bytes; nothing was done")
}

// Unsigned is the answer where a decision that allows has no attestation.
func Unsigned() *Failure {
	return Fail(errcode.Internal, "the attestation could not be signed; the decision stays recorded, so ask again with a new intent")
}

// BadKey is the one answer to keys that are not good.
func BadKey() *Failure {
	return Fail(errcode.APIKeyInvalid, "the API key is malformed, unknown or revoked; it starts with sk_svc_")
}

// ComeAgain is after how long a request that found no turn is to come again.
const ComeAgain = time.Second

// Retryable is a failure that says when to come again.
func Retryable(c errcode.Code, message string, after time.Duration) *Failure {
	return &Failure{Code: c, Message: message, RetryAfter: after}
}

// ReadBody reads a request's body: one JSON object with these members and no others. As everywhere, a repeated or unknown
// name, a name in another case, a wrong type, null, bytes that are no UTF-8, half a surrogate pair and trailing data are
// refused, and the message names the field (decisions, section 3).
func ReadBody(body []byte, members ...strictjson.Member) *Failure {
	if problem := strictjson.Document("the body", body, members); problem != "" {
		return Fail(errcode.ValidationSchema, problem)
	}
	return nil
}

// Reason is what an error says behind the name of its kind.
func Reason(err, kind error) string { return strings.TrimPrefix(err.Error(), kind.Error()+": ") }
