package pgledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// TestGathering: questions that come while a round is under way go together in the next one. Each caller gets the answer to its question, and an
// error goes to all callers of a round.
func TestGathering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rounds [][]int
		g := newGathering(func(all []int) ([]string, error) {
			rounds = append(rounds, all)
			time.Sleep(time.Second)
			if slices.Contains(all, 13) {
				return nil, errLost
			}
			answers := make([]string, len(all))
			for i, n := range all {
				answers[i] = fmt.Sprint(n)
			}
			return answers, nil
		}, func(n int) int { return n })
		var asking sync.WaitGroup
		for n := range 20 {
			asking.Go(func() {
				time.Sleep(time.Duration(n) * 200 * time.Millisecond)
				began := time.Now()
				answer, err := g.ask(n)
				if together := n >= 11 && n <= 15; together != errors.Is(err, errLost) || err == nil && answer != fmt.Sprint(n) {
					t.Errorf("%d: %q, %v", n, answer, err)
				}
				if waited := time.Since(began); waited > 2*time.Second {
					t.Errorf("%d waited %s", n, waited)
				}
			})
		}
		asking.Wait()
		if len(rounds) > 6 {
			t.Errorf("%d rounds: %v", len(rounds), rounds)
		}
	})
}

// TestGatheringApart: two questions about the same slot go in two rounds, in their order, and others do not wait for that.
func TestGatheringApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rounds [][]int
		g := newGathering(func(all []int) ([]int, error) {
			rounds = append(rounds, slices.Clone(all))
			time.Sleep(time.Second)
			return all, nil
		}, func(n int) int { return n % 10 })
		var asking sync.WaitGroup
		for i, n := range []int{0, 1, 11, 2, 21} {
			asking.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				if answer, err := g.ask(n); answer != n || err != nil {
					t.Errorf("%d: %d, %v", n, answer, err)
				}
			})
		}
		asking.Wait()
		if got := fmt.Sprint(rounds); got != "[[0] [1 2] [11] [21]]" && got != "[[0] [1 2] [21] [11]]" {
			t.Errorf("rounds: %s", got)
		}
	})
}

// TestStatementsOfSlots carries out the same statements for several slots in the twin and in PostgreSQL: each has the same answers, and the
// same logs. A fence with a fault is found.
func TestStatementsOfSlots(t *testing.T) {
	const slots = 4
	db := connect(t, pgtest.Shared(t).URL())
	_, err := db.copying.exec("INSERT INTO bailiff.slots SELECT generate_series(1, 3)")
	must(t, err)
	from := rand.New(rand.NewPCG(uint64(seed.Value(t)), 0)) //nolint:gosec // a test's
	differs := func(flaw string) string {
		both := []manifold{newTwin(slots), connectAgain(t, db)}
		db.sqlAdds = flawed(t, sqlAdds, flaw)
		s := &slotStory{rng: rand.New(rand.NewPCG(from.Uint64(), 0)), known: make([][]group, slots), terms: make([]int64, slots)} //nolint:gosec // a test's
		for range 150 {
			if said := s.step(both); said != "" {
				return said
			}
		}
		return ""
	}
	for range 4 {
		if said := differs(""); said != "" {
			t.Fatal(said)
		}
	}
	for _, flaw := range []string{noTerm, noLink} {
		found := false
		for n := 0; n < 20 && !found; n++ {
			found = differs(flaw) != ""
		}
		if !found {
			t.Errorf("a fence with %s is not found", flaw)
		}
	}
}

// A slotStory has the groups and the terms of several slots so far.
type slotStory struct {
	rng   *rand.Rand
	known [][]group
	terms []int64
}

// step asks both databases for the same, and returns how their answers differ.
func (s *slotStory) step(both []manifold) (differ string) {
	at, all := s.draw()
	kind := s.rng.IntN(5)
	var said [2]string
	for i, db := range both {
		switch kind {
		case 0:
			heard, err := db.beats(at)
			for i := range heard {
				heard[i].at, heard[i].silent = time.Time{}, heard[i].silent.Truncate(time.Hour) // an hour or more: it was never heard
			}
			live, also := db.live("c", hour)
			said[i] = fmt.Sprint("beats ", heard, err, live, also)
		case 1:
			is, err := db.confirms(at)
			said[i] = fmt.Sprint("confirms ", is, err)
		case 2:
			one := at[0]
			term, err := db.claim(one.slot, one.me, 0, nil, s.terms[one.slot])
			said[i] = fmt.Sprint("claim ", term, err)
			if i == 1 && term > 0 {
				s.terms[one.slot] = term
			}
		default:
			kept, err := db.adds(all)
			if said[i] = fmt.Sprint("adds ", kept); err != nil {
				said[i] = "adds: an error"
				continue
			}
			for n := range kept {
				if i == 1 && kept[n] {
					s.known[all[n].slot] = append(s.known[all[n].slot], all[n].g)
				}
			}
		}
	}
	if said[0] != said[1] {
		return fmt.Sprintf("the twin says %s, PostgreSQL %s", said[0], said[1])
	}
	for slot := range s.terms {
		a, _ := both[0].last(slot)
		if b, err := both[1].last(slot); !a.is(b) || err != nil {
			return fmt.Sprintf("slot %d ends with %d in the twin, in PostgreSQL with %d: %v", slot, a.last, b.last, err)
		}
	}
	return ""
}

// draw draws slots, with an instance at each and a group to append, some of which can't be.
func (s *slotStory) draw() (at []presence, all []addition) {
	for _, slot := range s.rng.Perm(len(s.terms))[:1+s.rng.IntN(len(s.terms))] {
		name := string('a' + rune(s.rng.IntN(2)))
		at = append(at, presence{slot, instance{fmt.Sprint(name, slot), name, name + ":1"}})
		before := group{}
		if n := len(s.known[slot]); n > 0 {
			before = s.known[slot][max(0, n-1-s.rng.IntN(8)/6)].end()
		}
		if s.rng.IntN(8) == 0 {
			before.hash[0]++ // there is no such group
		}
		data := sealed(s.rng, before.last+1, 1+s.rng.Uint32N(3))
		g := group{first: before.last + 1, last: before.last + uint64(data[31]), hash: sha256.Sum256(data), data: data}
		all = append(all, addition{slot, s.terms[slot] - int64(s.rng.IntN(8)/7), before, g})
	}
	return at, all
}

// TestSlots has three instances share the slots of a store: each owns its share, also after one has come, one has ended, and one was
// replaced by another of its name. Each slot has a record in the end.
func TestSlots(t *testing.T) {
	const slots, lease = 8, time.Second
	url := pgtest.Shared(t).URL()
	connect(t, url)
	dropped := newStore(t, url, "a", true)
	_, err := dropped.db.copying.exec("DROP SCHEMA bailiff CASCADE")
	must(t, err)
	_, err = dropped.Init(Setup{Slots: slots})
	must(t, err)
	if _, err := dropped.Init(Setup{Slots: slots + 1}); err == nil || !strings.Contains(err.Error(), "can't be changed") {
		t.Errorf("another number of slots: %v", err)
	}
	if _, err := dropped.open(); err == nil || !strings.Contains(err.Error(), "has 8 slots") {
		t.Errorf("an instance that is made for one slot: %v", err)
	}
	owns := func(want ...int) {
		t.Helper()
		owned(t, dropped.db, want...)
	}
	a := sharing(t, url, "a", lease)
	owns(slots + 1)
	b := sharing(t, url, "b", lease)
	owns(4, 5)
	c := sharing(t, url, "c", lease)
	owns(3, 3, 3)
	a.end()
	owns(4, 5)
	b.end()
	c.end()
	owns()
	for slot := range slots + 1 {
		end, err := dropped.db.last(slot)
		if must(t, err); end.last == 0 {
			t.Errorf("slot %d has no record", slot)
		}
	}
}

// sqlOwned tells of each slot which instance has it, and how long ago it was heard.
const sqlOwned = `SELECT COALESCE(s.owner_name, ''), COALESCE(s.slot || ' ' || s.owner_name || ' ' || left(s.owner, 4) || CASE WHEN i.seen > clock_timestamp() - interval '1 second' THEN '' ELSE ' silent' END, s.slot || ' none') || ' term ' || s.term
FROM bailiff.slots s LEFT JOIN bailiff.instances i ON i.id = s.owner ORDER BY s.slot`

// owned waits until the instances own so many slots each, in ascending order.
func owned(t *testing.T, db *postgres, want ...int) {
	t.Helper()
	began, history := time.Now(), []string{}
	for ; ; time.Sleep(10 * time.Millisecond) {
		of, now := map[string]int{}, ""
		must(t, db.copying.do(func(ctx context.Context, c *pgx.Conn) error {
			rows, err := c.Query(ctx, sqlOwned)
			if err != nil {
				return err
			}
			var name, slot string
			_, err = pgx.ForEachRow(rows, []any{&name, &slot}, func() error {
				if now += ", " + slot; name != "" {
					of[name]++
				}
				return nil
			})
			return err
		}))
		got := slices.Sorted(maps.Values(of))
		if slices.Equal(got, want) {
			return
		}
		if n := len(history); n == 0 || !strings.HasSuffix(history[n-1], now) {
			history = append(history, time.Since(began).Round(time.Millisecond).String()+now)
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("the instances own %v slots, and should %v; how they came to it, last of all:\n%s", got, want, strings.Join(history[max(0, len(history)-100):], "\n"))
		}
	}
}

// A shared is an instance that owns its share of the slots.
type shared struct {
	store *Store
	stop  chan struct{}
	work  sync.WaitGroup
}

// sharing starts an instance that keeps a record in each slot that it comes to own.
func sharing(t *testing.T, url, name string, lease time.Duration) *shared {
	t.Helper()
	s := &shared{store: newStoreOf(t, url, name, true, lease), stop: make(chan struct{})}
	s.store.options.Stop = s.stop
	slots, _, err := s.store.slots()
	must(t, err)
	for _, slot := range slots {
		s.work.Go(func() {
			for {
				l, _, err := slot.Open(commit.Options{Random: s.store.options.Calls.Random}, s.stop)
				if errors.Is(err, ErrStopped) {
					return
				}
				if err != nil {
					t.Errorf("%s, slot %d: %v", name, slot.number, err)
					return
				}
				key := ledgertest.NewKey(0)
				_, err = s.store.options.Calls.Random.Read(key.Hash[:])
				must(t, err)
				key.ID = ledger.ID(key.Hash[:16]).UUIDv4()
				must(t, l.CreateKey(t.Context(), key))
				select {
				case <-s.stop:
				case <-slot.Leaves():
					slot.Leaving()
				}
				must(t, l.Close())
			}
		})
	}
	return s
}

func (s *shared) end() {
	close(s.stop)
	s.work.Wait()
	s.store.Close()
}
