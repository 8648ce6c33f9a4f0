package client

import (
	"strings"
	"testing"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/attest"
)

// TestAttestationIsBound: verify refuses an attestation of another transaction, operation, policy or chain than it is told.
func TestAttestationIsBound(t *testing.T) {
	claims := &attest.Claims{TxCommit: "aa", PolicyHash: "bb", ChainID: 8453}
	for _, row := range []struct {
		command attestVerifyCommand
		fault   string
	}{
		{attestVerifyCommand{}, ""},
		{attestVerifyCommand{Tx: "aa", Policy: "bb", Chain: 8453}, ""},
		{attestVerifyCommand{Tx: "ab"}, "txCommit of the attestation is aa, and ab was wanted"},
		{attestVerifyCommand{UserOp: "0xaa"}, "the attestation has no userOpHash"},
		{attestVerifyCommand{Policy: "bc"}, "policyHash of the attestation is bb"},
		{attestVerifyCommand{Chain: 1}, "chainId of the attestation is 8453, and 1 was wanted"},
	} {
		err := row.command.bound(claims)
		if (err == nil) != (row.fault == "") || err != nil && !strings.Contains(err.Error(), row.fault) {
			t.Errorf("%+v: %v", row.command, err)
		}
	}
}

// TestHashesOfFlags: verify tells a hash in another form from an attestation of something else.
func TestHashesOfFlags(t *testing.T) {
	hash := strings.Repeat("a0", 32)
	for _, row := range []struct {
		command attestVerifyCommand
		fault   string
	}{
		{attestVerifyCommand{Tx: hash, UserOp: "0x" + hash, Policy: hash}, ""},
		{attestVerifyCommand{Tx: "0x" + hash}, "64 lower-case hexadecimal digits without 0x"},
		{attestVerifyCommand{Tx: strings.ToUpper(hash)}, "--tx-commit is"},
		{attestVerifyCommand{Tx: hash[1:] + "g"}, "--tx-commit is"},
		{attestVerifyCommand{UserOp: hash}, "--user-op-hash is"},
		{attestVerifyCommand{Policy: "config/warranty.md"}, `--policy-hash is "config/warranty.md"`},
	} {
		err := row.command.Run(cli.Streams{})
		if row.fault == "" {
			err = row.command.checkHashes()
		}
		if (err == nil) != (row.fault == "") || err != nil && !strings.Contains(err.Error(), row.fault) {
			t.Errorf("%+v: %v", row.command, err)
		}
	}
}
