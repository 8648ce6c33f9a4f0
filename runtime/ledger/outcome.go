package ledger

import (
	"fmt"

	"bailiff/vm/amount"
)

// A Result is the way a plan ended.
type Result uint8

// The results. Those up to RefusedGroups are decisions and have a record; the others have none, change nothing,
// and say what the caller has to do. Unknown is the zero value, so that an empty outcome allows
// nothing.
const (
	// Unknown: nothing was decided; the ticket's Wait says why.
	Unknown Result = iota
	// Passed: nothing stood in the way. The decision is the plan's Pass: ALLOWED, or the policy's own DENIED.
	Passed
	// Held: PENDING, by a new hold or by the one that was open already.
	Held
	// HoldDenied: an operator denied the hold of this intent, and it has not expired.
	HoldDenied
	// Refused: a reservation would exceed its limit. None of the plan's counters advanced.
	Refused
	// RefusedGroups: a reservation needs a new counter and the key has MaxGroups. None advanced.
	RefusedGroups
	// QuotaExceeded: the month's quota is used up (HTTP 429). Nothing advanced, nothing recorded.
	QuotaExceeded
	// TooManyHolds: the key has MaxOpenHolds pending holds (HTTP 429). Nothing recorded.
	TooManyHolds
	// Stale: the plan was made under another epoch or default policy. Look both up again and make the plan anew; the ticket's
	// Wait returns when the key's new epoch is durable and can be looked up.
	Stale
	// KeyRevoked: the key is revoked, or unknown.
	KeyRevoked
	// Replayed: the same request was allowed a moment ago. Nothing is recorded or counted again; LSN is that of the decision,
	// which Ledger.Replay returns when the ticket's Wait has returned nil.
	Replayed
	// Halted: the key is suspended, or the service frozen.
	Halted
)

var resultNames = [...]string{
	"unknown", "passed", "held", "hold denied", "refused", "too many groups",
	"quota exceeded", "too many holds", "stale", "key revoked", "replayed", "halted",
}

// String returns the result in words.
func (r Result) String() string {
	if int(r) < len(resultNames) {
		return resultNames[r]
	}
	return fmt.Sprintf("Result(%d)", uint8(r))
}

// Recorded reports whether a plan that ended so has a record of its decision.
func (r Result) Recorded() bool { return r >= Passed && r <= RefusedGroups }

// An Outcome is what came of a plan.
type Outcome struct {
	Result Result
	// Ending is what was recorded and is to be answered; it is zero where nothing was. On a test-run it holds the
	// decision that a real request would have had.
	Ending
	// Observed says that the ending would have been DENIED and is ALLOWED because the plan observes.
	Observed bool
	// Reservation is the index of the reservation that refused (Refused, RefusedGroups), otherwise -1.
	Reservation int
	// Used is how far that reservation's counter had come.
	Used amount.Amount
	// Hold is the hold that is pending, denied, or was used up; zero where none is concerned, and where a test-run
	// would have opened one. HoldExpires is its expiry in Unix nanoseconds, HoldOpened whether it is new.
	Hold        ID
	HoldExpires int64
	HoldOpened  bool
	// Now is the step's time: the plan's, or the key's where that was later. Unix nanoseconds.
	Now int64
	// LSN is the record's place in the log, 0 where there is none; that of the first decision where it is replayed.
	LSN uint64
}
