package differential

import (
	"errors"
	"fmt"
	"time"

	"bailiff/fuzz/oracle"
	"bailiff/runtime/intent"
)

// A History is what the oracle says of requests that follow each other: the verdict on each, and what counters, usage and
// holds make of it. An agent's key and a shim's are remembered apart. It is for one goroutine.
type History struct {
	decoder *intent.Decoder
	of      map[bool]*oracle.Memory // by whether the key's provenance is a shim
}

// NewHistory returns the history of two keys that have asked for nothing yet.
func NewHistory() *History {
	return &History{intent.NewDecoder(intent.Options{}), map[bool]*oracle.Memory{false: {}, true: {}}}
}

// Of returns the memory of one key.
func (h *History) Of(shim bool) *oracle.Memory { return h.of[shim] }

// A Request is one request for a decision.
type Request struct {
	Body       []byte
	Shim       bool
	TestRun    bool
	PolicyHash string // of the policy in force
	At         time.Time
}

// Expected is what a request has to be answered.
type Expected struct {
	oracle.Decision
	Verdict    oracle.Verdict // before counters and holds were asked; nothing of a body that no policy accepts
	IntentHash string         // in hexadecimal; empty where the body is refused
	Invalid    error          // of a body that no policy accepts
}

// Decide says what a request has to be answered under a policy, and remembers what that changes.
func (h *History) Decide(s *Subject, r Request) Expected {
	in, err := h.decoder.Decode(r.Body)
	if err != nil {
		var refused *intent.Error
		e := Expected{Invalid: err}
		e.Status = oracle.Error
		if errors.As(err, &refused) {
			e.Code = string(refused.Code)
		}
		return e
	}
	e := Expected{IntentHash: fmt.Sprintf("%x", in.Hash(s.Tokens()))}
	e.Verdict = s.oracle.Judge(r.Body, oracle.Sender{Shim: r.Shim})
	decide := h.of[r.Shim].Decide
	if r.TestRun {
		decide = h.of[r.Shim].TestRun
	}
	e.Decision = decide(&e.Verdict, e.IntentHash, r.PolicyHash, r.At)
	return e
}
