package simulate

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"bailiff/runtime/clock"
	"bailiff/runtime/system"
)

// A kernel is the scheduler and the clock of a simulated world.
type kernel struct {
	rand    *rand.Rand
	steps   int
	history []string
	ready   []metrics.Sample

	slice       time.Time // when the slice of the real time began, in which the main goroutine runs
	settled     int       // lines that the history had when everything was settled last
	interrupted int       // lines that it had before the runtime may have interrupted a goroutine; -1: it never has

	mu      sync.Mutex
	events  []*event // what may happen next
	timers  []*timer // in the order of their ends
	seq     int
	elapsed time.Duration // since the world began
	skew    time.Duration // of the wall clock
}

// An event may happen next. Of its life it is only for as long as that lasts.
type event struct {
	name string
	seq  int
	life *life
	held func() bool // whether it has to wait; nil: no
	run  func()
}

var began = time.Date(2026, 11, 25, 10, 58, 0, 0, time.UTC)

func newKernel(seed uint64) *kernel {
	return &kernel{
		rand:        rand.New(rand.NewPCG(seed, 0x5eed)),
		ready:       []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}},
		interrupted: -1, slice: time.Now(),
	}
}

// uninterrupted is how long a goroutine, and those that it wakes one after the other, run before the runtime interrupts them.
const uninterrupted = 10 * time.Millisecond

// settle returns when no goroutine can run.
//
// The runtime interrupts goroutines by the real time, and has them go on after the others that can run. On a machine with much else to
// do that changes their order, which is noted: up to there, the history is the only one of the seed.
func (k *kernel) settle() {
	for {
		runtime.Gosched()
		if metrics.Read(k.ready); k.ready[0].Value.Uint64() == 0 {
			break
		}
	}
	if k.interrupted < 0 && time.Since(k.slice) >= uninterrupted {
		k.interrupted = k.settled
	}
	k.settled = len(k.history)
	k.slice = time.Now()
}

// anew begins a slice of the real time, after the main goroutine has computed for long and before others run.
func (k *kernel) anew() {
	runtime.Gosched()
	k.slice = time.Now()
}

// note adds a line to the history.
func (k *kernel) note(format string, args ...any) {
	k.history = append(k.history, fmt.Sprintf("%5d %12v  ", k.steps, k.elapsed)+fmt.Sprintf(format, args...))
}

// chance is true once in so many times.
func (k *kernel) chance(n int) bool { return k.rand.IntN(n) == 0 }

// post adds an event.
func (k *kernel) post(e *event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seq++
	e.seq = k.seq
	k.events = append(k.events, e)
}

// pick removes one of the events that may happen, nil where there is none. They are put in an order that does not depend on which
// goroutine came first.
func (k *kernel) pick() *event {
	k.mu.Lock()
	defer k.mu.Unlock()
	slices.SortStableFunc(k.events, func(a, b *event) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.seq, b.seq)) })
	var may []int
	for i, e := range k.events {
		if e.held == nil || !e.held() {
			may = append(may, i)
		}
	}
	if len(may) == 0 {
		return nil
	}
	i := may[k.rand.IntN(len(may))]
	e := k.events[i]
	k.events = slices.Delete(k.events, i, i+1)
	return e
}

// happen has the next event happen, or time pass where there is none, and reports false where nothing can happen.
func (k *kernel) happen() bool {
	k.steps++
	k.anew()
	if e := k.pick(); e != nil {
		k.note("%s", e.name)
		e.run()
		k.settle()
		return true
	}
	return k.pass()
}

// pass has time pass until the next timer ends.
func (k *kernel) pass() bool {
	k.mu.Lock()
	if len(k.timers) == 0 {
		k.mu.Unlock()
		return false
	}
	t := k.timers[0]
	k.timers = k.timers[1:]
	t.running = false
	k.elapsed = max(k.elapsed, t.at)
	k.mu.Unlock()
	k.note("time passes")
	go t.f()
	k.settle()
	return true
}

// leap has some time pass at once, as for a machine that sleeps: each timer that ends meanwhile ends once it is over.
func (k *kernel) leap(d time.Duration) {
	k.steps++
	k.anew()
	k.mu.Lock()
	k.elapsed += d
	due := 0
	for due < len(k.timers) && k.timers[due].at <= k.elapsed {
		due++
	}
	k.mu.Unlock()
	k.note("%v pass", d)
	for range due {
		if len(k.timers) == 0 || k.timers[0].at > k.elapsed {
			break
		}
		k.pass()
	}
}

// A timer is one of the kernel's.
type timer struct {
	k       *kernel
	life    *life
	at      time.Duration
	seq     int
	f       func()
	running bool
}

// Stop implements system.Timer.
func (t *timer) Stop() bool {
	t.k.mu.Lock()
	defer t.k.mu.Unlock()
	was := t.running
	t.running = false
	t.k.timers = slices.DeleteFunc(t.k.timers, func(other *timer) bool { return other == t })
	return was
}

// Reset implements system.Timer.
func (t *timer) Reset(d time.Duration) bool {
	was := t.Stop()
	t.start(d)
	return was
}

func (t *timer) start(d time.Duration) {
	k := t.k
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seq++
	t.at, t.seq, t.running = k.elapsed+max(d, 0), k.seq, true
	i, _ := slices.BinarySearchFunc(k.timers, t, func(a, b *timer) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
	k.timers = slices.Insert(k.timers, i, t)
}

// A life is what runs between a start of the service and its end. Gates of a life that is over are open, so that its goroutines
// come to their end, and nothing that they do counts.
type life struct {
	k      *kernel
	over   bool
	random *rand.ChaCha8
	mu     sync.Mutex
	ended  chan struct{} // closed when it is over
	guard  *clock.Guarded
	stop   func() // ends what its scene has begun; nil: nothing
}

// now is the clock of the service.
func (l *life) now() time.Time { return l.guard.Now() }

func (k *kernel) newLife() *life {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], k.rand.Uint64())
	l := &life{k: k, random: rand.NewChaCha8(seed), ended: make(chan struct{})}
	l.guard = l.clock()
	return l
}

// Read implements io.Reader: randomness.
func (l *life) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.random.Read(b)
}

// gate returns when the scheduler lets the caller go on.
func (l *life) gate(name string) {
	if l.over {
		return
	}
	open := make(chan struct{})
	l.k.post(&event{name: name, life: l, run: func() { close(open) }})
	<-open
}

// goes returns a Go of system.Calls for tasks of a name.
func (l *life) goes(name string) func(task func()) {
	return func(task func()) {
		go func() {
			l.gate(name)
			task()
		}()
	}
}

// timers is a system.Timers.
func (l *life) timers(d time.Duration, f func()) system.Timer {
	t := &timer{k: l.k, life: l, f: f}
	if l.over {
		go f()
		return t
	}
	t.start(d)
	return t
}

// end ends a life: its events happen and its timers end at once. then is called before anything else runs.
func (l *life) end(then func()) {
	k := l.k
	k.mu.Lock()
	l.over = true
	close(l.ended)
	var run []func()
	k.events = slices.DeleteFunc(k.events, func(e *event) bool {
		if e.life == l {
			run = append(run, e.run)
		}
		return e.life == l
	})
	k.timers = slices.DeleteFunc(k.timers, func(t *timer) bool {
		if t.life == l {
			run = append(run, func() { go t.f() })
		}
		return t.life == l
	})
	k.mu.Unlock()
	then()
	for _, f := range run {
		f()
	}
	k.settle()
}

// clock returns a clock that starts with the wall, as the service's does.
func (l *life) clock() *clock.Guarded {
	k := l.k
	return clock.NewGuarded(clock.Sources{
		Now: func() (time.Time, time.Duration) {
			k.mu.Lock()
			defer k.mu.Unlock()
			return began.Add(k.elapsed + k.skew), k.elapsed
		},
		Counted: func() time.Duration {
			k.mu.Lock()
			defer k.mu.Unlock()
			return k.elapsed
		},
		Synchronised: func() bool { return true },
	})
}
