package ledger

import (
	"fmt"
	"unicode/utf8"
)

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
	Resolved   int64    // 0 while pending
	Note       string   // of who resolved it, for the agent
	Approvers  []string // who have approved it while it waits for another approver; without those who may not decide any more

	// From the record that opened the hold.
	Rule          string // the rule that holds
	Line          int    // of the rule in the policy; 0 where it is not known
	Entry         string // the entry of its list that asks for a decision; empty where it is not about one
	Method        string
	AgentID       string
	PolicyVersion string
	Intent        []byte // JSON; nil in lists
	AmountSent    string // how the intent wrote its amount; empty where it has none with a normal form, and in lists
}

// MaxResolutionNote bounds the note of a resolution, in bytes.
const MaxResolutionNote = 512

// A Resolution is an operator's decision about a hold.
type Resolution struct {
	Key       ID
	Hold      ID
	Allow     bool
	At        int64    // when it came: Unix nanoseconds
	Resolved  int64    // resolved_at as signed: Unix seconds
	Signature [64]byte // the operator's Ed25519 signature, kept for the audit
	Operator  [32]byte // whose signature it is, which is not recorded: [ErrOperator] where that key was replaced

	Note string // for the agent; at most MaxResolutionNote bytes, and nothing signs it

	// Approval is an approver's decision, in place of the operator's; nil for the operator's own. Needed is how many approvers it takes
	// to allow a hold, one to deny it.
	Approval *Approval
	Needed   int
}

// Validate returns an error that wraps [ErrInvalid] where a time of r is out of bounds.
func (r *Resolution) Validate() error {
	if r.At < 0 || r.At > MaxTime || r.Resolved < 0 || r.Resolved > MaxTime {
		return fmt.Errorf("%w: resolution of the time %d, signed for %d", ErrInvalid, r.At, r.Resolved)
	}
	if len(r.Note) > MaxResolutionNote || !utf8.ValidString(r.Note) {
		return fmt.Errorf("%w: the note has %d bytes; it can have %d of UTF-8", ErrInvalid, len(r.Note), MaxResolutionNote)
	}
	if r.Approval == nil {
		return nil
	}
	if r.Needed < 1 || r.Needed > MaxApprovalsNeeded {
		return fmt.Errorf("%w: %d approvals are needed; it can be 1 to %d", ErrInvalid, r.Needed, MaxApprovalsNeeded)
	}
	return r.Approval.validate()
}
