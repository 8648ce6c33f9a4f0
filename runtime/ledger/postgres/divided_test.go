package pgledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/joining"
	pebbleledger "bailiff/runtime/ledger/pebble"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/ledger/state"
	"bailiff/runtime/retention"
	"bailiff/vm/amount"
)

// divideFrom has a database filled from a folder, over its slots. Then is called before that is kept.
func divideFrom(store *Store, dir string, then func()) (copied commit.Copied, err error) {
	err = store.Fill("k", func(to *Filling) error {
		defer then()
		return pebbleledger.Reading(dir, pebbleledger.Options{}, func(from commit.Log) (err error) {
			logs := to.Logs()
			copied, err = commit.Divide(from, &commit.Division{
				To: logs, Enter: to.EnterKey, At: ledgertest.Start, Ended: func(int, ledger.Head) {},
				Sign: func(*ledger.Drop) ([]byte, error) { return []byte("signed"), nil }, Random: rand.Reader, Told: func(uint64) {},
			})
			to.Divided(copied.LSN)
			return err
		})
	})
	return copied, err
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
	all, dropped := eventsAfter(t, l, query)
	if dropped != 0 {
		t.Errorf("records up to %d are said to be dropped", dropped)
	}
	return all
}

// eventsAfter returns also up to which record events were dropped that are asked for.
func eventsAfter(t *testing.T, l ledger.Ledger, query ledger.EventQuery) (all []ledger.LoggedEvent, dropped uint64) {
	t.Helper()
	for query.Limit = 7; ; {
		page, err := l.Events(t.Context(), query)
		must(t, err)
		dropped = max(dropped, page.Dropped)
		for _, event := range page.Events {
			if event.Slot = nil; event.Kind != ledger.StoreDivided && event.Kind != ledger.DefaultBound {
				all = append(all, event)
			}
		}
		if !page.More {
			return all, dropped
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

// A storied is a folder with a ledger of which all kinds of things were asked.
type storied struct {
	dir      string
	at       int64
	checked  *ledgertest.Checked
	recorded int                                // as the model knows
	before   map[ledger.ID][]ledger.LoggedEvent // by key; those of all keys, too
	global   map[string]any
	holds    int
	oldest   int64
}

func newStoried(t *testing.T) *storied {
	t.Helper()
	s := &storied{dir: filepath.Join(t.TempDir(), "ledger"), at: ledgertest.Start}
	rng := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 6)) //nolint:gosec // a test's
	folder := inFolder(t, s.dir)
	s.checked = ledgertest.Check(folder, ledgertest.Checks{Durable: func() uint64 { return ledger.MaxLSN }})
	story := ledgertest.NewStory(s.checked)
	must(t, story.Begin())
	for n := range uint64(12) {
		must(t, s.checked.CreateKey(t.Context(), ledgertest.NewKey(100+n)))
	}
	for range 600 {
		s.at += rng.Int64N(int64(time.Minute))
		story.Step(rng.Uint32(), s.at)
	}
	must(t, errors.Join(s.checked.Violation(), folder.Flush(t.Context()), s.checked.Compare(s.at)))
	confirms := &ledger.ApproverStatement{
		Action: ledger.ConfirmApprover, Serial: 1, Name: "alice", Credential: []byte("c"), Grant: ledger.Grant{PublicKey: []byte("p"), Sections: []string{"evm"}, Expires: s.at/1e9 + 3600},
	}
	if operators := folder.Operators().Keys; len(operators) > 0 {
		confirms.Operator = operators[len(operators)-1]
	}
	s.recorded = s.checked.Recorded()
	must(t, folder.StateApprover(t.Context(), confirms, s.at)) // of which the model knows nothing
	keys, err := folder.Keys(t.Context())
	must(t, err)
	s.before = map[ledger.ID][]ledger.LoggedEvent{{}: everyEvent(t, folder, ledger.EventQuery{})}
	for _, key := range keys {
		s.before[key.ID] = everyEvent(t, folder, ledger.EventQuery{Key: key.ID})
	}
	s.global = serviceWide(t, folder)
	s.holds, s.oldest, err = folder.PendingHolds()
	must(t, errors.Join(err, folder.Close()))
	return s
}

// TestDivided divides such a ledger over slots: it says of every key what the model of a ledger says that was never divided, its events are as
// they were, and it continues.
func TestDivided(t *testing.T) {
	url, s := severalSlots(t, pgtest.Shared(t).URL(), 3), newStoried(t)
	store := newStore(t, url, "import", true)
	copied, err := divideFrom(store, s.dir, func() {})
	must(t, err)
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
		must(t, s.checked.Restarted(headed{l, ledger.Head{LSN: uint64(s.recorded)}}, nil))
		must(t, errors.Join(s.checked.Compare(s.at), s.checked.Violation()))
		places = compareDivided(t, l, s.before)
		if n, first, err := l.PendingHolds(); n != s.holds || first != s.oldest || err != nil {
			t.Errorf("%d holds wait, the oldest since %d, and %d since %d did: %v", n, first, s.holds, s.oldest, err)
		}
		l.end(t)
	}
	l := shareAs(t, url, "off", alone, &ledger.DefaultPolicy{At: 1}, 3*time.Second) // it gets no slots
	if diff := cmp.Diff(s.global, serviceWide(t, l)); diff != "" || fmt.Sprint(s.global["approvers"]) == "[[] 0]" {
		t.Errorf("service-wide records (-before +now):\n%s", diff)
	}
	l.end(t)
	l = share(t, url, "b", alone)
	wait(t, l.Whole)
	continues(t, l, ledgertest.NewKey(100), copied.LSN)
	l.end(t)
	for slot, n := range places {
		if (slot == 0) != (n == 0) {
			t.Errorf("%d keys are in slot %d", n, slot)
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
	if frozen := l.Frozen(); frozen.Stopped() { // so the story ended
		return
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

// oneKey is a folder with a key.
func oneKey(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "ledger")
	folder := inFolder(t, dir)
	must(t, folder.CreateKey(t.Context(), ledgertest.NewKey(1)))
	must(t, folder.Close())
	return dir
}

// TestDividedMeanwhile: a record is not divided where an instance starts meanwhile, and another import that comes meanwhile finds the records.
func TestDividedMeanwhile(t *testing.T) {
	url, dir, alone := severalSlots(t, pgtest.Shared(t).URL(), 3), oneKey(t), func(string) *sharer { return nil }
	var early *sharer
	_, err := divideFrom(newStore(t, url, "import", true), dir, func() {
		early = share(t, url, "early", alone)
		asked := same(t, url).asking
		wait(t, func() bool {
			n, err := asked.number("SELECT count(*) FROM bailiff.instances")
			return err == nil && n > 0
		})
	})
	if early.end(t); !errors.Is(err, ErrStopped) {
		t.Errorf("an instance has started meanwhile: %v", err)
	}
	second := make(chan error, 1)
	_, err = divideFrom(newStore(t, url, "import", true), dir, func() {
		go func() {
			_, err := divideFrom(newStore(t, url, "second", true), dir, func() {})
			second <- err
		}()
		asked := same(t, url).asking
		wait(t, func() bool {
			n, err := asked.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'")
			return err == nil && n > 0
		})
	})
	must(t, err)
	if err := <-second; !errors.Is(err, errRecords) {
		t.Errorf("a second import: %v", err)
	}
	l := share(t, url, "late", alone)
	wait(t, l.Whole)
	if events := everyEvent(t, l, ledger.EventQuery{Key: ledgertest.NewKey(1).ID}); len(events) != 1 {
		t.Errorf("%d events of the key", len(events))
	}
	l.end(t)
}

// TestDividedSince: an instance that has not heard that a record was divided ends when it opens a slot.
func TestDividedSince(t *testing.T) {
	url := severalSlots(t, pgtest.Shared(t).URL(), 3)
	l := share(t, url, "a", func(string) *sharer { return nil })
	wait(t, l.Whole)
	_, err := same(t, url).copying.exec("UPDATE bailiff.store SET divided = 5")
	must(t, err)
	_, err = same(t, url).copying.exec("UPDATE bailiff.slots SET term = term + 1, owner = NULL, owner_name = NULL WHERE slot = 1")
	must(t, err)
	if err := <-l.replaced; !errors.Is(err, ledger.ErrLocked) {
		t.Errorf("it ends with %v", err)
	}
	l.end(t)
}

// useAll counts one for each key.
func useAll(t *testing.T, l ledger.Ledger, keys []ledger.Key, at int64) {
	t.Helper()
	for n, key := range keys {
		plan := ledgertest.Counted(key.ID, uint64(at)+uint64(n), 99) //nolint:gosec // it is after 1970
		plan.At = at
		must(t, l.Submit(plan).Wait(t.Context()))
	}
}

// joinRetained makes one log of slots from which retention has dropped records, with the files that it has exported. Each key has its events, beside
// those from before, of which as many were dropped as before.
func joinRetained(t *testing.T, store *Store, exported string, before map[ledger.ID][]ledger.LoggedEvent) {
	t.Helper()
	divided, err := store.Divided()
	must(t, err)
	join := func(but int, dir string) error {
		return store.Drain(dir, func(from []commit.Log) error {
			o := joining.Options{
				From: from, Divided: divided, At: ledgertest.Start, Random: rand.Reader, Told: func(uint64) {},
				Dropped: func(slot int, begins ledger.Head, visit func(uint64, *state.Record) error) error {
					paths, err := retention.Folder(filepath.Join(exported, strconv.Itoa(slot)))
					for _, path := range paths {
						if err == nil && slot != but {
							_, err = retention.Read(path, visit, func(ledger.Head) {})
						}
					}
					return err
				},
			}
			return pebbleledger.Filling(dir, pebbleledger.Options{}, func(to commit.Log) error {
				_, err := joining.Join(to, &o)
				return err
			})
		})
	}
	if err := join(1, filepath.Join(t.TempDir(), "ledger")); !errors.Is(err, ledger.ErrDropped) {
		t.Errorf("without the files of a slot: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "ledger")
	must(t, join(0, dir))
	chain, err := pebbleledger.VerifyChain(dir, pebbleledger.Options{}, 0)
	if must(t, err); chain.SnapshotChanged {
		t.Error("the snapshot is not what the log comes to")
	}
	l := inFolder(t, dir)
	for key, old := range before {
		now, dropped := eventsAfter(t, l, ledger.EventQuery{Key: key})
		if len(now) != len(old)+2 || !cmp.Equal(now[:len(old)], old) || dropped == 0 || dropped >= old[0].LSN {
			t.Errorf("dropped up to %d, %d events, and %d before", dropped, len(now), len(old))
		}
		if used, err := l.Counter(t.Context(), key, ledgertest.Counting, now[len(now)-1].At); err != nil || used != amount.FromUint64(uint64(4)) {
			t.Errorf("the counter stands at %s: %v", used, err)
		}
	}
	must(t, l.Close())
}

// TestMovedSince: an instance that has not heard that a record was exported ends when it opens a slot, and none starts.
func TestMovedSince(t *testing.T) {
	url := severalSlots(t, pgtest.Shared(t).URL(), 3)
	l := share(t, url, "a", func(string) *sharer { return nil })
	wait(t, l.Whole)
	_, err := same(t, url).copying.exec("UPDATE bailiff.store SET moved = '/elsewhere'")
	must(t, err)
	_, err = same(t, url).copying.exec("UPDATE bailiff.slots SET term = term + 1, owner = NULL, owner_name = NULL WHERE slot = 1")
	must(t, err)
	if err := <-l.replaced; !errors.Is(err, errMoved) {
		t.Errorf("it ends with %v", err)
	}
	l.end(t)
	if _, err := newStore(t, url, "b", true).Share(slots.Options{}); !errors.Is(err, errMoved) {
		t.Errorf("another one starts: %v", err)
	}
}

// TestDividedByRole: the role of a service divides a record, once, and can't say that it was divided elsewhere.
func TestDividedByRole(t *testing.T) {
	server := pgtest.Shared(t)
	admin := connect(t, severalSlots(t, server.URL(), 2))
	_, err := admin.copying.exec("DROP SCHEMA bailiff CASCADE; DROP ROLE IF EXISTS agent")
	must(t, err)
	_, err = admin.copying.exec("CREATE ROLE agent LOGIN")
	must(t, err)
	_, err = newStore(t, server.URL(), "a", true).Init(Setup{Role: "agent", Slots: 2})
	must(t, err)
	url, dir := strings.Replace(server.URL(), "user=postgres", "user=agent", 1), filepath.Join(t.TempDir(), "ledger")
	folder := inFolder(t, dir)
	for n := range uint64(4) {
		must(t, folder.CreateKey(t.Context(), ledgertest.NewKey(1+n)))
	}
	must(t, folder.Close())
	store := newStore(t, url, "b", true)
	_, err = admin.copying.exec("REVOKE EXECUTE ON FUNCTION bailiff.note_divided FROM agent")
	must(t, err)
	if _, err := divideFrom(store, dir, func() {}); err == nil || !strings.Contains(err.Error(), "bailiff store init --role ROLE") {
		t.Errorf("a role that may not divide: %v", err)
	}
	_, err = newStore(t, server.URL(), "a", true).Init(Setup{Role: "agent"})
	must(t, err)
	copied, err := divideFrom(store, dir, func() {})
	must(t, err)
	for change, says := range map[string]string{
		"UPDATE bailiff.store SET divided = 0": "permission denied", "SELECT bailiff.note_divided(0)": "not every slot begins", "SELECT bailiff.note_divided(5)": "not every slot begins",
		fmt.Sprintf("SELECT bailiff.note_divided(%d)", copied.LSN): "was divided before",
	} {
		if _, err := same(t, url).copying.exec(change); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", change, err)
		}
	}
	if status, err := store.Status(); err != nil || status.Divided != copied.LSN || status.Records() != copied.LSN+1 {
		t.Errorf("%+v, %v", status, err)
	}
}

// TestDividedRetained divides a record whose oldest events retention has dropped, and drops more from its slots then.
func TestDividedRetained(t *testing.T) {
	url, dir := severalSlots(t, pgtest.Shared(t).URL(), 3), filepath.Join(t.TempDir(), "ledger")
	folder, signer, now := inFolder(t, dir), must1(attest.LoadOrCreate(t.TempDir(), rand.Reader))(t), ledgertest.Start
	exported := t.TempDir()
	drop := func(l *commit.Ledger, folder string) int {
		must(t, os.MkdirAll(folder, 0o700))
		drops, err := retention.Drop(t.Context(), retention.Config{Ledger: l, Signer: signer, Clock: func() time.Time { return time.Unix(0, now) }, Age: time.Hour, Folder: folder})
		must(t, err)
		return len(drops)
	}
	var keys []ledger.Key
	uses := func(l ledger.Ledger) { useAll(t, l, keys, now) }
	for n := range uint64(8) {
		keys = append(keys, ledgertest.NewKey(1+n))
		must(t, folder.CreateKey(t.Context(), keys[n]))
	}
	for range 2 {
		uses(folder)
		now += int64(2 * time.Hour)
	}
	now -= int64(90 * time.Minute)
	if drop(folder, exported) == 0 {
		t.Fatal("nothing is dropped")
	}
	before := map[ledger.ID][]ledger.LoggedEvent{}
	var dropped uint64
	for _, key := range keys {
		before[key.ID], dropped = eventsAfter(t, folder, ledger.EventQuery{Key: key.ID})
	}
	must(t, folder.Close())
	copied, err := divideFrom(newStore(t, url, "import", true), dir, func() {})
	must(t, err)
	l := share(t, url, "a", func(string) *sharer { return nil })
	wait(t, l.Whole)
	for _, key := range keys {
		after, gone := eventsAfter(t, l, ledger.EventQuery{Key: key.ID})
		if diff := cmp.Diff(before[key.ID], after); diff != "" || gone != dropped || len(after) != 1 {
			t.Errorf("dropped up to %d, and %d before (-before +now):\n%s", gone, dropped, diff)
		}
	}
	uses(l)
	now += int64(2 * time.Hour)
	uses(l)
	for slot, log := range l.Here() {
		if slot > 0 {
			drop(log, filepath.Join(exported, strconv.Itoa(slot)))
		}
	}
	for _, key := range keys {
		after, gone := eventsAfter(t, l, ledger.EventQuery{Key: key.ID})
		if gone <= copied.LSN || len(after) != 1 || after[0].LSN <= gone {
			t.Errorf("of the slot's log, which was divided after %d, all up to %d was dropped, and there are %d events", copied.LSN, gone, len(after))
		}
	}
	l.end(t)
	joinRetained(t, newStore(t, url, "export", true), exported, before)
}
