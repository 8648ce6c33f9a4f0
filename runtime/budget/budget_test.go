package budget

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	alice, bob = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	nobody     netip.Addr
)

// open returns a budget with a clock that the test moves, and what it logs.
func open(o Options) (b *Budget, now *time.Time, log *bytes.Buffer) {
	now, log = new(time.Time), new(bytes.Buffer)
	*now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	o.Name, o.Clock, o.Log = "test", func() time.Time { return *now }, slog.New(slog.NewTextHandler(log, nil))
	return New(o), now, log
}

func TestTake(t *testing.T) {
	exceeded, refused := 0, 0
	b, _, _ := open(Options{Most: 1000, Share: 400, Kept: 100, Exceeded: func() { exceeded++ }})
	for i, step := range []struct {
		source netip.Addr
		bytes  int64
		want   error
	}{
		{alice, 400, nil},
		{alice, 1, ErrShare},
		{bob, 400, nil},
		{netip.MustParseAddr("192.0.2.3"), 101, errFull}, // the last 100 are kept
		{netip.MustParseAddr("192.0.2.3"), 100, nil},
		{netip.MustParseAddr("192.0.2.4"), 1, errFull},
		{nobody, 101, errFull},
		{nobody, 100, nil},
		{nobody, 1, errFull},
		{alice, -200, nil}, // gives back
		{alice, 100, nil},
		{alice, 1, errFull},
	} {
		if step.bytes < 0 {
			b.Give(step.source, -step.bytes)
			continue
		}
		err := b.Take(step.source, step.bytes)
		if !errors.Is(err, step.want) {
			t.Errorf("step %d: %v, want %v", i, err, step.want)
		}
		if err != nil {
			refused++
		}
	}
	if exceeded != refused || refused == 0 {
		t.Errorf("%d takers found no room, and %d were counted", refused, exceeded)
	}
	b.Force(alice, 5000)
	if got := b.Held(); got != 5900 {
		t.Errorf("%d bytes are held", got)
	}
}

// A taker that waits gets its bytes when others give theirs back. One that has begun goes first, and one whose own share is
// used up keeps no one else waiting.
func TestWait(t *testing.T) {
	b, _, _ := open(Options{Most: 1000, Share: 600})
	if err := errors.Join(b.Take(alice, 600), b.Take(bob, 400)); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 3)
	wait := func(name string, source netip.Addr, bytes int64, begun bool) {
		before := b.queued()
		go func() {
			if err := b.Wait(t.Context(), source, bytes, begun); err != nil {
				name += ": " + err.Error()
			}
			got <- name
		}()
		for b.queued() == before {
			time.Sleep(time.Millisecond)
		}
	}
	wait("alice beyond her share", alice, 300, true)
	wait("new", bob, 200, false)
	wait("begun", bob, 100, true)
	b.Give(bob, 100)
	if name := <-got; name != "begun" {
		t.Errorf("first comes %q", name)
	}
	b.Give(bob, 200)
	if name := <-got; name != "new" {
		t.Errorf("then comes %q", name)
	}
	b.Give(alice, 400)
	if name := <-got; name != "alice beyond her share" {
		t.Errorf("then comes %q", name)
	}
	if held := b.Held(); held != 900 {
		t.Errorf("%d bytes are held", held)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.Wait(ctx, bob, 101, false); !errors.Is(err, errFull) {
		t.Errorf("a wait that ends says %v", err)
	}
	if err := b.Wait(ctx, alice, 101, false); !errors.Is(err, ErrShare) && !errors.Is(err, errFull) {
		t.Errorf("a wait that ends says %v", err)
	}
	if held, queued := b.Held(), b.queued(); held != 900 || queued != 0 {
		t.Errorf("after waits in vain %d bytes are held and %d takers wait", held, queued)
	}
}

func (b *Budget) queued() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting.Len()
}

// TestMany takes and gives from many goroutines: the bound holds at every moment, and in the end nothing is held.
func TestMany(t *testing.T) {
	b, _, _ := open(Options{Most: 1000, Share: 700})
	var all sync.WaitGroup
	for i := range 8 {
		source := []netip.Addr{alice, bob, nobody}[i%3]
		all.Go(func() {
			random := rand.New(rand.NewSource(int64(i)))
			for range 2000 {
				bytes := 1 + random.Int63n(400)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.Intn(200))*time.Microsecond)
				if b.Wait(ctx, source, bytes, random.Intn(2) == 0) == nil {
					if held := b.Held(); held > b.Most {
						t.Errorf("%d bytes are held", held)
					}
					b.Give(source, bytes)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if b.Held() != 0 || b.queued() != 0 || len(b.bySource) != 0 {
		t.Errorf("in the end %d bytes are held, %d takers wait, %d sources are known", b.Held(), b.queued(), len(b.bySource))
	}
}

// A budget warns at 80 %, or when it refuses, once, and again after it was calm and a minute has passed.
func TestWarning(t *testing.T) {
	b, now, log := open(Options{Most: 1000, Kept: 300})
	lines := func(want int) {
		t.Helper()
		if got := strings.Count(log.String(), "level=WARN"); got != want {
			t.Errorf("%d warnings, want %d:\n%s", got, want, log)
		}
	}
	_ = b.Take(nobody, 799)
	lines(0)
	_ = b.Take(nobody, 1)
	lines(1)
	b.Give(nobody, 199)
	_ = b.Take(nobody, 199)
	*now = now.Add(warnEvery)
	_ = b.Take(nobody, 1)
	lines(1) // it was not calm meanwhile
	b.Give(nobody, 801)
	_ = b.Take(alice, 701) // refused
	lines(2)
	b.Give(nobody, 0)
	_ = b.Take(nobody, 1)
	b.Give(nobody, 1)
	b.Force(nobody, 1000)
	lines(2) // within the minute
	if !strings.Contains(log.String(), "budget=test heldBytes=800 mostBytes=1000") {
		t.Errorf("the warning has no figures: %s", log)
	}
}
