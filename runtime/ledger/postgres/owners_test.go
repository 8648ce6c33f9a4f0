package pgledger

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/seed"
	"bailiff/runtime/ledger"
)

// TestOwners has two instances take one slot from each other while both go on appending: all that was confirmed is in the log,
// which is one chain. Each fault in the fence is found.
func TestOwners(t *testing.T) {
	each(t, func(t *testing.T, fresh func(string) database) {
		takeovers := 1000
		if _, twin := fresh("").(*twin); !twin && !*full {
			takeovers = 100
		}
		s := uint64(seed.Value(t)) //nolint:gosec // a test's
		if err := fight(fresh(""), s, takeovers); err != nil {
			t.Error(err)
		}
		if err := fight(fresh(noTerm), s, takeovers); err == nil {
			t.Error("that the fence does not look at the term was not found")
		}
	})
}

// fight has instances take a slot from each other. The one that had it keeps appending while the next one takes it, and afterwards.
func fight(db database, from uint64, takeovers int) error {
	f := &fighting{confirmed: map[uint64][32]byte{}}
	var before *log
	leave := func() {}
	for n := range takeovers {
		own, end := beside(db)
		w := &wire{database: unclosed{own}, rng: rand.New(rand.NewPCG(from, uint64(n))), loses: 5} //nolint:gosec // a test's
		var taken atomic.Bool
		var done sync.WaitGroup
		if l := before; l != nil {
			done.Go(func() { f.appendUntil(l, rand.New(rand.NewPCG(from, uint64(n)<<32)), &taken) }) //nolint:gosec // a test's
		}
		short := newLife(hour)
		short.patience = 5 * time.Millisecond
		l, err := take(w, instance{id: fmt.Sprint(n), name: "same"}, short, nil)
		if err != nil {
			return err
		}
		taken.Store(true)
		done.Wait()
		if b := before; b != nil && errors.Is(b.Health(), errTaken) != (b.fenced.Load() == 1) {
			return fmt.Errorf("the log ends with %w, and %d appends were counted as fenced", b.Health(), b.fenced.Load())
		}
		for range n % 3 {
			f.append(l, w.rng)
		}
		if before != nil {
			close(before.ended)
			<-before.done
		}
		leave()
		before, leave = l, end
	}
	close(before.ended)
	leave()
	return cmp.Or(f.wrong, whole(db, f.confirmed))
}

// beside returns a database with sessions of its own over the same tables, and what ends them.
func beside(db database) (own database, end func()) {
	p, ok := db.(*postgres)
	if !ok {
		return db, func() {}
	}
	own = &postgres{
		writing: &session{find: p.writing.find, patience: p.writing.patience},
		reading: p.reading, free: p.free, living: p.living, asking: p.asking, copying: p.copying, sqlAdd: p.sqlAdd, find: p.find,
	}
	return own, own.(*postgres).writing.close
}

// A fighting notes the confirmed records, and a confirmation that must not be.
type fighting struct {
	mu        sync.Mutex
	confirmed map[uint64][32]byte // by LSN
	wrong     error
}

// append appends one record and reports whether it was confirmed.
func (f *fighting) append(l *log, rng *rand.Rand) bool {
	lsn := l.at.last + 1
	if l.Append(lsn, sealed(rng, lsn, 1)) != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, twice := f.confirmed[lsn]; twice {
		f.wrong = fmt.Errorf("record %d was confirmed twice", lsn)
	}
	f.confirmed[lsn] = l.at.hash
	return true
}

// appendUntil appends until that is refused, as it must be once another instance has taken the slot.
func (f *fighting) appendUntil(l *log, rng *rand.Rand, taken *atomic.Bool) {
	for {
		replaced := taken.Load()
		if !f.append(l, rng) {
			return
		}
		if replaced {
			f.mu.Lock()
			f.wrong = errors.New("an owner that was replaced appended")
			f.mu.Unlock()
			return
		}
	}
}

// whole returns why a log is not one chain with all that was confirmed.
func whole(db database, confirmed map[uint64][32]byte) error { return wholeSlot(db, 0, confirmed) }

func wholeSlot(db database, slot int, confirmed map[uint64][32]byte) error {
	next := uint64(1)
	for {
		page, err := db.read(slot, next, pageGroups)
		if err != nil {
			return err
		}
		for _, g := range page {
			if g.first != next {
				return fmt.Errorf("record %d is followed by %d", next-1, g.first)
			}
			if hash, ok := confirmed[g.first]; ok && hash != g.hash {
				return fmt.Errorf("record %d was confirmed with other bytes", g.first)
			}
			delete(confirmed, g.first)
			next = g.last + 1
		}
		if len(page) < pageGroups {
			break
		}
	}
	if len(confirmed) > 0 {
		return fmt.Errorf("%d confirmed records are lost", len(confirmed))
	}
	return nil
}

// TestWentBack takes the last group out of the database, as a restoration to an older state does: the owner appends nothing more.
func TestWentBack(t *testing.T) {
	each(t, func(t *testing.T, fresh func(string) database) {
		again := func(flaw string) error {
			rng := rand.New(rand.NewPCG(uint64(seed.Value(t)), 0)) //nolint:gosec // a test's
			db := fresh(flaw)
			l := open(t, unclosed{db}, "a", "1", hour)
			defer l.Close()
			for first := uint64(1); first <= 3; first++ {
				must(t, l.Append(first, sealed(rng, first, 1)))
			}
			goBack(t, db, 3)
			return l.Append(4, sealed(rng, 4, 1))
		}
		if err := again(""); !errors.Is(err, errWentBack) {
			t.Errorf("a database that went back: %v", err)
		}
		if err := again(noLink); err != nil {
			t.Errorf("the planted fence, which does not look at the group before, refuses: %v", err)
		}
	})
}

// TestWaits has an instance wait for a silent owner's lease, and take over at once from one that closes.
func TestWaits(t *testing.T) {
	each(t, func(t *testing.T, fresh func(string) database) {
		db := unclosed{fresh("")}
		const lease = 300 * time.Millisecond
		first := open(t, db, "a", "1", lease)
		stop := make(chan struct{})
		time.AfterFunc(2*lease, func() { close(stop) })
		if _, err := take(db, instance{id: "2", name: "b"}, newLife(lease), stop); !errors.Is(err, ErrStopped) {
			t.Fatalf("taken from an owner that lives: %v", err)
		}
		must(t, first.Close())
		second := open(t, db, "b", "3", hour) // asks every ten minutes
		defer second.Close()

		silent := open(t, fresh(""), "a", "1", hour)
		close(silent.ended) // it says nothing any more
		<-silent.done
		began := time.Now()
		third := open(t, unclosed{silent.db}, "b", "2", lease)
		defer third.Close()
		if waited := time.Since(began); waited < lease/2 {
			t.Errorf("the owner was silent for %s only", waited)
		}
		rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's
		if err := silent.Append(1, sealed(rng, 1, 1)); !errors.Is(err, errTaken) {
			t.Errorf("an owner that was replaced appends: %v", err)
		}
	})
}

// TestReplaced has an owner hear of the one that replaced it though it writes nothing.
func TestReplaced(t *testing.T) {
	db := newTwin(1)
	l := open(t, db, "a", "1", 60*time.Millisecond)
	failed := make(chan error, 1)
	l.Notify(func(err error) { failed <- err })
	other := open(t, db, "a", "2", hour)
	if err := <-failed; !errors.Is(err, errTaken) || !errors.Is(l.Health(), errTaken) {
		t.Errorf("it fails with %v", err)
	}
	must(t, l.Close())
	if mine, err := db.confirm(0, other.me); !mine || err != nil {
		t.Errorf("an instance that was replaced gave the slot away: %v", err)
	}
	if _, err := take(db, instance{id: "3", name: "a"}, l.life, nil); !errors.Is(err, ledger.ErrLocked) {
		t.Errorf("an instance takes the slot back from a process that has its name: %v", err)
	}
	must(t, other.Close())
	if _, err := take(db, instance{id: "4", name: "a"}, l.life, nil); !errors.Is(err, errDeposed) {
		t.Errorf("a process takes a slot that another one has had since: %v", err)
	}
}

// TestFailover kills the primary while an owner appends, and promotes the standby. The owner then appends there, and nothing is lost.
func TestFailover(t *testing.T) {
	primary, standby := pgtest.StartPair(t)
	connect(t, primary.URL()).close()
	l := open(t, same(t, pgtest.Both(primary, standby)), "a", "1", time.Minute)
	defer l.Close()
	rng := rand.New(rand.NewPCG(uint64(seed.Value(t)), 0)) //nolint:gosec // a test's
	confirmed := map[uint64][32]byte{}
	promoted := make(chan struct{})
	for first := uint64(1); first <= 200; first++ {
		if first == 100 {
			go func() {
				defer close(promoted)
				primary.Kill()
				standby.Promote()
			}()
		}
		must(t, l.Append(first, sealed(rng, first, 1)))
		confirmed[first] = l.at.hash
	}
	for first := uint64(201); l.db.(*postgres).writing.find.highest.Load() < 2; first++ { // until the standby has answered
		must(t, l.Append(first, sealed(rng, first, 1)))
		confirmed[first] = l.at.hash
	}
	<-promoted
	if err := whole(same(t, standby.URL()), confirmed); err != nil {
		t.Error(err)
	}
}

// TestReplacedLooking replaces an owner between the two statements of a look for a group: it says that another instance decides, and not
// that the database went back.
func TestReplacedLooking(t *testing.T) {
	rng := rand.New(rand.NewPCG(uint64(seed.Value(t)), 0)) //nolint:gosec // a test's
	db := newTwin(1)
	between := &interrupted{database: db}
	first := open(t, between, "a", "1", hour)
	must(t, first.Append(1, sealed(rng, 1, 1)))
	between.before = func() {
		second := open(t, db, "a", "2", hour)
		defer second.Close()
		must(t, second.Append(2, sealed(rng, 2, 1)))
	}
	if err := first.Append(2, sealed(rng, 2, 1)); !errors.Is(err, errTaken) {
		t.Errorf("it fails with %v", err)
	}
	must(t, first.Close())
}

// interrupted is a database that loses an append, and in which something happens before the log is looked into.
type interrupted struct {
	database
	before func()
}

func (i *interrupted) add(slot int, term int64, before, g group) (bool, error) {
	if i.before != nil {
		return false, errLost
	}
	return i.database.add(slot, term, before, g)
}

func (i *interrupted) last(slot int) (group, error) {
	if i.before != nil {
		i.before()
		i.before = nil
	}
	return i.database.last(slot)
}
