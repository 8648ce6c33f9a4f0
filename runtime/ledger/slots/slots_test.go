package slots

import (
	"bytes"
	"context"
	"crypto/sha256"
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
	"bailiff/vm/errcode"
)

// TestConformance runs the suite of every ledger over one slot, and over keys that are spread over several.
func TestConformance(t *testing.T) {
	const order, events = "keys of several slots have no common order", "the events of all keys are in several logs"
	several := map[string]string{
		"Keys": order, "Events": events, "EventsOfKeys": events, "EventQueries": events, "ReopenEventsOfKeys": events, "Head": events,
		"Approvers": events, "Defaults": events, "SetClock": "time is not set back", "SetClockOnce": "time is not set back",
		"UseOnce": "it uses the attestation of one key for another", "ReopenService": "an activation is of one slot, whichever key uses it there",
	}
	outboxes := maps.Clone(several)
	outboxes["OutboxBound"] = "the other instance delivers what its slots have"
	for _, c := range []struct {
		name    string
		slots   int
		others  []int // slots of another instance, which is asked
		without map[string]string
	}{{"one", 1, nil, nil}, {"several", 5, nil, several}, {"with another instance", 5, []int{3, 4}, outboxes}} {
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

// TestDefaults: each slot records the instance's default policy before it serves. An instance whose policy one of them refuses gives up all of
// its slots, until it has another one.
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
	b.has(t, 2, false)
	if _, err := b.at(1); !errors.Is(err, ErrElsewhere) || b.GivenUp() == nil {
		t.Errorf("a slot of a newer default policy is served by an instance with an older one: %v", err)
	}
	if _, err := b.BindDefault(t.Context(), newer); err != nil {
		t.Error(err)
	}
	b.has(t, 1, true)
	b.has(t, 2, true)
	if err := b.GivenUp(); err != nil {
		t.Errorf("with the policy that counts: %v", err)
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

// TestEventsOfAll: the events of all slots come in the order of their times, each once, and a page goes on where the one before has ended.
func TestEventsOfAll(t *testing.T) {
	a, b, keys := two(t, true)
	var want []string
	add := func(n int) {
		for _, key := range keys {
			plan := ledgertest.Counted(key.ID, uint64(1000*n)+uint64(key.ID[15]), 1000)
			plan.At = ledgertest.Start + int64(len(want))
			ticket := a.Submit(plan)
			must(t, ticket.Wait(t.Context()))
			want = append(want, plan.ID.String())
		}
	}
	read := func(at *instance, query *ledger.EventQuery) (got []string, freezes int) {
		for {
			page, err := at.Events(t.Context(), *query)
			must(t, err)
			for _, e := range page.Events {
				switch {
				case e.Kind == ledger.Decided:
					got = append(got, e.Plan.String())
					if number, err := at.slotOfKey(e.Key); err != nil || number != e.Slot {
						t.Errorf("an event of slot %d is of slot %d (%v)", number, e.Slot, err)
					}
				case e.Kind == ledger.ServiceFrozen, e.Kind == ledger.ServiceThawed:
					freezes++
				}
			}
			if query.Continue(&page); !page.More {
				return got, freezes
			}
		}
	}
	add(1)
	must(t, b.Halt(t.Context(), &ledger.Halt{Stop: true, At: ledgertest.Start + int64(len(want))}))
	must(t, b.Halt(t.Context(), &ledger.Halt{At: ledgertest.Start + int64(len(want))}))
	add(2)
	for _, size := range []int{1, 3, 1000} {
		query := ledger.EventQuery{Limit: size, Examine: 2}
		if got, freezes := read(b, &query); !slices.Equal(got, want) || freezes != 2 {
			t.Errorf("in pages of %d: %d events, %d freezes and thaws\n%v\n%v", size, len(got), freezes, got, want)
		}
	}
	query := ledger.EventQuery{Limit: 5}
	read(a, &query)
	before := len(want)
	add(3)
	if got, _ := read(b, &query); !slices.Equal(got, want[before:]) {
		t.Errorf("later: %v", got)
	}
	for what, bad := range map[string]ledger.EventQuery{
		"a number":                {After: 3, Limit: 1},
		"places of another store": {AfterEach: []uint64{1, 2}, Limit: 1},
	} {
		if _, err := a.Events(t.Context(), bad); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, b.Close())
	if page, err := a.Events(t.Context(), ledger.EventQuery{Limit: 1}); !errors.Is(err, ErrElsewhere) {
		t.Errorf("without two of the slots: %+v, %v", page, err)
	}
}

// TestConfirm: answers of several slots are confirmed as long as each slot that was seen is here, and each key was looked up.
func TestConfirm(t *testing.T) {
	a, b, keys := two(t, true)
	mark := a.Mark()
	for _, key := range keys {
		if _, ok := a.LookupKeyID(key.ID); !ok {
			t.Errorf("key %s is not found", key.ID)
		}
	}
	must(t, a.Confirm(mark))
	a.move(t, 1, b)
	must(t, a.Confirm(mark)) // what was seen of it was so
	must(t, b.Close())
	mark = a.Mark()
	if _, ok := a.LookupKeyID(keys[3].ID); ok {
		t.Error("a key is found that can't be looked up")
	}
	if err := a.Confirm(mark); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("a key that could not be looked up: %v", err)
	}
	must(t, a.Confirm(a.Mark()))
	stay, ok := a.Enter(2)
	if !ok {
		t.Fatal("the slot is not here")
	}
	defer stay.Leave()
	mark = stay.Mark()
	a.doubt(a.slots[3])
	must(t, stay.Confirm(mark)) // another slot's
	a.doubt(a.slots[2])
	if err := stay.Confirm(mark); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("a key of the slot that could not be looked up: %v", err)
	}
}

// TestHas: a delivery is not made any more where its slot has left, and where it has come again.
func TestHas(t *testing.T) {
	a, b, keys := two(t, true)
	number := a.Of(keys[0].Hash)
	must(t, a.CreateWebhook(t.Context(), ledger.Webhook{
		ID: ledgertest.ID('w', 1), Key: keys[0].ID, URL: "https://example.com", Topics: ledger.AllTopics, Secret: make([]byte, 32), Created: 1,
	}))
	ticket := a.Submit(ledgertest.Counted(keys[0].ID, 1, 5))
	must(t, ticket.Wait(t.Context()))
	due := func(of *instance) *ledger.Delivery {
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			if all, _, err := of.Due(t.Context(), ledgertest.Start, 10); err != nil || len(all) > 0 {
				must(t, err)
				return &all[0]
			} else if time.Now().After(deadline) {
				t.Fatal("nothing is due")
			}
		}
	}
	first := due(a)
	if !a.Has(first) {
		t.Error("a delivery is not there that was just handed out")
	}
	a.move(t, number, b)
	second := due(b)
	if a.Has(first) || !b.Has(second) {
		t.Errorf("after the slot has moved: %t there, %t here", a.Has(first), b.Has(second))
	}
	b.move(t, number, a)
	if a.Has(first) || b.Has(second) {
		t.Error("a delivery of before is made although it is handed out again")
	}
}

// TestResolvedElsewhere: an instance tells of holds that another one has resolved in its slots.
func TestResolvedElsewhere(t *testing.T) {
	a, b, keys := two(t, true)
	key := keys[3]
	plan := ledgertest.Counted(key.ID, 1, 1)
	plan.Hold = &ledger.HoldRequest{
		Candidate: ledgertest.ID('h', 1), Pending: ledger.Ending{Decision: ledger.Pending, Code: errcode.HoldConsensus, Rule: "c"},
		Denied: ledger.Ending{Decision: ledger.Denied, Code: errcode.HoldDenied, Rule: "c"},
	}
	ticket := b.Submit(plan)
	must(t, ticket.Wait(t.Context()))
	told := make(chan ledger.Hold, 1)
	b.OnResolved(func(h *ledger.Hold) { told <- *h })
	holds, err := a.Holds(t.Context(), key.ID, ledgertest.Start)
	must(t, err)
	if len(holds) != 1 {
		t.Fatalf("%d holds", len(holds))
	}
	_, err = a.ResolveHold(t.Context(), ledger.Resolution{Key: key.ID, Hold: holds[0].ID, Allow: true, At: ledgertest.Start, Resolved: 1})
	must(t, err)
	if h := <-told; h.ID != holds[0].ID || h.State != ledger.HoldAllowed {
		t.Errorf("told of %+v", h)
	}
}

// TestGoing: a request that is inside learns that its slot is about to leave.
func TestGoing(t *testing.T) {
	a, b, keys := two(t, true)
	number := a.Of(keys[0].Hash)
	stay, ok := a.Enter(number)
	if !ok {
		t.Fatal("the slot is not here")
	}
	moved := make(chan struct{})
	go func() { defer close(moved); a.move(t, number, b) }()
	<-stay.Going()
	if _, ok := a.Enter(number); ok {
		t.Error("a request is let into a slot that is about to leave")
	}
	select {
	case <-moved:
		t.Error("the slot has left with a request inside")
	case <-time.After(10 * time.Millisecond):
	}
	must(t, stay.Confirm(stay.Mark()))
	stay.Leave()
	<-moved
}

// TestOf: a key's slot follows from its hash alone, and none is in the first of several. The numbers are those that stores have.
func TestOf(t *testing.T) {
	hash := sha256.Sum256([]byte("sk_svc_1"))
	for slots, want := range map[int]int{1: 0, 2: 1, 5: 4, 17: 12} {
		if got := (&Ledger{slots: make([]*slot, slots)}).Of(hash); got != want {
			t.Errorf("of %d slots it is in %d, and not in %d", slots, got, want)
		}
	}
}
