package slots

import (
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/vm/errcode"
)

// TestEventsOfAll: the events of all slots are listed in the order of their times, each once, and each page continues after the last event of the one
// before.
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
	read := func(at *instance, query *ledger.EventQuery) ([]string, int) { return at.decided(t, query) }
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

// decided reads the decisions that a query asks for, page by page, and counts freezes and thaws.
func (i *instance) decided(t *testing.T, query *ledger.EventQuery) (got []string, freezes int) {
	t.Helper()
	for {
		page, err := i.Events(t.Context(), *query)
		must(t, err)
		for _, e := range page.Events {
			switch e.Kind {
			case ledger.Decided:
				got = append(got, e.Plan.String())
				if number, err := i.slotOfKey(e.Key); err != nil || e.Slot == nil || number != *e.Slot {
					t.Errorf("an event of slot %d is of slot %v (%v)", number, e.Slot, err)
				}
			case ledger.ServiceFrozen, ledger.ServiceThawed:
				freezes++
			}
		}
		if query.Continue(&page); !page.More {
			return got, freezes
		}
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
	must(t, a.Confirm(mark)) // it was so
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
