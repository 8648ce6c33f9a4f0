package pgledger

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"testing"
	"time"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/retention"
	"bailiff/vm/amount"
)

// TestShareRetains drops old groups of one slot's log: live things stay, at the next instance too, the other logs are whole, and each
// verifies.
func TestShareRetains(t *testing.T) {
	url := severalSlots(t, pgtest.Shared(t).URL(), 2)
	alone := func(string) *sharer { return nil }
	a := share(t, url, "a", alone)
	wait(t, a.Whole)
	key := ledgertest.NewKey(1)
	must(t, a.CreateKey(t.Context(), key))
	must(t, a.Halt(t.Context(), &ledger.Halt{Stop: true, At: ledgertest.Start, Reason: "why"}))
	must(t, a.Halt(t.Context(), &ledger.Halt{At: ledgertest.Start + 1}))
	const used = 300
	uses := func(from, to uint64, at int64) {
		for n := from; n < to; n++ {
			plan := ledgertest.Counted(key.ID, n, 2*used)
			plan.At = at
			ticket := a.Submit(plan)
			must(t, ticket.Wait(t.Context()))
		}
	}
	uses(0, used, ledgertest.Start+2)
	now := ledgertest.Start + int64(2*time.Hour)
	uses(used, used+3, now)
	slot, signer, dir := a.Of(key.Hash), must1(attest.LoadOrCreate(t.TempDir(), rand.Reader))(t), t.TempDir()
	for n, l := range a.Here() {
		if n != slot {
			continue
		}
		drops, err := retention.Drop(t.Context(), retention.Config{Ledger: l, Signer: signer, Clock: func() time.Time { return time.Unix(0, now) }, Age: time.Hour, Folder: dir})
		if must(t, err); len(drops) == 0 || drops[0].Through.LSN < used {
			t.Errorf("%d drops: %+v", len(drops), drops)
		}
	}
	a.end(t)
	b := share(t, url, "b", alone)
	wait(t, b.Whole)
	defer b.end(t)
	value, err := b.Counter(t.Context(), key.ID, ledgertest.Counting, now)
	if err != nil || value != amount.FromUint64(used+3) {
		t.Errorf("the counter stands at %s, and not at %d: %v", value, used+3, err)
	}
	if begins := b.LogOf(key.ID).Beginning(); begins.After.LSN < used {
		t.Errorf("the log begins after record %d", begins.After.LSN)
	}
	page, err := b.LogOf(key.ID).Events(t.Context(), ledger.EventQuery{Key: key.ID, Limit: 10})
	if err != nil || len(page.Events) != 3 || page.Dropped < used {
		t.Errorf("%d events, %d dropped: %v", len(page.Events), page.Dropped, err)
	}
	if b.Frozen().Last != ledgertest.Start {
		t.Errorf("it was frozen: %+v", b.Frozen())
	}
	b.beginsLater(t, slot, signer)
}

// beginsLater verifies all logs, of which one has dropped records.
func (s *sharer) beginsLater(t *testing.T, slot int, signer *attest.Signer) {
	t.Helper()
	for n := range s.Slots() {
		must(t, s.store.Look(n, func(log commit.Log) error {
			chain, err := commit.VerifyChain(log, 0)
			if err == nil {
				_, err = retention.VerifyBeginning(chain.Begins, signer.CheckpointVerifier())
			}
			if dropped := chain.Begins.After.LSN != 0; dropped != (n == slot) {
				t.Errorf("records of slot %d were dropped: %t", n, dropped)
			}
			return err
		}))
	}
}

// must1 returns a function that returns a value, or ends the test.
func must1[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return value
	}
}

// wait waits until something is so.
func wait(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 20 seconds")
		}
	}
}

// TestAlone: a command takes all slots where no instance has any, and leaves an instance that has some alone.
func TestAlone(t *testing.T) {
	url := severalSlots(t, pgtest.Shared(t).URL(), 3)
	take := func() (*slots.Ledger, string, func()) {
		store, stop := newStoreOf(t, url, "a/command", true, time.Second), make(chan struct{})
		store.options.Stop = stop
		l, owner, err := store.Alone(slots.Options{Commit: commit.Options{Random: store.options.Calls.Random}, Log: slog.New(slog.DiscardHandler)})
		must(t, err)
		return l, owner, func() {
			if close(stop); l != nil {
				must(t, l.Close())
			}
			store.Close()
		}
	}
	key := ledgertest.NewKey(1)
	for _, what := range []string{"create", "find"} {
		l, owner, end := take()
		if owner != "" || l.Slots() != 4 {
			t.Fatalf("%s has the slots, and there are %d", owner, l.Slots())
		}
		if what == "create" {
			must(t, l.CreateKey(t.Context(), key))
		} else if _, found := l.LookupKeyID(key.ID); !found {
			t.Error("the key that a command has made is not there")
		}
		end()
	}
	a := share(t, url, "a", func(string) *sharer { return nil })
	wait(t, a.Whole)
	defer a.end(t)
	l, owner, end := take()
	defer end()
	if l != nil || owner != "a" || !a.Whole() {
		t.Errorf("%q has the slots: %v", owner, l)
	}
}

// TestShareUnable: an instance that can't decide, because of its clock or its default policy, does not keep others from having all slots,
// and leaves nothing behind.
func TestShareUnable(t *testing.T) {
	alone := func(string) *sharer { return nil }
	for what, unable := range map[string]struct {
		policy ledger.DefaultPolicy
		ahead  time.Duration
		most   int
	}{
		"a clock that is off":     {ledger.DefaultPolicy{At: 1}, 3 * time.Second, 0},
		"an older default policy": {ledger.DefaultPolicy{At: 1, PolicyHash: [32]byte{1}, Serial: 1}, 0, 1}, // slot 0 has no policy
	} {
		url := severalSlots(t, pgtest.Shared(t).URL(), 4)
		a := shareAs(t, url, "a", alone, &ledger.DefaultPolicy{At: 1, PolicyHash: [32]byte{2}, Serial: 2}, 0)
		wait(t, a.Whole)
		b := shareAs(t, url, "b", alone, &unable.policy, unable.ahead)
		time.Sleep(3 * time.Second)
		wait(t, func() bool { return a.store.Owned()+b.store.Owned() == 5 && b.store.Owned() <= unable.most })
		if time.Sleep(a.store.options.Lease); a.store.Owned() < 3 {
			t.Errorf("%s: the other instance has %d of 5 slots, and this one %d", what, a.store.Owned(), b.store.Owned())
		}
		if rows := must1(a.store.db.asking.number("SELECT count(*) FROM bailiff.instances"))(t); rows > 20 {
			t.Errorf("%s: %d rows of instances", what, rows)
		}
		b.end(t)
		a.end(t)
	}
}

// TestShareDoubled: of two processes of one name, the one that was there first learns that it has to end.
func TestShareDoubled(t *testing.T) {
	url := severalSlots(t, pgtest.Shared(t).URL(), 4)
	alone := func(string) *sharer { return nil }
	first := share(t, url, "a", alone)
	wait(t, first.Whole)
	second := share(t, url, "a", alone)
	if err := <-first.replaced; !errors.Is(err, ledger.ErrLocked) {
		t.Errorf("the first is told %v", err)
	}
	first.end(t)
	wait(t, second.Whole)
	if len(second.replaced) > 0 {
		t.Errorf("the second is told %v", <-second.replaced)
	}
	second.end(t)
}

// TestShareOfNewer: slots that have seen a newer default policy are left to the instance that has it, beyond its share where need be, and
// the others are served all the same. When the policy is there, too, the instance has its share again.
func TestShareOfNewer(t *testing.T) {
	url := severalSlots(t, pgtest.Shared(t).URL(), 4)
	older, newer := &ledger.DefaultPolicy{At: 1, PolicyHash: [32]byte{1}, Serial: 1}, &ledger.DefaultPolicy{At: 2, PolicyHash: [32]byte{2}, Serial: 2}
	alone := func(string) *sharer { return nil }
	a := shareAs(t, url, "a", alone, older, 0)
	wait(t, a.Whole)
	b := shareAs(t, url, "b", alone, older, 0)
	wait(t, func() bool { return a.store.Owned()+b.store.Owned() == 5 && b.store.Owned() >= 2 })
	must1(a.BindDefault(t.Context(), newer))(t)
	a.end(t)
	wait(t, func() bool { return b.Refusing() > 0 })
	time.Sleep(2 * time.Second)
	if b.store.Owned() < 2 {
		t.Errorf("an instance with the older policy has %d slots, of those that know no other", b.store.Owned())
	}
	c := shareAs(t, url, "c", alone, newer, 0)
	wait(t, func() bool { return c.store.Owned()+b.store.Owned() == 5 })
	wait(t, func() bool { return b.store.OwnerOf(refusedBy(b)) != nil }) // it passes requests on
	must1(b.BindDefault(t.Context(), newer))(t)
	wait(t, func() bool { return b.store.Owned() >= 2 && b.store.Owned()+c.store.Owned() == 5 && b.Refusing() == 0 })
	b.end(t)
	c.end(t)
}

// refusedBy returns a slot that has refused an instance's policy.
func refusedBy(s *sharer) int {
	for n := range s.Slots() {
		if s.store.each()[n].listens.Load() {
			return n
		}
	}
	return 0
}
