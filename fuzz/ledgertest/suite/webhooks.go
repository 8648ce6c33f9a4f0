package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
)

// hook creates webhook number n of the fixture's key.
func (f *fixture) hook(n uint64, topics ledger.Topics) ledger.Webhook {
	f.Helper()
	w := ledger.Webhook{
		ID: ledgertest.ID('w', n), Key: f.key.ID, URL: fmt.Sprintf("https://example.com/%d", n), Topics: topics,
		Format: ledger.WebhookFormat(n % 4), Secret: []byte(strings.Repeat("s", 24)), Created: f.at,
	}
	if err := f.l.CreateWebhook(f.Context(), w); err != nil {
		f.Fatalf("CreateWebhook: %v", err)
	}
	return w
}

// changesWhileStopped checks that the holder of a key that is stopped changes no webhook and pins no tool, and that the operator does.
func (f *fixture) changesWhileStopped(n uint64) {
	f.Helper()
	w := ledger.Webhook{ID: ledgertest.ID('w', n), Key: f.key.ID, URL: "https://example.com/", Topics: ledger.AllTopics, Secret: []byte(strings.Repeat("s", 24)), Created: f.at}
	f.wantErr("a webhook while stopped", f.l.CreateWebhook(f.Context(), w), ledger.ErrHalted)
	w.Operator = true
	f.wantErr("the operator's webhook while stopped", f.l.CreateWebhook(f.Context(), w), nil)
	own := f.webhooks()[0]
	for what, change := range map[string]func(context.Context, ledger.WebhookChange) error{"removing": f.l.RemoveWebhook, "enabling": f.l.EnableWebhook} {
		f.wantErr(what+" the operator's webhook", change(f.Context(), ledger.WebhookChange{Key: f.key.ID, ID: w.ID, At: f.at}), ledger.ErrNotFound)
		f.wantErr(what+" while stopped", change(f.Context(), ledger.WebhookChange{Key: f.key.ID, ID: own.ID, At: f.at}), ledger.ErrHalted)
	}
	tools := &ledger.ToolList{Key: f.key.ID, Server: "files", At: f.at, Tools: []ledger.ListedTool{{Name: fmt.Sprint("t", n), Definition: []byte("{}")}}}
	f.wantErr("pinning while stopped", f.l.MeetTools(f.Context(), tools), ledger.ErrHalted)
	if got := f.webhooks(); got[len(got)-1].ID != w.ID || !got[len(got)-1].Operator {
		f.Fatalf("the operator's webhook is %+v", got[len(got)-1])
	}
	f.wantErr("the operator removes it", f.l.RemoveWebhook(f.Context(), ledger.WebhookChange{Key: f.key.ID, ID: w.ID, At: f.at, Operator: true}), nil)
}

// due returns what is due at the fixture's time.
func (f *fixture) due(limit int) []ledger.Delivery {
	f.Helper()
	due, _, err := f.l.Due(f.Context(), f.at, limit)
	if err != nil {
		f.Fatal(err)
	}
	return due
}

func (f *fixture) wantNext(want int64) {
	f.Helper()
	due, next, err := f.l.Due(f.Context(), f.at, 1)
	if err != nil || len(due) > 0 || next != want {
		f.Fatalf("%d due, the next at %d (%v); want none, and %d", len(due), next, err, want)
	}
}

// settle tells what came of d, whatever change makes of it.
func (f *fixture) settle(d ledger.Delivery, change func(*ledger.DeliveryResult)) {
	f.Helper()
	r := ledger.DeliveryResult{Key: d.Webhook.Key, Webhook: d.Webhook.ID, LSN: d.LSN, At: f.at}
	change(&r)
	if err := f.l.SettleDelivery(r); err != nil {
		f.Fatalf("SettleDelivery: %v", err)
	}
}

func delivered(r *ledger.DeliveryResult) { r.Delivered = true }

func (f *fixture) webhooks() []ledger.Webhook {
	f.Helper()
	hooks, err := f.l.Webhooks(f.Context(), f.key.ID)
	if err != nil {
		f.Fatal(err)
	}
	return hooks
}

func testWebhooks(f *fixture) {
	if got := f.webhooks(); len(got) != 0 {
		f.Fatalf("webhooks of a new key: %+v", got)
	}
	var want []ledger.Webhook
	for n := range uint64(ledger.MaxWebhooks) {
		want = append(want, f.hook(n, ledger.AllTopics))
	}
	more := want[0]
	more.ID = ledgertest.ID('w', 99)
	f.wantErr("one too many", f.l.CreateWebhook(f.Context(), more), ledger.ErrTooMany)
	f.equal("webhooks", f.webhooks(), want)
	other := f.newKey(2)
	f.wantErr("another key's", f.l.RemoveWebhook(f.Context(), ledger.WebhookChange{Key: other.ID, ID: want[3].ID, At: f.at}), ledger.ErrNotFound)
	f.wantErr("missing", f.l.RemoveWebhook(f.Context(), ledger.WebhookChange{Key: f.key.ID, ID: more.ID, At: f.at}), ledger.ErrNotFound)
	f.wantErr("removing", f.l.RemoveWebhook(f.Context(), ledger.WebhookChange{Key: f.key.ID, ID: want[3].ID, At: f.at}), nil)
	f.wantErr("removing again", f.l.RemoveWebhook(f.Context(), ledger.WebhookChange{Key: f.key.ID, ID: want[3].ID, At: f.at}), ledger.ErrNotFound)
	same := want[0]
	f.wantErr("the same id", f.l.CreateWebhook(f.Context(), same), ledger.ErrInvalid)
	f.equal("webhooks", f.webhooks(), slices.Delete(want, 3, 4))
	for name, spoil := range map[string]func(*ledger.Webhook){
		"url": func(w *ledger.Webhook) { w.URL = "" }, "topics": func(w *ledger.Webhook) { w.Topics = 1 << 6 }, "id": func(w *ledger.Webhook) { w.ID = ledger.ID{} },
		"secret": func(w *ledger.Webhook) { w.Secret = w.Secret[:23] }, "disabled": func(w *ledger.Webhook) { w.Disabled = 1 },
	} {
		bad := more
		spoil(&bad)
		f.wantErr(name, f.l.CreateWebhook(f.Context(), bad), ledger.ErrInvalid)
	}
	more.Key = ledgertest.ID('k', 9)
	f.wantErr("no key", f.l.CreateWebhook(f.Context(), more), ledger.ErrNotFound)
	if _, err := f.l.RevokeKey(f.Context(), other.ID, f.at); err != nil {
		f.Fatal(err)
	}
	more.Key = other.ID
	f.wantErr("a revoked key", f.l.CreateWebhook(f.Context(), more), ledger.ErrKeyRevoked)
	changes := map[ledger.Kind]int{}
	for _, e := range f.events() {
		if !e.Webhook.IsZero() {
			changes[e.Kind]++
		}
	}
	f.equal("changes of webhooks in the log", changes, map[ledger.Kind]int{ledger.WebhookCreated: ledger.MaxWebhooks, ledger.WebhookRemoved: 1})
}

// testTopics has one webhook for each topic, and one thing happen of each.
func testTopics(f *fixture) {
	f.allow(f.plan()) // nobody is told of what was before
	for i := range 6 {
		f.hook(uint64(i), 1<<i)
	}
	dry := f.plan()
	dry.TestRun = true
	f.submit(dry)
	f.allow(f.plan())
	f.want(f.denied(), ledger.Passed, ledger.Denied)
	held := f.want(f.held(1), ledger.Held, ledger.Pending)
	f.mustResolve(f.want(f.held(2), ledger.Held, ledger.Pending).Hold, true)
	f.deploy(f.deployment(1))
	f.at = held.HoldExpires
	if n, err := f.l.ExpireHolds(f.Context(), f.at, 10); err != nil || n != 1 {
		f.Fatalf("ExpireHolds: %d, %v", n, err)
	}
	if _, err := f.l.RevokeKey(f.Context(), f.key.ID, f.at); err != nil { // what was decided is told
		f.Fatal(err)
	}
	var got []string
	events := map[uint64]ledger.LoggedEvent{}
	for _, e := range f.events() {
		events[e.LSN] = e
	}
	for _, d := range f.due(100) {
		if d.Webhook.Topics != d.Topic || d.Attempts != 0 || d.Event.LSN != d.LSN {
			f.Fatalf("delivery: %+v", d)
		}
		f.equal("event", d.Event, events[d.LSN])
		got = append(got, strings.Join(d.Topic.Names(), ""))
	}
	f.equal("told", got, []string{
		"intent.allowed", "intent.denied", "intent.pending", "intent.pending", "hold.resolved", "policy.deployed", "hold.expired",
	})
}

func testDeliveries(f *fixture) {
	f.wantNext(0)
	a := f.hook(1, ledger.AllTopics)
	f.hook(2, ledger.IntentDenied)
	select {
	case <-f.l.Outboxed():
		f.Fatal("told of nothing")
	default:
	}
	f.allow(f.plan())
	select {
	case <-f.l.Outboxed():
	case <-time.After(10 * time.Second):
		f.Fatal("not told")
	}
	f.at += hour
	f.want(f.denied(), ledger.Passed, ledger.Denied)
	first := f.due(1)
	rest := f.due(10)
	if len(first) != 1 || len(rest) != 2 || first[0].LSN >= rest[0].LSN || rest[0].LSN != rest[1].LSN || rest[0].Webhook.ID == rest[1].Webhook.ID {
		f.Fatalf("first %+v, rest %+v", first, rest)
	}
	f.wantNext(0) // all are handed out
	f.settle(first[0], func(r *ledger.DeliveryResult) { r.Next = f.at + hour })
	f.settle(rest[0], delivered)
	f.settle(rest[1], func(r *ledger.DeliveryResult) { r.Next = f.at + 2*hour })
	f.wantNext(f.at + hour)
	f.at += hour
	again := f.due(10)
	if len(again) != 1 || again[0].LSN != first[0].LSN || again[0].Attempts != 1 {
		f.Fatalf("again: %+v", again)
	}
	f.settle(again[0], func(r *ledger.DeliveryResult) { r.Next = 0 }) // given up
	f.settle(again[0], func(r *ledger.DeliveryResult) { r.Next = f.at })
	f.wantNext(f.at + hour)
	f.at += hour
	if err := f.l.RemoveWebhook(f.Context(), ledger.WebhookChange{Key: f.key.ID, ID: rest[1].Webhook.ID, At: f.at}); err != nil {
		f.Fatal(err)
	}
	f.wantNext(0)
	f.settle(rest[1], delivered)
	if rest[0].Webhook.ID != a.ID {
		f.Fatalf("the first of the two is %s", rest[0].Webhook.ID)
	}
	_, _, err := f.l.Due(f.Context(), f.at, 0)
	f.wantErr("no limit", err, ledger.ErrInvalid)
	f.wantErr("a late time", f.l.SettleDelivery(ledger.DeliveryResult{Next: -1}), ledger.ErrInvalid)
}

func testDisable(f *fixture) {
	w := f.hook(1, ledger.AllTopics)
	f.hook(2, ledger.AllTopics)
	f.allow(f.plan())
	f.allow(f.plan())
	due := f.due(10)
	if len(due) != 4 {
		f.Fatalf("%d due", len(due))
	}
	for _, d := range due {
		if d.Webhook.ID == w.ID {
			f.settle(d, func(r *ledger.DeliveryResult) { r.Disable = true })
		} else {
			f.settle(d, delivered)
		}
	}
	if got := f.webhooks(); got[0].Disabled != f.at || got[1].Disabled != 0 {
		f.Fatalf("webhooks: %+v", got)
	}
	f.allow(f.plan())
	if due := f.due(10); len(due) != 1 || due[0].Webhook.ID == w.ID {
		f.Fatalf("due: %+v", due)
	}
	last := f.events()
	if e := last[len(last)-2]; e.Kind != ledger.DeliverySettled || e.Webhook != w.ID {
		f.Fatalf("event: %+v", e)
	}
	f.wantErr("another key's", f.l.EnableWebhook(f.Context(), ledger.WebhookChange{Key: f.newKey(2).ID, ID: w.ID, At: f.at}), ledger.ErrNotFound)
	f.wantErr("enabling", f.l.EnableWebhook(f.Context(), ledger.WebhookChange{Key: f.key.ID, ID: w.ID, At: f.at}), nil)
	last = f.events()
	if e := last[len(last)-1]; e.Kind != ledger.WebhookEnabled || e.Webhook != w.ID {
		f.Fatalf("event: %+v", e)
	}
	count := len(f.events())
	f.wantErr("enabling what works", f.l.EnableWebhook(f.Context(), ledger.WebhookChange{Key: f.key.ID, ID: w.ID, At: f.at}), nil)
	if len(f.events()) != count || f.webhooks()[0].Disabled != 0 {
		f.Fatalf("%d events after %d, webhooks: %+v", len(f.events()), count, f.webhooks())
	}
	f.allow(f.plan())
	if due := f.due(10); len(due) != 2 {
		f.Fatalf("due: %+v", due)
	}
}

// testOutboxBound fills a key's outbox: what does not fit is counted. The key's other webhook still has its share, and
// another key has room.
func testOutboxBound(f *fixture) {
	w := f.hook(1, ledger.AllTopics)
	f.hook(2, ledger.IntentDenied)
	var last ledger.Ticket
	for range ledger.MaxOutbox + 5 {
		last = f.l.Submit(f.plan())
	}
	if err := last.Wait(f.Context()); err != nil {
		f.Fatal(err)
	}
	for range ledger.OutboxShare + 1 {
		f.want(f.denied(), ledger.Passed, ledger.Denied)
	}
	if got := f.webhooks(); got[0].Dropped != 5+ledger.OutboxShare+1 || got[1].Dropped != 1 {
		f.Fatalf("dropped %d and %d", got[0].Dropped, got[1].Dropped)
	}
	due := f.due(ledger.MaxOutbox + ledger.OutboxShare + 1)
	if len(due) != ledger.MaxOutbox+ledger.OutboxShare {
		f.Fatalf("%d wait", len(due))
	}
	for _, d := range due[:ledger.OutboxShare+1] {
		f.settle(d, delivered)
	}
	f.allow(f.plan()) // there is room for one again
	if got := f.due(2); len(got) != 1 || got[0].Webhook.ID != w.ID {
		f.Fatalf("after one was delivered: %+v", got)
	}
	full := f.key
	f.key = f.newKey(2)
	f.hook(3, ledger.AllTopics)
	f.allow(f.plan())
	if got := f.due(2); len(got) != 1 {
		f.Fatalf("another key's: %+v", got)
	}
	if err := f.l.RemoveWebhook(f.Context(), ledger.WebhookChange{Key: full.ID, ID: w.ID, At: f.at}); err != nil {
		f.Fatal(err)
	}
	f.key = full
	f.want(f.denied(), ledger.Passed, ledger.Denied)
	if got := f.due(2); len(got) != 1 {
		f.Fatalf("after the removal: %+v", got)
	}
}

// testReopenService checks that what a service rests on is the same after closing and opening.
func testReopenService(f *fixture) {
	pinned := ledgertest.NewKey(3)
	pinned.Operator, pinned.Organization = [32]byte{1}, "Example Inc."
	if err := f.l.CreateKey(f.Context(), pinned); err != nil {
		f.Fatal(err)
	}
	d := f.deployment(1)
	d.Activation = &ledger.Activation{ID: [32]byte{'a'}, Expires: f.at + hour}
	f.deploy(d)
	f.deploy(f.deployment(2))
	use := f.use(1)
	f.wantErr("use", f.l.UseOnce(f.Context(), use), nil)
	f.hook(1, ledger.AllTopics)
	f.hook(2, ledger.IntentPending)
	f.allow(f.plan())
	retried := f.due(10)[0]
	f.settle(retried, func(r *ledger.DeliveryResult) { r.Next = f.at + hour }) // rides along, until Close
	f.want(f.held(1), ledger.Held, ledger.Pending)
	handedOut := f.due(10)
	expired := f.held(2)
	expired.Hold.Lifetime = time.Minute
	f.submit(expired)
	f.at += int64(time.Minute)
	if n, err := f.l.ExpireHolds(f.Context(), f.at, 9); n != 1 || err != nil {
		f.Fatalf("ExpireHolds: %d, %v", n, err)
	}
	if _, err := f.l.ChangeKey(f.Context(), ledger.KeyChange{ID: f.key.ID, At: f.at, Tier: "growth", Scopes: ledger.AllScopes}); err != nil {
		f.Fatal(err)
	}
	f.meet("read", "one")
	f.meet("read", "two")
	before := f.readAll()
	f.l = f.suite.Reopen(f.T, f.l)
	f.equal("what can be read", f.readAll(), before)
	f.wantErr("used again", f.l.UseOnce(f.Context(), use), ledger.ErrUsed)
	d.PolicyHash, d.Key, d.Operator = [32]byte{3}, pinned.ID, pinned.Operator
	_, err := f.l.Deploy(f.Context(), d)
	f.wantErr("the activation again", err, ledger.ErrUsed)
	d.Operator = [32]byte{2}
	_, err = f.l.Deploy(f.Context(), d)
	f.wantErr("the pinned key", err, ledger.ErrOperator)
	if n, err := f.l.ExpireHolds(f.Context(), f.at, 9); n != 0 || err != nil {
		f.Fatalf("ExpireHolds again: %d, %v", n, err)
	}
	f.dueAfterReopening(handedOut[0].LSN, retried.LSN)
}

// readAll returns what can be read of the fixture's key.
func (f *fixture) readAll() []any {
	f.Helper()
	keys, err1 := f.l.Keys(f.Context())
	deployments, err2 := f.l.Deployments(f.Context(), f.key.ID)
	policy, err3 := f.l.Policy(f.Context(), f.key.ID)
	holds, err4 := f.l.Holds(f.Context(), f.key.ID, f.at)
	pins, err5 := f.l.Pins(f.Context(), f.key.ID, "")
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		f.Fatal(err)
	}
	return []any{keys, deployments, policy, holds, pins, f.webhooks(), f.events()}
}

// dueAfterReopening checks that what was handed out is due again, and what was to be retried in an hour is due then.
func (f *fixture) dueAfterReopening(handedOut, retried uint64) {
	f.Helper()
	select {
	case <-f.l.Outboxed():
	default:
		f.Fatal("not told of what waits")
	}
	due := f.due(100)
	if !slices.ContainsFunc(due, func(d ledger.Delivery) bool { return d.LSN == handedOut && d.Event.LSN == handedOut }) {
		f.Fatalf("what was handed out and not settled is not due again: %+v", due)
	}
	if slices.ContainsFunc(due, func(d ledger.Delivery) bool { return d.LSN == retried }) {
		f.Fatal("a retry came too early")
	}
	f.at += hour
	if due = f.due(100); len(due) != 1 || due[0].LSN != retried || due[0].Attempts != 1 {
		f.Fatalf("the retry: %+v", due)
	}
}
