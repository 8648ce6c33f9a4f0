package pgledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
	"bailiff/runtime/ledger/slots"
)

// divideFrom has a database filled from a folder, over its slots.
func divideFrom(t *testing.T, store *Store, dir string) (copied commit.Copied) {
	t.Helper()
	must(t, store.Fill("k", func(to *Filling) error {
		return pebbleledger.Reading(dir, pebbleledger.Options{}, func(from commit.Log) (err error) {
			logs := to.Logs()
			copied, err = commit.Divide(from, &commit.Division{
				To: logs, Of: func(hash [32]byte) int { return slots.Of(hash, len(logs)) }, Enter: to.EnterKey, At: ledgertest.Start,
				Sign: func(*ledger.Drop) ([]byte, error) { return []byte("signed"), nil }, Random: rand.Reader, Told: func(uint64) {},
			})
			to.Divided(copied.LSN)
			return err
		})
	}))
	return copied
}

// A headed ledger says that its log ends with a record: over several slots there is no one log.
type headed struct {
	ledger.Ledger
	head ledger.Head
}

func (h headed) Head(context.Context) (ledger.Head, error) { return h.head, nil }

// everyEvent reads the events that a query asks for, page after page, without their slots.
func everyEvent(t *testing.T, l ledger.Ledger, query ledger.EventQuery) (all []ledger.LoggedEvent) {
	t.Helper()
	for query.Limit = 7; ; {
		page, err := l.Events(t.Context(), query)
		must(t, err)
		if page.Dropped != 0 {
			t.Errorf("records up to %d are said to be dropped", page.Dropped)
		}
		for _, event := range page.Events {
			if event.Slot = nil; event.Kind != ledger.StoreDivided && event.Kind != ledger.DefaultBound {
				all = append(all, event)
			}
		}
		if !page.More {
			return all
		}
		query.Continue(&page)
	}
}

// serviceWide returns what does not concern a key.
func serviceWide(t *testing.T, l ledger.Ledger) map[string]any {
	t.Helper()
	approvers, serial, err := l.Approvers(t.Context())
	must(t, err)
	return map[string]any{"frozen": l.Frozen(), "operators": l.Operators(), "approvers": []any{approvers, serial}}
}

// TestDivided divides a ledger, of which all kinds of things were asked, over slots: it says of every key what the model of a ledger
// says that was never divided, its events are as they were, and it continues.
func TestDivided(t *testing.T) {
	url := severalSlots(t, pgtest.Shared(t).URL(), 3)
	rng := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 6)) //nolint:gosec // a test's
	dir, at := filepath.Join(t.TempDir(), "ledger"), ledgertest.Start
	folder := inFolder(t, dir)
	checked := ledgertest.Check(folder, ledgertest.Checks{Durable: func() uint64 { return ledger.MaxLSN }})
	story := ledgertest.NewStory(checked)
	must(t, story.Begin())
	for n := range uint64(12) {
		must(t, checked.CreateKey(t.Context(), ledgertest.NewKey(100+n)))
	}
	for range 600 {
		at += rng.Int64N(int64(time.Minute))
		story.Step(rng.Uint32(), at)
	}
	must(t, errors.Join(checked.Violation(), folder.Flush(t.Context()), checked.Compare(at)))
	confirms := &ledger.ApproverStatement{
		Action: ledger.ConfirmApprover, Serial: 1, Name: "alice", Credential: []byte("c"), Grant: ledger.Grant{PublicKey: []byte("p"), Sections: []string{"evm"}, Expires: at/1e9 + 3600},
	}
	if operators := folder.Operators().Keys; len(operators) > 0 {
		confirms.Operator = operators[len(operators)-1]
	}
	recorded := checked.Recorded()
	must(t, folder.StateApprover(t.Context(), confirms, at)) // of which the model knows nothing
	keys, err := folder.Keys(t.Context())
	must(t, err)
	before := map[ledger.ID][]ledger.LoggedEvent{{}: everyEvent(t, folder, ledger.EventQuery{})}
	for _, key := range keys {
		before[key.ID] = everyEvent(t, folder, ledger.EventQuery{Key: key.ID})
	}
	global := serviceWide(t, folder)
	holds, oldest, err := folder.PendingHolds()
	must(t, errors.Join(err, folder.Close()))

	store := newStore(t, url, "import", true)
	copied := divideFrom(t, store, dir)
	for n := range 4 {
		must(t, store.Look(n, func(log commit.Log) error {
			chain, err := commit.VerifyChain(log, copied.LSN)
			if n == 0 && chain.Head.LSN != copied.LSN+1 || n > 0 && chain.Begins.After.LSN != copied.LSN || chain.At != copied.Hash || len(chain.Streams) != 1 || (chain.Streams[0] == copied.Stream) != (n == 0) {
				t.Errorf("slot %d: %+v", n, chain)
			}
			return err
		}))
	}
	alone := func(string) *sharer { return nil }
	var places []int
	for range 2 { // the second time over what it has added
		l := share(t, url, "a", alone)
		wait(t, l.Whole)
		must(t, checked.Restarted(headed{l, ledger.Head{LSN: uint64(recorded)}}, nil))
		must(t, errors.Join(checked.Compare(at), checked.Violation()))
		places = compareDivided(t, l, before)
		if n, first, err := l.PendingHolds(); n != holds || first != oldest || err != nil {
			t.Errorf("%d holds wait, the oldest since %d, and %d since %d did: %v", n, first, holds, oldest, err)
		}
		l.end(t)
	}
	l := shareAs(t, url, "off", alone, &ledger.DefaultPolicy{At: 1}, 3*time.Second) // it gets no slots
	if diff := cmp.Diff(global, serviceWide(t, l)); diff != "" || fmt.Sprint(global["approvers"]) == "[[] 0]" {
		t.Errorf("service-wide records (-before +now):\n%s", diff)
	}
	l.end(t)
	l = share(t, url, "b", alone)
	wait(t, l.Whole)
	continues(t, l, ledgertest.NewKey(100), copied.LSN)
	l.end(t)
	for slot, n := range places {
		if (slot == 0) != (n == 0) {
			t.Errorf("%d of %d keys are in slot %d", n, len(keys), slot)
		}
	}
}

// continues has a new key and an old one used, whose events come after those from before.
func continues(t *testing.T, l *sharer, old ledger.Key, divided uint64) {
	t.Helper()
	fresh := ledgertest.NewKey(999)
	must(t, l.CreateKey(t.Context(), fresh))
	if err := l.CreateKey(t.Context(), old); !errors.Is(err, ledger.ErrKeyExists) {
		t.Errorf("a key that was there before is created again: %v", err)
	}
	for n, key := range []ledger.ID{fresh.ID, old.ID} {
		must(t, l.Submit(ledgertest.Counted(key, uint64(2000+n), 9)).Wait(t.Context()))
		events := everyEvent(t, l, ledger.EventQuery{Key: key})
		last := events[len(events)-1]
		path, err := l.LogOf(key).Path(t.Context(), last.LSN, 1<<20)
		if last.LSN <= divided || !last.Kind.IsDecision() || err != nil || path.End.LSN < last.LSN {
			t.Errorf("the last event is %s at %d, and the record was divided at %d: %v", last.Kind, last.LSN, divided, err)
		}
		first, err := l.LogOf(key).Path(t.Context(), events[0].LSN, 1<<20)
		if must(t, err); n == 1 && (events[0].LSN > divided || first.End.Stream == path.End.Stream) {
			t.Errorf("the first event, at %d, is in the stream %x, as the last", events[0].LSN, first.End.Stream)
		}
	}
}

// compareDivided holds the events against those from before. It returns how many keys each slot has.
func compareDivided(t *testing.T, l *sharer, before map[ledger.ID][]ledger.LoggedEvent) (places []int) {
	t.Helper()
	keys, err := l.Keys(t.Context())
	must(t, err)
	if len(keys) != len(before)-1 {
		t.Errorf("there are %d keys, and were %d", len(keys), len(before)-1)
	}
	places = make([]int, l.Slots())
	for _, key := range keys {
		places[l.Of(key.Hash)]++
		for n, after := range []int{0, len(before[key.ID]) / 2} {
			query, want := ledger.EventQuery{Key: key.ID, Examine: 5 * n}, before[key.ID]
			if after > 0 {
				query.After, want = want[after-1].LSN, want[after:]
			}
			if diff := cmp.Diff(want, everyEvent(t, l, query)); diff != "" {
				t.Fatalf("events of key %s after %d (-before +now):\n%s", key.ID, query.After, diff)
			}
		}
	}
	all := before[ledger.ID{}]
	half := len(all) / 2
	for after, want := range map[uint64][]ledger.LoggedEvent{0: all, all[half].LSN: all[half+1:]} {
		if diff := cmp.Diff(want, everyEvent(t, l, ledger.EventQuery{After: after})); diff != "" {
			t.Fatalf("events of all keys after %d (-before +now):\n%s", after, diff)
		}
	}
	return places
}
