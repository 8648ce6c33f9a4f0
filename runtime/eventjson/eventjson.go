// Package eventjson is the one JSON form of an event: as `GET /v1/events` lists it, as a webhook carries it, and as the
// operator's commands print it.
//
// It promises to show readers of a key's events only what the record contains, except for counters, whose units only the
// policy knows, and intents, which a hold's owner reads at the hold.
package eventjson

import (
	"encoding/hex"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/mask"
	"bailiff/runtime/subject"
	"bailiff/vm"
)

// Event is an event. What an event does not have is left out.
type Event struct {
	LSN       uint64    `json:"lsn"`            // place in the log; the cursor
	Slot      *int      `json:"slot,omitempty"` // whose log that is, of events of several slots
	Event     string    `json:"event"`          // decision, hold.resolved, policy.deployed…
	KeyID     string    `json:"keyId"`          // the API key
	Timestamp time.Time `json:"timestamp"`      // UTC

	// Of a decision and, as far as it has them, of an attestation's use.
	ID         string `json:"id,omitempty"` // of the request
	Endpoint   string `json:"endpoint,omitempty"`
	RequestID  string `json:"requestId,omitempty"`
	AgentID    string `json:"agentId,omitempty"`
	Action     string `json:"action,omitempty"`
	Kind       string `json:"kind,omitempty"` // evm, tool, mcp or model
	ChainID    uint64 `json:"chainId,omitempty"`
	Commitment string `json:"commitment,omitempty"` // txCommit or userOpHash, as 64 hex digits
	PolicyHash string `json:"policyHash,omitempty"`
	Decision   string `json:"decision,omitempty"` // ALLOWED, DENIED, PENDING or TEST_RUN
	Code       string `json:"errorCode,omitempty"`
	Rule       string `json:"matchedRule,omitempty"`
	Observed   bool   `json:"observed,omitempty"` // OBSERVE mode made it ALLOWED
	Value      string `json:"value,omitempty"`    // what triggered the rule
	Message    string `json:"message,omitempty"`
	Field      string `json:"field,omitempty"` // at fault in a malformed request
	// Subject is what the decision was about.
	Subject *subject.Subject `json:"subject,omitempty"`
	// Details are both sides of a decision by a rule, as its answer has them.
	Details *Details `json:"details,omitempty"`

	HoldID        string    `json:"holdId,omitempty"`
	HoldStatus    string    `json:"holdStatus,omitempty"`   // PENDING, ALLOWED, DENIED or EXPIRED, where it changed
	HoldExpiresAt time.Time `json:"holdExpiresAt,omitzero"` // UTC

	Rollback      bool   `json:"rollback,omitempty"` // the policy was deployed before, and another one since
	WebhookID     string `json:"webhookId,omitempty"`
	WebhookChange string `json:"webhookChange,omitempty"` // registered, removed or disabled

	// Of pins: the MCP server, and what became of its tools.
	Server string `json:"serverId,omitempty"`
	Pins   []Pin  `json:"pins,omitempty"`

	// Of a resolution: what who decided has to say to the agent; and where a passkey decided, all that it takes to verify that.
	Note     string    `json:"note,omitempty"`
	Approval *Approval `json:"approval,omitempty"`
	// ApprovalURL is where approvers decide the hold of a PENDING decision; in deliveries to webhooks alone.
	ApprovalURL string `json:"approvalUrl,omitempty"`
	// Approver is what an operator has signed about an approver.
	Approver *Approver `json:"approver,omitempty"`

	// Of a halt and of a restoration: why, and the serial of the operator's statement, absent where nothing was signed.
	Reason string `json:"reason,omitempty"`
	Serial uint64 `json:"serial,omitempty"`

	// Rotation is the replacement of the operator's key.
	Rotation *Rotation `json:"rotation,omitempty"`

	// Dropped says what retention has taken from the beginning of the log.
	Dropped *Dropped `json:"dropped,omitempty"`

	// Of an API key's creation and change: what it has from then on.
	Plan   string   `json:"plan,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
}

// Dropped is a drop of old events. The digests are SHA-256, as 64 hex digits.
type Dropped struct {
	Through uint64 `json:"through"` // LSN of the last record
	Hash    string `json:"hash"`    // of the last group
	Base    string `json:"base"`    // of what replay starts from
	Export  string `json:"export"`  // of the file that has the events
}

// Pin is what became of the pin of one tool.
type Pin struct {
	Tool   string `json:"toolName"`
	Change string `json:"change"`           // pinned, changed, accepted or forgotten
	SHA256 string `json:"sha256,omitempty"` // of the definition
}

// Details are both sides of a decision: what the request had, and what the policy says of it.
type Details struct {
	Value   string   `json:"value,omitempty"`
	Limit   string   `json:"limit,omitempty"`
	Allowed []string `json:"allowed,omitempty"`
	// AllowedCount is how many entries the list has of which Allowed are the first; absent where they are all.
	AllowedCount int    `json:"allowedCount,omitempty"`
	Entry        string `json:"entry,omitempty"`
	Line         int    `json:"line,omitempty"`
}

// View returns the form of an event.
func View(e *ledger.LoggedEvent) Event {
	view := Event{
		LSN: e.LSN, Slot: e.Slot, Event: e.Kind.String(), KeyID: e.Key.String(), Timestamp: time.Unix(0, e.At).UTC(),
		Endpoint: e.Event.Endpoint, RequestID: e.Event.RequestID, AgentID: e.Event.AgentID, Action: e.Event.Action,
		ChainID: e.Event.ChainID, Commitment: digest(e.Event.Commitment), PolicyHash: digest(e.Event.PolicyHash),
		HoldID: id(e.Hold), WebhookID: id(e.Webhook), WebhookChange: e.Kind.WebhookChange(),
		Rollback: e.Rollback, Plan: e.Tier, Reason: mask.Text(e.Reason),
	}
	view.Note, view.Approval, view.Approver = mask.Text(e.Note), approvalOf(e.Approval), ApproverOf(e.Approver)
	if e.Statement != nil {
		view.Serial = e.Statement.Serial
	}
	view.Rotation = rotationOf(e.Rotation)
	if d := e.Drop; d != nil {
		view.Dropped = &Dropped{d.Through.LSN, digest(d.Through.Hash), digest(d.Base), digest(d.Export)}
	}
	if e.HoldExpires != 0 {
		view.HoldExpiresAt = time.Unix(0, e.HoldExpires).UTC()
	}
	if e.Scopes != 0 {
		view.Scopes = e.Scopes.Names()
	}
	if e.Event.Class != 0 {
		view.Kind = vm.Class(e.Event.Class).String()
	}
	if e.HoldState != 0 {
		view.HoldStatus = e.HoldState.String()
	}
	switch e.Kind {
	case ledger.Decided, ledger.Simulated:
		view.decide(e)
	case ledger.RequestMalformed:
		view.ID, view.Code, view.Field = id(e.Plan), string(e.Ending.Code), e.Event.Detail
		view.nameRequest(e)
	case ledger.HoldExpired:
		view.HoldStatus = "EXPIRED"
	case ledger.PinsChanged:
		view.Server = e.Server
		for _, p := range e.Pins {
			view.Pins = append(view.Pins, Pin{p.Tool, p.Change.String(), digest(p.SHA256)})
		}
	}
	return view
}

// decide adds what a decision has.
func (v *Event) decide(e *ledger.LoggedEvent) {
	v.ID, v.Decision, v.Observed = id(e.Plan), e.Ending.Decision.String(), e.Observed
	v.Code, v.Rule = string(e.Ending.Code), e.Ending.Rule
	v.nameRequest(e)
	v.Value, v.Message = mask.Text(e.Event.Value), mask.Text(e.Event.Detail) // records of version 1 have them as they were
	if !e.Event.Subject.IsZero() {
		v.Subject = &e.Event.Subject
	}
	// A held intent that is allowed by now has no violations.
	if d := &e.Event.Details; !d.IsZero() && (e.Ending.Decision != ledger.Allowed || e.Observed) {
		v.Details = &Details{Value: ledger.ClipTo(v.Value, ledger.MaxDetailValue), Limit: d.Limit, Allowed: d.Allowed, Entry: mask.Text(d.Entry), Line: d.Line}
		if d.Count > len(d.Allowed) {
			v.Details.AllowedCount = d.Count
		}
	}
	if v.Message == "" {
		v.Message = v.outcome(e.Result)
	}
}

// nameRequest gives the request the id that its answer named, where the client sent none.
func (v *Event) nameRequest(e *ledger.LoggedEvent) {
	if v.RequestID == "" && !e.Plan.IsZero() {
		v.RequestID = hex.EncodeToString(e.Plan[:])
	}
}

// outcome says in words what only the ledger found out, when the record was being written.
func (v *Event) outcome(result ledger.Result) string {
	switch result {
	case ledger.Held:
		return "a person has to decide"
	case ledger.HoldDenied:
		return "the operator denied the hold of this intent"
	case ledger.Refused:
		return "the intent would exceed " + v.Rule
	case ledger.RefusedGroups:
		return "the key has too many live counter groups for " + v.Rule
	}
	return ""
}

func id(id ledger.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

func digest(sum [32]byte) string {
	if sum == [32]byte{} {
		return ""
	}
	return hex.EncodeToString(sum[:])
}
