package ledger

import (
	"fmt"
	"unicode/utf8"

	"bailiff/vm/amount"
)

// An Event is what the record of a decision says about its request, whichever way it ends. Texts have at most
// MaxEventText bytes; Value and Detail are cut to MaxEventDetail, since they come from the agent at any length.
type Event struct {
	Endpoint   string // the route, such as "/v1/authorize"
	RequestID  string // that the client gave the HTTP request; empty where it gave none, and has the plan's ID in hexadecimal
	AgentID    string
	Action     string
	Class      uint8    // the intent's kind: a vm.Class
	ChainID    uint64   // 0 where the request names none
	Commitment [32]byte // txCommit or, for a user operation, userOpHash
	PolicyHash [32]byte // of the policy that judged
	Value      string   // the value that triggered the rule (Events, paragraph 3 of the specification)
	Detail     string   // the human-readable reason
}

// Bounds of an event's texts, in bytes.
const (
	MaxEventText   = 1024
	MaxEventDetail = 1024
)

func (e *Event) validate() error {
	for _, text := range [...]struct{ name, value string }{
		{"endpoint", e.Endpoint}, {"request id", e.RequestID}, {"agent id", e.AgentID}, {"action", e.Action},
	} {
		if len(text.value) > MaxEventText {
			return fmt.Errorf("%w: event with an %s of %d bytes: at most %d", ErrInvalid, text.name, len(text.value), MaxEventText)
		}
	}
	return nil
}

// Clip returns text cut to at most MaxEventDetail bytes, at the start of a character.
func Clip(text string) string {
	if len(text) <= MaxEventDetail {
		return text
	}
	end := MaxEventDetail
	for end > MaxEventDetail-utf8.UTFMax+1 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// An EventKind says what a record of the log is about.
type EventKind uint8

// The kinds of events.
const (
	Decided EventKind = iota + 1
	KeyCreated
	KeyWasRevoked
	HoldResolved
	HoldExpired
	KeyChanged
	PolicyBound
	AttestationUsed
	WebhookChanged
)

var kindNames = [...]string{
	"", "decision", "key created", "key revoked", "hold resolved", "hold expired", "key changed", "policy deployed",
	"attestation used", "webhook changed",
}

// String returns the kind in words.
func (k EventKind) String() string {
	if k > 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// A LoggedEvent is one record of the log. Which fields are set depends on the kind; all kinds have LSN, Kind, Key
// and At.
type LoggedEvent struct {
	LSN  uint64
	Kind EventKind
	Key  ID
	At   int64 // the step's now: Unix nanoseconds

	// Of a decision.
	Plan     ID
	Result   Result
	Ending   Ending
	Observed bool
	Event    Event
	Counters []CounterValue // the counters that advanced, with their new values

	// Of a decision that concerns a hold, of a resolution and of an expiry.
	Hold        ID
	HoldState   HoldState // what the hold became; 0 where it stayed as it was, and on expiry
	HoldExpires int64     // of a hold that the decision opened: Unix nanoseconds

	// Of a deployment. The policy's hash is in Event.PolicyHash.
	Rollback bool

	// Of an attestation's use: its claim jti. What it was used for is in Event.
	Token ID

	// Of a webhook's change.
	Webhook       ID
	WebhookChange WebhookChange

	// Of a key's creation and change: what it has from then on.
	Tier   string
	Scopes Scopes
}

// A WebhookChange is what became of a webhook.
type WebhookChange uint8

// The changes of webhooks.
const (
	WebhookRegistered WebhookChange = iota + 1
	WebhookRemoved
	WebhookDisabled // after repeated failure
)

var changeNames = [...]string{"", "registered", "removed", "disabled"}

// String returns the change in one word.
func (c WebhookChange) String() string {
	if c > 0 && int(c) < len(changeNames) {
		return changeNames[c]
	}
	return fmt.Sprintf("WebhookChange(%d)", uint8(c))
}

// A CounterValue is a counter and how far it has come.
type CounterValue struct {
	Counter Counter
	Value   amount.Amount
}

// An EventQuery asks for a page of events. What is zero does not narrow.
type EventQuery struct {
	After    uint64   // only events whose LSN is larger
	Key      ID       // only events of this key
	From, To int64    // only events at From or later, and before To: Unix nanoseconds
	Decision Decision // only decisions that ended so
	Rule     string   // only decisions with this matched_rule
	Limit    int      // at most so many events; 1 to MaxEventPage
	// Examine bounds how many records are looked at, so that a page of few hits takes no long time; 0 is no bound. A
	// page may then be empty and have More.
	Examine int
}

// MaxLSN is the largest place in a log. No log comes so far.
const MaxLSN = 1<<63 - 1

// MaxEventPage is the largest page of events.
const MaxEventPage = 10_000

// An EventPage is a page of events.
type EventPage struct {
	Events []LoggedEvent
	// Next is the After of the following page. More says that there may be one.
	Next uint64
	More bool
}

// Usage is the number of ALLOWED decisions of a key in one UTC month.
type Usage struct {
	Month uint32 // 12*year + month - 1
	Count uint64
}
