package attest

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	// The JSON package of go-jose compares names exactly and refuses repeated ones.
	"github.com/go-jose/go-jose/v4/json"
)

// activationSchema is the claim activation_schema of every activation.
const activationSchema = "svc-trusted-shim-activation/v1"

// maxActivationBytes bounds the token of an activation: a dozen short claims and a signature.
const maxActivationBytes = 16 << 10

// The ways in which an activation is invalid, or unsigned.
var (
	// errActivation: the token is no compact JWT with the claims of an activation.
	errActivation = errors.New("the activation is malformed")
	// errActivationSignature: the key's signature does not verify, or is of another algorithm than EdDSA.
	errActivationSignature = errors.New("the activation's signature does not verify")
)

// Activation is what a trusted shim says when a policy with resource profiles is deployed (decisions, section 5, "Trusted
// shim"). Nothing of it counts before [Activation.Verify] has returned nil.
type Activation struct {
	KeyID               string   // kid of the header
	Issuer              string   // iss
	Audience            string   // aud: a string, or an array of one
	Subject             string   // sub: the shim's identity
	ID                  string   // jti
	IssuedAt            int64    // iat, Unix seconds
	NotBefore           int64    // nbf, Unix seconds; 0 where absent
	Expires             int64    // exp, Unix seconds
	Version             string   // shim_version; empty where absent
	Capabilities        []string // capabilities
	PolicyHash          string   // policy_hash
	OperatorFingerprint string   // operator_key_fingerprint

	token string
}

// activationClaims are the claims as written; an absent one is nil.
type activationClaims struct {
	Schema       *string   `json:"activation_schema"`
	Issuer       *string   `json:"iss"`
	Audience     *audience `json:"aud"`
	Subject      *string   `json:"sub"`
	ID           *string   `json:"jti"`
	IssuedAt     *int64    `json:"iat"`
	NotBefore    int64     `json:"nbf"`
	Expires      *int64    `json:"exp"`
	Version      string    `json:"shim_version"`
	Capabilities *[]string `json:"capabilities"`
	PolicyHash   *string   `json:"policy_hash"`
	Fingerprint  *string   `json:"operator_key_fingerprint"`
}

// audience is a string, or an array of one (RFC 7519, section 4.1.3).
type audience string

// UnmarshalJSON reads either form.
func (a *audience) UnmarshalJSON(text []byte) error {
	var one string
	if err := json.Unmarshal(text, &one); err == nil {
		*a = audience(one)
		return nil
	}
	var several []string
	if err := json.Unmarshal(text, &several); err != nil || len(several) != 1 {
		return errors.New("aud is neither a string nor an array of one")
	}
	*a = audience(several[0])
	return nil
}

// ParseActivation reads an activation without verifying it. The error wraps errActivation. Claims that are not an
// activation's are not looked at; header parameters that have to be understood (crit) are refused.
func ParseActivation(token string) (*Activation, error) {
	if len(token) > maxActivationBytes {
		return nil, fmt.Errorf("%w: it has %d bytes; at most %d are accepted", errActivation, len(token), maxActivationBytes)
	}
	parts, err := split(token)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not a compact JWT", errActivation)
	}
	kid, err := activationKeyID(parts[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errActivation, err)
	}
	var claims activationClaims
	if err := decodePart(parts[1], &claims); err != nil {
		return nil, fmt.Errorf("%w: its claims: %w", errActivation, err)
	}
	if missing := claims.missing(); missing != "" {
		return nil, fmt.Errorf("%w: the claim %s is missing, or not what it has to be", errActivation, missing)
	}
	return claims.activation(kid, token), nil
}

// activationKeyID reads the header.
func activationKeyID(part string) (string, error) {
	var header struct {
		Algorithm *string `json:"alg"`
		KeyID     *string `json:"kid"`
		Critical  any     `json:"crit"`
	}
	switch err := decodePart(part, &header); {
	case err != nil:
		return "", fmt.Errorf("its header: %w", err)
	case header.Algorithm == nil || header.KeyID == nil:
		return "", errors.New("its header lacks alg or kid")
	case header.Critical != nil:
		return "", errors.New("its header has crit")
	}
	return *header.KeyID, nil
}

// decodePart decodes one part of a token, which must be a JSON object.
func decodePart(part string, into any) error {
	raw, _ := decodeSegment(part) // split has decoded it
	if !bytes.HasPrefix(raw, []byte("{")) {
		return errors.New("not a JSON object")
	}
	return json.Unmarshal(raw, into)
}

// missing names the first claim that is absent.
func (c *activationClaims) missing() string {
	for _, claim := range []struct {
		name  string
		there bool
	}{
		{"activation_schema", c.Schema != nil && *c.Schema == activationSchema},
		{"iss", c.Issuer != nil}, {"aud", c.Audience != nil}, {"sub", c.Subject != nil}, {"jti", c.ID != nil},
		{"iat", c.IssuedAt != nil}, {"exp", c.Expires != nil}, {"capabilities", c.Capabilities != nil && *c.Capabilities != nil},
		{"policy_hash", c.PolicyHash != nil}, {"operator_key_fingerprint", c.Fingerprint != nil},
	} {
		if !claim.there {
			return claim.name
		}
	}
	return ""
}

func (c *activationClaims) activation(kid, token string) *Activation {
	return &Activation{
		KeyID: kid, Issuer: *c.Issuer, Audience: string(*c.Audience), Subject: *c.Subject, ID: *c.ID,
		IssuedAt: *c.IssuedAt, NotBefore: c.NotBefore, Expires: *c.Expires, Version: c.Version, Capabilities: *c.Capabilities,
		PolicyHash: *c.PolicyHash, OperatorFingerprint: *c.Fingerprint, token: token,
	}
}

// Verify checks the activation's signature: Ed25519, and nothing else. The error is errActivationSignature.
func (a *Activation) Verify(key ed25519.PublicKey) error {
	signed, err := jose.ParseSignedCompact(a.token, algorithms)
	if err != nil {
		return errActivationSignature
	}
	if _, err := signed.Verify(key); err != nil {
		return errActivationSignature
	}
	return nil
}

// ParseActivationKey reads the public key of somebody who signs activations: a JWK of kty OKP and crv Ed25519 with a kid,
// without a private part; use and alg, where it has them, are sig and EdDSA (RFC 8037).
func ParseActivationKey(text []byte) (kid string, key ed25519.PublicKey, err error) {
	var jwk jose.JSONWebKey
	if err := json.Unmarshal(text, &jwk); err != nil {
		return "", nil, fmt.Errorf("not a JWK: %w", err)
	}
	key, ok := jwk.Key.(ed25519.PublicKey)
	switch {
	case !ok:
		return "", nil, errors.New("not an Ed25519 public key")
	case jwk.KeyID == "":
		return "", nil, errors.New("it has no kid")
	case jwk.Use != "" && jwk.Use != "sig" || jwk.Algorithm != "" && jwk.Algorithm != string(jose.EdDSA):
		return "", nil, errors.New("its use is not sig, or its alg is not EdDSA")
	}
	return jwk.KeyID, key, checkPoint(key)
}
