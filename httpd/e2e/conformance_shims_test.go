package e2e

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

// filesPolicy has a profile, which a trusted shim has to activate.
const filesPolicy = "version: 2.1.0\n\n## filesystem\nactions: file.*\nallowed_effects: read\nread_roots: /work\nrequire_shim: true\n"

// activation signs claims as a fleet of shims does (RFC 7515, section 3.1), with a key of that name.
func (o operator) activation(t *testing.T, kid string, claims map[string]any) string {
	t.Helper()
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"alg":"EdDSA","kid":%q}`, kid)) + "." + base64.RawURLEncoding.EncodeToString(body)
	return signed + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(o.private, []byte(signed)))
}

// trusting makes a site of a hosted service that trusts a fleet.
func trusting(t *testing.T, fleet operator) *site {
	t.Helper()
	s := newHosted(t, "SVC_PUBLIC_URL=https://api.example.com")
	s.write("shims.json", fmt.Sprintf(`{"schema":"svc-trusted-shims/v1","issuers":[{"issuer":"https://shims.example.com",
		"keys":[{"kty":"OKP","crv":"Ed25519","kid":"fleet","x":%q}],"identities":["shim-1"],"versions":["1.4.2"]}]}`, fleet.public()))
	s.env = append(s.env, "SVC_TRUSTED_SHIMS="+s.path("shims.json"))
	return s
}

// TestActivations deploys a profile with activations that lack one thing each: every code of a refusal is answered with
// 409, nothing is deployed, and a good activation deploys once.
func TestActivations(t *testing.T) {
	t.Parallel()
	fleet, mine := newOperator(t), newOperator(t)
	service := trusting(t, fleet).start()
	key := service.register().APIKey
	signed, hash := mine.sign(filesPolicy)
	fingerprint := sha256.Sum256([]byte(mine.public()))
	good := map[string]any{
		"activation_schema": "svc-trusted-shim-activation/v1", "iss": "https://shims.example.com", "aud": "https://api.example.com/v1/warranty/deploy",
		"sub": "shim-1", "jti": strings.Repeat("n", 16), "iat": time.Now().Unix() - 10, "exp": time.Now().Unix() + 200, "shim_version": "1.4.2",
		"capabilities": []string{"profile.filesystem"}, "policy_hash": hash, "operator_key_fingerprint": hex.EncodeToString(fingerprint[:]),
	}
	deploy := func(text, activation string) reply {
		body, err := json.Marshal(map[string]string{"warranty_md": text, "operator_public_key": mine.public(), "trusted_shim_attestation": activation})
		if err != nil {
			t.Fatal(err)
		}
		return service.send("POST", "/v1/warranty/deploy", key, string(body))
	}
	unshimmed, _ := mine.sign(strings.Replace(filesPolicy, "require_shim: true\n", "", 1))
	deploy(unshimmed, "x").wants(t, "a profile without require_shim", "409 SVC_TRUSTED_SHIM_REQUIRED")
	deploy(signed, "").wants(t, "no activation", "409 SVC_TRUSTED_SHIM_ATTESTATION_REQUIRED")
	deploy(signed, "x").wants(t, "no JWT", "409 SVC_TRUSTED_SHIM_ATTESTATION_MALFORMED")
	deploy(signed, mine.activation(t, "fleet", good)).wants(t, "signed by somebody else", "409 SVC_TRUSTED_SHIM_UNTRUSTED")
	deploy(signed, fleet.activation(t, "other", good)).wants(t, "a key that nobody trusts", "409 SVC_TRUSTED_SHIM_UNTRUSTED")
	for _, x := range []struct {
		claim string
		value any
		want  string
	}{
		{"iss", "https://elsewhere.example.com", "ISSUER_INVALID"},
		{"aud", "https://elsewhere.example.com", "AUDIENCE_INVALID"},
		{"sub", "shim-2", "IDENTITY_INVALID"},
		{"shim_version", "", "VERSION_REQUIRED"},
		{"shim_version", "1.4.3", "VERSION_UNSUPPORTED"},
		{"exp", time.Now().Unix() - 1, "ATTESTATION_EXPIRED"},
		{"exp", time.Now().Unix() + 291, "ATTESTATION_EXPIRED"}, // 301 s after iat
		{"jti", strings.Repeat("n", 15), "NONCE_INVALID"},
		{"capabilities", []string{"profile.git"}, "CAPABILITY_MISSING"},
		{"policy_hash", strings.Repeat("0", 64), "POLICY_BINDING_INVALID"},
		{"operator_key_fingerprint", strings.Repeat("0", 64), "POLICY_BINDING_INVALID"},
	} {
		claims := maps.Clone(good)
		claims[x.claim] = x.value
		deploy(signed, fleet.activation(t, "fleet", claims)).wants(t, fmt.Sprint(x.claim, " ", x.value), "409 SVC_TRUSTED_SHIM_"+x.want)
	}
	service.send("POST", "/v1/authorize", key, listing).wants(t, "after refused activations", "409 SVC_NO_POLICY_DEPLOYED")
	token := fleet.activation(t, "fleet", good)
	if got := read[deployed](t, deploy(signed, token), 200); got.PolicyHash != hash {
		t.Errorf("deployed %s, and not %s", got.PolicyHash, hash)
	}
	deploy(signed, token).wants(t, "the same activation again", "409 SVC_TRUSTED_SHIM_ATTESTATION_REPLAYED")
	service.decides(t, "an agent's key under the profile", key, tool("file.x", ""), "DENIED SVC_POLICY_VIOLATION_EXECUTION_BOUNDARY_REQUIRED")
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	service = service.site.start()
	deploy(signed, token).wants(t, "the same activation after a restart", "409 SVC_TRUSTED_SHIM_ATTESTATION_REPLAYED")
}
