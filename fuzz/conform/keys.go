package conform

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// ErrNoKeys says that a [KeySource] has no further key.
var ErrNoKeys = errors.New("there are no further API keys")

// A KeySource returns an API key that nothing was asked with, of an agent or of a trusted shim. It has the scopes authorize
// and warranty:deploy. It is called by several goroutines.
type KeySource func(ctx context.Context, shim bool) (secret string, err error)

// GivenKeys hands out keys that exist, each once.
func GivenKeys(agents, shims []string) KeySource {
	var mutex sync.Mutex
	left := map[bool][]string{false: agents, true: shims}
	return func(_ context.Context, shim bool) (string, error) {
		mutex.Lock()
		defer mutex.Unlock()
		if len(left[shim]) == 0 {
			return "", ErrNoKeys
		}
		secret := left[shim][0]
		left[shim] = left[shim][1:]
		return secret, nil
	}
}

// RegisteredKeys registers agents' keys at a hosted service, at most as many as its limits let one source register in an hour.
func RegisteredKeys(base string) KeySource {
	w := newWire(base, 1)
	return func(ctx context.Context, shim bool) (string, error) {
		if shim {
			return "", ErrNoKeys
		}
		s := post("/v1/keys/register", "", "", map[string]string{"email": "conform@localhost.localdomain"})
		s.once = true
		answer, err := w.send(ctx, s)
		if err != nil {
			return "", err
		}
		m := parse(answer.body)
		switch {
		case answer.status == http.StatusTooManyRequests:
			return "", ErrNoKeys
		case answer.status != http.StatusCreated || m.text("api_key") == "":
			return "", fmt.Errorf("the service registers no key (%d %s): %s", answer.status, m.text("error_code"), m.text("message"))
		}
		return m.text("api_key"), nil
	}
}

// A Shim consents to the deployment of policies with resource profiles. The service trusts it by the file that
// SVC_TRUSTED_SHIMS names.
type Shim struct{ private ed25519.PrivateKey }

// The names of the shim in [Shim.Trust].
const (
	shimIssuer, shimIdentity, shimVersion, shimKeyID = "https://conform.invalid", "conform", "1.0.0", "conform"
	// activationLifetime is for how long an activation is good, in seconds; at most 300.
	activationLifetime = 240
)

// NewShim returns the shim of a private key.
func NewShim(private ed25519.PrivateKey) *Shim { return &Shim{private} }

// Trust is the content of a file for SVC_TRUSTED_SHIMS.
func (s *Shim) Trust() []byte {
	public := base64.RawURLEncoding.EncodeToString(s.private.Public().(ed25519.PublicKey))
	text, _ := json.MarshalIndent(map[string]any{ // maps of texts
		"schema": "svc-trusted-shims/v1",
		"issuers": []any{map[string]any{
			"issuer": shimIssuer, "identities": []string{shimIdentity}, "versions": []string{shimVersion},
			"keys": []any{map[string]string{"kty": "OKP", "crv": "Ed25519", "kid": shimKeyID, "x": public}},
		}},
	}, "", "  ")
	return append(text, '\n')
}

// capabilities are those of every profile.
var capabilities = []string{"profile.repository", "profile.filesystem", "profile.git", "profile.database", "profile.execution_limits"}

// activate returns an activation of a policy.
func (s *Shim) activate(audience, policyHash, operator string, now time.Time) string {
	fingerprint := sha256.Sum256([]byte(operator))
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	claims, _ := json.Marshal(map[string]any{
		"activation_schema": "svc-trusted-shim-activation/v1", "iss": shimIssuer, "aud": audience, "sub": shimIdentity, "jti": hex.EncodeToString(nonce),
		"iat": now.Unix() - 2, "exp": now.Unix() - 2 + activationLifetime, "shim_version": shimVersion, "capabilities": capabilities,
		"policy_hash": policyHash, "operator_key_fingerprint": hex.EncodeToString(fingerprint[:]),
	})
	signed := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA","kid":"`+shimKeyID+`"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	return signed + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(s.private, []byte(signed)))
}
