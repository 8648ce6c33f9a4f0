package pebbleledger

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/reopen"
	"bailiff/vm/amount"
)

// TestReopens spoils the disk under a ledger that opens itself again: everything is refused within the deadline while
// the fault lasts, and works again after it, with all that was acknowledged.
func TestReopens(t *testing.T) {
	for name, fault := range map[string]func(errorfs.Op) error{
		"sync": func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSync {
				return syscall.EIO
			}
			return nil
		},
		"write": func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".log") {
				return syscall.EIO
			}
			return nil
		},
		"full": func(op errorfs.Op) error {
			switch op.Kind {
			case errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFilePreallocate, errorfs.OpReuseForWrite:
				return syscall.ENOSPC
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) { testReopens(t, fault) })
	}
}

func testReopens(t *testing.T, fault func(errorfs.Op) error) {
	broken := &errorfs.Toggle{Injector: errorfs.InjectorFunc(fault)}
	fs := errorfs.Wrap(vfs.NewMem(), broken)
	opened := atomic.Int64{}
	l, err := Open("ledger", Options{FS: fs, Random: rand.Reader, Reopen: &reopen.Options{
		Random: rand.Reader, Least: 5 * time.Millisecond, Most: 50 * time.Millisecond,
		Opening: func() func() { opened.Add(1); return func() {} },
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.CreateKey(t.Context(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var acknowledged atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for !done.Load() {
				acknowledged.Add(submitOnce(t, l))
			}
		})
	}
	for range 2 {
		before := acknowledged.Load()
		eventually(t, "work", func() bool { return acknowledged.Load() > before+20 })
		broken.On()
		eventually(t, "failure", func() bool { return errors.Is(l.Health(), ledger.ErrUnavailable) })
		time.Sleep(100 * time.Millisecond) // it tries, and must not succeed
		broken.Off()
		eventually(t, "recovery", func() bool { return l.Health() == nil })
	}
	done.Store(true)
	all.Wait()
	wantKept(t, l, acknowledged.Load())
	if err := l.Close(); err != nil || opened.Load() < 2 {
		t.Errorf("opened %d times again, Close: %v", opened.Load(), err)
	}
}

// submitOnce returns 1 where a decision was acknowledged, and otherwise holds the refusal to its kind and deadline.
func submitOnce(t *testing.T, l ledger.Ledger) int64 {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	ticket := l.Submit(benchPlan(1))
	err := ticket.Wait(ctx)
	switch {
	case err == nil && ticket.Outcome().Result == ledger.Passed:
		// Few enough decisions fit into Pebble's first table, so that it does not change its log file when the disk breaks: that
		// ends the process (package documentation), which is not what this test is about.
		time.Sleep(10 * time.Millisecond)
		return 1
	case err == nil, ctx.Err() != nil, !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrUnknown):
		t.Errorf("%v, %v", ticket.Outcome().Result, err)
	}
	time.Sleep(time.Millisecond)
	return 0
}

// wantKept checks that at least so many decisions are there, and that the counter counts those that are.
func wantKept(t *testing.T, l ledger.Ledger, acknowledged int64) {
	t.Helper()
	kept, after := int64(0), uint64(0)
	for more := true; more; {
		page, err := l.Events(t.Context(), ledger.EventQuery{After: after, Limit: ledger.MaxEventPage})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			if e.Kind == ledger.Decided {
				kept++
			}
		}
		after, more = page.Next, page.More
	}
	if kept < acknowledged {
		t.Errorf("%d decisions are there, %d were acknowledged", kept, acknowledged)
	}
	value, err := l.Counter(t.Context(), ledgertest.ID('k', 1), benchPlan(1).Reservations[0].Counter, ledgertest.Start)
	if err != nil || value != amount.FromUint64(uint64(kept)) {
		t.Errorf("the counter is %s after %d decisions, %v", value, kept, err)
	}
}
