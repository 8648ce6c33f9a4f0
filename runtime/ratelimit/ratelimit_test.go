package ratelimit

import (
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"bailiff/fuzz/kit/seed"
)

var start = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// A naive is the definition, written down: every time ever allowed, of every name.
type naive struct {
	now   map[*shard]time.Time
	times map[string][]time.Time
}

func (n *naive) take(s *shard, name string, w Window, at time.Time) Result {
	if at.Before(n.now[s]) {
		at = n.now[s]
	}
	n.now[s] = at
	var counted []time.Time
	for _, t := range n.times[name] {
		if t.After(at.Add(-w.Per)) {
			counted = append(counted, t)
		}
	}
	if len(counted) >= w.Limit {
		return Result{Reset: counted[len(counted)-w.Limit].Add(w.Per).Sub(at)}
	}
	n.times[name] = append(n.times[name], at)
	counted = append(counted, at)
	return Result{Allowed: true, Remaining: w.Limit - len(counted), Reset: counted[0].Add(w.Per).Sub(at)}
}

// A taker is what is held to the model.
type taker func(name string, w Window, now time.Time) (Result, error)

// histories runs random requests of a few names, in bursts, at times that sometimes are still or go back, against
// the model. Times are multiples of 50 ms, so that many fall on a border. Time runs by shard.
func histories(random *rand.Rand, steps int, shardOf func(string) *shard, take taker) error {
	windows := []Window{{1, time.Second}, {3, time.Minute}, {20, time.Minute}, {5, time.Hour}}
	model := naive{now: map[*shard]time.Time{}, times: map[string][]time.Time{}}
	at := start
	for i := range steps {
		n := random.Intn(12)
		name, w := fmt.Sprint("ip:", n), windows[n%len(windows)]
		switch random.Intn(4) {
		case 0:
			at = at.Add(time.Duration(random.Intn(6)) * w.Per / 20)
		case 1:
			at = at.Add(w.Per / 20)
		}
		asked := at
		if random.Intn(8) == 0 {
			asked = at.Add(-time.Duration(random.Intn(20)) * w.Per / 20)
		}
		want := model.take(shardOf(name), name, w, asked)
		if got, err := take(name, w, asked); err != nil || got != want {
			return fmt.Errorf("step %d, %s at %v: %+v, %v, want %+v", i, name, asked.Sub(start), got, err, want)
		}
	}
	return nil
}

func TestModel(t *testing.T) {
	random := rand.New(rand.NewSource(seed.Value(t)))
	for range 60 {
		m := NewMemory(4096)
		if err := histories(random, 2000, m.shardOf, m.Take); err != nil {
			t.Fatal(err)
		}
	}
}

// TestModelCatches plants a border that is a nanosecond late, and a limit that is one too high on occasion.
func TestModelCatches(t *testing.T) {
	for name, plant := range map[string]func(m *Memory) taker{
		"late border": func(m *Memory) taker {
			return func(name string, w Window, now time.Time) (Result, error) {
				w.Per++
				r, err := m.Take(name, w, now)
				r.Reset--
				return r, err
			}
		},
		"one too many": func(m *Memory) taker {
			n := 0
			return func(name string, w Window, now time.Time) (Result, error) {
				r, err := m.Take(name, w, now)
				if n++; n%50 == 0 && !r.Allowed {
					r = Result{Allowed: true, Reset: r.Reset}
				}
				return r, err
			}
		},
	} {
		random := rand.New(rand.NewSource(seed.Value(t)))
		m := NewMemory(4096)
		if err := histories(random, 20_000, m.shardOf, plant(m)); err == nil {
			t.Errorf("%s: not caught", name)
		}
	}
}

// TestExactlyN has 64 goroutines at one limit.
func TestExactlyN(t *testing.T) {
	m := NewMemory(1000)
	for round := range 100 {
		var allowed atomic.Int64
		var all sync.WaitGroup
		name := fmt.Sprint("key:", round)
		for range 64 {
			all.Go(func() {
				for range 10 {
					r, err := m.Take(name, Window{100, time.Minute}, start.Add(time.Duration(round)))
					if err != nil {
						t.Error(err)
					}
					if r.Allowed {
						allowed.Add(1)
					}
				}
			})
		}
		all.Wait()
		if allowed.Load() != 100 {
			t.Fatalf("%d allowed, want 100", allowed.Load())
		}
	}
}

func TestFull(t *testing.T) {
	for _, names := range []int{1, 3, 300, 20_000} {
		m, w, full := NewMemory(names), Window{2, time.Minute}, 0
		for i := range 2 * names {
			if _, err := m.Take(fmt.Sprint("ip:", i), w, start); errors.Is(err, ErrFull) {
				full++
			}
		}
		if m.Names() > names || m.Names() < names*8/10 || full != 2*names-m.Names() {
			t.Errorf("a store for %d holds %d, and refused %d", names, m.Names(), full)
		}
		for i := range names { // a name that is held is served, and the refused get in once the others have left
			if _, err := m.Take(fmt.Sprint("late:", i), w, start.Add(time.Minute)); err != nil && names < namesPerShard {
				t.Errorf("a store for %d: a minute later: %v", names, err)
			}
		}
		if m.Names() > names {
			t.Errorf("a store for %d holds %d a minute later", names, m.Names())
		}
	}
}

// TestGivesBack lets a million names come and go.
func TestGivesBack(t *testing.T) {
	m, at := NewMemory(2000), start
	room := m.stamps.Load()
	for i := range 1_000_000 {
		at = at.Add(time.Second)
		name := fmt.Sprint("ip:", i)
		for range 1 + i%7 {
			if _, err := m.Take(name, Window{10, 10 * time.Minute}, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := m.Names(); n > 700 {
		t.Errorf("%d names are held, of which 600 count", n)
	}
	if used := room - m.stamps.Load(); used > 2000*8 {
		t.Errorf("room for %d times is allotted", used)
	}
}

func TestRoom(t *testing.T) {
	m := NewMemory(1)
	w := Window{2 * minStamps, time.Hour}
	taken := 0
	for ; taken < 2*minStamps; taken++ {
		if _, err := m.Take("key", w, start); err != nil {
			if !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
			break
		}
	}
	if taken > minStamps || taken < minStamps/2 {
		t.Errorf("%d requests are kept", taken)
	}
	if r, err := m.Take("key", w, start.Add(time.Hour)); err != nil || !r.Allowed {
		t.Errorf("an hour later: %+v, %v", r, err)
	}
}

func TestBounds(t *testing.T) {
	m := NewMemory(0)
	for range 3 {
		if r, err := m.Take("a", Window{}, start); err != nil || !r.Allowed || r.Remaining != unlimited {
			t.Errorf("without a limit: %+v, %v", r, err)
		}
	}
	if m.Names() != 0 {
		t.Error("a name without a limit is held")
	}
	for _, w := range []Window{{-1, time.Second}, {1, 0}, {1, -1}} {
		if r, err := m.Take("a", w, start); !errors.Is(err, errInvalid) || r.Allowed {
			t.Errorf("%+v: %+v, %v", w, r, err)
		}
	}
	if _, err := m.Take(strings.Repeat("a", maxName+1), Window{1, 1}, start); !errors.Is(err, errInvalid) {
		t.Error(err)
	}
	name := []byte("first") // in a buffer that its owner uses again
	if _, err := m.Take(unsafe.String(&name[0], len(name)), Window{1, time.Second}, start); err != nil {
		t.Error(err)
	}
	copy(name, "other")
	if r, err := m.Take("first", Window{5, time.Second}, start); err != nil || r.Remaining != 3 {
		t.Errorf("a window that has grown: %+v, %v", r, err)
	}
	if r, err := m.Take("first", Window{1, time.Second}, start); err != nil || r.Allowed || r.Reset != time.Second {
		t.Errorf("a window that has shrunk: %+v, %v", r, err)
	}
}

func TestAllocates(t *testing.T) {
	m, at := NewMemory(1000), start
	step := func() {
		at = at.Add(100 * time.Millisecond)
		if _, err := m.Take("key:1", Window{100, time.Minute}, at); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		step()
	}
	if n := testing.AllocsPerRun(10_000, step); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func BenchmarkTake(b *testing.B) {
	m := NewMemory(100_000)
	var names [1024]string
	for i := range names {
		names[i] = fmt.Sprint("ip:192.0.2.", i)
	}
	var n atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1)
			m.Take(names[i%1024], Window{1500, time.Minute}, start.Add(time.Duration(i)*time.Microsecond))
		}
	})
}
