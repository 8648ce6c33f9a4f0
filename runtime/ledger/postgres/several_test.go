package pgledger

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/slots"
)

// A sharer is an instance with a ledger over its share of the slots.
type sharer struct {
	*slots.Ledger
	store    *Store
	stop     chan struct{}
	replaced chan error
}

func share(t *testing.T, url, name string, remote func(owner string) *sharer) *sharer {
	t.Helper()
	return shareAs(t, url, name, remote, &ledger.DefaultPolicy{At: 1}, 0)
}

// shareAs is share with a default policy, and with a clock that is off.
func shareAs(t *testing.T, url, name string, remote func(owner string) *sharer, policy *ledger.DefaultPolicy, off time.Duration) *sharer {
	t.Helper()
	s := &sharer{store: newStoreOf(t, url, name, true, time.Second), stop: make(chan struct{}), replaced: make(chan error, 99)}
	s.store.options.Stop = s.stop
	clock := s.store.options.Calls.Clock
	s.store.options.Calls.Clock = func() time.Time { return clock().Add(off) }
	s.store.life.clock = s.store.options.Calls.Clock
	random := s.store.options.Calls.Random
	l, err := s.store.Share(slots.Options{
		Commit: commit.Options{Random: random}, Log: slog.New(slog.DiscardHandler),
		Remote: func(ctx context.Context, slot int, question []byte) ([]byte, error) {
			if owner := s.store.OwnerOf(slot); owner != nil {
				if there := remote(owner.Name); there != nil {
					return there.Answer(ctx, slot, question)
				}
			}
			return nil, slots.ErrElsewhere
		},
		Replaced: func(err error) { s.replaced <- err },
	})
	must(t, err)
	s.Ledger = l
	_, err = l.BindDefault(t.Context(), policy)
	must(t, err)
	return s
}

func (s *sharer) end(t *testing.T) {
	t.Helper()
	close(s.stop)
	must(t, s.Close())
	s.store.Close()
}

// severalSlots makes a store of several slots.
func severalSlots(t *testing.T, url string, count int) string {
	t.Helper()
	db := connect(t, url)
	_, err := db.copying.exec("DROP SCHEMA bailiff CASCADE")
	must(t, err)
	_, err = newStore(t, url, "init", true).Init(Setup{Slots: count})
	must(t, err)
	return url
}

// A cluster is several instances, which clients ask that know none of them.
type cluster struct {
	t   *testing.T
	url string
	mu  sync.RWMutex
	all []*sharer
}

// at has the instance that has the slot of a key asked, when there is one.
func (c *cluster) at(hash [32]byte, ask func(*sharer) error) error {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		c.mu.RLock()
		all := c.all
		c.mu.RUnlock()
		for _, s := range all {
			if stay, ok := s.Enter(s.Of(hash)); ok {
				defer stay.Leave()
				return ask(s)
			}
		}
		if time.Now().After(deadline) {
			return errors.New("no instance has the slot")
		}
	}
}

// named returns an instance.
func (c *cluster) named(name string) *sharer {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, s := range c.all {
		if s.store.Name() == name {
			return s
		}
	}
	return nil
}

// anywhere has any instance asked, which asks the one that has the slot.
func (c *cluster) anywhere(_ [32]byte, ask func(*sharer) error) error {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		c.mu.RLock()
		s := c.all[rand.IntN(len(c.all))] //nolint:gosec // a test's
		c.mu.RUnlock()
		err := ask(s)
		if !errors.Is(err, ledger.ErrUnavailable) || time.Now().After(deadline) {
			return err
		}
	}
}

// change starts an instance, or ends one.
func (c *cluster) change(name string, starts bool, which int) {
	if starts {
		s := share(c.t, c.url, name, c.named)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(slices.Clone(c.all), s)
		return
	}
	c.mu.Lock()
	n := which % len(c.all)
	gone := c.all[n]
	c.all = slices.Delete(slices.Clone(c.all), n, n+1)
	c.mu.Unlock()
	gone.end(c.t)
}

// uses uses a key until its limit is met, and returns how often that was allowed.
func (c *cluster) uses(at func([32]byte, func(*sharer) error) error, key ledger.Key, ids *atomic.Uint64, limit uint64) (allowed uint64) {
	for {
		var out ledger.Outcome
		err := at(key.Hash, func(s *sharer) error {
			ticket := s.Submit(ledgertest.Counted(key.ID, ids.Add(1), limit))
			out = ticket.Outcome()
			return ticket.Wait(c.t.Context())
		})
		switch {
		case err != nil:
			c.t.Errorf("key %s: %v", key.ID, err)
			return allowed
		case out.Result == ledger.Halted:
			time.Sleep(5 * time.Millisecond)
		case out.Result == ledger.Passed:
			allowed++
		default:
			return allowed
		}
	}
}

// TestShare has clients use keys of all slots, by way of any instance or of the one that has the slot, while instances come and go: each limit is met exactly, over all of them, a service that is
// frozen is frozen everywhere at the answer, and keys are found by their ids from everywhere.
func TestShare(t *testing.T) {
	const limit, keys = 150, 12
	rng := rand.New(rand.NewPCG(uint64(seed.Value(t)), 0)) //nolint:gosec // a test's
	c := &cluster{t: t, url: severalSlots(t, pgtest.Shared(t).URL(), 6)}
	c.change("a", true, 0)
	var allowed [keys]atomic.Uint64
	var ids atomic.Uint64
	var clients sync.WaitGroup
	for n := range uint64(keys) {
		key := ledgertest.NewKey(n + 1)
		must(t, c.at(key.Hash, func(s *sharer) error { return s.CreateKey(t.Context(), key) }))
		clients.Go(func() { allowed[n].Add(c.uses(c.at, key, &ids, limit)) })
		clients.Go(func() { allowed[n].Add(c.uses(c.anywhere, key, &ids, limit)) })
	}
	for step := range 6 {
		c.change(string(rune('b'+step)), len(c.all) < 2 || step%2 == 0, rng.IntN(9))
		time.Sleep(300 * time.Millisecond)
	}
	c.frozenEverywhere()
	clients.Wait()
	for n := range allowed {
		if got := allowed[n].Load(); got != limit {
			t.Errorf("key %d: %d of %d were allowed", n, got, limit)
		}
	}
	for _, s := range c.all {
		for n := range uint64(keys) {
			key := ledgertest.NewKey(n + 1)
			slot, ok, err := s.store.KeySlot(key.ID)
			if err != nil || !ok || slot != s.Of(key.Hash) {
				t.Errorf("key %d is said to be in slot %d (%t): %v", n, slot, ok, err)
			}
		}
		s.end(t)
	}
}

// frozenEverywhere freezes the service, looks at all instances, and thaws it.
func (c *cluster) frozenEverywhere() {
	for _, stop := range []bool{true, false} {
		err := errors.New("no instance has the first slot")
		for deadline := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			for _, s := range c.all {
				if err = s.Halt(c.t.Context(), &ledger.Halt{Stop: stop, At: ledgertest.Start, Reason: "why"}); !errors.Is(err, slots.ErrElsewhere) {
					break
				}
			}
		}
		must(c.t, err)
		for _, s := range c.all {
			if frozen := s.Frozen(); frozen.Stopped() != stop {
				c.t.Errorf("the service is frozen: %t, and an instance says %+v", stop, frozen)
			}
		}
	}
}

// TestDirectory: a key and an activation are of one slot.
func TestDirectory(t *testing.T) {
	s := newStore(t, severalSlots(t, pgtest.Shared(t).URL(), 2), "a", true)
	a, b := ledgertest.NewKey(1), ledgertest.NewKey(2)
	if _, ok, err := s.KeySlot(a.ID); ok || err != nil {
		t.Errorf("a key that was not entered: %t, %v", ok, err)
	}
	for range 2 { // again after an answer that was lost
		must(t, s.EnterKey(a.ID, a.Hash, 1))
		must(t, s.EnterActivation([32]byte{1}, 1))
	}
	if slot, ok, err := s.KeySlot(a.ID); slot != 1 || !ok || err != nil {
		t.Errorf("slot %d, %t, %v", slot, ok, err)
	}
	if err := s.EnterKey(a.ID, b.Hash, 2); !errors.Is(err, ledger.ErrKeyExists) {
		t.Errorf("an id that is taken: %v", err)
	}
	if err := s.EnterKey(b.ID, a.Hash, 1); !errors.Is(err, ledger.ErrKeyExists) {
		t.Errorf("a hash that is taken: %v", err)
	}
	if err := s.EnterActivation([32]byte{1}, 2); !errors.Is(err, ledger.ErrUsed) {
		t.Errorf("an activation of another slot: %v", err)
	}
}
