// Package peer asks viem, a client library of Ethereum, for transactions and hashes, for tests of the gateways.
package peer

import (
	"embed"
	"encoding/json"
	"testing"
	"time"

	"bailiff/fuzz/kit/npm"
)

//go:embed package.json package-lock.json viem.mjs
var viemFiles embed.FS

// Viem is the folder in which viem is installed.
type Viem string

// InstallViem installs viem, or skips the test.
func InstallViem(t testing.TB) Viem { return Viem(npm.Install(t, "viem", viemFiles)) }

// Question is what viem is asked. Members of transactions and operations are those of viem, numbers as strings of
// digits or hexadecimal.
type Question struct {
	PrivateKey   string           `json:"privateKey"`
	Transactions []map[string]any `json:"transactions"` // to sign
	Operations   []Operation      `json:"operations"`   // to hash
}

// Operation is a user operation with what its hash depends on.
type Operation struct {
	Version    string         `json:"version"`
	EntryPoint string         `json:"entryPoint"`
	ChainID    uint64         `json:"chainId"`
	Fields     map[string]any `json:"fields"`
}

// Answer is what viem makes of a question.
type Answer struct {
	Address      string // of the private key
	Transactions []struct{ Raw, SHA256 string }
	Operations   []struct {
		Hash string
		RPC  json.RawMessage // as viem sends it to a bundler
		// Packed is as the contract takes it; absent for version 0.6.
		Packed json.RawMessage
	}
}

// Ask asks viem.
func (v Viem) Ask(t testing.TB, q Question) Answer {
	t.Helper()
	input, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	output, err := npm.Run(t, 2*time.Minute, string(v), input, "node", "viem.mjs")
	if err != nil {
		t.Fatalf("node viem.mjs: %v", err)
	}
	var answer Answer
	if err := json.Unmarshal(output, &answer); err != nil {
		t.Fatalf("viem.mjs answered %.200s (%v)", output, err)
	}
	if len(answer.Transactions) != len(q.Transactions) || len(answer.Operations) != len(q.Operations) {
		t.Fatalf("viem.mjs answered %d transactions and %d operations", len(answer.Transactions), len(answer.Operations))
	}
	return answer
}
