package pebbleledger

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"io"
	mathrand "math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

// A world is a directory on a disk that loses power and fails, with a fault planted in it where the test wants one.
type world struct {
	disk   *vfs.MemFS
	broken *errorfs.Toggle
	failed atomic.Bool // the disk was broken since the ledger was opened
	rng    *mathrand.Rand
	locks  sync.Mutex // for locking

	every   uint64        // records between two snapshots
	stretch uint64        // records of a stretch of the index
	extra   int           // groups that a key may have beyond the model's
	loaded  *int          // counts the snapshots that were there when the ledger was opened
	indexed *int          // counts the indexes that were
	found   *atomic.Int64 // counts the lists that readers were given

	put func(lists map[ledger.ID][]byte) // spoils what is put into the index

	write *pebble.WriteOptions              // instead of Sync
	wrap  func(ledger.Ledger) ledger.Ledger // around what Open returns
}

func newWorld() *world {
	return &world{disk: vfs.NewCrashableMem(), rng: mathrand.New(mathrand.NewPCG(1, 2)), every: 8, stretch: 3, loaded: new(int), indexed: new(int), found: new(atomic.Int64), write: pebble.Sync}
}

func (w *world) Open() (ledger.Ledger, error) {
	w.broken = &errorfs.Toggle{Injector: errorfs.ErrInjected.If(errorfs.Writes)}
	log, err := openLog("ledger", Options{FS: errorfs.Wrap(locking{w.disk, &w.locks}, w.broken)})
	if err != nil {
		return nil, err
	}
	log.write = w.write
	w.failed.Store(false)
	covers, err := commit.VerifySnapshot(log)
	if err != nil {
		return nil, err
	}
	if covers > 0 {
		*w.loaded++
	}
	if w.put == nil {
		if covers, err = commit.VerifyIndex(log); err != nil {
			return nil, err
		}
		if covers > 0 {
			*w.indexed++
		}
	}
	l, err := commit.Open(watched{log, w}, commit.Options{Random: rand.Reader, SnapshotEvery: w.every, IndexEvery: w.stretch, MaxGroups: ledgertest.ModelGroups + w.extra})
	if err != nil {
		return nil, err
	}
	if w.wrap != nil {
		return w.wrap(l), nil
	}
	return l, nil
}

func (w *world) Crash(l ledger.Ledger, luck int) {
	after := w.clone(luck)
	l.Close()
	w.disk = after
}

func (w *world) clone(luck int) *vfs.MemFS {
	w.locks.Lock()
	defer w.locks.Unlock()
	return w.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: luck, RNG: w.rng})
}

// A locking file system keeps Lock from running beside CrashClone: there MemFS waits for itself.
type locking struct {
	vfs.FS
	locks *sync.Mutex
}

func (l locking) Lock(name string) (io.Closer, error) {
	l.locks.Lock()
	defer l.locks.Unlock()
	return l.FS.Lock(name)
}

func (w *world) Break() {
	w.failed.Store(true)
	w.broken.On()
}

// patience is how long closing may take: on a disk that works as long as a busy machine needs, so that no test fails for that.
func (w *world) patience() time.Duration {
	if w.failed.Load() {
		return 250 * time.Millisecond
	}
	return time.Minute
}

// Mend has the process end, so that a database that cannot close holds nothing any more.
func (w *world) Mend(l ledger.Ledger, luck int) {
	l.Close()
	w.disk = w.clone(luck)
}

// A watched log counts what readers get from its index, and spoils what is put into it where the world wants that.
type watched struct {
	*log
	world *world
}

func (l watched) OpenIndex() (commit.Index, error) {
	index, err := l.log.OpenIndex()
	if err != nil {
		return nil, err
	}
	return watchedIndex{index, l.world}, nil
}

// Close implements commit.Log.
func (l watched) Close() error {
	l.patience = l.world.patience()
	return l.log.Close()
}

type watchedIndex struct {
	commit.Index
	world *world
}

func (x watchedIndex) Put(mark []byte, stretch uint64, lists map[ledger.ID][]byte) error {
	if x.world.put != nil {
		x.world.put(lists)
	}
	return x.Index.Put(mark, stretch, lists)
}

func (x watchedIndex) Close() error {
	x.Index.(*index).patience = x.world.patience()
	return x.Index.Close()
}

func (x watchedIndex) Lists(key ledger.ID, from uint64, yield func(uint64, []byte) bool) error {
	return x.Index.Lists(key, from, func(stretch uint64, list []byte) bool {
		x.world.found.Add(1)
		return yield(stretch, list)
	})
}

var histories = flag.Int("histories", 30, "how many histories TestModel makes")

// TestModel has the ledger make snapshots and its index all the time, each of which has to be what the log comes to.
func TestModel(t *testing.T) {
	loaded, indexed, found := 0, 0, new(atomic.Int64)
	ledgertest.Model(t, *histories, func() ledgertest.World {
		w := newWorld()
		w.loaded, w.indexed, w.found = &loaded, &indexed, found
		return w
	})
	if t.Logf("opened with a snapshot: %d times", loaded); loaded < 50 && !t.Failed() {
		t.Error("hardly any ledger was opened with a snapshot")
	}
	if t.Logf("opened with an index: %d times, and read %d lists", indexed, found.Load()); (indexed < 50 || found.Load() < 500) && !t.Failed() {
		t.Error("hardly any ledger was opened or read with an index")
	}
}

// TestModelCatches plants faults that Model must find, and find for what they are.
func TestModelCatches(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(*world)
		says  string // a regular expression
	}{
		"a dropped sync":      {func(w *world) { w.write = pebble.NoSync }, "acknowledged|a log that is not this one"},
		"an early answer":     {func(w *world) { w.wrap = faulty(func(f *fault) { f.noWait = true }) }, "acknowledged|is not handed out"},
		"a lost expiry":       {func(w *world) { w.wrap = faulty(func(f *fault) { f.spoil = longerHold }) }, "HoldExpires"},
		"a lost window":       {func(w *world) { w.wrap = faulty(func(f *fault) { f.spoil = dayForHour }) }, "counter|Result|refused"},
		"a skipped counter":   {func(w *world) { w.wrap = faulty(func(f *fault) { f.spoil = skipLast }) }, "counter|Result|refused|too many groups"},
		"a forgotten request": {func(w *world) { w.wrap = faulty(func(f *fault) { f.spoil = func(p *ledger.Plan) { p.Replay = nil } }) }, "replayed|replay of"},
		"a second use":        {func(w *world) { w.wrap = faulty(func(f *fault) { f.usable = true }) }, "UseOnce: <nil>, the model says ledger: used"},
		"a second operator": {func(w *world) {
			w.wrap = faulty(func(f *fault) { f.spoilDeployment = func(d *ledger.Deployment) { d.Operator = [32]byte{1} } })
		}, "pinned to another operator|deployment|Operator"},
		"an activation not used up": {func(w *world) {
			w.wrap = faulty(func(f *fault) { f.spoilDeployment = func(d *ledger.Deployment) { d.Activation = nil } })
		}, "the model says ledger: (used|expired)"},
		"an expiry not recorded":           {func(w *world) { w.wrap = faulty(func(f *fault) { f.noExpiry = true }) }, "ExpireHolds: 0"},
		"a lost delivery":                  {func(w *world) { w.wrap = faulty(func(f *fault) { f.dropDelivery = true }) }, "is not handed out"},
		"a change that counts as accepted": {func(w *world) { w.wrap = faulty(func(f *fault) { f.accepts = true }) }, "pins"},
		"pins lost by opening":             {func(w *world) { w.wrap = faulty(func(f *fault) { f.met = map[string]bool{} }) }, "pins"},
		"pins by name alone":               {func(w *world) { w.wrap = faulty(func(f *fault) { f.sameTools = true }) }, "pins"},
		"a retry forgotten":                {func(w *world) { w.wrap = faulty(func(f *fault) { f.noRetry = true }) }, "is not handed out|webhooks, <nil>"},
		"an index that forgets a key": {func(w *world) {
			w.put = func(lists map[ledger.ID][]byte) { delete(lists, ledgertest.ID('k', 0)) }
		}, "events of key"},
		"an index that forgets a group": {func(w *world) {
			w.put = func(lists map[ledger.ID][]byte) {
				for key, list := range lists {
					lists[key] = list[:len(list)-1]
				}
			}
		}, "events of key"},
		"a group too many":         {func(w *world) { w.extra = 1 }, "Result|the model says too many groups|counter "},
		"a delivery made for ever": {func(w *world) { w.wrap = faulty(func(f *fault) { f.again = true }) }, "nothing that waits"},
	} {
		t.Run(name, func(t *testing.T) {
			world := func() ledgertest.World { w := newWorld(); c.plant(w); return w }
			if said, caught := ledgertest.Caught(t, 100, regexp.MustCompile(c.says), world); !caught {
				t.Fatalf("the model did not notice, or not that: %q", said)
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
	met                                            map[string]bool

	accepts, sameTools bool
}

func (f *fault) UseOnce(ctx context.Context, u *ledger.Use) error {
	err := f.Ledger.UseOnce(ctx, u)
	if f.usable && errors.Is(err, ledger.ErrUsed) {
		return nil
	}
	return err
}

// MeetTools takes every definition of a name for the same.
func (f *fault) MeetTools(ctx context.Context, l *ledger.ToolList) error {
	same := *l
	same.Tools = slices.Clone(l.Tools)
	for i := range same.Tools {
		if f.met != nil {
			f.met[same.Tools[i].Name] = true
		}
		if f.sameTools {
			same.Tools[i].Definition = []byte(same.Tools[i].Name)
		}
	}
	return f.Ledger.MeetTools(ctx, &same)
}

// Pins has no tool that was not met since the ledger was opened.
func (f *fault) Pins(ctx context.Context, key ledger.ID, server string) ([]ledger.Pin, error) {
	pins, err := f.Ledger.Pins(ctx, key, server)
	return slices.DeleteFunc(pins, func(p ledger.Pin) bool { return f.met != nil && !f.met[p.Tool] }), err
}

// Pin takes what has changed for accepted.
func (f *fault) Pin(ctx context.Context, key ledger.ID, server, tool string) (ledger.Pin, error) {
	p, err := f.Ledger.Pin(ctx, key, server, tool)
	if f.accepts && p.Changed.Text != nil {
		p.Accepted, p.Changed = p.Changed, ledger.Definition{}
	}
	return p, err
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
