package ledger

import "fmt"

// A Use uses up an attestation: a gateway asks for it before anything goes upstream. The key must be good and of the
// epoch that the caller judged by, and the attestation unexpired at the step's time.
type Use struct {
	Key     ID
	Epoch   uint64
	Default [32]byte // of the default policy that the caller judged by; zeros where it judged by another policy
	Token   ID       // the claim jti
	Issued  int64    // when the attestation was issued, Unix nanoseconds of a whole second
	Expires int64    // of the attestation, Unix nanoseconds; what was used is remembered until then
	At      int64    // Unix nanoseconds
	Event   Event    // endpoint, agent, action, chain, commitment, policy
}

// Validate returns an error that wraps [ErrInvalid] and names the first part of u that no ledger would record.
func (u *Use) Validate() error {
	switch {
	case u.Token.IsZero():
		return fmt.Errorf("%w: use of an attestation without an id", ErrInvalid)
	case u.At < 0 || u.At > MaxTime || u.Expires < 0 || u.Expires > MaxTime:
		return fmt.Errorf("%w: use at %d of an attestation until %d: use Unix nanoseconds", ErrInvalid, u.At, u.Expires)
	}
	return u.Event.validate()
}
