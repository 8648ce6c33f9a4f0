package ledger

import "fmt"

// A Kind says what a record of the log is about, and so what the event is that readers of the log see. The numbers are on disk
// and never change their meaning.
type Kind uint8

// The kinds of records. What each has is in ledger/state, a row each. The numbers that are missing here are further forms of these
// kinds, or were never written.
const (
	NoRecord          Kind = 0 // nothing is to be recorded
	Decided           Kind = 1
	Simulated         Kind = 2
	KeyCreated        Kind = 3
	KeyWasRevoked     Kind = 4
	HoldResolved      Kind = 5
	KeyChanged        Kind = 6
	PolicyBound       Kind = 8
	AttestationUsed   Kind = 9
	HoldExpired       Kind = 10
	WebhookCreated    Kind = 11
	WebhookRemoved    Kind = 12
	DeliverySettled   Kind = 13
	WebhookEnabled    Kind = 16
	DefaultBound      Kind = 21
	ClockSet          Kind = 23
	RequestMalformed  Kind = 24
	PinsChanged       Kind = 32
	KeySuspended      Kind = 33
	KeyResumed        Kind = 34
	ServiceFrozen     Kind = 35
	ServiceThawed     Kind = 36
	ServiceRestored   Kind = 37
	ApproverConfirmed Kind = 38
	ApproverSuspended Kind = 39
	ApproverResumed   Kind = 40
	ApproverRemoved   Kind = 41
	HoldApproved      Kind = 42
	OperatorRotated   Kind = 48
	EventsDropped     Kind = 49
	StoreDivided      Kind = 59
	StoreJoined       Kind = 60
)

// kindNames are the names of events, and what becomes of a webhook where that is what the event is about.
var kindNames = [...]struct{ event, change string }{
	Decided:           {event: "decision"},
	Simulated:         {event: "decision"},
	KeyCreated:        {event: "key.created"},
	KeyWasRevoked:     {event: "key.revoked"},
	HoldResolved:      {event: "hold.resolved"},
	KeyChanged:        {event: "key.changed"},
	PolicyBound:       {event: "policy.deployed"},
	AttestationUsed:   {event: "attestation.used"},
	HoldExpired:       {event: "hold.expired"},
	WebhookCreated:    {event: "webhook.changed", change: "registered"},
	WebhookRemoved:    {event: "webhook.changed", change: "removed"},
	DeliverySettled:   {event: "webhook.changed", change: "disabled"}, // shown only where it disables the webhook
	WebhookEnabled:    {event: "webhook.changed", change: "enabled"},
	DefaultBound:      {event: "policy.default"},
	ClockSet:          {event: "clock.set"},
	RequestMalformed:  {event: "request.malformed"},
	PinsChanged:       {event: "mcp.pins"},
	KeySuspended:      {event: "key.suspended"},
	KeyResumed:        {event: "key.resumed"},
	ServiceFrozen:     {event: "service.frozen"},
	ServiceThawed:     {event: "service.thawed"},
	ServiceRestored:   {event: "service.restored"},
	ApproverConfirmed: {event: "approver.confirmed"},
	ApproverSuspended: {event: "approver.suspended"},
	ApproverResumed:   {event: "approver.resumed"},
	ApproverRemoved:   {event: "approver.removed"},
	HoldApproved:      {event: "hold.approved"},
	OperatorRotated:   {event: "operator.rotated"},
	EventsDropped:     {event: "events.dropped"},
	StoreDivided:      {event: "store.divided"},
	StoreJoined:       {event: "store.joined"},
}

// Known reports whether k is a kind of record.
func (k Kind) Known() bool { return int(k) < len(kindNames) && kindNames[k].event != "" }

// String returns the name of the event, as the API and the command spell it.
func (k Kind) String() string {
	if k.Known() {
		return kindNames[k].event
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// WebhookChange returns in one word what an event of the kind does to a webhook, "" where it does nothing to one.
func (k Kind) WebhookChange() string {
	if k.Known() {
		return kindNames[k].change
	}
	return ""
}

// IsDecision reports whether an event of the kind is a decision, that of a test-run included.
func (k Kind) IsDecision() bool { return k == Decided || k == Simulated }
