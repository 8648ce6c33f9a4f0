package gen

import (
	"encoding/hex"
	"testing"

	"golang.org/x/crypto/sha3"
)

// TestSelectors: each selector is the one of its signature.
func TestSelectors(t *testing.T) {
	for _, m := range contractMethods {
		keccak := sha3.NewLegacyKeccak256()
		keccak.Write([]byte(m.signature))
		if got := hex.EncodeToString(keccak.Sum(nil)[:4]); got != m.selector {
			t.Errorf("%s has the selector %s, not %s", m.signature, got, m.selector)
		}
	}
}
