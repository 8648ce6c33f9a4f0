package ledger

import "fmt"

// A HoldState is the state of a hold. Expiry is not a state of its own: it is judged by the time of the query.
type HoldState uint8

// The states. A hold starts pending, is resolved at most once, and an allowed one is used up by the decision
// that it covers.
const (
	HoldPending HoldState = iota + 1
	HoldAllowed
	HoldUsed
	HoldRefused
)

// String returns the state as the API spells it (States of the specification); a used hold is still ALLOWED.
func (s HoldState) String() string {
	switch s {
	case HoldPending:
		return "PENDING"
	case HoldAllowed, HoldUsed:
		return "ALLOWED"
	case HoldRefused:
		return "DENIED"
	}
	return fmt.Sprintf("HoldState(%d)", uint8(s))
}

// IntentHashVersion is the version of the intent hashes by which holds are found again. An open hold of an older version
// can't be found any more, and so expires at once: at the first start of a service that has the newer one.
const IntentHashVersion = 2

// A Hold is the read view of a hold. Times are Unix nanoseconds.
type Hold struct {
	ID         ID
	Key        ID
	State      HoldState
	IntentHash [32]byte
	PolicyHash [32]byte
	Fee        Fee
	Created    int64
	Expires    int64
	Resolved   int64 // 0 while pending

	// From the record that opened the hold.
	Rule          string // the rule that holds
	Entry         string // the entry of its list that asks for a decision; empty where it is not about one
	Method        string
	AgentID       string
	PolicyVersion string
	Intent        []byte // JSON; nil in lists
}

// A Resolution is an operator's decision about a hold.
type Resolution struct {
	Key       ID
	Hold      ID
	Allow     bool
	At        int64    // when it came: Unix nanoseconds
	Resolved  int64    // resolved_at as signed: Unix seconds
	Signature [64]byte // the operator's Ed25519 signature, kept for the audit
}

// Validate returns an error that wraps [ErrInvalid] where a time of r is out of bounds.
func (r *Resolution) Validate() error {
	if r.At < 0 || r.At > MaxTime || r.Resolved < 0 || r.Resolved > MaxTime {
		return fmt.Errorf("%w: resolution of the time %d, signed for %d", ErrInvalid, r.At, r.Resolved)
	}
	return nil
}
