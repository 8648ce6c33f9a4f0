package ledger

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxHaltReason bounds the reason of a halt, in bytes.
const MaxHaltReason = 512

// A Halt suspends or resumes an API key, or freezes or thaws the whole service (specification, halt.1).
type Halt struct {
	Key    ID     // whose key; zeros for the whole service
	Stop   bool   // suspend or freeze; otherwise resume or thaw
	At     int64  // Unix nanoseconds
	Reason string // on one line; at most MaxHaltReason bytes

	// Signed is the operator's statement; nil where the admin socket alone asked.
	Signed   *HaltStatement
	Operator [32]byte // who signed, which is not recorded: [ErrOperator] where that key was replaced
}

// A HaltStatement is what an operator signed, beside key, action and reason.
type HaltStatement struct {
	Serial    uint64 // above that of every statement before, for the same key or for the service
	At        int64  // Unix seconds
	Signature [64]byte
}

// A HaltState is how far a key or the service is stopped. The zero value never was.
type HaltState struct {
	Since  int64  // Unix nanoseconds; 0 while it is not stopped
	Last   int64  // when it was last stopped: attestations from before then are void, also after it goes on
	Serial uint64 // of the latest statement
	Reason string // of the latest halt
}

// Stopped reports whether it is stopped now.
func (h *HaltState) Stopped() bool { return h.Since != 0 }

// Kind returns the kind of a halt's record.
func (h *Halt) Kind() Kind {
	switch {
	case h.Key.IsZero() && h.Stop:
		return ServiceFrozen
	case h.Key.IsZero():
		return ServiceThawed
	case h.Stop:
		return KeySuspended
	}
	return KeyResumed
}

// ErrHalted says that the key is suspended or the service frozen, or was since the attestation was issued.
var ErrHalted = errors.New("ledger: the key is suspended or the service is frozen")

// Validate returns an error that wraps [ErrInvalid] and names the first part of h that no ledger would record.
func (h *Halt) Validate() error {
	switch {
	case h.At < 1 || h.At > MaxTime:
		return fmt.Errorf("%w: halt at %d: use Unix nanoseconds", ErrInvalid, h.At)
	case len(h.Reason) > MaxHaltReason || !utf8.ValidString(h.Reason):
		return fmt.Errorf("%w: the reason has %d bytes; it can have %d of UTF-8", ErrInvalid, len(h.Reason), MaxHaltReason)
	case h.Signed != nil && (h.Signed.Serial == 0 || h.Signed.At < 0 || h.Signed.At > MaxTime):
		return fmt.Errorf("%w: a statement of serial %d at %d: serials begin with 1, and times are Unix seconds", ErrInvalid, h.Signed.Serial, h.Signed.At)
	}
	return nil
}
