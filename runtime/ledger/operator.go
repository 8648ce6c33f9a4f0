package ledger

import (
	"fmt"
	"slices"
)

// MaxRotations bounds how often the operator's key is replaced in one log.
const MaxRotations = 1000

// A Rotation replaces the key of the service's operator by another one (specification, rotation.1).
type Rotation struct {
	From, To [32]byte // Ed25519 public keys
	At       int64    // Unix nanoseconds

	// Signed is the statement that From has signed; nil where the data folder's owner asked while no service ran.
	Signed *HaltStatement
}

// Operators are the keys that the service's operator had, in their order; the last one counts. There are none before the first
// rotation: then the setting alone says which key it is.
type Operators struct {
	Keys   [][32]byte
	Serial uint64 // of the latest statement
}

// Current returns the key that counts in place of another: the last of the operator's keys for each of them, and for a key that is
// not the operator's that key itself.
func (o *Operators) Current(key [32]byte) [32]byte {
	if slices.Contains(o.Keys, key) {
		return o.Keys[len(o.Keys)-1]
	}
	return key
}

// Replaced reports whether another key counts in place of a key.
func (o *Operators) Replaced(key [32]byte) bool { return o.Current(key) != key }

// Validate returns an error that wraps [ErrInvalid] and names the first part of r that no ledger would record.
func (r *Rotation) Validate() error {
	switch {
	case r.At < 1 || r.At > MaxTime:
		return fmt.Errorf("%w: a rotation at %d: use Unix nanoseconds", ErrInvalid, r.At)
	case r.From == [32]byte{} || r.To == [32]byte{} || r.From == r.To:
		return fmt.Errorf("%w: a rotation is from one operator key to another one", ErrInvalid)
	case r.Signed != nil && (r.Signed.Serial == 0 || r.Signed.At < 0 || r.Signed.At > MaxTime):
		return fmt.Errorf("%w: a statement of serial %d at %d: serials begin with 1, and times are Unix seconds", ErrInvalid, r.Signed.Serial, r.Signed.At)
	}
	return nil
}
