package state

import (
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/pins"
	"bailiff/vm/amount"
)

// A Record is one entry of the log: the effects of one step as new values, never the command that led to them. So
// applying needs no judgement, and no later change of Decide changes the past.
type Record struct {
	Kind ledger.Kind
	Key  ledger.ID // zero where the record is about the whole store
	Now  int64     // the step's time in Unix nanoseconds, of every kind

	// Of Decided and Simulated; of RequestMalformed Plan, Event and the code of Ending.
	Plan     ledger.ID
	Result   ledger.Result
	Ending   ledger.Ending
	Observed bool
	Event    ledger.Event

	// Of Decided. Forgets is the LSN of the record that was the last to advance the groups that make room, or the latest of
	// several such records; 0 where none does.
	Counters []CounterEffect
	Forgets  uint64
	Hold     HoldEffect
	Usage    ledger.Usage // the month's new count; zero where the decision does not count
	Replay   *ledger.Replay

	// Outbox is what the webhooks of the key are told of this record. Of Decided, HoldResolved, HoldExpired and
	// PolicyBound.
	Outbox []OutboxEffect

	// Of KeyCreated: the whole key. Of KeyWasRevoked and PolicyBound: Epoch is the new one. Of KeyChanged: the tier
	// and the scopes in Created.
	Created ledger.Key
	Epoch   uint64

	// Of HoldResolved; the hold and its new state are in Hold, as the hold of HoldExpired is.
	Resolved  int64 // resolved_at as signed, Unix seconds
	Signature [64]byte
	Note      string // also of a passkey's decision

	// Of AttestationUsed; what it was used for is in Event.
	Token   ledger.ID
	Expires int64 // of the attestation

	Deployed *DeployEffect   // of PolicyBound
	Default  *DefaultEffect  // of DefaultBound
	Webhook  *ledger.Webhook // of WebhookCreated: all of it; of WebhookRemoved, WebhookEnabled and DeliverySettled: its ID
	Settled  SettleEffect    // of DeliverySettled
	Pins     *pins.Effect    // of PinsChanged
	Halt     *ledger.Halt    // of KeySuspended, KeyResumed, ServiceFrozen and ServiceThawed

	Restored *ledger.Restoration // of ServiceRestored
	Rotation *ledger.Rotation    // of OperatorRotated
	Drop     *ledger.Drop        // of EventsDropped
	Slots    int                 // of StoreDivided and StoreJoined: how many slots the keys are in from then on, or were in until then; of ClockSet: how many there were, 0 for all keys
	Slot     int                 // of ClockSet: whose keys it is of; 0 for the slot that has none

	// Origin is the LSN of the record that this one copies from another log, in kinds that Follow takes; 0 where it copies none.
	Origin uint64

	Approver *ledger.ApproverStatement // of ApproverConfirmed, ApproverSuspended, ApproverResumed and ApproverRemoved
	Approval *ledger.Approval          // of HoldApproved, and of HoldResolved where a passkey decided

	decoder decoder // scratch of Decode
}

// An OutboxEffect is one event for one webhook: a delivery that waits from now on, or one that there was no room for.
type OutboxEffect struct {
	Webhook ledger.ID
	Dropped bool
}

// A DeployEffect is what a deployment leaves behind, beside the key's new epoch.
type DeployEffect struct {
	Operator      [32]byte // what the key is pinned to from now on
	PolicyHash    [32]byte
	PolicyVersion string
	Machine       uint32
	Rollback      bool
	Named         bool
	Serial        uint64
	Activation    *ledger.Activation // that is used up; nil for none
	Text          []byte
	Program       []byte
}

// A DefaultEffect is a default policy that is in force from then on.
type DefaultEffect struct {
	PolicyHash [32]byte // zeros where there is none
	Rollback   bool
	Serial     uint64
	Named      bool
	Keys       []ledger.ID // none: every key
}

// A SettleAction is what an attempt to deliver leads to. The numbers are on disk.
type SettleAction uint8

// The actions.
const (
	DeliveryDone     SettleAction = 1 // delivered
	DeliveryAgain    SettleAction = 2 // due again
	DeliveryGivenUp  SettleAction = 3
	DeliveryDisables SettleAction = 4 // the webhook is disabled, and all that waits for it is forgotten
)

// A SettleEffect is the new state of a delivery.
type SettleEffect struct {
	LSN    uint64 // of the event
	Action SettleAction

	// Of DeliveryAgain.
	Attempts uint32 // how many were made so far
	Next     int64  // when it is due again
}

// A CounterEffect is the new value of a counter. The window that it holds for is the one that the record's Now
// lies in, so no bucket is recorded.
type CounterEffect struct {
	Counter ledger.Counter
	Value   amount.Amount
	Room    bool // it is a task's, and is known not to be used up: once it is idle it may make room for another

	id     counterID // filled in by identify
	usedUp bool      // scratch of Decide
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
	Version       uint64 // of the intent hash
	Expires       int64
	IntentHash    [32]byte
	PolicyHash    [32]byte
	Method        string
	AgentID       string
	PolicyVersion string
	Intent        []byte
	AmountSent    string
	Fee           ledger.Fee
}

// reset empties r and keeps the memory of its counters and its outbox.
func (r *Record) reset() {
	*r = Record{Counters: r.Counters[:0], Outbox: r.Outbox[:0]}
}
