// Package peer lets other people's implementations verify attestations in tests: jose (Ed25519) and
// @noble/post-quantum (ML-DSA-65) on Node, which it installs itself from the npm registry.
package peer

import (
	"embed"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"bailiff/fuzz/kit/npm"
)

// answerTimeout bounds how long the libraries may take for all tokens of a question.
const answerTimeout = 2 * time.Minute

//go:embed package.json package-lock.json verify.mjs
var files embed.FS

// Verifier is the path of the installed verify.mjs.
type Verifier string

// Question is what the verifier is asked. Its members are those that verify.mjs reads.
type Question struct {
	JWKS     json.RawMessage `json:"jwks"`
	PQCKeys  json.RawMessage `json:"pqcKeys"`
	Issuer   string          `json:"issuer"`
	Audience string          `json:"audience"`
	Context  string          `json:"context"` // of the ML-DSA-65 signature
	Now      int64           `json:"now"`     // Unix seconds
	Tokens   []string        `json:"tokens"`
}

// Result is what the two libraries say of one token: "ok", or the fault.
type Result struct{ Jose, Noble string }

// Ask returns a result for each token.
func (v Verifier) Ask(t testing.TB, q Question) []Result {
	t.Helper()
	input, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	output, err := npm.Run(t, answerTimeout, filepath.Dir(string(v)), input, "node", string(v))
	if err != nil {
		t.Fatalf("node verify.mjs: %v", err)
	}
	var results []Result
	if err := json.Unmarshal(output, &results); err != nil || len(results) != len(q.Tokens) {
		t.Fatalf("verify.mjs answered %s (%v)", output, err)
	}
	return results
}

// Install returns the verifier with its packages installed, or skips the test as npm.Install does.
func Install(t testing.TB) Verifier {
	t.Helper()
	return Verifier(filepath.Join(npm.Install(t, "attest", files), "verify.mjs"))
}
