package retention_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
)

var (
	rate = flag.Int("rate", 0, "decisions a second of TestDays; 0 for a small one")
	days = flag.Int("days", 30, "how many times the retention TestDays lasts")
	last = flag.Duration("last", 24*time.Hour, "the retention of TestDays")
)

func contextOf() context.Context { return context.Background() }

// TestDays decides for many times the retention, by a clock of its own, and drops what is old 24 times in each. At the end the log is
// as large as in the third time, within a tenth, and as many records are read when it is opened without its snapshot, which may be at
// any place. Its size is the mean over all drops of a time, because it moves up and down with the store's compactions.
func TestDays(t *testing.T) {
	w, err := newWorld(t.TempDir())
	must(t, err)
	perDay := *rate * int(last.Seconds())
	if *rate == 0 {
		perDay, *days = 20_000, 6
	}
	w.age, w.every, w.snapshots = *last, commit.IndexEvery, 0
	step := int64(*last) / int64(perDay)
	l, err := w.open()
	must(t, err)
	must(t, l.CreateKey(t.Context(), ledgertest.NewKey(1)))
	var third, end measured
	for day := 1; day <= *days; day++ {
		var mean int64
		for range 24 {
			must(t, w.burst(l, perDay/24, step))
			_, err := w.drop(l)
			must(t, err)
			bytes, err := size(w.ledger)
			must(t, err)
			mean += bytes / 24
		}
		t.Logf("day %d: %.1f MiB", day, float64(mean)/(1<<20))
		if day == 3 || day == *days {
			l, end = w.measure(t, l)
			end.bytes = mean
			t.Logf("day %d: %s", day, end)
			if day == 3 {
				third = end
			}
		}
	}
	must(t, l.Close())
	if end.bytes*10 > third.bytes*11 || end.records*10 > third.records*11 {
		t.Errorf("at the end %s; on day 3 %s", end, third)
	}
}

// burst submits decisions as fast as they are taken, and waits for the last one.
func (w *world) burst(l ledger.Ledger, n int, step int64) error {
	key, _ := l.LookupKeyID(ledgertest.ID('k', 1))
	plan := ledger.Plan{
		Key: key.ID, Epoch: key.Epoch, Pass: ledger.Ending{Decision: ledger.Allowed},
		Event: ledger.Event{Endpoint: "/v1/authorize", RequestID: "01J9Z3K4M5N6P7Q8", AgentID: "agent-7", Action: "bash", PolicyHash: [32]byte{2}},
	}
	for i := range n {
		w.at += step
		plan.ID, plan.At = ledgertest.ID('p', uint64(w.at)), w.at
		ticket := l.Submit(&plan)
		if i%1000 != 999 && i != n-1 {
			continue
		}
		if err := ticket.Wait(contextOf()); err != nil {
			return err
		}
	}
	return nil
}

// A measured is what a log takes.
type measured struct {
	bytes    int64         // on the disk, the mean of a day
	records  uint64        // in the log, all of which are read when it is opened without its snapshot
	replayed uint64        // are read with it
	opening  time.Duration // without it: what processors were busy for
}

func (m measured) String() string {
	return fmt.Sprintf("%.1f MiB, %d records, which opening reads in %v, or %d of them where there is a snapshot", float64(m.bytes)/(1<<20), m.records, m.opening.Round(time.Millisecond), m.replayed)
}

// measure closes the log, verifies it, and opens it again.
func (w *world) measure(t *testing.T, l *commit.Ledger) (again *commit.Ledger, m measured) {
	t.Helper()
	must(t, l.Close())
	f, err := w.check()
	must(t, err)
	m.records = f.chain.Records
	m.replayed = f.chain.Head.LSN - max(f.chain.Begins.After.LSN, f.chain.Snapshot)
	if err := os.Remove(pebbleledger.SnapshotPath(w.ledger)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	start := busy()
	again, err = w.open()
	must(t, err)
	m.opening = busy() - start
	return again, m
}

// busy is how long processors have been busy for this process.
func busy() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
