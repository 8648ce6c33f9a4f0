package simulate

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/reopen"
)

// A scene is what works on the ledger of a world.
type scene interface {
	// begin starts what belongs to a life. It is called in the background, and may wait.
	begin(w *world, l *life)
	// act starts something that a client, an operator or the network does; it may do nothing.
	act(w *world)
	// fault has something fail that is the scene's own.
	fault(w *world)
	// mend has all of that work again.
	mend()
	// check returns a problem that is left once nothing is under way any more.
	check(w *world) error
}

// A world is a simulated machine with the service on it.
type world struct {
	*kernel
	seed     uint64
	disk     *disk
	scene    scene
	life     *life
	ledger   *commit.Ledger
	checked  *ledgertest.Checked
	faults   bool           // whether anything fails
	active   int            // clients' calls that are under way
	reached  map[string]int // how often each kind of event happened
	problems error
	starts   int
}

// one makes the program run on one processor and without garbage collection until done is called, which collects what a world has
// left where that is much.
func one() (done func()) {
	processors, percent := runtime.GOMAXPROCS(1), debug.SetGCPercent(-1)
	return func() {
		runtime.GOMAXPROCS(processors)
		debug.SetGCPercent(percent)
	}
}

func newWorld(seed uint64, faults bool, reached map[string]int) *world {
	k := newKernel(seed)
	return &world{kernel: k, seed: seed, disk: &disk{k: k}, faults: faults, reached: reached}
}

// run runs a world for so many steps, and until nothing is under way after that. It returns the problem that it finds.
func (w *world) run(steps int) error {
	if err := w.boot(); err != nil {
		return err
	}
	for w.active > 0 && w.happen() { // without faults
	}
	for w.steps < steps && w.problem() == nil {
		w.step()
	}
	w.rest()
	if err := w.problem(); err != nil {
		return err
	}
	err := w.checked.Compare(w.time())
	if err == nil {
		err = w.scene.check(w)
	}
	if err == nil {
		err = w.restart("stopped at the end")
	}
	if err == nil {
		w.rest()
		err = errors.Join(w.problem(), w.checked.Compare(w.time()))
	}
	w.end()
	return err
}

// problem returns the first problem so far.
func (w *world) problem() error {
	if w.problems != nil {
		return w.problems
	}
	return w.checked.Violation()
}

// time returns the time of the wall, as the service has it in its scene.
func (w *world) time() int64 { return began.Add(w.elapsed + w.skew).UnixNano() }

// boot starts the service. A disk that fails meanwhile is mended.
func (w *world) boot() error {
	w.starts++
	l := w.newLife()
	w.life = l
	random := reopenRandom{l}
	opened := false
	open := func() (commit.Log, error) {
		if !l.over {
			w.inspect()
		}
		log, err := w.disk.open(l)
		if err == nil && opened {
			w.checked.Reread(w.disk.durable)
		}
		return log, err
	}
	log, err := reopen.Open(open, reopen.Options{Random: random, Go: l.goes("reopening"), Timers: l.timers})
	if err == nil {
		w.ledger, err = commit.Open(log, commit.Options{Random: l, Go: l.goes("the ledger works"), Timers: l.timers, SnapshotEvery: 24, MaxGroups: w.groups()})
	}
	if err != nil {
		l.end(func() {})
		if !errors.Is(err, ledgertest.ErrDisk) {
			return fmt.Errorf("the service does not start: %w", err)
		}
		w.note("the service does not start: %v", err)
		w.disk.broken = false
		return w.boot()
	}
	opened = true
	w.settle()
	if w.checked == nil {
		w.checked = ledgertest.Check(w.ledger, ledgertest.Checks{Groups: w.groups(), Durable: func() uint64 { return w.disk.durable }, Damaged: func() bool { return w.disk.lost != nil }, Go: l.goes("a plan is acknowledged"), Reached: w.reached})
	} else if err := w.checked.Restarted(w.ledger, l.goes("a plan is acknowledged")); err != nil {
		return err
	}
	w.active++
	l.goes("the service begins")(func() {
		defer w.done(l)
		if !l.over {
			w.scene.begin(w, l)
		}
	})
	w.settle()
	return nil
}

// reopenRandom is the randomness of a life.
type reopenRandom struct{ *life }

func (w *world) groups() int {
	if _, ok := w.scene.(*ledgerScene); ok {
		return ledgertest.ModelGroups
	}
	return ledger.MaxGroups
}

// start starts a call of a client.
func (w *world) start(name string, call func(l *life)) {
	l := w.life
	w.active++
	w.anew()
	l.goes(name)(func() {
		defer w.done(l)
		if !l.over {
			call(l)
		}
	})
	w.settle()
}

func (w *world) done(l *life) {
	if !l.over {
		w.active--
	}
}

// maxActive is how many calls are under way at once.
const maxActive = 5

// step takes one step.
func (w *world) step() {
	switch {
	case w.faults && w.chance(8):
		w.fault()
	case w.active < maxActive && w.chance(3):
		w.scene.act(w)
	case w.chance(24):
		w.leap(time.Duration(w.rand.Int64N(int64(w.horizon()))))
	case w.ledger.Health() != nil && w.chance(2): // it is opened again after a pause
		w.disk.broken = w.disk.broken && !w.chance(3)
		w.steps++
		w.pass()
	default:
		if !w.happen() {
			w.scene.act(w)
		}
	}
}

// horizon is how much time passes at most.
func (w *world) horizon() time.Duration {
	if w.ledger.Health() != nil { // it is opened again every few seconds
		return 10 * time.Second
	}
	return []time.Duration{time.Second, time.Minute, 20 * time.Minute, 26 * time.Hour}[min(w.rand.IntN(12), 9)/3]
}

// rest lets everything come to its end that is under way, with all that fails mended.
func (w *world) rest() {
	w.note("everything is mended")
	if w.disk.broken, w.disk.misdirect = false, false; w.faults {
		w.disk.failAt = 0
	}
	w.inspect()
	w.scene.mend()
	for range 2000 {
		if w.problem() != nil || w.active == 0 && w.ledger.Health() == nil && len(w.events) == 0 {
			return
		}
		if !w.happen() {
			break
		}
	}
	if w.problem() == nil && (w.active > 0 || w.ledger.Health() != nil) {
		w.problems = fmt.Errorf("%d calls are not answered, health: %w", w.active, errors.Join(w.ledger.Health()))
	}
}

// fault has something fail.
func (w *world) fault() {
	w.steps++
	switch w.rand.IntN(20) {
	case 0:
		w.problems = w.crash()
	case 1:
		if w.chance(2) {
			return
		}
		w.problems = w.restart("stopped and started")
	case 2, 3, 4:
		w.disk.failAt = w.disk.calls + 1 + w.rand.IntN(3)
		w.note("the disk will fail at call %d", w.disk.failAt)
	case 5:
		w.disk.broken = true
		w.note("the disk is broken")
	case 6, 7, 8, 9:
		if w.disk.broken {
			w.disk.broken = false
			w.note("the disk is mended")
		}
	case 10:
		if len(w.disk.groups) > 3 && w.disk.lost == nil {
			w.disk.misdirect = true
		}
	case 11:
		w.skew += time.Duration(w.rand.Int64N(int64(8*time.Minute))) - 4*time.Minute
		w.note("the wall clock is off by %v", w.skew)
	case 12:
		w.disk.crashSnapshot()
	case 13, 14, 15, 16:
		w.scene.fault(w)
	default:
		w.steps--
		w.happen()
	}
}

// end ends the life of the service, as if the power was cut.
func (w *world) end() {
	w.anew()
	w.checked.Crashed()
	l, store := w.life, w.ledger
	l.end(func() {
		go func() { _ = store.Close() }()
		if l.stop != nil {
			go l.stop()
		}
	})
	w.active = 0
}

// crash cuts the power and starts the service again.
func (w *world) crash() error {
	w.note("the power is cut")
	w.reached["crash"]++
	w.disk.crash()
	w.end()
	return w.reboot()
}

// restart stops the service and starts it again.
func (w *world) restart(how string) error {
	w.note("the service is %s", how)
	w.reached["restart"]++
	closed := false
	go func() {
		if w.life.stop != nil {
			w.life.stop()
		}
		_ = w.ledger.Close()
		closed = true
	}()
	w.settle()
	for range 2000 {
		if closed || !w.happen() {
			break
		}
	}
	if !closed {
		return errors.New("the ledger does not close")
	}
	w.end()
	return w.reboot()
}

// reboot starts the service on what the disk has.
func (w *world) reboot() error {
	d := w.disk
	if d.broken, d.misdirect = false, false; w.faults {
		d.failAt = 0
	}
	if err := w.boot(); err != nil {
		return err
	}
	covers, err := commit.VerifySnapshot(&snapped{copied(d.groups), d.snapshot})
	if err != nil {
		return fmt.Errorf("a replay does not give the snapshot: %w", err)
	}
	if covers > 0 {
		w.reached["snapshot"]++
	}
	return nil
}

// inspect holds that a write that landed on another group is found, and has the operator put the disk right.
func (w *world) inspect() {
	d := w.disk
	if d.lost == nil {
		return
	}
	w.reached["misdirected"]++
	if _, err := commit.VerifyLog(copied(d.groups), func(ledger.Beginning) error { return nil }, func(ledger.Head) error { return nil }); !errors.Is(err, ledger.ErrCorrupt) {
		w.problems = fmt.Errorf("a write landed on another group, and the log is verified: %w", errors.Join(err))
	}
	d.restore()
}

// snapped is a copied log with a snapshot.
type snapped struct {
	copied
	snapshot []byte
}

// SaveSnapshot implements commit.Snapshots.
func (*snapped) SaveSnapshot([]byte) error { return ledger.ErrUnavailable }

// LoadSnapshot implements commit.Snapshots.
func (s *snapped) LoadSnapshot() ([]byte, error) { return s.snapshot, nil }

// ledgerScene is clients that ask the ledger for all that it does.
type ledgerScene struct {
	story *ledgertest.Story
	begun bool
}

func (s *ledgerScene) begin(w *world, _ *life) {
	if s.story == nil {
		s.story = ledgertest.NewStory(w.checked)
	}
	if !s.begun { // or the disk has failed meanwhile
		s.begun = s.story.Begin() == nil
	}
}

func (s *ledgerScene) act(w *world) {
	w.steps++
	if !s.begun {
		w.start("the service begins again", func(l *life) { s.begin(w, l) })
		return
	}
	word := w.rand.Uint32()
	w.note("a client asks: %d", word)
	w.start("a client's call", func(*life) { s.story.Step(word, w.time()) })
}

func (*ledgerScene) check(*world) error { return nil }
func (*ledgerScene) fault(*world)       {}
func (*ledgerScene) mend()              {}
