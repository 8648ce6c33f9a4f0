package main

import (
	"fmt"
	"os"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/authority"
)

type attestCommand struct {
	Verify attestVerifyCommand `cmd:"" help:"Verify an attestation: both signatures, issuer, times."`
}

type attestVerifyCommand struct {
	JWKS    string `name:"jwks" required:"" help:"File of the Ed25519 key set (/.well-known/jwks.json)." placeholder:"FILE"`
	PQCKeys string `name:"pqc-keys" required:"" help:"File of the ML-DSA-65 key set (/v1/pqc-keys)." placeholder:"FILE"`
	Issuer  string `default:"svc-core" help:"The issuer that the keys belong to (${default})."`
	At      string `help:"Judge times as of then (RFC 3339) instead of now." placeholder:"TIME"`
	Token   string `arg:"" help:"The attestation."`
}

// Run prints the claims of a valid attestation as JSON.
func (c *attestVerifyCommand) Run(std streams) error {
	now := authority.SystemClock()()
	if c.At != "" {
		at, err := time.Parse(time.RFC3339, c.At)
		if err != nil {
			return usage("--at: %v", err)
		}
		now = at
	}
	verifier, err := c.verifier()
	if err != nil {
		return err
	}
	claims, err := verifier.Verify(c.Token, now)
	if err != nil {
		return err
	}
	if claims.Mode == attest.ModeObserve {
		fmt.Fprintln(std.err, "bailiff: this attestation was issued in OBSERVE mode, which enforces nothing: do not act on it")
	}
	return printJSON(std.out, claims)
}

func (c *attestVerifyCommand) verifier() (*attest.Verifier, error) {
	jwks, err := os.ReadFile(c.JWKS)
	if err != nil {
		return nil, usage("%v", err)
	}
	pqcKeys, err := os.ReadFile(c.PQCKeys)
	if err != nil {
		return nil, usage("%v", err)
	}
	return attest.NewVerifier(c.Issuer, jwks, pqcKeys)
}
