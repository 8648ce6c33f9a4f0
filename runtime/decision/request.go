package decision

import (
	"time"

	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
	"bailiff/vm"
)

// A Request is a request for a decision, from when it is decoded to when it is closed, with the memory that the decision
// needs. Its memory is used again; what leaves it is copied out.
type Request struct {
	by      *Decider
	unsound bool // it panicked while it was judged: its memory is not used again
	decoder *intent.Decoder
	machine vm.Machine
	frame   []vm.Value

	Call
	key       *ledger.Key
	policy    *policies.Policy
	in        *intent.Intent
	result    *vm.Result
	observe   bool // what the policy denies is approved
	observing bool // the service observes; a test-run only says so
	now       time.Time
	plan      ledger.Plan
	hold      ledger.HoldRequest
	reserved  []ledger.Reservation
	seen      []ledger.Sighting
	parts     []ledger.Counter // of the tokens that were seen
	to        *Answer          // the caller's
	source    []byte           // the intent's canonical form, for a hold
	limits    []Headroom       // by counter, for an explanation
	sought    int              // bytes that may still be looked at for the entries of lists that denied
	body      []byte           // the caller's
	replay    ledger.Replay
	claimed   []byte // the claims in replay
	told      told   // of the first violation
	turn      func() // gives back the turn that was taken before the body was decoded; nil for none
}

// Call is what a caller wants of a decision beside its body. Nothing of it is kept.
type Call struct {
	ID        ledger.ID // of the decision, and of nothing else; drawn where it is zero
	TestRun   bool      // the strict decision without any effect
	Explain   bool      // the answer has an explanation
	RequestID string    // that the client gave, recorded with the event; at most ledger.MaxEventText bytes
	Trace     string    // a traceparent that tracecontext passes, recorded with the event; or ""
	Timed     bool      // the answer says how long its stages took
	Unsigned  bool      // the answer has the claims of its attestation, which another instance signs
}

func newRequest(a *Decider, options intent.Options) *Request {
	return &Request{by: a, decoder: intent.NewDecoder(options)}
}
