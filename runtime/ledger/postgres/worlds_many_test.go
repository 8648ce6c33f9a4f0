package pgledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bailiff/fuzz/kit/seed"
)

// worldSlots is how many slots the instances of a world share.
const worldSlots = 5

func (l *line) beats(all []presence) ([]pulse, error) {
	return over(l, "beats", func() ([]pulse, error) { return l.db.beats(all) })
}

func (l *line) confirms(all []presence) ([]bool, error) {
	return over(l, "confirms", func() ([]bool, error) { return l.db.confirms(all) })
}

func (l *line) adds(all []addition) ([]bool, error) {
	adds := func() ([]bool, error) { return over(l, "adds", func() ([]bool, error) { return l.db.adds(all) }) }
	if l.flaw != premature {
		return adds()
	}
	go adds()
	kept := make([]bool, len(all))
	for i := range kept {
		kept[i] = true
	}
	return kept, nil
}

func (l *line) live(name string, lease time.Duration) (company, error) {
	return over(l, "live", func() (company, error) { return l.db.live(name, lease) })
}

// lasts waits until a process ends, or the world does.
func (h *host) lasts(at *line) {
	ends := time.After(time.Duration(h.random.Int64N(int64(worldTime / 2))))
	if time.Now().After(h.end.Add(-worldTime / 2)) {
		ends = nil
	}
	select {
	case <-h.stop:
	case <-ends:
		at.dead.Store(h.random.IntN(2) == 0) // killed; otherwise it is asked to end
	}
}

// runMany has processes of a machine own their share of the slots, one process after the other, until the world ends.
func (h *host) runMany() {
	for n := 1; ; n++ {
		at := &line{database: h.db, host: h, id: fmt.Sprint(h.name, n), n: map[string]int{}}
		db, all, stop := gather(at), newShares(worldSlots), make(chan struct{})
		var work sync.WaitGroup
		work.Go(func() { all.follow(db, h.name, worldLease, stop, func() {}) })
		for slot := range worldSlots {
			one := *h
			one.random = h.draws(at.id, slot)
			work.Go(func() { one.serves(db, all, slot, at.id, stop) })
		}
		h.lasts(at)
		close(stop)
		work.Wait()
		select {
		case <-h.stop:
			return
		case <-time.After(time.Duration(h.random.Int64N(int64(worldLease)))):
		}
	}
}

// serves has a process own a slot while that is in its share, again and again until it ends.
func (h *host) serves(db *gathered, all *shares, slot int, id string, stop chan struct{}) {
	process := newLife(worldLease)
	process.shares, process.clock = all, func() time.Time { return time.Now().Add(h.fault) }
	for n := 1; !ended(stop); n++ {
		process.forgets()
		l, err := takeSlot(db, slot, instance{id: fmt.Sprint(id, ".", slot, ".", n), name: h.name}, process, stop)
		if errors.Is(err, ErrStopped) {
			return
		}
		if err == nil {
			h.decides(l, stop, all.leave)
			_ = l.Close()
			continue
		}
		h.doubts(err)
		time.Sleep(time.Duration(h.random.Int64N(int64(worldLease))))
	}
}

// fair returns an error where an instance owns more slots than its share.
func (w *simulation) fair() error {
	owned := map[string]int{}
	for slot := range worldSlots {
		w.db.with(slot, func(s *twinSlot) { owned[s.owner.name]++ })
	}
	for name, n := range owned {
		if n > (worldSlots+2)/3 || n < worldSlots/3 || len(owned) != 3 {
			return fmt.Errorf("%s owns %d of %d slots: %v", name, n, worldSlots, owned)
		}
	}
	return nil
}

// TestManySlots simulates three instances that share the slots of one database: of each slot all holds that holds of one, and when nothing
// fails any more, each instance owns its share.
func TestManySlots(t *testing.T) {
	from := rand.New(rand.NewPCG(uint64(seed.Value(t)), 5)) //nolint:gosec // a test's
	run := func(seed uint64, planted flaw) (w *simulation, err error) {
		synctest.Test(t, func(*testing.T) {
			w = newSlots(seed, planted, worldSlots)
			err = w.lives((*host).runMany, w.fair)
		})
		return w, err
	}
	if *oneWorld != 0 {
		if _, err := run(*oneWorld, sound); err != nil {
			t.Error(err)
		}
		return
	}
	var statements, appends, terms int64
	for range max(1, *simulated/5) {
		w, err := run(from.Uint64(), sound)
		if err != nil {
			t.Fatalf("world %d: %v; \nrun it again: make owners SEED=%[1]d\nfaults have ended at %s; the last moves of slots:\n\t%s", w.seed, err, w.end.Format("04:05.000"), w.db.lastMoves())
		}
		statements, appends = statements+w.statements.Load(), appends+w.appends.Load()
		for _, s := range w.db.slots {
			terms += s.term
		}
	}
	t.Logf("%d worlds of %d slots, %d statements, %d records, %d terms", max(1, *simulated/5), worldSlots, statements, appends, terms)
	for planted, name := range map[flaw]string{termless: "the fence does not look at the term", premature: "answers before appends", unconfirmed: "unconfirmed answers"} {
		found := 0
		for n := 0; n < 1000 && found == 0; n++ {
			if _, err := run(from.Uint64(), planted); err != nil {
				found = n + 1
			}
		}
		if t.Logf("%s: found in world %d", name, found); found == 0 {
			t.Errorf("%s: not found in 1,000 worlds", name)
		}
	}
}
