package decision

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"bailiff/runtime/ledger"
	"bailiff/runtime/mask"
	"bailiff/runtime/subject"
	"bailiff/vm"
	"bailiff/vm/slot"
)

// EventDetail says how much of a request the record of its decision has (SVC_EVENT_DETAIL).
type EventDetail uint8

// The details of events. The zero value is the default.
const (
	FullDetail   EventDetail = iota // values, with credentials masked
	DigestDetail                    // a keyed digest in place of each value
	NoDetail                        // no values
)

var detailNames = [...]string{"full", "digest", "none"}

// String returns the name that the setting has for d.
func (d EventDetail) String() string { return detailNames[d] }

// UnmarshalText reads the name of a detail.
func (d *EventDetail) UnmarshalText(name []byte) error {
	at := slices.Index(detailNames[:], string(name))
	if at < 0 {
		return fmt.Errorf("it can be %s", strings.Join(detailNames[:], " or "))
	}
	*d = EventDetail(at)
	return nil
}

// digestKeyLabel is what the key of digests is derived for.
const digestKeyLabel = "event digests v1"

// digestPrefix begins a digest in the place of a value.
const digestPrefix = "hmac-sha256:"

// digest returns the keyed digest of a value: amounts, hosts and commands are few enough to be guessed by a plain one.
func (a *Decider) digest(value string) string {
	if value == "" {
		return ""
	}
	sum := hmac.New(sha256.New, a.digestKey[:])
	sum.Write([]byte(value))
	return digestPrefix + hex.EncodeToString(sum.Sum(nil))
}

// recordedValue returns what a record has of a value that a request chose; a plain one cannot have a credential in it.
func (a *Decider) recordedValue(value string, plain bool) string {
	switch {
	case a.EventDetail == FullDetail && plain:
		return value
	case a.EventDetail == FullDetail:
		return mask.Text(value)
	case a.EventDetail == DigestDetail:
		return a.digest(value)
	}
	return ""
}

// subject returns what the record of a decision has of its subject.
func (a *Decider) subject(r *Request) subject.Subject {
	var s subject.Subject
	if a.EventDetail == NoDetail {
		s.Set(subject.Task, r.in.Text(slot.TaskID))
	} else {
		s = r.in.Subject(r.policy.Binding.Tokens(), r.result.Class, a.hide)
	}
	s.Set(subject.Trace, r.Trace)
	return s
}

// asked is what the record of a hold has of the rule that asks for it: where it is, and which entry of its list asks.
func (a *Decider) asked(r *Request) ledger.Details {
	d := r.reaches(r.policy.Find(vm.OpHold, r.result.Holds[0]))
	if a.EventDetail != FullDetail {
		d.Entry = a.hide(d.Entry, false)
	}
	return ledger.Details{Entry: d.Entry, Line: d.Line}
}

// tellEvent adds what violated a rule to an event. Its reason repeats the value, so that without values the rule's own words
// are in its place.
func (a *Decider) tellEvent(r *Request, event *ledger.Event, violation *vm.Violation) {
	r.tell(&r.told, violation)
	event.Details = r.told.Event()
	event.Value = ledger.Clip(a.hide(r.triggered(&r.told, violation), false))
	if a.EventDetail == FullDetail {
		event.Detail = ledger.Clip(mask.Text(string(r.told.reason)))
		return
	}
	event.Detail = ledger.Clip(r.policy.Program.Rule(violation.Rule).Message)
	event.Details.Entry = a.hide(event.Details.Entry, false) // which is the value, or a part of it
}
