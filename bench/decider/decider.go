// Package decider makes a decider for benchmarks, without HTTP and without a disk.
package decider

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"os"

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

// New returns a decider under the policy of a file over a ledger in memory, an API key in it, and the ledger to be closed
// after use. Its signing keys are in dir.
func New(path, dir string) (*decision.Decider, *ledger.Key, io.Closer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, nil, err
	}
	policy, err := policies.CompilePolicy(grammar.NewSource(path, text))
	if err != nil {
		return nil, nil, nil, err
	}
	signer, err := attest.LoadOrCreate(dir, rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	l := memory.New()
	d, key, err := over(l, policies.Config{Default: policy}, signer)
	if err != nil {
		return nil, nil, nil, errors.Join(err, l.Close())
	}
	return d, key, l, nil
}

func over(l ledger.Ledger, p policies.Config, signer *attest.Signer) (*decision.Decider, *ledger.Key, error) {
	config := service.Config{
		Ledger: l, Signer: signer, Environment: service.Production, Issuer: "svc-core",
		Clock: clock.System(), Random: rand.Reader, Log: slog.New(slog.DiscardHandler),
	}
	d, err := decision.New(decision.Config{Policies: p, Service: config})
	if err != nil {
		return nil, nil, err
	}
	made, err := decision.NewAdmin(config).CreateKey(context.Background(), accounts.NewKey{Email: "bench@localhost.localdomain"})
	if err != nil {
		return nil, nil, err
	}
	key, fault := d.Authenticate([]byte(made.APIKey), ledger.ScopeAuthorize)
	if fault != nil {
		return nil, nil, fault
	}
	return d, key, nil
}
