package bench

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"bailiff/runtime/ledger"
	pebbleledger "bailiff/runtime/ledger/pebble"
	"bailiff/vm/amount"
)

// committers is how many commit at once in the benchmarks of many.
const committers = 64

// commitBodies make one decision durable: through the ledger, and beside it as one bare Set and Sync of Pebble.
// They may be called by many goroutines at once.
var commitBodies = []body{
	{"ledger", prepareLedger},
	{"pebble", preparePebble},
}

// BenchmarkCommit gives the time per decision, of one committer and of 64 at once, with as many processors as the
// service gives itself.
func BenchmarkCommit(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2 * runtime.NumCPU()))
	for _, many := range []int{1, committers} {
		for _, one := range commitBodies {
			b.Run(fmt.Sprintf("%s/%d", one.name, many), func(b *testing.B) { commit(b, one, many) })
		}
	}
}

func commit(b *testing.B, one body, goroutines int) {
	step := one.prepare(b)
	b.ReportAllocs()
	if goroutines == 1 {
		for b.Loop() {
			if err := step(); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	b.SetParallelism(goroutines / runtime.GOMAXPROCS(0)) // goroutines for each processor
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := step(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// prepareLedger opens a ledger with one key; a step submits a plan with three counters and waits for it.
func prepareLedger(tb testing.TB) func() error {
	l, err := pebbleledger.Open(tb.TempDir(), pebbleledger.Options{Random: rand.Reader})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	ctx, id := context.Background(), ledger.ID{1}
	key := ledger.Key{
		ID: id, Hash: [32]byte{1}, Email: "bench@localhost.localdomain", Environment: "production", Tier: "developer",
		Scopes: ledger.ScopeAuthorize, Created: 1,
	}
	if err := l.CreateKey(ctx, key); err != nil {
		tb.Fatal(err)
	}
	var serial atomic.Uint64
	return func() error {
		plan := decisionPlan(id, serial.Add(1))
		ticket := l.Submit(plan)
		if outcome := ticket.Outcome(); outcome.Decision != ledger.Allowed {
			return fmt.Errorf("the plan ended as %v", outcome.Result)
		}
		return ticket.Wait(ctx)
	}
}

// decisionPlan is the plan of a tool call under three limits, none of which is reached.
func decisionPlan(key ledger.ID, serial uint64) *ledger.Plan {
	plan := &ledger.Plan{
		At: 1_795_000_000_000_000_000, Key: key, Epoch: 1,
		Event: ledger.Event{Endpoint: "/v1/authorize", AgentID: "treasury-7", Action: "bash", Commitment: [32]byte{1}, PolicyHash: [32]byte{2}},
		Pass:  ledger.Ending{Decision: ledger.Allowed},
		Reservations: []ledger.Reservation{
			count("execution_limits.max_tool_calls_per_task", ledger.Task, "task_0192f0c4"),
			count("execution_limits.max_tool_calls_per_hour", ledger.Hour, ""),
			count("soft_limits.daily_tool_calls", ledger.Day, ""),
		},
	}
	binary.BigEndian.PutUint64(plan.ID[:], serial)
	return plan
}

func count(name string, window ledger.Window, group string) ledger.Reservation {
	return ledger.Reservation{
		Counter: ledger.Counter{Limit: name, Window: window, Group: group},
		Op:      ledger.Count, Limit: amount.FromUint64(1 << 62), Code: "SVC_LOOP_LIMIT_EXCEEDED", Rule: name,
	}
}

// preparePebble opens a bare Pebble; a step makes one record of 200 bytes durable.
func preparePebble(tb testing.TB) func() error {
	db, err := pebble.Open(tb.TempDir(), &pebble.Options{Logger: silent{}, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	record := make([]byte, 200)
	var serial atomic.Uint64
	return func() error {
		return db.Set(binary.BigEndian.AppendUint64(nil, serial.Add(1)), record, pebble.Sync)
	}
}

// silent keeps Pebble from writing about its tables between the figures.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, arguments ...any) {
	panic(errors.New("pebble: " + fmt.Sprintf(format, arguments...)))
}
