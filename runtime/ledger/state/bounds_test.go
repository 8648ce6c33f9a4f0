package state

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/pins"
	"bailiff/runtime/subject"
	"bailiff/vm/amount"
)

// A bound is a part of a field that has at most so many bytes, or entries. Set gives it n of a record that has the field, or
// reports false where this record can't have it.
type bound struct {
	field *field
	name  string
	most  int
	set   func(r *Record, n int) bool
}

func textBound(f *field, name string, most int, at func(*Record) *string) bound {
	return bound{f, name, most, func(r *Record, n int) bool {
		to := at(r)
		if to != nil {
			*to = strings.Repeat("t", n)
		}
		return to != nil
	}}
}

func bytesBound(f *field, name string, most int, at func(*Record) *[]byte) bound {
	return bound{f, name, most, func(r *Record, n int) bool {
		to := at(r)
		if to != nil {
			*to = bytes.Repeat([]byte("b"), n)
		}
		return to != nil
	}}
}

// held are the texts of a record that opens a hold.
func held(at func(*HoldEffect) *string) func(*Record) *string {
	return func(r *Record) *string {
		if r.Hold.Action != HoldOpened {
			return nil
		}
		return at(&r.Hold)
	}
}

var bounds = slices.Concat([]bound{
	textBound(decision, "rule", ledger.MaxRule, func(r *Record) *string { return &r.Ending.Rule }),
	textBound(decision, "code", ledger.MaxRule, func(r *Record) *string { return (*string)(&r.Ending.Code) }),
	textBound(code, "code", ledger.MaxRule, func(r *Record) *string { return (*string)(&r.Ending.Code) }),
	{advances, "counters", ledger.MaxSightings + ledger.MaxReservations, func(r *Record, n int) bool {
		r.Counters, r.Forgets = nil, 0
		for range n {
			r.Counters = append(r.Counters, CounterEffect{
				Counter: ledger.Counter{Limit: strings.Repeat("l", ledger.MaxLimitName), Window: ledger.Day, Group: strings.Repeat("g", ledger.MaxGroupText)},
				Value:   largestAmount,
			})
		}
		return true
	}},
	textBound(advances, "limit", ledger.MaxLimitName, func(r *Record) *string { return firstCounter(r, func(c *ledger.Counter) *string { return &c.Limit }) }),
	textBound(advances, "group", ledger.MaxGroupText, func(r *Record) *string { return firstCounter(r, func(c *ledger.Counter) *string { return &c.Group }) }),
	textBound(holdEffect, "method", ledger.MaxEventText, held(func(h *HoldEffect) *string { return &h.Method })),
	textBound(holdEffect, "agent", ledger.MaxEventText, held(func(h *HoldEffect) *string { return &h.AgentID })),
	textBound(holdEffect, "policy version", ledger.MaxEventText, held(func(h *HoldEffect) *string { return &h.PolicyVersion })),
	textBound(sentAmount, "amount", ledger.MaxEventDetail, held(func(h *HoldEffect) *string { return &h.AmountSent })),
	bytesBound(holdEffect, "intent", ledger.MaxIntent, func(r *Record) *[]byte {
		if r.Hold.Action != HoldOpened {
			return nil
		}
		return &r.Hold.Intent
	}),
	{outbox, "webhooks", ledger.MaxWebhooks, func(r *Record, n int) bool {
		r.Outbox = make([]OutboxEffect, n)
		return true
	}},
	textBound(replayOf, "nonce", ledger.MaxNonce, func(r *Record) *string { return &r.Replay.Nonce }),
	bytesBound(replayOf, "claims", ledger.MaxClaims, func(r *Record) *[]byte { return &r.Replay.Claims }),

	textBound(createdKey, "email", ledger.MaxKeyText, func(r *Record) *string { return &r.Created.Email }),
	textBound(createdKey, "environment", ledger.MaxKeyText, func(r *Record) *string { return &r.Created.Environment }),
	textBound(createdKey, "tier", ledger.MaxKeyText, func(r *Record) *string { return &r.Created.Tier }),
	textBound(owner, "organization", ledger.MaxKeyText, func(r *Record) *string { return &r.Created.Organization }),
	textBound(tier, "tier", ledger.MaxKeyText, func(r *Record) *string { return &r.Created.Tier }),
	textBound(deployment, "policy version", ledger.MaxKeyText, func(r *Record) *string { return &r.Deployed.PolicyVersion }),
	bytesBound(deployment, "text", ledger.MaxPolicyText, func(r *Record) *[]byte { return &r.Deployed.Text }),
	bytesBound(deployment, "program", ledger.MaxProgram, func(r *Record) *[]byte { return &r.Deployed.Program }),
	{defaultPolicy, "keys", ledger.MaxNamedKeys, func(r *Record, n int) bool {
		r.Default.Named, r.Default.Keys = true, make([]ledger.ID, n)
		return true
	}},

	textBound(webhook, "url", ledger.MaxWebhookURL, func(r *Record) *string { return &r.Webhook.URL }),
	bytesBound(webhook, "secret", ledger.MaxWebhookSecret, func(r *Record) *[]byte { return &r.Webhook.Secret }),
	textBound(pinsEffect, "server", ledger.MaxServerName, func(r *Record) *string { return &r.Pins.Server }),
	{pinsEffect, "tools", ledger.MaxPinnedTools, func(r *Record, n int) bool {
		r.Pins.Tools = slices.Repeat([]pins.ToolEffect{{Tool: "t", Change: ledger.ToolForgotten}}, n)
		return true
	}},
	textBound(haltEffect, "reason", ledger.MaxHaltReason, func(r *Record) *string { return &r.Halt.Reason }),
	textBound(note, "note", ledger.MaxResolutionNote, func(r *Record) *string { return &r.Note }),

	textBound(statement, "name", ledger.MaxApproverName, func(r *Record) *string { return &r.Approver.Name }),
	bytesBound(statement, "credential", ledger.MaxCredential, func(r *Record) *[]byte { return &r.Approver.Credential }),
	textBound(confirmation, "name", ledger.MaxApproverName, func(r *Record) *string { return &r.Approver.Name }),
	bytesBound(confirmation, "credential", ledger.MaxCredential, func(r *Record) *[]byte { return &r.Approver.Credential }),
	{confirmation, "keys", ledger.MaxApproverKeys, func(r *Record, n int) bool {
		r.Approver.Keys = nil
		for i := range n {
			r.Approver.Keys = append(r.Approver.Keys, ledger.ID{byte(i)})
		}
		return true
	}},
	{confirmation, "sections", ledger.MaxApproverSections, func(r *Record, n int) bool {
		r.Approver.Sections = nil
		for i := range n {
			r.Approver.Sections = append(r.Approver.Sections, "s"+strings.Repeat("a", ledger.MaxApproverName-3)+string(rune('a'+i/26))+string(rune('a'+i%26)))
		}
		return true
	}},
	{confirmation, "amounts", ledger.MaxApproverAssets, func(r *Record, n int) bool {
		r.Approver.Amounts = nil
		for i := range n {
			asset := "a" + strings.Repeat("a", ledger.MaxAssetName-3) + string(rune('a'+i/26)) + string(rune('a'+i%26))
			r.Approver.Amounts = append(r.Approver.Amounts, ledger.AssetAmount{Asset: asset, Amount: largestAmount})
		}
		return true
	}},
	bytesBound(confirmation, "public key", ledger.MaxCredentialKey, func(r *Record) *[]byte { return &r.Approver.PublicKey }),

	textBound(approval, "name", ledger.MaxApproverName, func(r *Record) *string { return &r.Approval.Name }),
	bytesBound(approval, "credential", ledger.MaxCredential, func(r *Record) *[]byte { return &r.Approval.Credential }),
	textBound(approval, "summary", ledger.MaxApprovalSummary, func(r *Record) *string { return &r.Approval.Summary }),
	bytesBound(approval, "authenticator data", ledger.MaxAuthenticatorData, func(r *Record) *[]byte { return &r.Approval.AuthenticatorData }),
	bytesBound(approval, "client data", ledger.MaxClientData, func(r *Record) *[]byte { return &r.Approval.ClientData }),
	bytesBound(approval, "signature", ledger.MaxAssertionSignature, func(r *Record) *[]byte { return &r.Approval.Signature }),
}, requestBounds(decision), requestBounds(request), subjectBounds())

// requestBounds are those of a field that says what was asked.
func requestBounds(f *field) []bound {
	text := func(name string, most int, at func(*ledger.Event) *string) bound {
		return textBound(f, name, most, func(r *Record) *string { return at(&r.Event) })
	}
	return []bound{
		text("endpoint", ledger.MaxEventText, func(e *ledger.Event) *string { return &e.Endpoint }),
		text("request id", ledger.MaxEventText, func(e *ledger.Event) *string { return &e.RequestID }),
		text("agent", ledger.MaxEventText, func(e *ledger.Event) *string { return &e.AgentID }),
		text("action", ledger.MaxEventText, func(e *ledger.Event) *string { return &e.Action }),
		text("value", ledger.MaxEventDetail, func(e *ledger.Event) *string { return &e.Value }),
		text("limit", ledger.MaxDetailText, func(e *ledger.Event) *string { return &e.Details.Limit }),
		text("entry", ledger.MaxDetailText, func(e *ledger.Event) *string { e.Details.Line = max(e.Details.Line, 1); return &e.Details.Entry }),
		{f, "allowed", ledger.MaxAllowed, func(r *Record, n int) bool {
			r.Event.Details.Count, r.Event.Details.Allowed = 1000, slices.Repeat([]string{strings.Repeat("a", 10)}, n)
			return true
		}},
	}
}

// subjectBounds are those of whom a decision is about.
func subjectBounds() (all []bound) {
	for f, row := range subject.Table {
		all = append(all, textBound(about, "subject "+row.Name, row.Max, func(r *Record) *string { return &r.Event.Subject.Texts[f] }))
	}
	return all
}

var largestAmount = amount.FromBytes32([32]byte(bytes.Repeat([]byte{0xff}, 32)))

// firstCounter is a text of the first counter that a record advances, if it does.
func firstCounter(r *Record, at func(*ledger.Counter) *string) *string {
	if len(r.Counters) == 0 {
		return nil
	}
	return at(&r.Counters[0].Counter)
}

// having calls f with random records that have a field, until it reports true.
func having(t *testing.T, of *field, f func(*Record) bool) {
	t.Helper()
	const most = 20_000
	for n := range uint64(most) {
		if r := randomRecord(n); slices.Contains(r.form().fields, of) && f(&r) {
			return
		}
	}
	t.Fatalf("no record has the field %s", of.name)
}

// TestBounds: a record may have a part that is as large as its bound says, and none that is larger.
func TestBounds(t *testing.T) {
	var got Record
	for _, b := range bounds {
		having(t, b.field, func(r *Record) bool {
			form := r.form()
			if !b.set(r, b.most) || r.form() != form {
				return false
			}
			data := r.Append(nil)
			if err := got.Decode(string(data)); err != nil {
				t.Errorf("%s, %s of %d: %v", b.field.name, b.name, b.most, err)
			} else if again := got.Append(nil); !bytes.Equal(again, data) {
				t.Errorf("%s, %s of %d: it is another record after decoding", b.field.name, b.name, b.most)
			}
			b.set(r, b.most+1)
			if err := got.Decode(string(r.Append(nil))); err == nil {
				t.Errorf("%s, %s of %d is accepted; at most %d are allowed", b.field.name, b.name, b.most+1, b.most)
			}
			return true
		})
	}
}

// TestLargest: no record is larger than its form says, with all of its parts as large as they may be.
func TestLargest(t *testing.T) {
	const enough = 5
	tried := map[*form]int{}
	for n := uint64(0); len(tried) < len(Descriptions()) || n < 1000; n++ {
		r := randomRecord(n)
		form := r.form()
		if tried[form]++; tried[form] > enough {
			continue
		}
		for _, b := range bounds {
			if slices.Contains(form.fields, b.field) {
				b.set(&r, b.most)
			}
		}
		if size := len(r.Append(nil)); r.form() == form && (size > form.most() || size > MaxRecord()) {
			t.Errorf("form %d has %d bytes, and at most %d by its fields, %d of any", form.number, size, form.most(), MaxRecord())
		}
	}
}
