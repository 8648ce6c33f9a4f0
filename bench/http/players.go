package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"bailiff/bench"
	"bailiff/bench/load"
	"bailiff/bench/player"
	"bailiff/runtime/attest"
)

// players are all that takes part in a run: the service, the floors, and the connections to both.
type players struct {
	folder  string
	service *player.Service
	floors  []*player.Process
	targets []*player.Target

	decode, testRun, keep, denied, sign, allowed, echo *player.Target
}

// startPlayers starts the processes and connects to them.
func startPlayers(ctx context.Context, o *options) (*players, error) {
	folder, err := os.MkdirTemp(o.dir, "bailiff-bench-")
	if err != nil {
		return nil, err
	}
	p := &players{folder: folder}
	if err := p.start(ctx, o); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func (p *players) start(ctx context.Context, o *options) (err error) {
	if p.service, err = player.StartService(ctx, &player.Setting{Binary: o.service, Policy: o.policy, Dir: p.folder, Processors: o.processors}); err != nil {
		return err
	}
	servers := map[string]*player.Process{"service": p.service.Process}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, kind := range []string{floorDecode, floorKeep, floorSign, floorEcho} {
		floor, err := player.StartFloor(self, kind, o.processors, p.folder)
		if err != nil {
			return err
		}
		p.floors = append(p.floors, floor)
		servers[kind] = floor
	}
	const authorize, testRun = "/v1/authorize", "/v1/authorize/test-run"
	for _, row := range []struct {
		place              **player.Target
		name, where, route string
		body               string
		expect             player.Expectation
		connections        int
	}{
		{&p.decode, "floor 1: decode", floorDecode, testRun, bench.AllowedIntent, player.ExpectTestRun, o.connections},
		{&p.testRun, "test-run", "service", testRun, bench.AllowedIntent, player.ExpectTestRun, o.connections},
		{&p.keep, "decode, keep by bare Pebble", floorKeep, testRun, bench.AllowedIntent, player.ExpectTestRun, o.connections},
		{&p.denied, "denied", "service", authorize, bench.DeniedIntent, player.ExpectDenied, o.connections},
		{&p.sign, "floor 2: decode, sign", floorSign, authorize, bench.AllowedIntent, player.ExpectSigned, o.connections},
		{&p.allowed, "allowed", "service", authorize, bench.AllowedIntent, player.ExpectSigned, o.connections},
		{&p.echo, "echo", floorEcho, authorize, bench.AllowedIntent, expectEcho, 1},
	} {
		to := servers[row.where]
		request := load.Render(row.route, to.Address, p.service.APIKey, row.body)
		if *row.place, err = player.NewTarget(row.name, to, request, row.expect, row.connections); err != nil {
			return err
		}
		p.targets = append(p.targets, *row.place)
	}
	return nil
}

// stop closes the connections, ends the processes and removes the folder, whatever of it there is.
func (p *players) stop() error {
	var faults []error
	for _, t := range p.targets {
		faults = append(faults, t.Close())
	}
	for _, floor := range p.floors {
		faults = append(faults, floor.Stop())
	}
	if p.service != nil {
		faults = append(faults, p.service.Stop())
	}
	return errors.Join(append(faults, os.RemoveAll(p.folder))...)
}

// verifyAttestations asks twice more for an ALLOWED, and verifies what it carries with the service's own key sets:
// a benchmark of attestations that are none, or always the same one, must not pass.
func (p *players) verifyAttestations(ctx context.Context) error {
	jwks, err := p.service.Get(ctx, "/.well-known/jwks.json")
	if err != nil {
		return err
	}
	pqcKeys, err := p.service.Get(ctx, "/v1/pqc-keys")
	if err != nil {
		return err
	}
	verifier, err := attest.NewVerifier("svc-core", jwks, pqcKeys)
	if err != nil {
		return err
	}
	seen := map[attest.TokenID]bool{}
	for range 2 {
		claims, err := p.attestation(verifier)
		if err != nil {
			return fmt.Errorf("an attestation of the service: %w", err)
		}
		if seen[claims.ID] {
			return errors.New("the service gave one attestation twice")
		}
		seen[claims.ID] = true
	}
	return nil
}

// attestation asks for an ALLOWED and returns the verified claims.
func (p *players) attestation(verifier *attest.Verifier) (*attest.Claims, error) {
	one := p.allowed.Clients[0]
	if err := one.Exchange(); err != nil {
		return nil, err
	}
	var a player.Answer
	if err := json.Unmarshal(one.Answer(), &a); err != nil || a.Attestation == nil {
		return nil, fmt.Errorf("there is none in %.300s", one.Answer())
	}
	return verifier.Verify(*a.Attestation, time.Now())
}
