package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"testing"
)

func newGroup(t testing.TB) (*groupSigner, *groupVerifier) {
	t.Helper()
	k, err := circl{}.newKey(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	return &groupSigner{private, k}, &groupVerifier{private.Public().(ed25519.PublicKey), k}
}

// TestGroup: each token of a group verifies by itself, and gives its own claims.
func TestGroup(t *testing.T) {
	g, v := newGroup(t)
	for _, n := range []int{1, 2, 3, 8, 64} {
		claims := make([][]byte, n)
		for i := range claims {
			claims[i] = fmt.Appendf(nil, "claims %d of %d", i, n)
		}
		tokens, err := g.group(claims)
		if err != nil {
			t.Fatal(err)
		}
		for i, token := range tokens {
			if got, err := v.verify(token); err != nil || !bytes.Equal(got, claims[i]) {
				t.Errorf("%d of %d: %q, %v", i, n, got, err)
			}
		}
	}
	token, err := g.single([]byte("alone"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v.verify(token); err != nil || string(got) != "alone" {
		t.Errorf("alone: %q, %v", got, err)
	}
}

// TestGroupIsBound: a token of which any byte is another, or that has another's claims, does not verify, even where the holder
// of the Ed25519 key signs it again.
func TestGroupIsBound(t *testing.T) {
	g, v := newGroup(t)
	tokens, err := g.group([][]byte{[]byte("one"), []byte("two"), []byte("six")})
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := bytes.Cut(tokens[1], []byte("."))
	payload, err := base64.RawURLEncoding.DecodeString(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.verifyPayload(payload); err != nil {
		t.Fatal(err)
	}
	for i := range payload {
		broken := bytes.Clone(payload)
		broken[i] ^= 1
		if _, err := v.verifyPayload(broken); err == nil {
			t.Errorf("byte %d is another, and the token verifies", i)
		}
	}
	broken := bytes.Clone(tokens[0])
	broken[len(broken)/2] ^= 1
	for _, token := range [][]byte{broken, tokens[0][:len(tokens[0])-5], nil, []byte("."), text} {
		if _, err := v.verify(token); err == nil {
			t.Errorf("%.20q… verifies", token)
		}
	}
}
