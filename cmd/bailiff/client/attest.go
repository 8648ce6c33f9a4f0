package client

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
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
	Tx      string `name:"tx-commit" help:"What txCommit has to be." placeholder:"HASH"`
	UserOp  string `name:"user-op-hash" help:"What userOpHash has to be." placeholder:"HASH"`
	Policy  string `name:"policy-hash" help:"What policyHash has to be." placeholder:"HASH"`
	Chain   uint64 `help:"What chainId has to be." placeholder:"ID"`
	At      string `help:"Judge times as of then (RFC 3339) instead of now." placeholder:"TIME"`
	Token   string `arg:"" help:"The attestation; - is standard input."`
}

// Run prints the claims of a valid attestation, as they were signed.
func (c *attestVerifyCommand) Run(std cli.Streams) error {
	if err := c.checkHashes(); err != nil {
		return err
	}
	now := clock.System()()
	if c.At != "" {
		at, err := time.Parse(time.RFC3339, c.At)
		if err != nil {
			return cli.Usage("--at: %v", err)
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
	if err := c.bound(claims); err != nil {
		return err
	}
	if claims.Mode == attest.ModeObserve {
		fmt.Fprintln(std.Err, "bailiff: this attestation was issued in OBSERVE mode, which enforces nothing: do not act on it")
	}
	return printPayload(std.Out, token)
}

// checkHashes refuses flags that no attestation could match, so that a misspelt hash is not taken for a wrong attestation.
func (c *attestVerifyCommand) checkHashes() error {
	for _, row := range []struct{ flag, value, prefix, form string }{
		{"--tx-commit", c.Tx, "", "64 lower-case hexadecimal digits without 0x"},
		{"--user-op-hash", c.UserOp, "0x", "0x and 64 lower-case hexadecimal digits"},
		{"--policy-hash", c.Policy, "", "64 lower-case hexadecimal digits without 0x"},
	} {
		digits, found := strings.CutPrefix(row.value, row.prefix)
		if row.value != "" && (!found || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "") {
			return cli.Usage("%s is %q; write %s", row.flag, row.value, row.form)
		}
	}
	return nil
}

// bound returns an error unless the claims are those that the flags want (specification, verification.1).
func (c *attestVerifyCommand) bound(claims *attest.Claims) error {
	for _, row := range []struct{ name, want, got string }{
		{"txCommit", c.Tx, claims.TxCommit},
		{"userOpHash", c.UserOp, claims.UserOpHash},
		{"policyHash", c.Policy, claims.PolicyHash},
		{"chainId", chainText(c.Chain), chainText(claims.ChainID)},
	} {
		switch {
		case row.want == "" || row.want == row.got:
		case row.got == "":
			return cli.Fail("the attestation has no %s, and %s was wanted: it is for something else; do not act on it", row.name, row.want)
		default:
			return cli.Fail("%s of the attestation is %s, and %s was wanted: it is for something else; do not act on it", row.name, row.got, row.want)
		}
	}
	return nil
}

// chainText is a chain id as text; empty for none.
func chainText(id uint64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatUint(id, 10)
}

// token is the argument or, for "-", what standard input holds.
func (c *attestVerifyCommand) token(std cli.Streams) (string, error) {
	if c.Token != "-" {
		return c.Token, nil
	}
	text, err := cli.ReadBounded(std, c.Token, attest.MaxTokenBytes)
	return strings.TrimSpace(string(text)), err
}

// printPayload prints the claims of a token that has been verified, all of them and as they were signed.
func printPayload(w io.Writer, token string) error {
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		return err
	}
	return cli.PrintJSON(w, json.RawMessage(payload))
}

func (c *attestVerifyCommand) verifier(std cli.Streams) (*attest.Verifier, error) {
	jwks, err := cli.ReadBounded(std, c.JWKS, maxKeySetBytes)
	if err != nil {
		return nil, err
	}
	pqcKeys, err := cli.ReadBounded(std, c.PQCKeys, maxKeySetBytes)
	if err != nil {
		return nil, err
	}
	return attest.NewVerifier(c.Issuer, jwks, pqcKeys)
}
