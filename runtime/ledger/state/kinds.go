package state

import (
	"fmt"

	"bailiff/runtime/ledger"
)

// A kind is all that the ledger knows of one kind of record. A new kind is a constant and a name in package ledger, a row of the
// table, and the two functions that the row cannot say: the one that fills in the record and the one that applies it.
type kind struct {
	// forms are how records of the kind are written. A form that came later holds all that those before it do, and is written only
	// where a record needs it, so that older logs read as they were written.
	forms []form
	// of says what a record's Key means.
	of keyUse
	// live says that the key must not be revoked.
	live bool
	// timeless says that the record does not move its key's time.
	timeless bool
	// changesKey says that what LookupKey shows changes.
	changesKey bool
	// apply makes the effects so, but for the outbox. The key is nil where of is not existingKey. nil: there are none.
	apply func(s *State, k *keyState, lsn uint64, r *Record) error
	// show fills in what readers of the log see, beside what all events have. nil: nothing more.
	show func(r *Record, e *ledger.LoggedEvent)
	// topic is what webhooks are told. nil: nothing.
	topic func(r *Record) ledger.Topics
	// deferrable says which records may wait for the next batch. nil: none.
	deferrable func(r *Record) bool
}

// A form is one layout of a kind of record.
type form struct {
	number byte               // on disk: never changes its meaning
	about  string             // what distinguishes it, for the documentation
	needs  func(*Record) bool // whether a record cannot be written in an earlier form; nil for the first
	spare  func(*Record)      // takes out of a record what needs the form, where that can be done without; nil: it can't
	fields []*field
}

// A keyUse says what a record's Key means.
type keyUse uint8

const (
	existingKey keyUse = iota // it names the key that the record is about
	newKey                    // it names the key that the record creates
	noKey                     // it is zero: the record is about the whole store
)

var kinds = [256]kind{
	ledger.Decided: {
		forms: []form{
			{number: 1, fields: []*field{decision, advances, holdEffect, monthUsage}},
			{number: 14, about: "with an outbox", needs: told, fields: []*field{decision, advances, holdEffect, monthUsage, outbox}},
			{number: 22, about: "with a replay", needs: replayed, fields: []*field{decision, advances, holdEffect, monthUsage, outbox, replayOf}},
			{number: 25, about: "with a subject", needs: hasSubject, fields: []*field{decision, about, advances, holdEffect, monthUsage, outbox, maybeReplay}},
			{
				number: 51, about: "with the amount of a hold as it was sent", needs: amountSent, spare: func(r *Record) { r.Hold.AmountSent = "" },
				fields: []*field{decision, maybeAbout, advances, holdEffect, sentAmount, monthUsage, outbox, maybeReplay},
			},
		},
		live: true, apply: (*State).applyDecision, show: (*Record).showDecision, topic: (*Record).decisionTopic,
	},
	ledger.Simulated: {
		forms: []form{
			{number: 2, about: "of a test-run, without any effect", fields: []*field{decision}},
			{number: 26, about: "of a test-run, with a subject", needs: hasSubject, fields: []*field{decision, about}},
		},
		timeless: true, show: (*Record).showDecision, deferrable: always,
	},
	ledger.KeyCreated: {
		forms: []form{
			{number: 3, fields: []*field{createdKey}},
			{number: 7, about: "with an operator key or an organization", needs: hasOwner, fields: []*field{createdKey, owner}},
		},
		of: newKey, changesKey: true, apply: (*State).applyKeyCreated, show: (*Record).showKey,
	},
	ledger.KeyWasRevoked: {
		forms: []form{{number: 4, fields: []*field{epoch}}},
		live:  true, changesKey: true, apply: (*State).applyRevoked,
	},
	ledger.HoldResolved: {
		forms: []form{
			{number: 5, fields: []*field{holdID, resolution, signedAt, signature}},
			{number: 15, about: "with an outbox", needs: told, fields: []*field{holdID, resolution, signedAt, signature, outbox}},
			{number: 43, about: "by an approver's passkey", needs: byPasskey, fields: []*field{holdID, resolution, outbox, note, approval}},
			{number: 44, about: "by the operator, with a note", needs: noted, fields: []*field{holdID, resolution, signedAt, signature, outbox, note}},
		},
		apply: (*State).applyResolved, show: (*Record).showResolution, topic: only(ledger.TopicHoldResolved),
	},
	ledger.KeyChanged: {
		forms: []form{{number: 6, fields: []*field{tier, scopes}}},
		live:  true, changesKey: true, apply: (*State).applyChanged, show: (*Record).showKey,
	},
	ledger.PolicyBound: {
		forms: []form{
			{number: 8, fields: []*field{epoch, deployment, outbox}},
			{number: 20, about: "of a policy that names its keys or has a serial", needs: named, fields: []*field{epoch, deployment, outbox, names}},
		},
		live: true, changesKey: true, apply: (*State).applyDeployed, show: (*Record).showDeployment, topic: only(ledger.PolicyDeployed),
	},
	ledger.AttestationUsed: {
		forms: []form{{number: 9, fields: []*field{token, tokenExpiry, request}}},
		live:  true, apply: (*State).applyUse, show: (*Record).showUse,
	},
	ledger.HoldExpired: {
		forms: []form{{number: 10, fields: []*field{holdID, outbox}}},
		apply: (*State).applyExpired, show: (*Record).showHold, topic: only(ledger.TopicHoldExpired),
	},
	ledger.WebhookCreated: {
		forms: []form{
			{number: 11, about: "registered", fields: []*field{webhook}},
			{number: 45, about: "registered, with a format", needs: formatted, fields: []*field{webhook, webhookFormat}},
			{number: 50, about: "registered by the operator", needs: operated, fields: []*field{webhook, operatorFormat}},
		},
		live: true, apply: (*State).applyHook, show: (*Record).showWebhook,
	},
	ledger.WebhookRemoved: {
		forms: []form{{number: 12, about: "removed", fields: []*field{webhookID}}},
		apply: (*State).applyUnhook, show: (*Record).showWebhook,
	},
	ledger.DeliverySettled: {
		forms:    []form{{number: 13, about: "what came of a delivery; an event only where that disables the webhook", fields: []*field{webhookID, settlement}}},
		timeless: true, apply: (*State).applySettled, show: (*Record).showSettlement, deferrable: (*Record).keepsWebhook,
	},
	ledger.WebhookEnabled: {
		forms: []form{{number: 16, about: "enabled", fields: []*field{webhookID}}},
		live:  true, apply: (*State).applyEnabled, show: (*Record).showWebhook,
	},
	ledger.DefaultBound: {
		forms: []form{{number: 21, about: "of no key", fields: []*field{defaultPolicy}}},
		of:    noKey, apply: (*State).applyDefault, show: (*Record).showDefault,
	},
	ledger.ClockSet: {
		forms: []form{{number: 23, about: "of no key: its time is what time it is"},
			{number: 61, about: "of no key: its time is what time it is for the keys of one of so many slots", needs: ofSlot, fields: []*field{slotsEffect, slotEffect}}},
		of: noKey, apply: (*State).applyClock,
	},
	ledger.RequestMalformed: {
		forms:    []form{{number: 24, about: "of a request that was not decided, without any effect", fields: []*field{planID, code, request}}},
		timeless: true, show: (*Record).showMalformed, deferrable: always,
	},
	ledger.KeySuspended:  keyHalt(33),
	ledger.KeyResumed:    keyHalt(34),
	ledger.ServiceFrozen: serviceHalt(35, 52),
	ledger.ServiceThawed: serviceHalt(36, 53),
	ledger.ServiceRestored: {
		forms: []form{{number: 37, about: "of no key: the log was restored from a backup, and a new stream begins", fields: []*field{restoration}}},
		of:    noKey, apply: (*State).applyRestored, show: (*Record).showRestored,
	},
	ledger.ApproverConfirmed: approverKind(38, 54, confirmation),
	ledger.ApproverSuspended: approverKind(39, 55, statement),
	ledger.ApproverResumed:   approverKind(40, 56, statement),
	ledger.ApproverRemoved:   approverKind(41, 57, statement),
	ledger.HoldApproved: {
		forms: []form{{number: 42, about: "by one approver, while the hold waits for another", fields: []*field{holdID, note, approval}}},
		apply: (*State).applyApproval, show: (*Record).showApproval,
	},
	ledger.OperatorRotated: {
		forms: []form{{number: 48, about: "of no key", fields: []*field{rotation}}, copied(58, rotation)},
		of:    noKey, apply: (*State).applyRotation, show: (*Record).showRotation,
	},
	ledger.EventsDropped: {
		forms: []form{{number: 49, about: "of no key: retention has exported the log up to a record, and drops it", fields: []*field{dropEffect}}},
		of:    noKey, apply: (*State).applyDrop, show: (*Record).showDrop,
	},
	ledger.StoreDivided: {
		forms: []form{{number: 59, about: "of no key: the keys are in slots from then on, each with a log of its own that begins after the record before", fields: []*field{slotsEffect}}},
		of:    noKey, apply: (*State).applyDivided,
	},
	ledger.StoreJoined: {
		forms: []form{{number: 60, about: "of no key: a new stream begins, with the records that the logs of slots have after the record before", fields: []*field{slotsEffect}}},
		of:    noKey,
	},
	ledger.PinsChanged: {
		forms: []form{{number: 32, fields: []*field{pinsEffect}}},
		live:  true, apply: (*State).applyPins, show: (*Record).showPins,
	},
}

// approverKind is a kind of statements about approvers.
func approverKind(number, copy byte, body *field) kind {
	return kind{forms: []form{{number: number, about: "of no key", fields: []*field{body}}, copied(copy, body)}, of: noKey, apply: (*State).applyApprover, show: (*Record).showApprover}
}

// keyHalt and serviceHalt are kinds of halts.
func keyHalt(number byte) kind {
	return kind{forms: []form{{number: number, fields: []*field{epoch, haltEffect}}}, live: true, changesKey: true, apply: (*State).applyHalt, show: (*Record).showHalt}
}

func serviceHalt(number, copy byte) kind {
	return kind{forms: []form{{number: number, about: "of no key", fields: []*field{haltEffect}}, copied(copy, haltEffect)}, of: noKey, apply: (*State).applyHalt, show: (*Record).showHalt}
}

// copied is the form of a record that was copied from another log: that of the store's first slot.
func copied(number byte, body *field) form {
	return form{number: number, about: "of no key: copied from the first slot of the store", needs: isCopy, fields: []*field{body, origin}}
}

func isCopy(r *Record) bool     { return r.Origin != 0 }
func ofSlot(r *Record) bool     { return r.Slots != 0 }
func told(r *Record) bool       { return len(r.Outbox) > 0 }
func replayed(r *Record) bool   { return r.Replay != nil }
func hasSubject(r *Record) bool { return !r.Event.Subject.IsZero() }
func hasOwner(r *Record) bool {
	return r.Created.Operator != [32]byte{} || r.Created.Organization != ""
}
func formatted(r *Record) bool  { return r.Webhook.Format != 0 }
func operated(r *Record) bool   { return r.Webhook.Operator }
func amountSent(r *Record) bool { return r.Hold.AmountSent != "" }
func noted(r *Record) bool      { return r.Note != "" && r.Approval == nil }
func byPasskey(r *Record) bool  { return r.Approval != nil }
func named(r *Record) bool      { return r.Deployed.Named || r.Deployed.Serial != 0 }

func always(*Record) bool { return true }

// only is the topic of a kind whose records have the same one.
func only(topic ledger.Topics) func(*Record) ledger.Topics {
	return func(*Record) ledger.Topics { return topic }
}

// A written is the form of the records that begin with a number. Its form is nil where none do.
type written struct {
	kind ledger.Kind
	form *form
}

var numbers = numbered(&kinds)

// numbered finds each form by its number. It panics where the table has a kind without a name, a name without a kind, or a number
// twice: such a program must not write a log.
func numbered(kinds *[256]kind) (all [256]written) {
	for i := range kinds {
		of, forms := ledger.Kind(i), kinds[i].forms
		if of.Known() != (len(forms) > 0) || len(forms) > 0 && byte(i) != forms[0].number {
			panic(fmt.Sprintf("state: kind %d (%s) needs a name in package ledger and a row whose first form has its number", i, of))
		}
		for j := range forms {
			if all[forms[j].number].form != nil || (j == 0) != (forms[j].needs == nil) {
				panic(fmt.Sprintf("state: form %d of %s has the number of another one, or does not say what needs it", forms[j].number, of))
			}
			all[forms[j].number] = written{of, &forms[j]}
		}
	}
	return all
}

// form returns the layout that r is written in: the last one that it needs.
func (r *Record) form() *form {
	forms := kinds[r.Kind].forms
	for i := len(forms) - 1; i > 0; i-- {
		if forms[i].needs(r) {
			return &forms[i]
		}
	}
	return &forms[0]
}

// Fits brings r into a form of a number up to most, where r can do without what needs a higher one. It returns the number that r has then.
func (r *Record) Fits(most int) (number int) {
	for f := r.form(); ; f = r.form() {
		if int(f.number) <= most || f.spare == nil {
			return int(f.number)
		}
		f.spare(r)
	}
}

// Latest returns the highest number of a form that this release reads. Forms are numbered as they come.
func Latest() int {
	for n := len(numbers) - 1; n > 0; n-- {
		if numbers[n].form != nil {
			return n
		}
	}
	return 0
}

// topic returns what r is to webhooks, 0 where it is nothing.
func (r *Record) topic() ledger.Topics {
	if topic := kinds[r.Kind].topic; topic != nil {
		return topic(r)
	}
	return 0
}

// Deferrable reports whether r may wait for the next batch: losing it in a crash costs an event without effect, or a delivery that
// is made twice.
func (r *Record) Deferrable() bool {
	deferrable := kinds[r.Kind].deferrable
	return deferrable != nil && deferrable(r)
}

// ChangesKey reports whether r changes what LookupKey shows of its key.
func (r *Record) ChangesKey() bool { return kinds[r.Kind].changesKey }

// A Description is what the documentation says of a form of records.
type Description struct {
	Number byte
	Event  string // the name of the event
	About  string // what distinguishes it from others of this name
	Fields string // of its body, in their order
}

// Descriptions returns all forms of records, by their numbers.
func Descriptions() (all []Description) {
	for number, w := range numbers {
		if w.form == nil {
			continue
		}
		d := Description{Number: byte(number), Event: w.kind.String(), About: w.form.about}
		for i, f := range w.form.fields {
			if i > 0 {
				d.Fields += " "
			}
			d.Fields += f.name
		}
		all = append(all, d)
	}
	return all
}

// MaxRecord returns the largest encoding of a record, in bytes.
func MaxRecord() (most int) {
	for _, w := range numbers {
		if w.form != nil {
			most = max(most, w.form.most())
		}
	}
	return most
}

// most returns the largest encoding of a record of the form.
func (f *form) most() int {
	size := headBytes
	for _, part := range f.fields {
		size += part.most
	}
	return size
}
