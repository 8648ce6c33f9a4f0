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

	"bailiff/runtime/ledger"
	pebbleledger "bailiff/runtime/ledger/pebble"
	"bailiff/runtime/subject"
	"bailiff/vm/errcode"
)

// bulk is after how many events the filling waits until they are durable.
const bulk = 2000

// Rules of the events: of every tenth, and of few.
const (
	usualRule = "tool_calls.bash.blocked_commands"
	rareRule  = "tool_calls.file_write.blocked_paths"
	rareEvery = 50_000
)

// fill makes a ledger with keys, of which the first has so many decisions of the last 24 hours, and returns their secrets.
func fill(ctx context.Context, dir string, keys, events int) (secrets []string, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	l, err := pebbleledger.Open(dir, pebbleledger.Options{Random: rand.Reader})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	begin := time.Now().Add(-24 * time.Hour)
	var first ledger.ID
	for i := range keys {
		key, secret, err := newKey(ctx, l, begin)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			first = key
		}
		secrets = append(secrets, secret)
	}
	step := 24 * time.Hour / time.Duration(events+1)
	for i := range events {
		ticket := l.Submit(plan(first, i, begin.Add(time.Duration(i+1)*step)))
		if got := ticket.Outcome(); got.Decision == ledger.NoDecision {
			return nil, fmt.Errorf("event %d was not decided: %w", i, ticket.Wait(ctx))
		}
		if i%bulk == bulk-1 || i == events-1 {
			if err := ticket.Wait(ctx); err != nil {
				return nil, err
			}
		}
	}
	return secrets, nil
}

// newKey makes an API key.
func newKey(ctx context.Context, l ledger.Ledger, at time.Time) (id ledger.ID, secret string, err error) {
	var raw [48]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return id, "", err
	}
	id, secret = ledger.ID(raw[32:]).UUIDv4(), "sk_svc_"+hex.EncodeToString(raw[:32])
	return id, secret, l.CreateKey(ctx, ledger.Key{
		ID: id, Hash: sha256.Sum256([]byte(secret)), Email: "agent@localhost.localdomain",
		Environment: "production", Tier: "developer", Scopes: ledger.AllScopes, Created: at.UnixNano(),
	})
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
	rule, code := "", errcode.Code("")
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
