package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// A Plan says what one request wants of the ledger: what holds it, which counters it needs, and what is to be
// recorded for each way it may end. A denial by the policy is a plan too, without reservations, so that every
// decision has its durable event.
//
// The order of a step: key, epoch and default policy; whether the same request was allowed before; the hold; all reservations; the quota; then everything is recorded at once.
type Plan struct {
	ID    ID     // of the request, and of no other
	At    int64  // when the request came: Unix nanoseconds, 0 to MaxTime
	Key   ID     // the API key
	Epoch uint64 // the key's epoch that the plan was made under
	// Default is the hash of the default policy that the plan was made under, zeros where it was made under another policy.
	// The outcome is Stale where the ledger has bound another default policy since.
	Default [32]byte

	// TestRun asks for the outcome only: nothing is advanced, opened or used up, and the event is recorded as
	// TEST_RUN with the next group, for which the ticket does not wait.
	TestRun bool
	// Observe turns an ending DENIED into ALLOWED (SVC_MODE=OBSERVE): such a plan takes no reservations and uses
	// up no hold; code and rule stay in the outcome and the record, and the quota counts it.
	Observe bool

	// HideValue keeps the value by which a limit refuses out of the record; the limit is in it all the same.
	HideValue bool

	// Malformed says that the request was not decided: its event is recorded, with the code of Pass and with the next group,
	// and nothing else is looked at or changed. The outcome is Unknown. Such a plan is a test-run, and its Pass is DENIED.
	Malformed bool

	Event        Event         // what every ending records
	Seen         []Sighting    // cumulative figures that the request reports; at most MaxSightings
	Hold         *HoldRequest  // nil where no rule holds the intent
	Reservations []Reservation // in the order in which they are judged; at most MaxReservations
	Replay       *Replay       // what is kept of an ALLOWED for the same request; nil where it is not to be repeated
	Quota        uint64        // the largest number of ALLOWED decisions per UTC month; 0 for none

	// Pass is the ending when neither the hold nor a reservation is in the way: ALLOWED, or DENIED with the
	// code and rule of the policy. A plan whose Pass is DENIED must have no hold and no reservations.
	Pass Ending
	// TooManyGroups is the code of the denial when a reservation needs a new counter and the key has MaxGroups;
	// the rule is the reservation's.
	TooManyGroups errcode.Code
}

// Bounds of a plan. Texts are bytes; those of an event are in the doc of [Event].
const (
	MaxSightings    = 16        // there are four figures of model usage
	MaxReservations = 1024      // policies have a handful; the judging is quadratic in them
	MaxRule         = 4096      // a rule identifier: section.key with a path; a code
	MaxLimitName    = 4096      // a counter's Limit
	MaxIntent       = 512 << 10 // the source intent of a hold: a body of 100 kB, with all numbers written out

	// MaxTime is the latest time that is accepted, in Unix nanoseconds (in the year 2116). It leaves room for every
	// window and lifetime to end before an int64 does.
	MaxTime = 1 << 62
	// MaxHoldLifetime is the longest lifetime of a hold.
	MaxHoldLifetime = 365 * 24 * time.Hour
)

// A Decision is what an ending tells the client and the audit record.
type Decision uint8

// The decisions of the specification (Events, paragraph 4). The zero value is none of them.
const (
	NoDecision Decision = iota
	Allowed
	Denied
	Pending
	TestRun
)

// String returns the decision as answers and records spell it.
func (d Decision) String() string {
	if int(d) < len(decisionNames) {
		return decisionNames[d]
	}
	return fmt.Sprintf("Decision(%d)", uint8(d))
}

var decisionNames = [...]string{"NONE", "ALLOWED", "DENIED", "PENDING", "TEST_RUN"}

// An Ending is the record and the answer when a plan ends one way.
type Ending struct {
	Decision Decision
	Code     errcode.Code // "" for an ALLOWED that needs none; at most MaxRule bytes
	Rule     string       // matched_rule; at most MaxRule bytes
}

// A HoldRequest is the hold part of a plan: at least one rule holds the intent. Of the holds of the same key, intent hash
// and policy hash that cover its fee and are neither used up nor expired, the latest that an operator allowed decides, or
// else the latest: an allowed one lets the plan go on, and is used up if nothing else refuses; one that is open is found
// again; one that was denied denies. Where there is none, Candidate is opened.
type HoldRequest struct {
	Candidate  ID       // the id of the hold if one is opened: a UUIDv4
	IntentHash [32]byte // claim intentHash
	PolicyHash [32]byte // of the policy in force
	Fee        Fee
	Lifetime   time.Duration // until the hold expires; 0 means HoldLifetime

	Pending Ending // PENDING with the first hold rule's code and name
	Denied  Ending // DENIED with SVC_POLICY_HOLD_DENIED and the rule

	// For the read view.
	Method        string // the intent's action or method; at most MaxEventText bytes
	AgentID       string // at most MaxEventText bytes
	PolicyVersion string // at most MaxEventText bytes
	Intent        []byte // JSON of the source intent; at most MaxIntent bytes
	AmountSent    string // how the intent wrote the amount that has a normal form in Intent, empty for none; at most MaxEventDetail bytes
}

// A Fee is the most that the gas of an intent may cost. The zero Fee is that of an intent that does not say.
type Fee struct {
	Declared bool
	Amount   amount.Amount // in wei; zero where not declared
}

// Covers reports whether a decision about an intent with the fee f holds for the same intent with another fee: one that is
// no higher, and declared where f is (decisions, section 2, "Fees are spend").
func (f Fee) Covers(other Fee) bool {
	return f.Declared == other.Declared && other.Amount.Cmp(f.Amount) <= 0
}

// HoldLifetime is how long a hold lasts by default (Limits of the specification).
const HoldLifetime = 24 * time.Hour

// A Window says when a counter starts from zero again.
type Window uint8

// The windows. Day and hour are UTC; a task's counter is forgotten after TaskIdle without an advance.
const (
	Hour Window = iota + 1
	Day
	Task
)

// TaskIdle is how long a task's counter is kept after its last advance (decisions, section 2).
const TaskIdle = 30 * 24 * time.Hour

// String returns the window as a policy spells it.
func (w Window) String() string {
	switch w {
	case Hour:
		return "hour"
	case Day:
		return "day"
	case Task:
		return "task"
	}
	return fmt.Sprintf("Window(%d)", uint8(w))
}

// A Counter is the identity of a counter within its key. It is a name, never an index or a policy's hash, so that
// a deployment resets no limit.
type Counter struct {
	Limit  string // the limit's full name, with what else tells it apart (action pattern, group path)
	Window Window
	Group  string // the value it is grouped by: a task id, a metadata value; "" where there is one group
}

// MaxGroupText is the longest group that is recorded as it is, in bytes. A longer one counts, and is recorded, as
// "sha256:" and the hexadecimal SHA-256 of it, so that an agent cannot fill the log with names.
const MaxGroupText = 256

// Bounded returns c as it is counted and recorded.
func (c Counter) Bounded() Counter {
	if len(c.Group) > MaxGroupText {
		sum := sha256.Sum256([]byte(c.Group))
		c.Group = "sha256:" + hex.EncodeToString(sum[:])
	}
	return c
}

// An Op says what a reservation does to its counter.
type Op uint8

// Count adds one; Sum adds the reservation's amount; Max raises the counter to the amount where it was lower.
const (
	Count Op = iota + 1
	Sum
	Max
)

// A Reservation asks that a counter advance and stay within a limit.
type Reservation struct {
	Counter Counter
	Op      Op
	Amount  amount.Amount // what Sum adds, and what Max rises to; not looked at by Count
	Limit   amount.Amount // the largest value that the counter may reach
	Code    errcode.Code  // of the denial
	Rule    string        // of the denial
	// Decimals of the amounts, and the line of the policy that Rule is at, for the record of a refusal; 0 where it is not
	// known.
	Decimals uint8
	Line     int
	// Unseen, where there is one, is the code of a denial while the counter has no value: the request itself says nothing of
	// what it counts, so that what was seen of it has to.
	Unseen errcode.Code
}

// Reached returns what the counter would come to from a value: the largest amount where that overflows.
func (r *Reservation) Reached(used amount.Amount) amount.Amount {
	value, by := r.Amount, r.Amount
	switch r.Op {
	case Max:
		if used.Cmp(value) > 0 {
			value = used
		}
		return value
	case Count:
		by = amount.FromUint64(1)
	}
	value, overflow := used.Add(by)
	if overflow {
		return amount.FromBytes32([32]byte(bytes.Repeat([]byte{0xff}, 32)))
	}
	return value
}

// A Sighting is a cumulative figure that a request reports of its task, such as the model tokens used. Its counter
// rises to the value where it was lower, whatever comes of the plan: what was used stays used (decisions, section 2,
// "Limits"). A reservation with Max on the counter is judged by what it then is. A sighting for which the key has no
// room (MaxGroups) is not kept, and such a reservation is refused.
//
// A total names its parts, which are before it in the plan: it rises at least to the sum of what they then are.
type Sighting struct {
	Counter Counter
	Value   amount.Amount
	Parts   []Counter
}

// Validate returns an error that wraps [ErrInvalid] and names the first part of p that no ledger would decide.
func (p *Plan) Validate() error {
	if p.At < 0 || p.At > MaxTime {
		return fmt.Errorf("%w: plan of the time %d: use Unix nanoseconds", ErrInvalid, p.At)
	}
	if err := p.Pass.validate("pass", Allowed, Denied); err != nil {
		return err
	}
	if p.Malformed && (!p.TestRun || p.Pass.Decision != Denied || len(p.Seen) > 0) {
		return fmt.Errorf("%w: a malformed request is a test-run that is denied and has seen nothing", ErrInvalid)
	}
	if p.Pass.Decision == Denied && (p.Hold != nil || len(p.Reservations) > 0) {
		return fmt.Errorf("%w: a denied plan reserves nothing and opens no hold", ErrInvalid)
	}
	if err := p.Event.validate(); err != nil {
		return err
	}
	if p.Hold != nil {
		if err := p.Hold.validate(); err != nil {
			return err
		}
	}
	if p.Replay != nil {
		if err := p.Replay.validate(p.At); err != nil {
			return err
		}
	}
	if err := p.validateSightings(); err != nil {
		return err
	}
	return p.validateReservations()
}

// validateSightings sees to it that nothing but a Max of what was seen moves a counter that was seen: otherwise a
// refusal could not leave it where the sighting put it.
func (p *Plan) validateSightings() error {
	if len(p.Seen) > MaxSightings {
		return fmt.Errorf("%w: %d sightings in one plan: at most %d", ErrInvalid, len(p.Seen), MaxSightings)
	}
	for i := range p.Seen {
		seen := &p.Seen[i]
		if err := seen.Counter.validate(); err != nil {
			return err
		}
		for j := range p.Reservations {
			r := &p.Reservations[j]
			if r.Counter.Bounded() == seen.Counter.Bounded() && (r.Op != Max || r.Amount.Cmp(seen.Value) > 0) {
				return fmt.Errorf("%w: reservation %d moves counter %.64q, which the plan has seen", ErrInvalid, j, seen.Counter.Limit)
			}
		}
	}
	return nil
}

func (p *Plan) validateReservations() error {
	if len(p.Reservations) > MaxReservations {
		return fmt.Errorf("%w: %d reservations in one plan: at most %d", ErrInvalid, len(p.Reservations), MaxReservations)
	}
	if len(p.TooManyGroups) > MaxRule {
		return fmt.Errorf("%w: code of %d bytes", ErrInvalid, len(p.TooManyGroups))
	}
	for i := range p.Reservations {
		if err := p.Reservations[i].validate(i); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reservation) validate(i int) error {
	switch {
	case r.Op < Count || r.Op > Max:
		return fmt.Errorf("%w: reservation %d has operation %d", ErrInvalid, i, r.Op)
	case len(r.Code) > MaxRule || len(r.Rule) > MaxRule || len(r.Unseen) > MaxRule:
		return fmt.Errorf("%w: reservation %d has a code or rule of more than %d bytes", ErrInvalid, i, MaxRule)
	}
	return r.Counter.validate()
}

func (c *Counter) validate() error {
	switch {
	case c.Window < Hour || c.Window > Task:
		return fmt.Errorf("%w: counter %.64q has window %d", ErrInvalid, c.Limit, c.Window)
	case c.Limit == "" || len(c.Limit) > MaxLimitName:
		return fmt.Errorf("%w: counter %.64q has a name of %d bytes: give 1 to %d", ErrInvalid, c.Limit, len(c.Limit), MaxLimitName)
	}
	return nil
}

func (h *HoldRequest) validate() error {
	switch {
	case h.Candidate.IsZero():
		return fmt.Errorf("%w: hold without a candidate id", ErrInvalid)
	case h.Lifetime < 0 || h.Lifetime > MaxHoldLifetime:
		return fmt.Errorf("%w: hold with a lifetime of %s", ErrInvalid, h.Lifetime)
	case len(h.Method) > MaxEventText || len(h.AgentID) > MaxEventText || len(h.PolicyVersion) > MaxEventText:
		return fmt.Errorf("%w: hold with a text of more than %d bytes", ErrInvalid, MaxEventText)
	case len(h.AmountSent) > MaxEventDetail:
		return fmt.Errorf("%w: hold with an amount of %d bytes as it was sent: at most %d", ErrInvalid, len(h.AmountSent), MaxEventDetail)
	case len(h.Intent) > MaxIntent:
		return fmt.Errorf("%w: hold with an intent of %d bytes: at most %d", ErrInvalid, len(h.Intent), MaxIntent)
	}
	if err := h.Pending.validate("pending", Pending, Pending); err != nil {
		return err
	}
	return h.Denied.validate("hold denied", Denied, Denied)
}

func (e *Ending) validate(name string, one, other Decision) error {
	if e.Decision != one && e.Decision != other {
		return fmt.Errorf("%w: the ending %q has decision %s", ErrInvalid, name, e.Decision)
	}
	if len(e.Code) > MaxRule || len(e.Rule) > MaxRule {
		return fmt.Errorf("%w: the ending %q has a code or rule of more than %d bytes", ErrInvalid, name, MaxRule)
	}
	return nil
}
