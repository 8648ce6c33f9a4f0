package pgledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	netwire "bailiff/fuzz/kit/wire"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/vm/amount"
)

// A wired is an instance whose wires to both database servers can be cut.
type wired struct {
	*sharer
	wires []*netwire.Wire
}

func (w *wired) set(fault netwire.Fault) {
	for _, one := range w.wires {
		one.Set(fault)
	}
}

// wireUp starts an instance over wires of its own, until the test ends.
func wireUp(t *testing.T, name string, servers ...*pgtest.Server) *wired {
	t.Helper()
	w, hosts := &wired{}, ""
	for _, server := range servers {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		one := netwire.New(t, listener, "unix", server.Socket())
		w.wires = append(w.wires, one)
		hosts += "," + one.Address()
	}
	w.sharer = share(t, "postgres://postgres@"+hosts[1:]+"/postgres?sslmode=disable", name, func(string) *sharer { return nil })
	t.Cleanup(func() { w.end(t) })
	return w
}

// A used key is one whose limit clients are using up.
type usedKey struct {
	ledger.Key
	allowed, unknown atomic.Uint64
	over             atomic.Bool
}

// use uses a key until its limit is met. Which of the requests without an answer have counted is unknown.
func (c *cluster) use(key *usedKey, ids *atomic.Uint64, limit uint64) {
	for !key.over.Load() {
		var out ledger.Outcome
		err := c.at(key.Hash, func(s *sharer) error {
			ticket := s.Submit(ledgertest.Counted(key.ID, ids.Add(1), limit))
			out = ticket.Outcome()
			ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
			defer cancel()
			return ticket.Wait(ctx)
		})
		switch {
		case errors.Is(err, ledger.ErrUnknown):
			key.unknown.Add(1)
		case errors.Is(err, ledger.ErrUnavailable):
		case err != nil:
			c.t.Errorf("key %s: %v", key.ID, err)
			return
		case out.Result == ledger.Passed:
			key.allowed.Add(1)
		default:
			key.over.Store(true)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// TestShareFaults has three instances share the slots of a primary with a synchronous standby, while the wires of one hold, lose answers or
// are cut for longer than the lease, and at the end the primary is killed and the standby promoted. Every key is decided for again after
// each fault, and the counter of each has all that was acknowledged, and no more than the requests without an answer beside it.
func TestShareFaults(t *testing.T) {
	const slots, keys, lease, limit = 5, 10, time.Second, uint64(1 << 40)
	rng := rand.New(rand.NewPCG(uint64(seed.Value(t)), 0)) //nolint:gosec // a test's
	primary, standby := pgtest.StartPair(t)
	severalSlots(t, primary.URL(), slots)
	c := &cluster{t: t}
	all := []*wired{wireUp(t, "a", primary, standby), wireUp(t, "b", primary, standby), wireUp(t, "c", primary, standby)}
	for _, w := range all {
		c.all = append(c.all, w.sharer)
	}
	var used [keys]usedKey
	var ids atomic.Uint64
	var clients sync.WaitGroup
	end := func() {
		for n := range used {
			used[n].over.Store(true)
		}
		clients.Wait()
	}
	defer end() // also where the test fails
	for n := range used {
		used[n].Key = ledgertest.NewKey(uint64(n + 1)) //nolint:gosec // small
		must(t, c.at(used[n].Hash, func(s *sharer) error { return s.CreateKey(t.Context(), used[n].Key) }))
		clients.Go(func() { c.use(&used[n], &ids, limit) })
	}
	goesOn := func(after string) {
		t.Helper()
		began := time.Now()
		for n := range used {
			before := used[n].allowed.Load()
			for used[n].allowed.Load() == before {
				if time.Since(began) > 20*lease {
					t.Fatalf("after %s: nothing is decided for key %d", after, n)
				}
				time.Sleep(time.Millisecond)
			}
		}
		t.Logf("%s: every key is decided for after %s", after, time.Since(began).Round(time.Millisecond))
	}
	db := same(t, primary.URL())
	owned(t, db, 2, 2, 2)
	goesOn("the start")
	for _, n := range rng.Perm(3) {
		fault, what := netwire.Holds+netwire.Fault(n), []string{"wires that hold", "wires that lose answers", "wires that are cut"}[n]
		w := all[rng.IntN(len(all))]
		w.set(fault)
		goesOn(what)
		time.Sleep(2 * lease)
		w.set(netwire.None)
		goesOn("the end of " + what)
		owned(t, db, 2, 2, 2)
	}
	primary.Kill()
	standby.Promote()
	goesOn("another primary")
	end()
	for n := range used {
		must(t, c.counts(&used[n]))
	}
}

// counts returns an error where the counter of a key differs from the answers that clients got.
func (c *cluster) counts(key *usedKey) error {
	return c.at(key.Hash, func(s *sharer) error {
		got, err := s.Counter(c.t.Context(), key.ID, ledgertest.Counting, ledgertest.Start)
		least, most := key.allowed.Load(), key.allowed.Load()+key.unknown.Load()
		if err == nil && (got.Cmp(amount.FromUint64(least)) < 0 || got.Cmp(amount.FromUint64(most)) > 0) {
			err = fmt.Errorf("key %s: the counter is at %s, %d were acknowledged, and of %d that is unknown", key.ID, got, least, most-least)
		}
		return err
	})
}
