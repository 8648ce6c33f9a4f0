package pgledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/kit/seed"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/system"
)

// A common is what the slots of a twin have in common, as one process asks for it: over its line, or without faults.
type common struct {
	db    manifold
	twin  *twin
	over  func(kind string, statement func(told bool) error) error
	slots []*twinned
}

var _ slots.Store = (*common)(nil)

// inCommon carries out a statement that changes no log.
func inCommon[T any](c *common, kind string, statement func(*twin) T) (found T, err error) {
	err = c.over(kind, func(told bool) error {
		c.twin.mu.Lock()
		defer c.twin.mu.Unlock()
		if got := statement(c.twin); told {
			found = got
		}
		return nil
	})
	return found, unavailable(err)
}

// KeySlot implements slots.Store.
func (c *common) KeySlot(key ledger.ID) (slot int, ok bool, err error) {
	slot, err = inCommon(c, "key", func(t *twin) int { return t.keys[key] })
	return slot, slot > 0, err
}

// EnterKey implements slots.Store.
func (c *common) EnterKey(key ledger.ID, _ [32]byte, slot int) error {
	_, err := inCommon(c, "enter", func(t *twin) int { t.keys[key] = slot; return slot })
	return err
}

// EnterActivation implements slots.Store. There are none.
func (*common) EnterActivation([32]byte, int) error { return nil }

// Read implements slots.Store.
func (c *common) Read(from uint64, yield func(first uint64, group []byte) bool) error {
	return readAll(pageGroups, func(from uint64) ([]group, error) { return c.db.read(0, from, pageGroups) }, from, yield)
}

// Second implements slots.Store. No record was divided.
func (*common) Second(func(commit.Log) error) error { return nil }

// Seen implements slots.Store.
func (c *common) Seen() uint64 {
	f := c.slots[0].life
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kept.last
}

// End implements slots.Store.
func (c *common) End() (uint64, error) {
	end, err := c.db.last(0)
	return end.last, unavailable(err)
}

// NoteFollowed implements slots.Store.
func (c *common) NoteFollowed(slot int, lsn uint64) error {
	_, err := inCommon(c, "follow", func(t *twin) uint64 {
		t.slots[slot].followed = max(t.slots[slot].followed, lsn)
		return lsn
	})
	return err
}

// Listen implements slots.Store: the processes of a world hear of owners while they wait.
func (*common) Listen(int, bool) {}

// Behind implements slots.Store.
func (c *common) Behind(lsn uint64) ([]int, error) {
	return inCommon(c, "behind", func(t *twin) (behind []int) {
		for n, s := range t.slots {
			if n > 0 && s.owner.id != "" && s.followed < lsn {
				behind = append(behind, n)
			}
		}
		slices.Sort(behind)
		return behind
	})
}

// A twinned is a slot of a twin, as one process has it.
type twinned struct {
	*common
	gathered *gathered
	number   int
	life     *life
	id, name string
	opened   int
	current  atomic.Pointer[log]
	doubts   func(error)
}

// Open implements slots.Slot.
func (s *twinned) Open(options commit.Options, stop <-chan struct{}) (*commit.Ledger, <-chan struct{}, error) {
	s.life.forgets()
	s.opened++
	l, err := takeSlot(s.gathered, s.number, instance{id: fmt.Sprint(s.id, ".", s.number, ".", s.opened), name: s.name}, s.life, stop)
	if err != nil {
		s.doubts(err)
		return nil, nil, err
	}
	s.current.Store(l)
	opened, err := openOver(l, options)
	return opened, l.failed, err
}

// Leaves implements slots.Slot.
func (s *twinned) Leaves() <-chan struct{} { return s.life.shares.leave }

// Leaving implements slots.Slot.
func (s *twinned) Leaving() { s.current.Load().leave() }

// A process has a ledger over its share of a twin's slots.
type process struct {
	*slots.Ledger
	id   string
	stop chan struct{}
	asks atomic.Int64
	keys sync.Map // planted: keys by their ids, as they were when they were looked up first
}

// timers are those of a process, which is paused as a whole. When it continues, requests may be the first to.
func (h *host) timers(d time.Duration, f func()) system.Timer {
	return time.AfterFunc(d, func() {
		h.gate(50 * time.Millisecond)
		f()
	})
}

// begins opens the ledger of a process, on a host or on none, where nothing fails.
func (o *orders) begins(p *process, c *common, name string, h *host) (err error) {
	all := newShares(len(o.db.slots))
	gathered := gather(c.db)
	options := slots.Options{
		Store: c, Stop: p.stop, Commit: commit.Options{Random: rand.Reader}, Log: slog.New(slog.DiscardHandler), Unbound: true,
		Every: worldLease / beatsPerLease, Patience: handOverPatience, RemotePatience: worldLease + handOverPatience, GlobalPatience: 5 * worldLease,
	}
	if h != nil {
		options.Timers = h.timers
		options.Remote = func(ctx context.Context, slot int, question []byte) ([]byte, error) {
			return o.passes(ctx, h, p, c.slots[slot], question)
		}
	}
	for n := range len(o.db.slots) {
		s := &twinned{common: c, gathered: gathered, number: n, life: newLife(worldLease), id: p.id, name: name, doubts: o.doubts}
		s.life.shares = all
		if h != nil {
			s.life.clock, s.life.calls.timers = func() time.Time { return time.Now().Add(h.fault) }, h.timers
		}
		c.slots, options.Slots = append(c.slots, s), append(options.Slots, s)
	}
	if p.Ledger, err = slots.Open(options); err != nil {
		return err
	}
	go all.follow(gathered, name, worldLease, p.stop, func() {})
	return nil
}

// beginSlots makes the keys and the holds of a world of several slots.
func (o *orders) beginSlots() error {
	p := &process{id: "0", stop: make(chan struct{})}
	c := &common{db: o.db, twin: o.db, over: func(_ string, statement func(bool) error) error { return statement(true) }}
	if err := o.begins(p, c, "a", nil); err != nil {
		return err
	}
	for !p.Whole() {
		time.Sleep(time.Millisecond)
	}
	err := (&serving{Ledger: p}).fill()
	close(p.stop)
	return errors.Join(err, p.Close())
}

// servesSlots has processes of one machine serve their share of the slots until the world ends.
func (o *orders) servesSlots(n int) {
	h := o.hosts[n]
	for i := 1; ; i++ {
		at := &line{database: h.db, host: h, id: fmt.Sprint(h.name, i), n: map[string]int{}}
		p := &process{id: at.id, stop: make(chan struct{})}
		c := &common{db: at, twin: h.db, over: at.over}
		if o.begins(p, c, h.name, h) == nil {
			o.serve[n].Store(p.serving(o.flaw))
			h.lasts(at)
			close(p.stop)
			_ = p.Close() // clients may ask it still
		}
		if !o.rests(h) {
			return
		}
	}
}

// serving returns a process as clients ask it.
func (p *process) serving(planted flaw) *serving {
	s := &serving{p, p, func(hash [32]byte) (commit.Confirmer, func()) {
		if stay, here := p.Enter(p.Of(hash)); here {
			return stay, stay.Leave
		}
		return p, func() {}
	}}
	if planted == remembered {
		s.Ledger = remembering{p}
	}
	return s
}

// A remembering process has a fault: keys are for ever what it has seen them to be first, also where the slot was another's meanwhile.
type remembering struct{ *process }

// LookupKeyID implements ledger.Ledger.
func (r remembering) LookupKeyID(id ledger.ID) (*ledger.Key, bool) {
	if key, known := r.keys.Load(id); known {
		return key.(*ledger.Key), true //nolint:forcetypeassert // nothing else is stored
	}
	key, ok := r.process.LookupKeyID(id)
	if ok {
		r.keys.Store(id, key)
	}
	return key, ok
}

// passes takes a question to the process that has a slot, as far as this one has heard, over a wire that loses questions and answers.
func (o *orders) passes(ctx context.Context, from *host, p *process, slot *twinned, question []byte) ([]byte, error) {
	owner := slot.life.owner.Load()
	if owner == nil {
		return nil, slots.ErrElsewhere
	}
	number := slices.Index([]string{"a", "b", "c"}, owner.Name)
	to, there := o.hosts[number], o.serve[number].Load()
	if to == nil || there == nil {
		return nil, slots.ErrElsewhere
	}
	random := o.draws(p.id+"asks", int(p.asks.Add(1)))
	wait := func() { time.Sleep(1 + time.Duration(random.Int64N(int64(2*time.Millisecond)))) }
	fate := random.IntN(100)
	for _, h := range []*host{from, to} {
		if _, cut := h.cut.until(time.Now()); cut {
			fate = 0
		}
	}
	if wait(); fate < 3 && time.Now().Before(o.end) {
		time.Sleep(worldLease / 4)
		return nil, errLost
	}
	to.gate(time.Microsecond)
	answer, err := there.process.Answer(ctx, slot.number, question)
	to.gate(time.Microsecond)
	wait()
	if fate < 10 && time.Now().Before(o.end) {
		time.Sleep(worldLease / 4)
		if o.flaw == retried {
			return there.process.Answer(ctx, slot.number, question)
		}
		return nil, errLost
	}
	from.gate(time.Microsecond)
	return answer, err
}

// orderSlots is how many slots the worlds of TestOrdersOfSlots have, the first included.
const orderSlots = 4

// TestOrdersOfSlots has clients ask three instances that share slots, which ask each other, while slots move between them, statements and
// questions are lost, late or doubled, and instances paused, cut off and killed. Counters, policies and their epochs, holds, attestations and
// revocations answer as some order of the requests explains. Planted faults are found.
func TestOrdersOfSlots(t *testing.T) {
	if *oneWorld != 0 {
		if said, wrong := orderedSlots(t, *oneWorld, sound, orderSlots); len(wrong) > 0 {
			t.Errorf("no order of the requests explains the answers of %v: %v", wrong, said)
		}
		return
	}
	from, said := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 7)), map[string]int{} //nolint:gosec // a test's
	worlds := max(1, *simulated/10)
	for range worlds {
		s := from.Uint64()
		answers, wrong := orderedSlots(t, s, sound, orderSlots)
		for what, n := range answers {
			said[what] += n
		}
		if len(wrong) > 0 {
			t.Errorf("world %d of several slots: no order of the requests explains the answers of %v; \nrun it again: make owners SEED=%[1]d", s, wrong)
		}
	}
	t.Logf("%d ordered worlds of %d slots: %v", worlds, orderSlots, said)
	flaws := map[flaw]string{premature: "answers before appends", remembered: "keys as they were", retried: "questions asked again"}
	if worlds > 20 { // it is found in one world of some forty
		flaws[unconfirmed] = "unconfirmed answers"
	}
	for planted, name := range flaws {
		found := 0
		for n := 0; n < 1000 && found == 0; n++ {
			if _, wrong := orderedSlots(t, from.Uint64(), planted, orderSlots); len(wrong) > 0 {
				found = n + 1
			}
		}
		if t.Logf("%s: found in world %d", name, found); found == 0 {
			t.Errorf("%s: not found in 1,000 worlds", name)
		}
	}
}
