package slots

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// TestConformance runs the suite of every ledger over one slot, and over keys that are spread over several.
func TestConformance(t *testing.T) {
	outboxes := maps.Clone(suite.Several)
	outboxes["OutboxBound"] = "the other instance delivers what its slots have"
	for _, c := range []struct {
		name    string
		slots   int
		others  []int // slots of another instance, which is asked
		without map[string]string
	}{{"one", 1, nil, nil}, {"several", 5, nil, suite.Several}, {"with another instance", 5, []int{3, 4}, outboxes}} {
		t.Run(c.name, func(t *testing.T) {
			open := func(t *testing.T, w *world) ledger.Ledger {
				if len(c.others) > 0 && !w.remote {
					w.remote = true
					w.start(t, c.others...).serve(t)
				}
				i := w.start(t, slices.DeleteFunc(w.all(), func(n int) bool { return slices.Contains(c.others, n) })...)
				i.serve(t)
				return i
			}
			suite.Run(t, suite.Suite{
				Without: c.without,
				Open:    func(t *testing.T) ledger.Ledger { return open(t, newWorld(c.slots)) },
				Reopen: func(t *testing.T, l ledger.Ledger) ledger.Ledger {
					i := l.(*instance)
					must(t, i.Close())
					return open(t, i.world)
				},
			})
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// two starts two instances over five slots, of which the first has the first three, and makes a key in each. They ask each other, or not.
func two(t *testing.T, remote bool) (a, b *instance, keys []ledger.Key) {
	t.Helper()
	w := newWorld(5)
	w.remote = remote
	a, b = w.start(t, 0, 1, 2), w.start(t, 3, 4)
	a.serve(t)
	b.serve(t)
	for n := range uint64(4) {
		key := ledgertest.NewKey(n + 4)
		at := a
		if a.Of(key.Hash) > 2 {
			at = b
		}
		must(t, at.CreateKey(t.Context(), key))
		keys = append(keys, key)
	}
	return a, b, keys
}

// TestElsewhere: what concerns a key of another instance's slot is refused by its own error, and nothing of it is recorded. Of a key that
// does not exist each instance says so.
func TestElsewhere(t *testing.T) {
	a, b, keys := two(t, false)
	there := keys[3]
	if b.Of(there.Hash) != 4 {
		t.Fatalf("the key is in slot %d", b.Of(there.Hash))
	}
	_, known := a.LookupKey(there.Hash)
	_, knownByID := a.LookupKeyID(there.ID)
	if known || knownByID {
		t.Error("a key of a slot that is not here is found")
	}
	ticket := a.Submit(ledgertest.Counted(there.ID, 1, 5))
	for what, err := range map[string]error{
		"a plan":       ticket.Wait(t.Context()),
		"a revocation": func() error { _, err := a.RevokeKey(t.Context(), there.ID, 1); return err }(),
		"a new key":    a.CreateKey(t.Context(), ledgertest.NewKey(11)),
		"all keys":     func() error { _, err := a.Keys(t.Context()); return err }(),
		"a freeze":     b.Halt(t.Context(), &ledger.Halt{Stop: true, At: 1}),
	} {
		if !errors.Is(err, ErrElsewhere) || !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if out := a.Peek(ledgertest.Counted(there.ID, 1, 5)); out.Result != ledger.Unknown {
		t.Errorf("a look: %+v", out)
	}
	for _, i := range []*instance{a, b} {
		if _, err := i.RevokeKey(t.Context(), ledgertest.ID('k', 99), 1); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("a key that does not exist: %v", err)
		}
	}
	if used, err := b.Counter(t.Context(), there.ID, ledgertest.Counting, ledgertest.Start); err != nil || used != amount.FromUint64(0) {
		t.Errorf("the counter stands at %s: %v", used, err)
	}
	other := ledgertest.NewKey(12)
	other.Hash = keys[0].Hash
	if err := a.CreateKey(t.Context(), other); !errors.Is(err, ledger.ErrKeyExists) {
		t.Errorf("a second key with the same secret: %v", err)
	}
}

// TestRemote asks each instance for keys of the other's slots: all that concerns them is done there, once, also where the answer is lost, and
// service-wide records are in force everywhere whichever instance is asked for them.
func TestRemote(t *testing.T) {
	a, b, keys := two(t, true)
	for _, i := range []*instance{a, b} {
		if all, err := i.Keys(t.Context()); err != nil || len(all) != len(keys) {
			t.Errorf("%d keys of %d: %v", len(all), len(keys), err)
		}
	}
	counts := func(key ledger.ID, want uint64) {
		t.Helper()
		for _, i := range []*instance{a, b} {
			got, err := i.Counter(t.Context(), key, ledgertest.Counting, ledgertest.Start)
			if err != nil || got != amount.FromUint64(want) {
				t.Errorf("the counter is at %s, not %d: %v", got, want, err)
			}
		}
	}
	for n, key := range keys {
		for i, at := range []*instance{a, b, a} {
			ticket := at.Submit(ledgertest.Counted(key.ID, uint64(10*n+i), 2)) //nolint:gosec // small
			must(t, ticket.Wait(t.Context()))
			if want := map[bool]ledger.Result{true: ledger.Passed, false: ledger.Refused}[i < 2]; ticket.Outcome().Result != want {
				t.Errorf("request %d of key %d: %+v", i, n, ticket.Outcome())
			}
		}
		counts(key.ID, 2)
		for _, at := range []*instance{a, b} {
			found, ok := at.LookupKey(key.Hash)
			byID, also := at.LookupKeyID(key.ID)
			if !ok || !also || found.ID != key.ID || byID.Hash != key.Hash {
				t.Errorf("key %d is not found: %t, %t", n, ok, also)
			}
		}
	}
	must(t, b.Halt(t.Context(), &ledger.Halt{Stop: true, At: ledgertest.Start, Reason: "why"}))
	for _, key := range keys {
		if out := a.Submit(ledgertest.Counted(key.ID, 99, 9)).Outcome(); out.Result != ledger.Halted {
			t.Errorf("key %s of a service that the other instance has frozen: %+v", key.ID, out)
		}
	}
	must(t, b.Halt(t.Context(), &ledger.Halt{At: ledgertest.Start}))
	a.cut.Store(true)
	before := a.asked.Load()
	ticket := a.Submit(ledgertest.Counted(keys[3].ID, 100, 9))
	if err := ticket.Wait(t.Context()); !errors.Is(err, ledger.ErrUnknown) || ticket.Outcome().Result != ledger.Unknown {
		t.Errorf("an answer that was lost: %+v, %v", ticket.Outcome(), err)
	}
	if _, ok := a.LookupKey(keys[3].Hash); ok || a.asked.Load() != before+2 {
		t.Errorf("%d questions for 2", a.asked.Load()-before)
	}
	a.cut.Store(false)
	counts(keys[3].ID, 3)
	must(t, b.Close())
	if err := a.Submit(ledgertest.Counted(keys[3].ID, 101, 9)).Wait(t.Context()); !errors.Is(err, ErrElsewhere) {
		t.Errorf("a slot that no instance has: %v", err)
	}
}

// TestAnswerElsewhere: a question about a slot that is not here is refused.
func TestAnswerElsewhere(t *testing.T) {
	a, _, _ := two(t, false)
	for _, wrong := range []int{-1, 5, 3} {
		if _, err := a.Answer(t.Context(), wrong, nil); !errors.Is(err, ErrElsewhere) {
			t.Errorf("a question about slot %d: %v", wrong, err)
		}
	}
}

// TestHandOver moves slots between two instances while clients use their keys: no limit is exceeded, and all that was acknowledged counts.
// A request that has entered a slot is waited for.
func TestHandOver(t *testing.T) {
	a, b, keys := two(t, false)
	const limit = 400
	var allowed [4]atomic.Uint64
	var clients sync.WaitGroup
	var ids atomic.Uint64
	for n, key := range keys {
		for range 3 {
			clients.Go(func() {
				for at := a; ; at = map[*instance]*instance{a: b, b: a}[at] {
					stay, ok := at.Enter(at.Of(key.Hash))
					if !ok {
						time.Sleep(100 * time.Microsecond)
						continue
					}
					ticket := at.Submit(ledgertest.Counted(key.ID, ids.Add(1), limit))
					err := ticket.Wait(t.Context())
					stay.Leave()
					switch {
					case err != nil:
						t.Errorf("a request that had entered: %v", err)
						return
					case ticket.Outcome().Result == ledger.Passed:
						allowed[n].Add(1)
					default:
						return
					}
				}
			})
		}
	}
	for range 10 {
		a.move(t, 1, b)
		b.move(t, 4, a)
		b.move(t, 1, a)
		a.move(t, 4, b)
	}
	clients.Wait()
	for n := range keys {
		if got := allowed[n].Load(); got != limit {
			t.Errorf("key %d: %d of %d were allowed", n, got, limit)
		}
	}
}

// TestGlobal: a service-wide record is in force in the slots of all instances when it is answered, and in a slot that comes later before it
// serves. A store that says too early that all have it is found.
func TestGlobal(t *testing.T) {
	stops := func(t *testing.T, deaf bool) error {
		a, b, keys := two(t, false)
		a.deaf = deaf
		for n := range uint64(5) {
			must(t, a.StateApprover(t.Context(), &ledger.ApproverStatement{
				Action: ledger.ConfirmApprover, Serial: n + 1, Name: fmt.Sprint("a", n), Credential: fmt.Append(nil, "c", n),
				Grant: ledger.Grant{PublicKey: []byte("p"), Sections: []string{"evm"}, Expires: ledgertest.Start/1e9 + 3600},
			}, 5))
			for what, i := range map[string]*instance{"a": a, "b": b} {
				for _, s := range i.slots[1:] {
					if here := s.here.Load(); here != nil {
						if all, serial, _ := here.Approvers(t.Context()); uint64(len(all)) != n+1 || serial != n+1 {
							return fmt.Errorf("%s, slot %d: %d approvers, serial %d, of %d", what, s.number, len(all), serial, n+1)
						}
					}
				}
			}
			must(t, a.Halt(t.Context(), &ledger.Halt{Stop: true, At: ledgertest.Start, Reason: "why"}))
			for _, key := range keys {
				at := a
				if a.Of(key.Hash) > 2 {
					at = b
				}
				if out := at.Submit(ledgertest.Counted(key.ID, 100+n, 9)).Outcome(); out.Result != ledger.Halted {
					return fmt.Errorf("key %s of a frozen service: %+v", key.ID, out)
				}
			}
			if a.Frozen().Reason != "why" || b.Frozen().Reason != "why" {
				return fmt.Errorf("frozen: %+v and %+v", a.Frozen(), b.Frozen())
			}
			must(t, a.Halt(t.Context(), &ledger.Halt{At: ledgertest.Start, Reason: "over"}))
		}
		return nil
	}
	must(t, stops(t, false))
	for n := 0; stops(t, true) == nil; n++ {
		if n == 50 {
			t.Fatal("a store that says too early that all slots have it is not found")
		}
	}
}

// TestFollowsFirst: a slot that comes to an instance has the service-wide records before it serves. The answer to one that a slot can't get says
// so.
func TestFollowsFirst(t *testing.T) {
	w := newWorld(3)
	a := w.start(t, 0, 1)
	a.serve(t)
	rotation := &ledger.Rotation{From: [32]byte{1}, To: [32]byte{2}, At: 5}
	must(t, a.RotateOperator(t.Context(), rotation))
	must(t, a.Halt(t.Context(), &ledger.Halt{Stop: true, At: ledgertest.Start}))
	b := w.start(t, 2)
	b.serve(t)
	if frozen := b.Frozen(); !frozen.Stopped() || len(b.Operators().Keys) != 2 {
		t.Errorf("a slot serves without the service-wide records: %+v, %d operator keys", b.Frozen(), len(b.Operators().Keys))
	}
	if err := a.RotateOperator(t.Context(), rotation); !errors.Is(err, ledger.ErrOperator) {
		t.Errorf("the same rotation again: %v", err)
	}
	w.mu.Lock()
	w.owner[2] = a // somebody who copies nothing
	w.followed[2] = 0
	w.mu.Unlock()
	must(t, b.Close())
	w.mu.Lock()
	w.owner[2] = a
	w.mu.Unlock()
	err := a.Halt(t.Context(), &ledger.Halt{At: ledgertest.Start})
	if !errors.Is(err, ledger.ErrUnknown) || !strings.Contains(err.Error(), "not in force in the slots [2] yet") {
		t.Errorf("a slot that copies nothing: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Halt(ctx, &ledger.Halt{Stop: true, At: ledgertest.Start}); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("a caller who has left: %v", err)
	}
}

// TestDefaults: each slot records the instance's default policy before it serves. One that refuses the policy is left to other instances, until
// the instance has another policy.
func TestDefaults(t *testing.T) {
	w := newWorld(3)
	a := w.start(t, 0, 1)
	newer := &ledger.DefaultPolicy{At: 5, PolicyHash: [32]byte{2}, Serial: 2}
	_, err := a.BindDefault(t.Context(), newer)
	must(t, err)
	a.has(t, 1, true)
	if bound, err := a.BindDefault(t.Context(), newer); err != nil || !bound.Same {
		t.Errorf("the same policy again: %+v, %v", bound, err)
	}
	b := w.start(t, 2)
	_, err = b.BindDefault(t.Context(), &ledger.DefaultPolicy{At: 5, PolicyHash: [32]byte{1}, Serial: 1})
	must(t, err)
	b.has(t, 2, true)
	must(t, a.Close())
	w.mu.Lock()
	b.held[1].wanted = true
	w.changed.Broadcast()
	w.mu.Unlock()
	for deadline := time.Now().Add(10 * time.Second); b.Refusing() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if _, err := b.at(1); !errors.Is(err, ErrElsewhere) || b.Refusing() != 1 {
		t.Errorf("a slot of a newer default policy is served by an instance with an older one: %v", err)
	}
	b.has(t, 2, true)
	if _, err := b.BindDefault(t.Context(), newer); err != nil {
		t.Error(err)
	}
	b.has(t, 1, true)
	b.has(t, 2, true)
	if n := b.Refusing(); n != 0 {
		t.Errorf("%d slots refuse the policy that counts", n)
	}
}

// TestActivations: an activation is used by one key, whichever slot it is in.
func TestActivations(t *testing.T) {
	a, b, keys := two(t, false)
	deploys := func(at *instance, key ledger.Key) error {
		_, err := at.Deploy(t.Context(), &ledger.Deployment{
			Key: key.ID, At: ledgertest.Start, PolicyHash: [32]byte{1}, PolicyVersion: "2.0.0", Operator: [32]byte{1}, Text: []byte("t"), Program: []byte("p"),
			Activation: &ledger.Activation{ID: [32]byte{9}, Expires: ledgertest.Start + int64(time.Minute)}, MaxStored: 1 << 20,
		})
		return err
	}
	var used atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		for _, key := range keys {
			at := a
			if a.Of(key.Hash) > 2 {
				at = b
			}
			all.Go(func() {
				switch err := deploys(at, key); {
				case err == nil:
					used.Add(1)
				case !errors.Is(err, ledger.ErrUsed):
					t.Error(err)
				}
			})
		}
	}
	if all.Wait(); used.Load() != 1 {
		t.Errorf("an activation was used %d times", used.Load())
	}
}

// TestOutboxes: deliveries of all slots that are here are handed out, and settled where they are.
func TestOutboxes(t *testing.T) {
	a, _, keys := two(t, false)
	for n, key := range keys[:2] {
		must(t, a.CreateWebhook(t.Context(), ledger.Webhook{
			ID: ledgertest.ID('w', uint64(n)), Key: key.ID, URL: "https://x.example", Topics: ledger.AllTopics, Secret: bytes.Repeat([]byte("s"), 32), Created: 1, //nolint:gosec // small
		}))
		must(t, a.Submit(ledgertest.Counted(key.ID, uint64(n), 5)).Wait(t.Context())) //nolint:gosec // small
	}
	var due []ledger.Delivery
	for deadline := time.Now().Add(10 * time.Second); len(due) < 2 && time.Now().Before(deadline); {
		<-a.Outboxed()
		some, _, err := a.Due(t.Context(), ledgertest.Start, 9)
		must(t, err)
		due = append(due, some...)
	}
	if len(due) != 2 || due[0].Webhook.Key == due[1].Webhook.Key {
		t.Fatalf("%d deliveries are due", len(due))
	}
	for _, d := range due {
		must(t, a.SettleDelivery(ledger.DeliveryResult{Key: d.Webhook.Key, Webhook: d.Webhook.ID, LSN: d.LSN, At: ledgertest.Start, Delivered: true}))
	}
	must(t, a.Flush(t.Context()))
}
