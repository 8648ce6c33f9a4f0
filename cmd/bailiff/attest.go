package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"bailiff/runtime/attest"
	"bailiff/runtime/authority"
)

// maxKeySetBytes bounds a file of public keys; two of ML-DSA-65 have 6 kB.
const maxKeySetBytes = 1 << 20

type attestCommand struct {
	Verify attestVerifyCommand `cmd:"" help:"Verify an attestation: both signatures, issuer, times."`
}

type attestVerifyCommand struct {
	JWKS    string `name:"jwks" required:"" help:"File of the Ed25519 key set (/.well-known/jwks.json)." placeholder:"FILE"`
	PQCKeys string `name:"pqc-keys" required:"" help:"File of the ML-DSA-65 key set (/v1/pqc-keys)." placeholder:"FILE"`
	Issuer  string `default:"svc-core" help:"The issuer that the keys belong to (${default})."`
	At      string `help:"Judge times as of then (RFC 3339) instead of now." placeholder:"TIME"`
	Token   string `arg:"" help:"The attestation; - is standard input."`
}

// Run prints the claims of a valid attestation, as they were signed.
func (c *attestVerifyCommand) Run(std streams) error {
	now := authority.SystemClock()()
	if c.At != "" {
		at, err := time.Parse(time.RFC3339, c.At)
		if err != nil {
			return usage("--at: %v", err)
		}
		now = at
	}
	verifier, err := c.verifier(std)
	if err != nil {
		return err
	}
	token, err := c.token(std)
	if err != nil {
		return err
	}
	claims, err := verifier.Verify(token, now)
	if err != nil {
		return err
	}
	if claims.Mode == attest.ModeObserve {
		fmt.Fprintln(std.err, "bailiff: this attestation was issued in OBSERVE mode, which enforces nothing: do not act on it")
	}
	return printPayload(std.out, token)
}

// token is the argument or, for "-", what standard input holds.
func (c *attestVerifyCommand) token(std streams) (string, error) {
	if c.Token != "-" {
		return c.Token, nil
	}
	text, err := readBounded(std, c.Token, attest.MaxTokenBytes)
	return strings.TrimSpace(string(text)), err
}

// printPayload prints the claims of a token that has been verified, all of them and as they were signed.
func printPayload(w io.Writer, token string) error {
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		return err
	}
	return printJSON(w, json.RawMessage(payload))
}

func (c *attestVerifyCommand) verifier(std streams) (*attest.Verifier, error) {
	jwks, err := readBounded(std, c.JWKS, maxKeySetBytes)
	if err != nil {
		return nil, err
	}
	pqcKeys, err := readBounded(std, c.PQCKeys, maxKeySetBytes)
	if err != nil {
		return nil, err
	}
	return attest.NewVerifier(c.Issuer, jwks, pqcKeys)
}
