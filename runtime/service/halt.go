package service

import (
	"time"

	"bailiff/runtime/ledger"
	"bailiff/vm/errcode"
)

// Halted returns why nothing is allowed for a key now, nil where the service is not frozen and the key is not suspended
// (specification, halt.2). Without a key it is about the service.
func (s *Service) Halted(key *ledger.Key) *Failure {
	if frozen := s.Ledger.Frozen(); frozen.Stopped() || key != nil && key.Halt.Stopped() {
		return s.HaltFault(key)
	}
	return nil
}

// HaltFault is the answer to a request that a halt has refused. No policy decides it, so OBSERVE does not turn it.
func (s *Service) HaltFault(key *ledger.Key) *Failure {
	if frozen := s.Ledger.Frozen(); frozen.Stopped() {
		return Fail(errcode.Frozen, "the service is frozen since "+since(&frozen)+"; nothing is allowed until its operator thaws it")
	}
	message := "the API key is suspended"
	if key != nil && key.Halt.Stopped() {
		message += " since " + since(&key.Halt)
	}
	return Fail(errcode.KeySuspended, message+"; nothing is allowed for it until the operator resumes it")
}

// since says when it stopped, and why where that was said.
func since(h *ledger.HaltState) string {
	text := time.Unix(0, h.Since).UTC().Format(time.RFC3339)
	if h.Reason != "" {
		text += " (" + h.Reason + ")"
	}
	return text
}
