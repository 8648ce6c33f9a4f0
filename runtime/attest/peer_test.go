package attest

import (
	"math/rand"
	"strings"
	"testing"

	"bailiff/fuzz/kit/seed"
	"bailiff/runtime/attest/peer"
)

// Other people's implementations verify the tokens: jose (Ed25519, from the JWKS, with issuer, audience
// and expiry) and @noble/post-quantum (ML-DSA-65, over a canonical form that the script makes itself).
// The canaries are tokens that one of the two, or both, must refuse.
func TestNodeVerifies(t *testing.T) {
	verifier := peer.Install(t)
	s, other := testSigner(t), signerFrom(t, "another signer")
	r := rand.New(rand.NewSource(seed.Value(t)))
	type sample struct {
		name, token string
		jose, noble bool
	}
	samples := []sample{
		{"EVM", issue(t, s, evmClaims()), true, true},
		{"tool", issue(t, s, toolClaims()), true, true},
		{"user operation", issue(t, s, userOpClaims()), true, true},
	}
	for range 5 {
		c := randomClaims(r)
		c.Issuer, c.IssuedAt = issuer, issuedAt.Unix()
		samples = append(samples, sample{"generated " + canonicalOf(c), issue(t, s, c), true, true})
	}
	claims := canonicalOf(evmClaims())
	plain := payloadOf(t, s, claims, pqcContext)
	raised := replace(t, plain, "250000000", "950000000")
	parts := strings.Split(samples[0].token, ".")
	honest := func(old, with string) string {
		return forge(s, headerOf(s), payloadOf(t, s, replace(t, claims, old, with), pqcContext))
	}
	samples = append(samples,
		sample{"payload tampered", parts[0] + "." + string(appendBase64(nil, []byte(raised))) + "." + parts[2], false, false},
		sample{"tampered by a thief of the Ed25519 key", forge(s, headerOf(s), raised), true, false},
		sample{"Ed25519 by another key", forge(other, headerOf(s), plain), false, true},
		sample{"signed in another context", forge(s, headerOf(s), payloadOf(t, s, claims, "x")), true, false},
		sample{"another issuer", honest(`"iss":"svc-core"`, `"iss":"svc-test"`), false, true},
		sample{"another audience", honest(`"aud":"svc"`, `"aud":"web"`), false, true},
		sample{"expired", honest(`"exp":1795000060`, `"exp":1795000000`), false, true},
		sample{"another signer", issue(t, other, evmClaims()), false, false},
	)
	tokens := make([]string, len(samples))
	for i := range samples {
		tokens[i] = samples[i].token
	}
	question := peer.Question{
		JWKS: s.JWKS(issuedAt), PQCKeys: s.PQCKeys(issuedAt), Issuer: issuer, Audience: audienceClaim,
		Context: pqcContext, Now: issuedAt.Unix(), Tokens: tokens,
	}
	for i, got := range verifier.Ask(t, question) {
		want := samples[i]
		if (got.Jose == "ok") != want.jose || (got.Noble == "ok") != want.noble {
			t.Errorf("%s: jose %q (want ok: %v), noble %q (want ok: %v)", want.name, got.Jose, want.jose, got.Noble, want.noble)
		}
	}
}
