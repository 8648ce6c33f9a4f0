package decision

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/events"
	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const approvalPolicy = "version: 2.0.0\n\n## tool_calls\nallowed: bash, deploy.app\nrequire_approval: deploy.*\n\n## execution_limits\nmax_tool_calls_per_hour: 3\n"

const deployIntent = `{"action":"deploy.app","task_id":"t"}`

// holding is a key with a policy that holds, and its operator.
func holding(t *testing.T, edit ...func(*Config)) (h *town, secret string, by operator) {
	h, by = newTown(t, edit...), newOperator(t)
	secret = h.register()
	h.mustDeploy(secret, by, approvalPolicy)
	return h, secret, by
}

// openHold opens a hold and reads it.
func (h *town) openHold(secret string) *holds.View {
	h.t.Helper()
	answer, fault := h.ask(h.key(secret), deployIntent)
	if fault != nil || answer.Status != "PENDING" || answer.HoldID == "" {
		h.t.Fatalf("%+v %v", answer, fault)
	}
	view, fault := h.Hold(context.Background(), h.key(secret), answer.HoldID)
	if fault != nil {
		h.t.Fatal(fault)
	}
	return view
}

// resolve signs and sends a resolution.
func (h *town) resolve(secret string, by operator, hold *holds.View, decision string, at int64) (*holds.View, *service.Failure) {
	return h.ResolveHold(context.Background(), h.key(secret), hold.HoldID, h.signed(by, hold, decision, at))
}

// signed is the body of a resolution by an operator.
func (h *town) signed(by operator, hold *holds.View, decision string, at int64) []byte {
	signature := attest.SignPolicy(by.private, attest.ResolutionText(hold.HoldID, hold.IntentHash, hold.PolicyHash, decision, at))
	return body(h.t, "decision", decision, "resolved_at", at, "operator_signature", base64.RawURLEncoding.EncodeToString(signature))
}

// TestHoldView: what a key reads of its hold, before and after the decision.
func TestHoldView(t *testing.T) {
	h, secret, by := holding(t)
	hold := h.openHold(secret)
	raw, _ := json.Marshal(hold)
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"holdId", "status", "method", "agentId", "intentHash", "policyRule", "entry", "policyHash", "policyVersion", "createdAt", "expiresAt", "resolvedAt", "intent", "policy"} {
		if _, there := fields[name]; !there {
			t.Errorf("%s lacks %s", raw, name)
		}
		delete(fields, name)
	}
	if len(fields) > 0 {
		t.Errorf("%v are too many", fields)
	}
	sum := sha256.Sum256(hold.Intent)
	if hold.Status != "PENDING" || hold.Method != "deploy.app" || hold.PolicyRule != "tool_calls.require_approval" || hold.ResolvedAt != nil ||
		hold.CreatedAt != noon.Unix() || hold.ExpiresAt != noon.Unix()+24*60*60 || hex.EncodeToString(sum[:]) != hold.IntentHash {
		t.Errorf("%s", raw)
	}
	if again := h.openHold(secret); again.HoldID != hold.HoldID {
		t.Error("a second hold was opened")
	}
	resolved, fault := h.resolve(secret, by, hold, "ALLOWED", noon.Unix()+7)
	if fault != nil || resolved.Status != "ALLOWED" || resolved.ResolvedAt == nil || len(resolved.Intent) == 0 {
		t.Errorf("%+v %v", resolved, fault)
	}
	read, fault := h.Hold(context.Background(), h.key(secret), hold.HoldID)
	if fault != nil || string(must(json.Marshal(read))) != string(must(json.Marshal(resolved))) {
		t.Errorf("%+v is read as %+v %v", resolved, read, fault)
	}
}

// TestHoldEntry: the answer, the event and the views of a hold name the entry by which a list asks for a decision, and none where
// something else does: a command that cannot be read, or every e-mail.
func TestHoldEntry(t *testing.T) {
	h, by := newTown(t), newOperator(t)
	secret := h.register()
	h.mustDeploy(secret, by, "version: 2.4.0\n\n## tool_calls\nallowed: bash, email.send, deploy\nbash.require_approval: git push, \"terraform  apply\"\nemail.require_approval: true\n"+
		"require_approval: deploy\n\n## mcp\nallowed_tools: \"*\"\nrequire_approval: \"x.read_*\", write\n")
	for _, row := range []struct{ intent, want string }{
		{`{"action":"bash","command":"cd /x && git  push origin","task_id":"t"}`, "git push"},
		{`{"action":"bash","command":"terraform apply; git push","task_id":"t"}`, "git push"},
		{`{"action":"bash","command":"ter''raform apply","task_id":"t"}`, "terraform  apply"},
		{`{"action":"bash","command":"echo \"","task_id":"t"}`, ""},
		{`{"action":"email.send","to":"a@example.com","task_id":"t"}`, ""},
		{`{"action":"deploy","task_id":"t"}`, "deploy"},
		{`{"action":"mcp.x.read_all","task_id":"t"}`, "x.read_*"},
		{`{"action":"mcp.y.write","task_id":"t"}`, "write"},
	} {
		answer, fault := h.ask(h.key(secret), row.intent)
		if fault != nil || answer.HoldID == "" {
			t.Fatalf("%s: %+v %v", row.intent, answer, fault)
		}
		hold, fault := h.Hold(context.Background(), h.key(secret), answer.HoldID)
		if fault != nil {
			t.Fatal(fault)
		}
		view, fault := h.Events(context.Background(), h.key(secret), events.Query{})
		if fault != nil {
			t.Fatal(fault)
		}
		recorded := "the last event"
		for _, e := range view.Events {
			if e.HoldID == answer.HoldID && e.Details != nil {
				recorded = e.Details.Entry
			}
		}
		if answer.Details.Entry != row.want || hold.Entry != row.want || recorded != row.want {
			t.Errorf("%s: the answer has %q, the hold %q, the event %q, want %q", row.intent, answer.Details.Entry, hold.Entry, recorded, row.want)
		}
		if named := strings.Contains(string(answer.Message), "; the entry is "+row.want); named != (row.want != "") {
			t.Errorf("%s: %s", row.intent, answer.Message)
		}
		if resolved, fault := h.resolve(secret, by, hold, "ALLOWED", noon.Unix()+7); fault != nil || resolved.Entry != row.want {
			t.Errorf("%s: resolved: %+v %v", row.intent, resolved, fault)
		}
		if answer, fault = h.ask(h.key(secret), row.intent); fault != nil || answer.Status != "ALLOWED" || answer.Details.Entry != "" {
			t.Errorf("%s: after the approval: %+v %v", row.intent, answer, fault)
		}
	}
}

// TestHoldNotFound: missing, foreign and expired holds, and what is no id, have one answer.
func TestHoldNotFound(t *testing.T) {
	h, secret, by := holding(t)
	hold := h.openHold(secret)
	foreign := h.register()
	h.mustDeploy(foreign, by, approvalPolicy)
	messages := map[string]bool{}
	look := func(secret, id string) {
		t.Helper()
		_, fault := h.Hold(context.Background(), h.key(secret), id)
		want(t, fault, errcode.NotFound)
		messages[fault.Message] = true
		_, fault = h.ResolveHold(context.Background(), h.key(secret), id, body(t, "decision", "ALLOWED", "resolved_at", 1, "operator_signature", strings.Repeat("A", 86)))
		want(t, fault, errcode.NotFound)
		messages[fault.Message] = true
	}
	look(foreign, hold.HoldID)
	for _, id := range []string{"", "x", strings.ToUpper(hold.HoldID), "00000000-0000-4000-8000-000000000000", "00000000-0000-0000-0000-000000000000", hold.HoldID + "x"} {
		look(secret, id)
	}
	h.pass(24 * time.Hour)
	look(secret, hold.HoldID)
	if len(messages) != 1 {
		t.Errorf("%v", messages)
	}
}

// ailing is a ledger that works and knows that it will not for long.
type ailing struct{ ledger.Ledger }

func (ailing) Health() error { return errors.New("the disk is nearly full") }

// TestHoldUnmetered: where uses can't be metered, holds can't be read.
func TestHoldUnmetered(t *testing.T) {
	h, secret, _ := holding(t)
	hold, key := h.openHold(secret), h.key(secret)
	h.Ledger = ailing{h.ledger}
	_, fault := h.Hold(context.Background(), key, hold.HoldID)
	want(t, fault, errcode.StoreUnavailable)
	h.Ledger = h.ledger
	h.ledger.Fail(errors.New("the disk is gone"))
	_, fault = h.Hold(context.Background(), key, hold.HoldID)
	want(t, fault, errcode.StoreUnavailable)
}

// TestResolution: who may decide, when, and what; and once.
func TestResolution(t *testing.T) {
	h, secret, by := holding(t)
	hold := h.openHold(secret)
	other := newOperator(t)
	sign := func(by operator, text []byte) string {
		return base64.RawURLEncoding.EncodeToString(attest.SignPolicy(by.private, text))
	}
	now := noon.Unix()
	text := func(decision string, at int64) []byte {
		return attest.ResolutionText(hold.HoldID, hold.IntentHash, hold.PolicyHash, decision, at)
	}
	good := sign(by, text("ALLOWED", now))
	for name, row := range map[string]struct {
		body    []byte
		code    errcode.Code
		message string
	}{
		"nothing":          {[]byte(`{}`), errcode.ValidationSchema, "decision is missing"},
		"another decision": {body(t, "decision", "MAYBE", "resolved_at", now, "operator_signature", good), errcode.ValidationSchema, "decision"},
		"a text as time":   {body(t, "decision", "ALLOWED", "resolved_at", "1", "operator_signature", good), errcode.ValidationSchema, "resolved_at is not an integer"},
		"a fraction":       {body(t, "decision", "ALLOWED", "resolved_at", 1.5, "operator_signature", good), errcode.ValidationSchema, "resolved_at is not an integer"},
		"null":             {[]byte(`{"decision":"ALLOWED","resolved_at":null,"operator_signature":"` + good + `"}`), errcode.ValidationSchema, "resolved_at is not an integer"},
		"padding":          {body(t, "decision", "ALLOWED", "resolved_at", now, "operator_signature", good+"=="), errcode.ValidationSchema, "operator_signature"},
		"a line end":       {body(t, "decision", "ALLOWED", "resolved_at", now, "operator_signature", good[:40]+"\n"+good[40:]), errcode.ValidationSchema, "operator_signature"},
		"too early":        {body(t, "decision", "ALLOWED", "resolved_at", now-301, "operator_signature", sign(by, text("ALLOWED", now-301))), errcode.ValidationSchema, "within 300 seconds"},
		"too late":         {body(t, "decision", "ALLOWED", "resolved_at", now+301, "operator_signature", sign(by, text("ALLOWED", now+301))), errcode.ValidationSchema, "within 300 seconds"},
		"far too early":    {body(t, "decision", "ALLOWED", "resolved_at", -1<<63, "operator_signature", good), errcode.ValidationSchema, "within 300 seconds"},
		"another time":     {body(t, "decision", "ALLOWED", "resolved_at", now+1, "operator_signature", good), errcode.HoldSignature, "does not verify"},
		"turned round":     {body(t, "decision", "DENIED", "resolved_at", now, "operator_signature", good), errcode.HoldSignature, "does not verify"},
		"another's":        {body(t, "decision", "ALLOWED", "resolved_at", now, "operator_signature", sign(other, text("ALLOWED", now))), errcode.HoldSignature, "does not verify"},
		"with a line end":  {body(t, "decision", "ALLOWED", "resolved_at", now, "operator_signature", sign(by, append(text("ALLOWED", now), '\n'))), errcode.HoldSignature, "does not verify"},
	} {
		_, fault := h.ResolveHold(context.Background(), h.key(secret), hold.HoldID, row.body)
		if codeOf(fault) != row.code || !strings.Contains(fault.Message, row.message) {
			t.Errorf("%s: %v %v", name, codeOf(fault), fault)
		}
	}
	if view, fault := h.resolve(secret, by, hold, "DENIED", now-300); fault != nil || view.Status != "DENIED" {
		t.Errorf("%+v %v", view, fault)
	}
	for _, decision := range []string{"DENIED", "ALLOWED"} {
		_, fault := h.resolve(secret, by, hold, decision, now)
		want(t, fault, errcode.HoldResolved)
	}
	if answer, fault := h.ask(h.key(secret), deployIntent); fault != nil || answer.Code != errcode.HoldDenied || answer.HTTP != 403 {
		t.Errorf("%+v %v", answer, fault)
	}
	h.pass(24 * time.Hour)
	h.openHold(secret) // a new one
}

// TestResolvedAtOnce: of many resolutions at once one counts.
func TestResolvedAtOnce(t *testing.T) {
	h, secret, by := holding(t)
	hold := h.openHold(secret)
	var resolved atomic.Int64
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			_, fault := h.resolve(secret, by, hold, []string{"ALLOWED", "DENIED"}[i%2], noon.Unix())
			if fault == nil {
				resolved.Add(1)
			} else if fault.Code != errcode.HoldResolved {
				t.Error(fault)
			}
		})
	}
	group.Wait()
	if resolved.Load() != 1 {
		t.Errorf("%d resolutions", resolved.Load())
	}
}

// TestHoldUsedOnce: 32 clients with an intent that the operator allowed; one is let through, and the others open one hold.
func TestHoldUsedOnce(t *testing.T) {
	h, secret, by := holding(t)
	for range 3 { // as many as the limit of the hour allows
		hold := h.openHold(secret)
		if _, fault := h.resolve(secret, by, hold, "ALLOWED", noon.Unix()); fault != nil {
			t.Fatal(fault)
		}
		key := h.key(secret)
		var allowed, pending atomic.Int64
		var group sync.WaitGroup
		for range 32 {
			group.Go(func() {
				switch answer, fault := h.ask(key, deployIntent); {
				case fault != nil:
					t.Error(fault)
				case answer.Status == "ALLOWED":
					allowed.Add(1)
				case answer.Status == "PENDING" && answer.HoldID != hold.HoldID:
					pending.Add(1)
				default:
					t.Errorf("%+v", answer)
				}
			})
		}
		group.Wait()
		if allowed.Load() != 1 || pending.Load() != 31 {
			t.Errorf("%d allowed, %d pending", allowed.Load(), pending.Load())
		}
	}
	hold := h.openHold(secret)
	if _, fault := h.resolve(secret, by, hold, "ALLOWED", noon.Unix()); fault != nil {
		t.Fatal(fault)
	}
	for range 2 { // a refusal by the limit leaves the hold
		if answer, fault := h.ask(h.key(secret), deployIntent); fault != nil || answer.Code != errcode.LoopLimitExceeded {
			t.Errorf("%+v %v", answer, fault)
		}
	}
	h.pass(time.Hour)
	if answer, fault := h.ask(h.key(secret), deployIntent); fault != nil || answer.Status != "ALLOWED" {
		t.Errorf("%+v %v", answer, fault)
	}
}

// TestSelfHostedResolution: the service's own operator decides about the holds of keys without a policy of their own.
func TestSelfHostedResolution(t *testing.T) {
	by, other := newOperator(t), newOperator(t)
	h := newTown(t, selfHosted(t, by))
	view, err := h.admin().CreateKey(context.Background(), accounts.NewKey{Email: "a@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	answer, fault := h.ask(h.key(view.APIKey), heldIntent)
	if fault != nil || answer.Status != "PENDING" {
		t.Fatalf("%+v %v", answer, fault)
	}
	hold, fault := h.Hold(context.Background(), h.key(view.APIKey), answer.HoldID)
	if fault != nil {
		t.Fatal(fault)
	}
	_, fault = h.resolve(view.APIKey, other, hold, "ALLOWED", noon.Unix())
	want(t, fault, errcode.HoldSignature)
	if _, fault = h.resolve(view.APIKey, by, hold, "ALLOWED", noon.Unix()); fault != nil {
		t.Error(fault)
	}
}

// TestFindHold: an operator names a hold by the beginning of its id, where that is long enough and names one hold alone.
func TestFindHold(t *testing.T) {
	h, secret, by := holding(t)
	first := h.openHold(secret)
	admin := h.admin()
	ctx := context.Background()
	for _, prefix := range []string{first.HoldID[:4], strings.ToUpper(first.HoldID[:13]), first.HoldID} {
		found, err := admin.FindHold(ctx, prefix)
		if err != nil || found.HoldID != first.HoldID || found.KeyID != h.key(secret).ID.String() || found.Waiting != 1 || found.Others != 0 {
			t.Errorf("%s: %+v, %v", prefix, found, err)
		}
	}
	if _, err := admin.FindHold(ctx, first.HoldID[:3]); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("three characters: %v", err)
	}
	if _, err := admin.FindHold(ctx, "nothing"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("no such hold: %v", err)
	}
	ambiguous, seen := "", map[string]bool{}
	for n := range 990 {
		answer, fault := h.ask(h.key(secret), fmt.Sprintf(`{"action":"deploy.app","path":"/srv/%d","task_id":"t"}`, n))
		if fault != nil || answer.HoldID == "" {
			t.Fatalf("%+v %v", answer, fault)
		}
		if seen[answer.HoldID[:4]] {
			ambiguous = answer.HoldID[:4]
			break
		}
		seen[answer.HoldID[:4]] = true
	}
	if _, err := admin.FindHold(ctx, ambiguous); ambiguous == "" || !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), "the ids of 2 holds begin with") {
		t.Errorf("the beginning %q of two ids: %v", ambiguous, err)
	}
	_, err := admin.Resolve(ctx, h.key(secret).ID.String(), first.HoldID, h.signed(by, first, "ALLOWED", h.Clock().Unix()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Resolve(ctx, h.key(secret).ID.String(), first.HoldID, h.signed(by, first, "DENIED", h.Clock().Unix())); err == nil || !strings.Contains(err.Error(), "SVC_HOLD_RESOLVED") {
		t.Errorf("a second decision: %v", err)
	}
	if _, err := admin.Resolve(ctx, h.key(secret).ID.String(), first.HoldID, h.signed(newOperator(t), first, "DENIED", h.Clock().Unix())); err == nil {
		t.Error("another operator decides")
	}
}
