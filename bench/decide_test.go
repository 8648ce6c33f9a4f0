package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"testing"

	"bailiff/grammar"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/decision"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
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
	policy, err := policies.CompilePolicy(grammar.NewSource(examplePolicy, read(tb, examplePolicy)))
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := attest.LoadOrCreate(tb.TempDir(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	l := memory.New()
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	clock := clock.System()
	a, err := decision.New(decision.Config{Policies: policies.Config{Default: policy}, Service: service.Config{
		Ledger: l, Signer: signer, Environment: service.Production, Issuer: "svc-core",
		Clock: clock, Random: rand.Reader, Log: slog.New(slog.DiscardHandler),
	}})
	if err != nil {
		tb.Fatal(err)
	}
	admin := decision.NewAdmin(service.Config{Ledger: l, Environment: service.Production, Clock: clock, Random: rand.Reader})
	made, err := admin.CreateKey(context.Background(), accounts.NewKey{Email: "bench@localhost.localdomain"})
	if err != nil {
		tb.Fatal(err)
	}
	key, fault := a.Authenticate([]byte(made.APIKey), ledger.ScopeAuthorize)
	if fault != nil {
		tb.Fatal(fault)
	}
	return a, key
}
