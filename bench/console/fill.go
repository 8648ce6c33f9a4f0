package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bailiff/runtime/code"
	"bailiff/runtime/ledger"
	pebbleledger "bailiff/runtime/ledger/pebble"
	"bailiff/runtime/subject"
)

// bulk is after how many events the filling waits until they are durable.
const bulk = 2000

// Rules of the events: of every tenth, and of few.
const (
	usualRule = "tool_calls.bash.blocked_commands"
	rareRule  = "tool_calls.file_write.blocked_paths"
	rareEvery = 50_000
)

// fill makes a ledger with one key and so many of its decisions, of the last 24 hours, and returns the key's secret.
func fill(ctx context.Context, dir string, events int) (secret string, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	l, err := pebbleledger.Open(dir, pebbleledger.Options{Random: rand.Reader})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var raw [48]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return "", err
	}
	begin := time.Now().Add(-24 * time.Hour)
	secret = "sk_svc_" + hex.EncodeToString(raw[:32])
	key := ledger.Key{
		ID: ledger.ID(raw[32:]).UUIDv4(), Hash: sha256.Sum256([]byte(secret)), Email: "agent@localhost.localdomain",
		Environment: "production", Tier: "developer", Scopes: ledger.AllScopes, Created: begin.UnixNano(),
	}
	if err := l.CreateKey(ctx, key); err != nil {
		return "", err
	}
	step := 24 * time.Hour / time.Duration(events+1)
	for i := range events {
		ticket := l.Submit(plan(key.ID, i, begin.Add(time.Duration(i+1)*step)))
		if got := ticket.Outcome(); got.Decision == ledger.NoDecision {
			return "", fmt.Errorf("event %d was not decided: %w", i, ticket.Wait(ctx))
		}
		if i%bulk == bulk-1 || i == events-1 {
			if err := ticket.Wait(ctx); err != nil {
				return "", err
			}
		}
	}
	return secret, nil
}

// plan is the decision of a number: nine of ten are allowed.
func plan(key ledger.ID, n int, at time.Time) *ledger.Plan {
	p := &ledger.Plan{
		At: at.UnixNano(), Key: key, Epoch: 1,
		Event: ledger.Event{Endpoint: "/v1/authorize", AgentID: fmt.Sprintf("agent-%d", n%7), Action: "bash", Commitment: [32]byte{1}, PolicyHash: [32]byte{2}},
		Pass:  ledger.Ending{Decision: ledger.Allowed},
	}
	p.Event.Subject.Set(subject.Command, fmt.Sprintf("make test-%d", n))
	p.Event.Subject.Set(subject.Task, fmt.Sprintf("task-%d", n%1000))
	rule, code := "", code.Code("")
	switch {
	case n%rareEvery == rareEvery/2:
		rule, code = rareRule, "SVC_POLICY_VIOLATION_BLOCKED_PATH"
	case n%10 == 0:
		rule, code = usualRule, "SVC_POLICY_VIOLATION_BLOCKED_COMMAND"
	}
	if rule != "" {
		p.Pass = ledger.Ending{Decision: ledger.Denied, Code: code, Rule: rule}
		p.Event.Value, p.Event.Detail = "sudo reboot", "the command holds an entry of "+rule+`: "sudo reboot"; the entry is sudo`
	}
	binary.BigEndian.PutUint64(p.ID[:], uint64(n)+1)
	return p
}
