package state

import (
	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// A Kind says what a record is about. The numbers are on disk and never change their meaning.
type Kind uint8

// The kinds of records.
const (
	None         Kind = 0 // nothing is to be recorded
	Decision     Kind = 1
	TestRun      Kind = 2 // an event without any effect
	KeyCreated   Kind = 3
	KeyRevoked   Kind = 4
	HoldResolved Kind = 5
)

// A Record is one entry of the log: the effects of one step as new values, never the command that led to them. So
// applying needs no judgement, and no later change of Decide changes the past.
type Record struct {
	Kind Kind
	Key  ledger.ID // of every kind
	Now  int64     // the step's time in Unix nanoseconds, of every kind

	// Of Decision and TestRun.
	Plan     ledger.ID
	Result   ledger.Result
	Ending   ledger.Ending
	Observed bool
	Event    ledger.Event

	// Of Decision.
	Counters []CounterEffect
	Hold     HoldEffect
	Usage    ledger.Usage // the month's new count; zero where the decision does not count

	// Of KeyCreated: the whole key. Of KeyRevoked: Epoch is the new one.
	Created ledger.Key
	Epoch   uint64

	// Of HoldResolved; the hold and its new state are in Hold.
	Resolved  int64 // resolved_at as signed, Unix seconds
	Signature [64]byte
}

// A CounterEffect is the new value of a counter. The window that it holds for is the one that the record's Now
// lies in, so no bucket is recorded.
type CounterEffect struct {
	Counter ledger.Counter
	Value   amount.Amount

	id counterID // filled in by identify
}

// A HoldAction is what a decision does to a hold. The numbers are on disk.
type HoldAction uint8

// The actions. Found leaves the hold as it is and only names it.
const (
	NoHold     HoldAction = 0
	HoldFound  HoldAction = 1
	HoldOpened HoldAction = 2
	HoldUsedUp HoldAction = 3
)

// A HoldEffect is what a record does to a hold.
type HoldEffect struct {
	Action HoldAction
	ID     ledger.ID
	State  ledger.HoldState // of HoldResolved only: HoldAllowed or HoldRefused

	// Of HoldOpened.
	Expires       int64
	IntentHash    [32]byte
	PolicyHash    [32]byte
	Method        string
	AgentID       string
	PolicyVersion string
	Intent        []byte
}

// reset empties r and keeps the memory of its counters.
func (r *Record) reset() {
	*r = Record{Counters: r.Counters[:0]}
}
