package ledger

import (
	"fmt"
	"unicode/utf8"

	"bailiff/runtime/subject"
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
	Details    Details  // of a decision by a rule
	// Subject is what the decision is about. A record with one has version 2.
	Subject subject.Subject
}

// Details are what the policy says to a decision: the other side of Value.
type Details struct {
	Limit   string   // a decimal, of a rule that is a limit
	Allowed []string // the first entries of a list that the value is not on; at most MaxAllowed
	Count   int      // how many entries that list has
	Entry   string   // the entry of a list that denied the value
	Line    int      // of the rule in the policy, from 1; 0 where it is not known
}

// Bounds of details. The texts are cut to MaxDetailText bytes before they come here, or are not recorded.
const (
	MaxAllowed    = 10
	MaxDetailText = 128
	// MaxDetailValue bounds what details show of the value, in bytes.
	MaxDetailValue = 256
	maxLine        = 1<<31 - 1 // a policy has 256 KiB
)

// IsZero reports whether there are none.
func (d *Details) IsZero() bool {
	return d.Line == 0 && d.Count == 0 && d.Limit == "" && d.Entry == "" && len(d.Allowed) == 0
}

// Fit reports whether the details keep their bounds.
func (d *Details) Fit() bool {
	ok := len(d.Limit) <= MaxDetailText && len(d.Entry) <= MaxDetailText && len(d.Allowed) <= min(d.Count, MaxAllowed) && uint(d.Line) <= maxLine && uint(d.Count) <= maxLine
	for _, text := range d.Allowed {
		ok = ok && len(text) <= MaxDetailText
	}
	return ok
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
	if !e.Details.Fit() {
		return fmt.Errorf("%w: event with details beyond their bounds", ErrInvalid)
	}
	if err := e.Subject.Check(); err != nil {
		return fmt.Errorf("%w: event with a subject whose %w", ErrInvalid, err)
	}
	return nil
}

// Clip returns text cut to at most MaxEventDetail bytes, at the start of a character.
func Clip(text string) string { return ClipTo(text, MaxEventDetail) }

// ClipTo returns text cut to at most limit bytes, at the start of a character.
func ClipTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > limit-utf8.UTFMax+1 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// A LoggedEvent is one record of the log. Which fields are set depends on the kind; all kinds have LSN, Kind, Key
// and At.
type LoggedEvent struct {
	LSN  uint64
	Kind Kind
	Key  ID
	At   int64 // the step's now: Unix nanoseconds

	// Of a decision; of a malformed request the plan, the event, whose detail is the field at fault, and the code.
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
	IntentHash  [32]byte  // of such a hold

	// Of a resolution: what the operator has signed beside the hold.
	Resolved  int64 // Unix seconds
	Signature [64]byte
	Note      string // for the agent

	// Of a deployment and of a default policy. The policy's hash is in Event.PolicyHash.
	Rollback bool

	// Of an attestation's use: its claim jti. What it was used for is in Event.
	Token ID

	// Of a webhook's change, which the kind says.
	Webhook ID

	// Of pins: the MCP server, and what became of its tools.
	Server string
	Pins   []PinView

	// Of a key's creation and change: what it has from then on.
	Tier   string
	Scopes Scopes

	// Of a decision by passkey: all of it, and of a statement about an approver. Shared; must not be changed.
	Approval *Approval
	Approver *ApproverStatement

	// Of a halt: why, and what the operator signed; nil where nothing was signed.
	Reason    string
	Statement *HaltStatement

	// Of a rotation of the operator's key: all of it. Shared; must not be changed.
	Rotation *Rotation

	// Of a drop of old events: all of it. Shared; must not be changed.
	Drop *Drop

	// Of a copy of a service-wide record in another slot's log: the LSN of the record in the first slot's. 0 of all else.
	Origin uint64
	// Slot is whose log it is in, of events of several slots; nil otherwise.
	Slot *int
}

// A CounterValue is a counter and how far it has come.
type CounterValue struct {
	Counter Counter
	Value   amount.Amount
}

// An EventQuery asks for a page of events. A zero field does not narrow the search.
type EventQuery struct {
	After uint64 // only events whose LSN is larger
	// AfterEach is After for the log of each slot, of a ledger over several that is asked for the events of all keys; nil: from their beginnings.
	AfterEach []uint64

	Key      ID       // only events of this key
	From, To int64    // only events at From or later, and before To: Unix nanoseconds
	Decision Decision // only decisions that ended so
	Rule     string   // only decisions with this matched_rule
	Agent    string   // only decisions about this agent
	Task     string   // only decisions about this task
	Action   string   // only decisions about this action, in lower case
	Plan     ID       // only the decision of this id
	Hold     ID       // only events of this hold
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
	// Dropped is the LSN up to which retention has dropped records that the query asks for; 0 where it has dropped none of them.
	Dropped uint64
	// Next is the After of the following page. More says that there may be one.
	Next uint64
	More bool
	// NextEach is the AfterEach of the following page, of events of several slots.
	NextEach []uint64
}

// Continue has the query ask for what follows a page.
func (q *EventQuery) Continue(page *EventPage) { q.After, q.AfterEach = page.Next, page.NextEach }

// Usage is the number of ALLOWED decisions of a key in one UTC month.
type Usage struct {
	Month uint32 // 12*year + month - 1
	Count uint64
}
