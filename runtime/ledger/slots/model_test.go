package slots

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	mathrand "math/rand/v2"
	"regexp"
	"testing"
	"time"

	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

var histories = flag.Int("histories", 6, "how many histories TestModel makes of each kind")

// A modelled world has two instances over slots, which are divided between them anew each time that they are opened.
type modelled struct {
	*world
	slots  int
	random *mathrand.Rand
	plant  flaw
	had    map[int]int  // which instance had a slot last
	moved  map[int]bool // slots that another one had before
}

// takes notes which instance takes a slot.
func (m *modelled) takes(slot, instance int) {
	before, had := m.had[slot]
	m.had[slot], m.moved[slot] = instance, m.moved[slot] || had && before != instance
}

// A flaw is planted in a modelled world.
type flaw int

const (
	sound     flaw = iota
	early          // an append is answered that is not made
	deaf           // a service-wide record is answered before all slots have it
	forgetful      // the last group of a slot's log is lost where it moves
	epochless      // the epoch of a plan is not looked at where another instance has had the slot
	reusable       // an attestation may be used again there
)

// Open implements ledgertest.World.
func (m *modelled) Open() (ledger.Ledger, error) {
	if m.world == nil {
		m.world, m.had, m.moved = newWorld(m.slots), map[int]int{}, map[int]bool{}
		m.remote, m.early, m.deaf = true, m.plant == early, m.plant == deaf
	}
	m.broken.Store(false)
	var shares [2][]int
	for _, slot := range m.all() {
		of := m.random.IntN(2)
		shares[of] = append(shares[of], slot)
		m.takes(slot, of)
	}
	o := Options{
		Every: 5 * time.Millisecond, GlobalPatience: 20 * time.Second, Unbound: true,
		Commit: commit.Options{Random: rand.Reader, SnapshotEvery: 8, IndexEvery: 3, MaxGroups: ledgertest.ModelGroups},
	}
	p := &pair{of: m}
	var faults []error
	for n, may := range shares {
		i, err := m.begin(o, may...)
		if err != nil {
			return nil, err
		}
		p.all[n] = i
		for _, slot := range may {
			faults = append(faults, i.waits(slot, true))
		}
	}
	p.Ledger = p.all[0]
	return p, errors.Join(faults...)
}

// Crash implements ledgertest.World.
func (m *modelled) Crash(l ledger.Ledger, _ int) {
	m.broken.Store(true)
	_ = l.Close()
}

// Break implements ledgertest.World.
func (m *modelled) Break() { m.broken.Store(true) }

// Mend implements ledgertest.World.
func (m *modelled) Mend(l ledger.Ledger, _ int) { _ = l.Close() }

// A pair is two instances. The first one is asked, and asks the other.
type pair struct {
	ledger.Ledger
	all [2]*instance
	of  *modelled
}

// Of implements ledgertest.Several.
func (p *pair) Of(hash [32]byte) int { return p.all[0].Of(hash) }

// has returns the instance that has a slot, nil where none has.
func (p *pair) has(slot int) *instance {
	for _, i := range p.all {
		if _, err := i.at(slot); err == nil {
			return i
		}
	}
	return nil
}

// SlotLog implements ledgertest.Several.
func (p *pair) SlotLog(slot int) ledger.Log {
	l, err := p.all[0].ask(slot)
	if err != nil {
		return unread{err}
	}
	return l
}

// SlotHealth implements ledgertest.Several.
func (p *pair) SlotHealth(slot int) error {
	i := p.has(slot)
	if i == nil {
		return ErrElsewhere
	}
	l, err := i.at(slot)
	if err != nil {
		return err
	}
	return l.Health()
}

// Move implements ledgertest.Mover.
func (p *pair) Move(slot int) error {
	from, to := p.all[0], p.all[1]
	if p.has(slot) == to {
		from, to = to, from
		p.of.takes(slot, 0)
	} else {
		p.of.takes(slot, 1)
	}
	if p.of.plant != forgetful {
		return from.hands(slot, to)
	}
	here, err := from.at(slot)
	if err != nil {
		return err
	}
	if err := here.Flush(context.Background()); err != nil {
		return err
	}
	last, err := p.of.logs[slot].Head()
	if err != nil {
		return err
	}
	if err := p.of.logs[slot].Truncate(max(last, 2)); err != nil {
		return err
	}
	return from.hands(slot, to)
}

// movedKey reports whether the slot of a key has moved, in a world with a flaw.
func (p *pair) movedKey(planted flaw, id ledger.ID) bool {
	if p.of.plant != planted {
		return false
	}
	slot, err := p.all[0].slotOfKey(id)
	return err == nil && p.of.moved[slot]
}

// Submit implements ledger.Ledger.
func (p *pair) Submit(plan *ledger.Plan) ledger.Ticket {
	if p.movedKey(epochless, plan.Key) {
		if key, ok := p.LookupKeyID(plan.Key); ok {
			now := *plan
			now.Epoch = key.Epoch
			plan = &now
		}
	}
	return p.Ledger.Submit(plan)
}

// UseOnce implements ledger.Ledger.
func (p *pair) UseOnce(ctx context.Context, u *ledger.Use) error {
	err := p.Ledger.UseOnce(ctx, u)
	if errors.Is(err, ledger.ErrUsed) && p.movedKey(reusable, u.Key) {
		return nil
	}
	return err
}

// BindDefault implements ledger.Ledger: each instance has the same default policy, that which has slots with keys first. The other could not
// tell that they refuse it.
func (p *pair) BindDefault(ctx context.Context, d *ledger.DefaultPolicy) (bound ledger.BoundDefault, err error) {
	first, second := p.all[0], p.all[1]
	keys := func(i *instance) bool {
		for slot := range i.Here() {
			if slot > 0 {
				return true
			}
		}
		return false
	}
	if !keys(first) {
		first, second = second, first
	}
	if bound, err = first.BindDefault(ctx, d); err != nil {
		return bound, err
	}
	_, err = second.BindDefault(ctx, d)
	return bound, err
}

// Frozen implements ledger.Ledger. An instance that has no slot may know less for a moment.
func (p *pair) Frozen() ledger.HaltState { return p.first().Frozen() }

// Operators implements ledger.Ledger.
func (p *pair) Operators() ledger.Operators { return p.first().Operators() }

// first returns the instance that has the first slot.
func (p *pair) first() ledger.Ledger {
	if i := p.has(0); i != nil {
		return i
	}
	return p.Ledger
}

// ExpireHolds implements ledger.Ledger.
func (p *pair) ExpireHolds(ctx context.Context, at int64, limit int) (total int, err error) {
	for _, i := range p.all {
		if err == nil && total < limit {
			var n int
			n, err = i.ExpireHolds(ctx, at, limit-total)
			total += n
		}
	}
	return total, err
}

// Due implements ledger.Ledger.
func (p *pair) Due(ctx context.Context, at int64, limit int) (due []ledger.Delivery, _ int64, err error) {
	for _, i := range p.all {
		some, _, fault := i.Due(ctx, at, limit)
		due, err = append(due, some...), errors.Join(err, fault)
	}
	return due, 0, err
}

// SettleDelivery implements ledger.Ledger.
func (p *pair) SettleDelivery(r ledger.DeliveryResult) error {
	slot, err := p.all[0].slotOfKey(r.Key)
	if err != nil {
		return err
	}
	if i := p.has(slot); i != nil {
		return i.SettleDelivery(r)
	}
	return ErrElsewhere
}

// Close implements ledger.Ledger.
func (p *pair) Close() error { return errors.Join(p.all[0].Close(), p.all[1].Close()) }

func modelWorlds(t *testing.T, slots int, plant flaw) func() ledgertest.World {
	from := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 0)) //nolint:gosec // a test's
	return func() ledgertest.World {
		return &modelled{slots: slots, plant: plant, random: mathrand.New(mathrand.NewPCG(from.Uint64(), 0))} //nolint:gosec // a test's
	}
}

// TestModel holds two instances over slots, which hand slots over to each other, fail and lose power, against the naive model: each slot's log
// against one of its own, and what concerns all keys against all of them. Planted faults are found.
func TestModel(t *testing.T) {
	for name, slots := range map[string]int{"a key a slot": 4, "both keys in a slot": 2} {
		t.Run(name, func(t *testing.T) {
			ledgertest.Model(t, *histories, modelWorlds(t, slots, sound))
		})
	}
	for name, c := range map[string]struct {
		plant flaw
		says  string
	}{
		"an answer before the append":       {early, "acknowledged|although nothing can be written"},
		"an answer before all slots follow": {deaf, "outcome|deployments|survived|the model says"},
		"a group lost where a slot moves":   {forgetful, "survived|moved with"},
		"an epoch forgotten there":          {epochless, "stale"},
		"an attestation used twice there":   {reusable, "UseOnce: <nil>, the model says ledger: used"},
	} {
		t.Run(name, func(t *testing.T) {
			if said, caught := ledgertest.Caught(t, 200, regexp.MustCompile(c.says), modelWorlds(t, 4, c.plant)); !caught {
				t.Fatalf("the model did not notice, or not that: %q", said)
			}
		})
	}
}
