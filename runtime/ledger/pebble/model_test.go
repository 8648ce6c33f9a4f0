package pebbleledger

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/ledgertest"
)

// A world is a directory on a disk that loses power and fails, with a fault planted in it where the test wants one.
type world struct {
	disk   *vfs.MemFS
	broken *errorfs.Toggle
	rng    *mathrand.Rand

	every  uint64 // records between two snapshots
	loaded *int   // counts the snapshots that were there when the ledger was opened

	write *pebble.WriteOptions              // instead of Sync
	wrap  func(ledger.Ledger) ledger.Ledger // around what Open returns
}

func newWorld() *world {
	return &world{disk: vfs.NewCrashableMem(), rng: mathrand.New(mathrand.NewPCG(1, 2)), every: 8, loaded: new(int), write: pebble.Sync}
}

func (w *world) Open() (ledger.Ledger, error) {
	w.broken = &errorfs.Toggle{Injector: errorfs.ErrInjected.If(errorfs.Writes)}
	log, err := openLog("ledger", Options{FS: errorfs.Wrap(w.disk, w.broken)})
	if err != nil {
		return nil, err
	}
	log.write = w.write
	log.patience = 50 * time.Millisecond
	covers, err := commit.VerifySnapshot(log)
	if err != nil {
		return nil, err
	}
	if covers > 0 {
		*w.loaded++
	}
	l, err := commit.Open(log, commit.Options{Random: rand.Reader, SnapshotEvery: w.every})
	if err != nil {
		return nil, err
	}
	log.notify(l.Fail)
	if w.wrap != nil {
		return w.wrap(l), nil
	}
	return l, nil
}

func (w *world) Crash(l ledger.Ledger, luck int) {
	after := w.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: luck, RNG: w.rng})
	l.Close()
	w.disk = after
}

func (w *world) Break() { w.broken.On() }

// Mend has the process end, so that a database that cannot close holds nothing any more.
func (w *world) Mend(l ledger.Ledger, luck int) {
	l.Close()
	w.disk = w.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: luck, RNG: w.rng})
}

// TestModel has the ledger make snapshots all the time, each of which has to be what the log comes to.
func TestModel(t *testing.T) {
	loaded := 0
	ledgertest.Model(t, 200, func() ledgertest.World {
		w := newWorld()
		w.loaded = &loaded
		return w
	})
	if t.Logf("opened with a snapshot: %d times", loaded); loaded < 50 && !t.Failed() {
		t.Error("hardly any ledger was opened with a snapshot")
	}
}

// TestModelCatches plants faults that Model must find, and find for what they are.
func TestModelCatches(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(*world)
		says  string // a regular expression
	}{
		"a dropped sync":    {func(w *world) { w.write = pebble.NoSync }, "acknowledged|a log that is not this one"},
		"an early answer":   {func(w *world) { w.wrap = faulty(func(f *fault) { f.noWait = true }) }, "acknowledged|is not handed out"},
		"a lost expiry":     {func(w *world) { w.wrap = faulty(func(f *fault) { f.spoil = longerHold }) }, "HoldExpires"},
		"a lost window":     {func(w *world) { w.wrap = faulty(func(f *fault) { f.spoil = dayForHour }) }, "counter|Result|refused"},
		"a skipped counter": {func(w *world) { w.wrap = faulty(func(f *fault) { f.spoil = skipLast }) }, "counter|Result|refused"},
		"a second use":      {func(w *world) { w.wrap = faulty(func(f *fault) { f.usable = true }) }, "UseOnce: <nil>, the model says ledger: used"},
		"a second operator": {func(w *world) {
			w.wrap = faulty(func(f *fault) { f.spoilDeployment = func(d *ledger.Deployment) { d.Operator = [32]byte{1} } })
		}, "pinned to another operator|deployment|Operator"},
		"an activation not used up": {func(w *world) {
			w.wrap = faulty(func(f *fault) { f.spoilDeployment = func(d *ledger.Deployment) { d.Activation = nil } })
		}, "the model says ledger: (used|expired)"},
		"an expiry not recorded":   {func(w *world) { w.wrap = faulty(func(f *fault) { f.noExpiry = true }) }, "ExpireHolds: 0"},
		"a lost delivery":          {func(w *world) { w.wrap = faulty(func(f *fault) { f.dropDelivery = true }) }, "is not handed out"},
		"a retry forgotten":        {func(w *world) { w.wrap = faulty(func(f *fault) { f.noRetry = true }) }, "is not handed out"},
		"a delivery made for ever": {func(w *world) { w.wrap = faulty(func(f *fault) { f.again = true }) }, "nothing that waits"},
	} {
		t.Run(name, func(t *testing.T) {
			says := ledgertest.Caught(t, 100, func() ledgertest.World { w := newWorld(); c.plant(w); return w })
			if t.Logf("the model says: %s", says); !regexp.MustCompile(c.says).MatchString(says) {
				t.Fatalf("the model did not notice, or not that: %q", says)
			}
		})
	}
}

// A fault is a ledger with a defect.
type fault struct {
	ledger.Ledger
	noWait bool
	spoil  func(*ledger.Plan)

	spoilDeployment func(*ledger.Deployment)

	usable, noExpiry, dropDelivery, noRetry, again bool
}

func (f *fault) UseOnce(ctx context.Context, u *ledger.Use) error {
	err := f.Ledger.UseOnce(ctx, u)
	if f.usable && errors.Is(err, ledger.ErrUsed) {
		return nil
	}
	return err
}

func (f *fault) Deploy(ctx context.Context, d *ledger.Deployment) (ledger.Deployed, error) {
	e := *d
	if f.spoilDeployment != nil {
		f.spoilDeployment(&e)
	}
	return f.Ledger.Deploy(ctx, &e)
}

func (f *fault) ExpireHolds(ctx context.Context, at int64, limit int) (int, error) {
	if f.noExpiry {
		return 0, nil
	}
	return f.Ledger.ExpireHolds(ctx, at, limit)
}

func (f *fault) Due(ctx context.Context, at int64, limit int) ([]ledger.Delivery, int64, error) {
	due, next, err := f.Ledger.Due(ctx, at, limit)
	if f.dropDelivery && len(due) > 0 {
		due = due[1:]
	}
	return due, next, err
}

func (f *fault) SettleDelivery(r ledger.DeliveryResult) error {
	if f.noRetry {
		r.Next = 0
	}
	if f.again && r.Delivered {
		r.Delivered, r.Next = false, r.At
	}
	return f.Ledger.SettleDelivery(r)
}

func faulty(set func(*fault)) func(ledger.Ledger) ledger.Ledger {
	return func(l ledger.Ledger) ledger.Ledger {
		f := &fault{Ledger: l}
		set(f)
		return f
	}
}

func (f *fault) Submit(p *ledger.Plan) ledger.Ticket {
	q := *p
	if f.spoil != nil {
		f.spoil(&q)
	}
	ticket := f.Ledger.Submit(&q)
	if f.noWait && ticket.Outcome().Result != ledger.Unknown {
		return ledger.NewTicket(ticket.Outcome(), nil, nil)
	}
	return ticket
}

func longerHold(p *ledger.Plan) {
	if p.Hold != nil {
		hold := *p.Hold
		hold.Lifetime = 2 * ledger.HoldLifetime
		p.Hold = &hold
	}
}

func dayForHour(p *ledger.Plan) {
	p.Reservations = append([]ledger.Reservation(nil), p.Reservations...)
	for i := range p.Reservations {
		if p.Reservations[i].Counter.Window == ledger.Hour {
			p.Reservations[i].Counter.Window = ledger.Day
		}
	}
}

func skipLast(p *ledger.Plan) {
	if n := len(p.Reservations); n > 1 {
		p.Reservations = p.Reservations[:n-1]
	}
}
