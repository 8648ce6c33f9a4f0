package bench

import (
	"context"
	"fmt"
	"testing"

	"bailiff/bench/decider"
	"bailiff/runtime/decision"
	"bailiff/runtime/ledger"
)

// decideBodies take a request's body to its answer, without HTTP and without a disk.
var decideBodies = []body{
	{"test-run", decide(AllowedIntent, "ALLOWED", true)},
	{"denied", decide(DeniedIntent, "DENIED", false)},
	{"allowed", decide(AllowedIntent, "ALLOWED", false)},
}

// BenchmarkDecide is everything between the HTTP server and the disk.
func BenchmarkDecide(b *testing.B) { run(b, decideBodies) }

func decide(text, want string, testRun bool) func(testing.TB) func() error {
	return func(tb testing.TB) func() error {
		a, key := newAuthority(tb)
		ctx, source, answer := context.Background(), []byte(text), new(decision.Answer)
		return func() error {
			if fault := a.Decide(ctx, key, source, decision.Call{TestRun: testRun}, answer); fault != nil {
				return fault
			}
			if answer.Status != want {
				return fmt.Errorf("the answer is %s %s: %s", answer.Status, answer.Rule, answer.Message)
			}
			return nil
		}
	}
}

// newAuthority returns an authority under the example policy over a ledger in memory, and the API key in it.
func newAuthority(tb testing.TB) (*decision.Decider, *ledger.Key) {
	tb.Helper()
	a, key, l, err := decider.New(examplePolicy, tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return a, key
}
