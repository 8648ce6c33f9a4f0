package pgledger

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bailiff/fuzz/kit/seed"
)

var (
	simulated = flag.Int("worlds", 200, "how many worlds TestWorlds simulates")
	oneWorld  = flag.Uint64("world", 0, "the seed of the one world to simulate; 0: many")
)

const (
	worldLease  = 2 * time.Second
	worldTime   = 45 * time.Second // of the world's clock, with faults
	latest      = 10 * worldLease  // that a statement arrives after it was sent
	worldsPeace = 5 * worldLease   // without faults, at the end of it
)

// A flaw is planted in a world.
type flaw int

const (
	sound       flaw = iota
	termless         // the fence does not look at the term
	premature        // an append is answered before it is made
	belated          // a claim does not look at the term that was heard, so that a late one counts
	unconfirmed      // an answer from memory is told without asking the database
	remembered       // an instance knows keys as they were when it looked them up first
	retried          // an instance asks another one again whose answer was lost
)

// A simulation has instances over one database, with the clock of the bubble that it runs in. Its seed decides how long each statement
// takes, whether it is lost, its answer is, or it arrives late or twice, and when an instance is cut off, paused, killed or asked to end.
type simulation struct {
	seed uint64
	flaw flaw
	db   *twin
	end  time.Time     // of the faults
	pace time.Duration // the longest pause of an owner between two records or answers
	stop chan struct{}

	mu    sync.Mutex
	books []*book          // by slot
	took  map[*life]uint64 // the end of the log when a process took it last
	wrong error

	statements, appends, reads atomic.Int64
}

// A book is what was told of a slot.
type book struct {
	confirmed map[uint64][32]byte // by LSN
	by        map[uint64]*life    // the process that confirmed a record
	highest   uint64              // of confirmed
	latest    time.Time           // something was told
}

// A windows is when something is so.
type windows [][2]time.Time

func (w windows) until(now time.Time) (end time.Time, in bool) {
	for _, one := range w {
		if !now.Before(one[0]) && now.Before(one[1]) {
			return one[1], true
		}
	}
	return now, false
}

// A host runs one instance after the other under one name.
type host struct {
	*simulation
	name   string
	random *rand.Rand
	paused windows
	cut    windows
	fault  time.Duration // of its clock
}

// draws returns what decides about the n-th of something.
func (w *simulation) draws(of string, n int) *rand.Rand {
	from := w.seed
	for _, b := range []byte(of) {
		from = from*1099511628211 + uint64(b)
	}
	return rand.New(rand.NewPCG(from, uint64(n))) //nolint:gosec // a test's
}

func newSimulation(from uint64, planted flaw) *simulation { return newSlots(from, planted, 1) }

// newSlots is a simulation of several slots.
func newSlots(from uint64, planted flaw, slots int) *simulation {
	w := &simulation{seed: from, flaw: planted, db: newTwin(slots), end: time.Now().Add(worldTime), stop: make(chan struct{}), took: map[*life]uint64{}}
	for range slots {
		w.books = append(w.books, &book{confirmed: map[uint64][32]byte{}, by: map[uint64]*life{}})
	}
	w.db.noTerm, w.db.noTurn = planted == termless, planted == belated
	w.pace = 20 * time.Millisecond << w.draws("pace", 0).IntN(8)
	return w
}

func (w *simulation) host(name string) *host {
	h := &host{simulation: w, name: name, random: w.draws(name, 0)}
	most := 2 << w.draws("windows", 0).IntN(4) // some worlds have more faults than others
	some := func() (found windows) {
		for range h.random.IntN(most) {
			from := time.Now().Add(time.Duration(h.random.Int64N(int64(worldTime))))
			to := from.Add(time.Duration(h.random.Int64N(int64(3 * worldLease))))
			if to.After(w.end) {
				to = w.end
			}
			found = append(found, [2]time.Time{from, to})
		}
		return found
	}
	h.paused, h.cut = some(), some()
	h.fault = time.Duration(h.random.Int64N(int64(MaxClockOffset))) - MaxClockOffset/2
	return h
}

// gate waits while the instance is paused. Its goroutines go on one after the other: two things at one time would have two orders.
func (h *host) gate(order time.Duration) {
	for {
		end, paused := h.paused.until(time.Now())
		if !paused {
			return
		}
		time.Sleep(time.Until(end) + order)
	}
}

// A line is the sessions of one instance.
type line struct {
	database
	*host
	id   string
	mu   sync.Mutex
	n    map[string]int
	dead atomic.Bool
}

// over takes a statement to the database, or not. Its answer is told, or not.
func (l *line) over(kind string, statement func(told bool) error) error {
	l.mu.Lock()
	l.n[kind]++
	random := l.draws(l.id+kind, l.n[kind])
	l.mu.Unlock()
	l.statements.Add(1)
	order := time.Duration(1 + random.Int64N(int64(time.Millisecond)))
	wait := func(most time.Duration) { time.Sleep(1 + time.Duration(random.Int64N(int64(most)))) }
	l.gate(order)
	wait(2 * time.Millisecond)
	quiet := time.Now().After(l.end)
	if _, cut := l.cut.until(time.Now()); cut && !quiet || l.dead.Load() {
		wait(worldLease / 2)
		l.gate(order)
		return errLost
	}
	fate, late := random.IntN(100), time.Duration(random.Int64N(int64(latest)))
	if kind == "claim" { // there are few
		fate /= 4
	}
	if quiet {
		fate = 99
	}
	switch {
	case fate < 3: // it never arrives
	case fate < 6: // its answer is lost
		_ = statement(false)
	case fate < 9: // it arrives when it was given up
		go func() { time.Sleep(late); _ = statement(false) }()
	default:
		err := statement(true)
		if fate < 12 { // it arrives once more
			go func() { time.Sleep(late); _ = statement(false) }()
		}
		wait(2 * time.Millisecond)
		l.gate(order)
		if l.dead.Load() {
			return errLost
		}
		return err
	}
	wait(worldLease / 4)
	l.gate(order)
	return errLost
}

// over is over for a statement with an answer.
func over[T any](l *line, kind string, statement func() (T, error)) (answer T, err error) {
	err = l.over(kind, func(told bool) error {
		got, err := statement()
		if told {
			answer = got
		}
		return err
	})
	return answer, err
}

func (l *line) beat(slot int, me instance) (pulse, error) {
	return over(l, "beat", func() (pulse, error) { return l.database.beat(slot, me) })
}

func (l *line) claim(slot int, me instance, lease time.Duration, after []string, heard int64) (int64, error) {
	return over(l, "claim", func() (int64, error) { return l.database.claim(slot, me, lease, after, heard) })
}

func (l *line) again(slot int, me instance, term int64) (int64, error) {
	return over(l, "again", func() (int64, error) { return l.database.again(slot, me, term) })
}

func (l *line) confirm(slot int, me instance) (bool, error) {
	return over(l, "confirm", func() (bool, error) { return l.database.confirm(slot, me) })
}

func (l *line) release(me instance) error {
	return l.over("release", func(bool) error { return l.database.release(me) })
}

func (l *line) add(slot int, term int64, before, g group) (bool, error) {
	add := func() (bool, error) {
		return over(l, "add", func() (bool, error) { return l.database.add(slot, term, before, g) })
	}
	if l.flaw == premature {
		go add()
		return true, nil
	}
	return add()
}

func (l *line) last(slot int) (group, error) {
	return over(l, "last", func() (group, error) { return l.database.last(slot) })
}

func (l *line) read(slot int, from uint64, limit int) ([]group, error) {
	return over(l, "read", func() ([]group, error) { return l.database.read(slot, from, limit) })
}

// run has instances of a machine decide or wait until the world ends. After a failure the same process opens the log again, or another one
// does.
func (h *host) run() {
	var process *life
	for n := 1; ; n++ {
		if process == nil || h.random.IntN(3) == 0 {
			process = newLife(worldLease)
			process.clock = func() time.Time { return time.Now().Add(h.fault) }
		}
		at := &line{database: h.db, host: h, id: fmt.Sprint(h.name, n), n: map[string]int{}}
		l, err := take(at, instance{id: at.id, name: h.name}, process, h.stop)
		switch {
		case errors.Is(err, ErrStopped):
			return
		case err != nil:
			if errors.Is(err, errDeposed) || errors.Is(err, errReplaced) {
				process = nil
			}
			h.doubts(err)
			time.Sleep(time.Duration(h.random.Int64N(int64(worldLease))))
			continue
		}
		h.takes(l)
		if h.decides(l, h.stop, nil) {
			process = nil
			at.dead.Store(h.random.IntN(2) == 0) // killed; otherwise it is asked to end
		}
		_ = l.Close()
		select {
		case <-h.stop:
			return
		case <-time.After(time.Duration(h.random.Int64N(int64(worldLease)))):
		}
	}
}

// decides appends and reads until the log fails, stop is closed, the slot is to be handed over, or the process is to end, which it reports.
func (h *host) decides(l *log, stop, leaves <-chan struct{}) (ends bool) {
	for until := time.Now().Add(time.Duration(h.random.Int64N(int64(worldTime / 2)))); ; {
		select {
		case <-stop:
			return false
		case <-leaves:
			l.leave()
			return false
		case <-time.After(time.Duration(h.random.Int64N(int64(h.pace)))):
		}
		now := time.Now()
		if now.After(until) && now.Before(h.end) {
			return true
		}
		h.gate(time.Microsecond)
		if h.random.IntN(4) > 0 {
			lsn := l.at.last + 1
			err := l.Append(lsn, sealed(h.random, lsn, 1))
			h.gate(time.Microsecond)
			if err != nil {
				h.doubts(err)
				return false
			}
			h.told(l, lsn)
			continue
		}
		h.mu.Lock()
		before, mark := h.books[l.slot].highest, l.Mark()
		h.mu.Unlock()
		if h.flaw != unconfirmed && l.Confirm(mark) != nil {
			return false
		}
		h.gate(time.Microsecond)
		h.reads.Add(1)
		if l.at.last < before {
			h.fails(fmt.Errorf("%s told the state after record %d, when record %d was confirmed", l.me.id, l.at.last, before))
		}
		h.mu.Lock()
		h.books[l.slot].latest = time.Now()
		h.mu.Unlock()
	}
}

// takes holds a process that takes the log once more to having had it last: it has in memory only what it knew then.
func (w *simulation) takes(l *log) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, again := w.took[l.life]; again {
		for lsn, process := range w.books[l.slot].by {
			if lsn > last && process != l.life && w.wrong == nil {
				w.wrong = fmt.Errorf("%s is of a process that takes the log again, though another one has recorded %d since", l.me.id, lsn)
			}
		}
	}
	w.took[l.life] = l.at.last
}

// told notes that a record was confirmed.
func (w *simulation) told(l *log, lsn uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.appends.Add(1)
	b := w.books[l.slot]
	if _, twice := b.confirmed[lsn]; twice && w.wrong == nil {
		w.wrong = fmt.Errorf("record %d was confirmed twice", lsn)
	}
	b.confirmed[lsn], b.by[lsn], b.highest, b.latest = l.at.hash, l.life, max(b.highest, lsn), time.Now()
}

// doubts takes an error for a fault that says that the database has lost something: it never does.
func (w *simulation) doubts(err error) {
	if errors.Is(err, errWentBack) {
		w.fails(err)
	}
}

func (w *simulation) fails(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wrong == nil {
		w.wrong = err
	}
}

// live lets a world run, and returns why it is wrong.
func (w *simulation) live() error {
	return w.lives((*host).run, func() error { return nil })
}

// lives lets instances run, and returns why the world is wrong. At its end, when nothing has failed for a while, it may be judged further.
func (w *simulation) lives(run func(*host), judge func() error) error {
	var hosts sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		h := w.host(name)
		hosts.Go(func() { run(h) })
	}
	time.Sleep(worldTime + worldsPeace)
	w.mu.Lock()
	for slot, b := range w.books {
		if w.wrong == nil && time.Since(b.latest) > 2*worldLease {
			w.wrong = fmt.Errorf("nothing was told of slot %d for %s, though nothing has failed for %s", slot, time.Since(b.latest), worldsPeace)
		}
	}
	right := w.wrong == nil
	w.mu.Unlock()
	if err := judge(); right && err != nil { // a slot may be on its way
		time.Sleep(2 * worldLease)
		if still := judge(); still != nil {
			w.fails(fmt.Errorf("%w; and %s later: %w", err, 2*worldLease, still))
		}
	}
	close(w.stop)
	hosts.Wait()
	time.Sleep(latest + worldLease) // statements that are late have arrived
	for slot, b := range w.books {
		if w.wrong == nil {
			w.wrong = wholeSlot(w.db, slot, b.confirmed)
		}
	}
	return w.wrong
}

// TestWorldsRepeat: a seed's world is the same each time.
func TestWorldsRepeat(t *testing.T) {
	from := rand.New(rand.NewPCG(uint64(seed.Value(t)), 4)) //nolint:gosec // a test's
	for range 20 {
		s, said := from.Uint64(), map[string]bool{}
		for range 2 {
			synctest.Test(t, func(*testing.T) {
				w := newSimulation(s, sound)
				said[fmt.Sprint(w.live(), w.statements.Load(), w.appends.Load(), w.reads.Load(), w.db.slots[0].term, w.books[0].confirmed)] = true
			})
		}
		if len(said) > 1 {
			t.Errorf("world %d has two histories", s)
		}
	}
}

// TestWorlds simulates three instances over one database: each confirmed record is in the log, which is one chain, no answer is of an
// earlier state than one before it, and when nothing fails any more, one instance decides. Each planted fault is found.
func TestWorlds(t *testing.T) {
	if *oneWorld != 0 {
		synctest.Test(t, func(t *testing.T) {
			if err := newSimulation(*oneWorld, sound).live(); err != nil {
				t.Error(err)
			}
		})
		return
	}
	from := rand.New(rand.NewPCG(uint64(seed.Value(t)), 3)) //nolint:gosec // a test's
	var statements, appends, reads, terms int64
	for range *simulated {
		synctest.Test(t, func(t *testing.T) {
			w := newSimulation(from.Uint64(), sound)
			if err := w.live(); err != nil {
				t.Errorf("world %d: %v; \nrun it again: make owners SEED=%[1]d", w.seed, err)
			}
			statements, appends, reads, terms = statements+w.statements.Load(), appends+w.appends.Load(), reads+w.reads.Load(), terms+w.db.slots[0].term
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d simulated worlds, %d statements, %d records, %d answers from memory, %d terms", *simulated, statements, appends, reads, terms)
	for planted, name := range map[flaw]string{termless: "the fence does not look at the term", belated: "late claims", premature: "answers before appends", unconfirmed: "unconfirmed answers"} {
		found := 0
		for n := 0; n < 10_000 && found == 0; n++ {
			synctest.Test(t, func(*testing.T) {
				if newSimulation(from.Uint64(), planted).live() != nil {
					found = n + 1
				}
			})
		}
		if t.Logf("%s: found in world %d", name, found); found == 0 {
			t.Errorf("%s: not found in 10,000 worlds", name)
		}
	}
}
