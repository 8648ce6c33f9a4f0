package decision

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"

	"bailiff/runtime/accounts"
	"bailiff/runtime/clock"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/memory"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
)

// Simulation decides intents by a policy without a service, as a service would: on a ledger in memory, with counters
// that start at zero and advance, and holds that open and can be resolved. Nothing is signed. It has two API keys, an
// agent's and a shim's, whose counters and holds are apart as those of any two keys are. It is for one goroutine.
type Simulation struct {
	decider *Decider
	keys    map[bool]*ledger.Key // by whether the provenance is a shim
	owner   map[string]ledger.ID // of the holds that were opened
}

// NewSimulation returns a simulation of a policy. Close ends it.
func NewSimulation(policy *policies.Policy, options intent.Options, clock clock.Clock) (*Simulation, error) {
	governing := *policy
	governing.Keys = nil // its keys are those of the policy
	a := newDecider(Config{Policies: policies.Config{Default: &governing}, Options: options, Service: service.Config{
		Ledger: memory.New(), Environment: service.Production, Clock: clock, Random: rand.Reader, Log: slog.New(slog.DiscardHandler),
	}})
	s := &Simulation{decider: a, keys: map[bool]*ledger.Key{}, owner: map[string]ledger.ID{}}
	for _, shim := range []bool{false, true} {
		if err := s.createKey(shim); err != nil {
			_ = s.Close()
			return nil, err
		}
	}
	return s, nil
}

func (s *Simulation) createKey(shim bool) error {
	name := string(accounts.Provenance(&ledger.Key{Shim: shim}))
	hash := sha256.Sum256([]byte(name))
	key := ledger.Key{
		ID: ledger.ID(hash[:16]).UUIDv4(), Hash: hash, Email: name + "@localhost.localdomain", Environment: service.Production,
		Tier: "developer", Scopes: ledger.ScopeAuthorize, Shim: shim, Created: s.decider.Clock().UnixNano(),
	}
	if err := s.decider.Ledger.CreateKey(context.Background(), key); err != nil {
		return fmt.Errorf("a simulation's key: %w", err)
	}
	s.keys[shim], _ = s.decider.Ledger.LookupKey(hash)
	return nil
}

// Decide takes an intent to its answer, for the key of a shim or of an agent: as authorize does or, where the call is a
// test-run, without any effect. Nothing is attested.
func (s *Simulation) Decide(body []byte, shim bool, call Call) (*Answer, *service.Failure) {
	answer := new(Answer)
	fault := s.decider.Decide(context.Background(), s.keys[shim], body, call, answer)
	if fault != nil {
		return nil, fault
	}
	if answer.HoldID != "" {
		s.owner[answer.HoldID] = s.keys[shim].ID
	}
	return answer, nil
}

// Resolve is an operator's decision about a hold of this simulation. The errors are those of the ledger.
func (s *Simulation) Resolve(holdID string, allow bool) error {
	id, err := ledger.ParseID(holdID)
	if err != nil {
		return err
	}
	now := s.decider.Clock()
	_, err = s.decider.Ledger.ResolveHold(context.Background(), ledger.Resolution{
		Key: s.owner[holdID], Hold: id, Allow: allow, At: now.UnixNano(), Resolved: now.Unix(),
	})
	return err
}

// Close ends the simulation.
func (s *Simulation) Close() error { return s.decider.Ledger.Close() }
