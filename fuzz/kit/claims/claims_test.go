package claims_test

import (
	"testing"

	"bailiff/fuzz/kit/claims"
)

// TestLasting: claims that each attestation has of its own are not compared, and others are.
func TestLasting(t *testing.T) {
	type all = map[string]any
	one := claims.Lasting(all{"jti": "1", "iat": 1, "exp": 2, "pqc": "x", "sub": "a", "intentHash": "0"})
	if one != claims.Lasting(all{"jti": "2", "iat": 3, "exp": 4, "pqc": "y", "intentHash": "0", "sub": "a"}) || one == claims.Lasting(all{"sub": "a", "intentHash": "1"}) {
		t.Errorf("lasting claims: %s", one)
	}
}
