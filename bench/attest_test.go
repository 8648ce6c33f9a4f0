package bench

import (
	"crypto/ed25519"
	"crypto/rand"
	"testing"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"

	"bailiff/runtime/attest"
)

// Bytes that are signed: by Ed25519 the token, by ML-DSA-65 the claims.
const (
	tokenBytes  = 6500
	claimsBytes = 800
)

// attestBodies issue an attestation, and beside it make the two signatures that it can't do without.
var attestBodies = []body{
	{"issue", func(tb testing.TB) func() error {
		signer, err := attest.LoadOrCreate(tb.TempDir(), rand.Reader)
		if err != nil {
			tb.Fatal(err)
		}
		claims, token := Claims(), make([]byte, 0, attest.MaxTokenBytes)
		return func() (err error) {
			token, err = signer.Issue(token[:0], claims)
			return err
		}
	}},
	{"ed25519", func(tb testing.TB) func() error {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			tb.Fatal(err)
		}
		message := make([]byte, tokenBytes)
		return func() error {
			ed25519.Sign(private, message)
			return nil
		}
	}},
	{"ml-dsa-65", func(tb testing.TB) func() error {
		_, private, err := mldsa65.GenerateKey(rand.Reader)
		if err != nil {
			tb.Fatal(err)
		}
		message, signature := make([]byte, claimsBytes), make([]byte, mldsa65.SignatureSize)
		return func() error {
			return mldsa65.SignTo(private, message, []byte("svc-pqc-attestation-v1"), true, signature)
		}
	}},
}

// BenchmarkAttest is what an ALLOWED costs beyond its decision.
func BenchmarkAttest(b *testing.B) { run(b, attestBodies) }
