package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/compiler"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	pebbleledger "bailiff/runtime/ledger/pebble"
	"bailiff/vm"
)

// policyText is a policy of an everyday size. What follows it makes each key's own.
const policyText = `version: 2.0.0

# An agent that runs commands, reads the web and writes files.
## tool_calls
allowed: bash, web_fetch, file_write
bash.blocked_commands: rm -rf, sudo, shutdown
web_fetch.blocked_domains: pastebin.com, 169.254.169.254
file_write.blocked_paths: /etc, ~/.ssh, .env

## custom
deny_if.metadata.environment equals production
deny_string: BEGIN OPENSSH PRIVATE KEY

## execution_limits
max_tool_calls_per_task: 200
max_tool_calls_per_hour: 1000
`

// writers is how many keys are made at once: records that come together share a sync.
const writers = 512

// generated is what a ledger was filled with.
type generated struct {
	secrets                   []string // of some of the keys
	policyBytes, programBytes int
}

// maker makes keys with policies.
type maker struct {
	ledger   ledger.Ledger
	operator ed25519.PrivateKey
	program  []byte // of every policy: their texts differ in a comment
	next     atomic.Int64
	keys     int64
	mu       sync.Mutex
	made     generated
	faults   []error
}

// generate makes a ledger with so many keys.
func generate(ctx context.Context, dir string, keys int) (generated, error) {
	compiled, found := compiler.Compile(grammar.NewSource("warranty.md", []byte(policyText)))
	if found.HasErrors() {
		return generated{}, errors.New("the policy does not compile")
	}
	program, err := compiled.Program.MarshalBinary()
	if err != nil {
		return generated{}, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return generated{}, err
	}
	_, operator, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return generated{}, err
	}
	l, err := pebbleledger.Open(dir, pebbleledger.Options{Random: rand.Reader})
	if err != nil {
		return generated{}, err
	}
	m := &maker{ledger: l, operator: operator, program: program, keys: int64(keys)}
	m.made.programBytes = len(program)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() { m.work(ctx) })
	}
	all.Wait()
	return m.made, errors.Join(append(m.faults, ctx.Err(), l.Close())...)
}

// work makes keys until there are enough.
func (m *maker) work(ctx context.Context) {
	for ctx.Err() == nil {
		n := m.next.Add(1)
		if n > m.keys {
			return
		}
		if err := m.one(ctx, n); err != nil {
			m.mu.Lock()
			m.faults = append(m.faults, err)
			m.mu.Unlock()
			return
		}
	}
}

// one makes a key and deploys its policy, as the API would.
func (m *maker) one(ctx context.Context, n int64) error {
	var raw [48]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return err
	}
	now := time.Now().UnixNano()
	secret := "sk_svc_" + hex.EncodeToString(raw[:32])
	key := ledger.Key{
		ID: ledger.ID(raw[32:]).UUIDv4(), Hash: sha256.Sum256([]byte(secret)), Email: fmt.Sprintf("agent-%d@example.com", n),
		Environment: "production", Tier: "growth", Scopes: ledger.AllScopes, Created: now,
	}
	if err := m.ledger.CreateKey(ctx, key); err != nil {
		return err
	}
	body := fmt.Appendf(nil, "%s# %d\n", policyText, n)
	text, err := grammar.Join(body, attest.SignPolicy(m.operator, body))
	if err != nil {
		return err
	}
	deployment := &ledger.Deployment{
		Key: key.ID, At: now, Operator: [32]byte(m.operator.Public().(ed25519.PublicKey)), PolicyHash: sha256.Sum256(body), PolicyVersion: "2.0.0",
		Text: text, Program: m.program, Machine: vm.MachineVersion,
	}
	if _, err := m.ledger.Deploy(ctx, deployment); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made.policyBytes = len(text)
	if len(m.made.secrets) < 100 {
		m.made.secrets = append(m.made.secrets, secret)
	}
	return nil
}
