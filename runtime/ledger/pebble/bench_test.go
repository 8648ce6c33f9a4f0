package pebbleledger

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

// benchPlan returns a plan with n counters and an event of usual size; with none it is a denial.
func benchPlan(n int) *ledger.Plan {
	p := &ledger.Plan{
		ID: ledgertest.ID('p', 1), At: ledgertest.Start, Key: ledgertest.ID('k', 1), Epoch: 1,
		Pass: ledger.Ending{Decision: ledger.Denied, Code: errcode.BlockedCommand, Rule: "tool_calls.bash.blocked_commands"},
		Event: ledger.Event{
			Endpoint: "/v1/authorize", RequestID: "01J9Z3K4M5N6P7Q8", AgentID: "agent-7", Action: "bash", ChainID: 8453,
			Commitment: [32]byte{1}, PolicyHash: [32]byte{2}, Value: "rm -rf /",
		},
	}
	for i := range n {
		p.Pass = ledger.Ending{Decision: ledger.Allowed}
		p.Reservations = append(p.Reservations, ledger.Reservation{
			Counter: ledger.Counter{Limit: fmt.Sprintf("soft_limits.cap.cap-%d.max_count", i), Window: ledger.Day, Group: "task-17"},
			Op:      ledger.Count, Limit: amount.FromUint64(1 << 60), Code: errcode.AggregateLimit, Rule: "soft_limits",
		})
	}
	return p
}

// BenchmarkCommit measures one durable decision, by 1 caller and by 64 at once, beside bare Pebble with one Set and
// Sync each and with one for 64 (a decision then is a 64th), and beside a decision without a waiting caller.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("pebble-%d", callers), func(b *testing.B) { benchPebble(b, callers, 1) })
		for _, counters := range []int{0, 3} {
			b.Run(fmt.Sprintf("ledger-%d/counters-%d", callers, counters), func(b *testing.B) { benchLedger(b, callers, counters) })
		}
	}
	b.Run("pebble-1/group-of-64", func(b *testing.B) { benchPebble(b, 1, 64) })
}

func benchLedger(b *testing.B, callers, counters int) {
	l, err := Open(b.TempDir(), Options{Random: rand.Reader})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	if err := l.CreateKey(context.Background(), ledgertest.NewKey(1)); err != nil {
		b.Fatal(err)
	}
	plan := benchPlan(counters)
	b.ReportAllocs()
	share(b, callers, func() error { return l.Submit(plan).Wait(context.Background()) })
}

func benchPebble(b *testing.B, callers, group int) {
	log, err := openLog(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	value := make([]byte, 250*group)
	n := 0
	b.ReportAllocs()
	b.ResetTimer()
	if group > 1 {
		for ; n < b.N; n += group {
			if err := log.Append(uint64(n), value); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	share(b, callers, func() error {
		key := make([]byte, 18)
		rand.Read(key)
		return log.db.Set(key, value, pebble.Sync)
	})
}

// share has callers do b.N operations between them.
func share(b *testing.B, callers int, do func() error) {
	errs := make(chan error, callers)
	b.ResetTimer()
	for c := range callers {
		go func() {
			var err error
			for i := c; i < b.N && err == nil; i += callers {
				err = do()
			}
			errs <- err
		}()
	}
	for range callers {
		if err := <-errs; err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSubmit measures the step under the lock alone.
func BenchmarkSubmit(b *testing.B) {
	for _, counters := range []int{0, 3} {
		b.Run(fmt.Sprintf("counters-%d", counters), func(b *testing.B) {
			l := discarding(b)
			plan := benchPlan(counters)
			plan.Key = ledgertest.ID('k', 1)
			b.ReportAllocs()
			for b.Loop() {
				l.Submit(plan)
			}
		})
	}
}

// BenchmarkLookup measures finding a key by its hash.
func BenchmarkLookup(b *testing.B) {
	l := discarding(b)
	key := ledgertest.NewKey(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := l.LookupKey(key.Hash); !ok {
			b.Fatal("lost")
		}
	}
}

// discard is a log that keeps nothing.
type discard struct{}

func (discard) Append(uint64, []byte) error                  { return nil }
func (discard) Read(uint64, func(uint64, []byte) bool) error { return nil }
func (discard) Truncate(uint64) error                        { return nil }
func (discard) Head() (uint64, error)                        { return 0, nil }

func discarding(b *testing.B) *commit.Ledger {
	l, err := commit.Open(discard{}, commit.Options{Random: rand.Reader})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	if err := l.CreateKey(context.Background(), ledgertest.NewKey(1)); err != nil {
		b.Fatal(err)
	}
	return l
}

// BenchmarkReplay measures opening, per record, with three counters each.
func BenchmarkReplay(b *testing.B) {
	dir := b.TempDir()
	l, err := Open(dir, Options{Random: rand.Reader})
	if err != nil {
		b.Fatal(err)
	}
	if err := l.CreateKey(context.Background(), ledgertest.NewKey(1)); err != nil {
		b.Fatal(err)
	}
	const records = 200_000
	plan := benchPlan(3)
	for i := range records {
		plan.Reservations[2].Counter.Group = fmt.Sprint(binary.BigEndian.Uint16([]byte{byte(i), byte(i >> 8)}) % 50_000)
		ticket := l.Submit(plan)
		if i%1000 == 0 {
			if err := ticket.Wait(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		l, err := Open(dir, Options{Random: rand.Reader})
		if err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
	b.ReportMetric(float64(b.N)*records/b.Elapsed().Seconds(), "records/s")
}
