package simulate

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"bailiff/fuzz/kit/seed"
)

var (
	seeds = flag.Int("seeds", 500, "how many worlds are simulated")
	twice = flag.Int("twice", 50, "how many worlds are simulated twice")
	steps = flag.Int("steps", 200, "how many steps each has, besides those to its end")
	only  = flag.Uint64("world", 0, "the seed of the one world to simulate, with its history; 0: many")
)

// sceneOf returns the scene of a seed.
func (w *world) sceneOf(m *materials) scene {
	if w.seed%3 == 0 {
		return &ledgerScene{}
	}
	return newAuthorityScene(m, w.kernel)
}

// result is what came of a world.
type result struct {
	err     error
	steps   int
	history []string

	interrupted int // of the history's lines, so many are sure to come again; -1: all
}

func simulate(seed uint64, steps int, reached map[string]int) result {
	m, err := material()
	if err != nil {
		return result{err: err}
	}
	w := newWorld(seed, true, reached)
	w.scene = w.sceneOf(m)
	err = w.run(steps)
	return result{err, w.steps, w.history, w.interrupted}
}

// doubt says from where on the history may not come again.
func (r result) doubt() string {
	if r.interrupted < 0 {
		return ""
	}
	return fmt.Sprintf("\nThe machine was busy: after line %d of the history, goroutines may have run in an order that does not come again.", r.interrupted)
}

// TestSimulate simulates fresh worlds.
func TestSimulate(t *testing.T) {
	defer one()()
	if *only != 0 {
		r := simulate(*only, *steps, map[string]int{})
		t.Logf("%s", strings.Join(r.history, "\n"))
		if r.err != nil {
			t.Fatalf("the simulator finds: %v%s", r.err, r.doubt())
		}
		return
	}
	from, all, reached, busy := rand.New(rand.NewPCG(uint64(seed.Value(t)), 1)), 0, map[string]int{}, 0
	for n := range *seeds {
		seed := from.Uint64()
		r := simulate(seed, *steps, reached)
		for try := 0; r.err != nil && r.interrupted >= 0 && try < 5; try++ { // the world may not have that problem
			t.Logf("world %d, seed %d, is simulated again, since the machine was busy: %v", n, seed, r.err)
			r = simulate(seed, *steps, reached)
			busy++
		}
		if busy > 5+*seeds/1000 {
			t.Fatalf("%d worlds were simulated again because the machine was busy: give it one processor of its own", busy)
		}
		if all += r.steps; r.err != nil {
			t.Fatalf("\n%s\nworld %d, the simulator finds: %v\nrun it again: make simulate SEED=%d STEPS=%d%s", strings.Join(r.history, "\n"), n, r.err, seed, *steps, r.doubt())
		}
		if n%16 == 15 {
			collect()
		}
	}
	if err := tooManyUnfound(reached); err != nil {
		t.Error(err)
	}
	t.Logf("answers explained by %d orders, %d not found in time", reached[ordersFound], reached[ordersUnfound])
	t.Logf("%d steps in %d worlds, %d of them again because the machine was busy, %d goroutines left; reached: %v", all, *seeds, busy, runtime.NumGoroutine(), reached)
}

// TestFound simulates worlds that found a fault once.
func TestFound(t *testing.T) {
	defer one()()
	for seed, fault := range map[uint64]string{
		3940491235238652385:  "the model did not know what a ledger records that is opened again while it is closed",
		13772949020908773132: "a client replaced the operator's key by the same one, after the disk had lost that it was replaced before",
		96853819785884265:    "the ledger had forgotten an answer that the model repeated, after the clock was put back",
	} {
		if r := simulate(seed, 200, map[string]int{}); r.err != nil {
			t.Errorf("%s: %v\n%s%s", fault, r.err, strings.Join(r.history, "\n"), r.doubt())
		}
	}
}

// collect collects garbage where there is much.
func collect() {
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.HeapAlloc > 256<<20 {
		runtime.GC()
	}
}

// TestDeterministic holds that a seed leads to the same history again, line by line, unless the runtime may have interrupted a
// goroutine before: then the world is simulated again. That is rare also on a busy machine, so that many such worlds are a failure.
func TestDeterministic(t *testing.T) {
	defer one()()
	from := rand.New(rand.NewPCG(uint64(seed.Value(t)), 2))
	worlds, tries, sure := *twice, 0, 0
	if *only != 0 {
		worlds = 1
	}
	for n := range worlds {
		seed := from.Uint64()
		if *only != 0 {
			seed = *only
		}
		for try := 1; ; try++ {
			first, again := simulate(seed, *steps, map[string]int{}), simulate(seed, *steps, map[string]int{})
			same := common(first.history, again.history)
			if same < 0 {
				if first.interrupted < 0 && again.interrupted < 0 {
					sure++
				}
				break
			}
			busy := same >= first.interrupted && first.interrupted >= 0 || same >= again.interrupted && again.interrupted >= 0
			if tries++; !busy || tries > 5+worlds/10 {
				t.Fatalf("world %d, seed %d, try %d, of all again %d: it has two histories\n%s", n, seed, try, tries, difference(first.history, again.history))
			}
		}
		collect()
	}
	t.Logf("%d worlds twice, %d of them without any interruption, and %d times again because the machine was busy", worlds, sure, tries)
}

// common returns how many lines two histories have in common; -1: all.
func common(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

// TestEveryCall has each call of the disk fail, of an hour in which nothing else does.
func TestEveryCall(t *testing.T) {
	defer one()()
	m, err := material()
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range []uint64{3, 4} { // one of each scene
		hour := func(failAt int) (*world, error) {
			w := newWorld(seed, false, map[string]int{})
			w.scene, w.disk.failAt = w.sceneOf(m), failAt
			return w, w.run(300)
		}
		w, err := hour(0)
		if err != nil || w.disk.errors != 0 {
			t.Fatalf("without a failure: %d errors, %v", w.disk.errors, err)
		}
		calls := w.disk.calls
		for n := 1; n <= calls; n++ {
			switch w, err = hour(n); {
			case err != nil:
				t.Fatalf("\n%s\ncall %d of %d, the simulator finds: %v", strings.Join(w.history, "\n"), n, calls, err)
			case w.disk.errors != 1:
				t.Fatalf("call %d of %d: %d calls have failed", n, calls, w.disk.errors)
			}
		}
		t.Logf("each of %d calls has failed", calls)
		collect()
	}
}

// difference returns what two histories have in common last, and how they go on.
func difference(a, b []string) string {
	i := common(a, b)
	after := func(h []string) string { return strings.Join(h[i:min(i+5, len(h))], "\n") }
	return fmt.Sprintf("after\n%s\nfirst:\n%s\nagain:\n%s", strings.Join(a[max(i-5, 0):i], "\n"), after(a), after(b))
}
