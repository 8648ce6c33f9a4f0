package attest

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/go-jose/go-jose/v4"
)

// ClockSkew is how far `iat` may lie ahead of the verifier's clock. It tolerates a clock that is behind the
// issuer's; it does not prolong a token, for `exp` has no tolerance.
const ClockSkew = 5 * time.Second

// algorithms is all that the outer signature may be.
var algorithms = []jose.SignatureAlgorithm{jose.EdDSA}

// Verifier verifies the attestations of one issuer: the pair of a trusted `iss` and the keys that speak
// for it (specification, verification.1). It is immutable and safe for concurrent use. Whether a token
// fits a transaction, a policy or a chain, and whether it was used before, is for the caller to find out.
type Verifier struct {
	issuer  string
	ed25519 map[string]listed[ed25519.PublicKey]  // by the token's first part
	mldsa   map[string]listed[*mldsa65.PublicKey] // by pqc.kid
}

// NewVerifier returns a verifier for the tokens of issuer, from the issuer's two key-set documents. Each
// must hold at least one key, keys of its own kind only, and none twice; each kid must be the thumbprint
// of its key.
func NewVerifier(issuer string, jwks, pqcKeys []byte) (*Verifier, error) {
	classical, err := parseJWKS(jwks)
	if err != nil {
		return nil, err
	}
	quantum, err := parsePQCKeys(pqcKeys)
	if err != nil {
		return nil, err
	}
	return newVerifier(issuer, classical, quantum)
}

// Verifier returns a verifier for the signer's own tokens as they are issued under this issuer. Unlike
// one made of documents, it knows when retired keys lapse.
func (s *Signer) Verifier(issuer string) (*Verifier, error) {
	return newVerifier(issuer, s.ed25519, s.mldsa)
}

func newVerifier(issuer string, classical []listed[ed25519.PublicKey],
	quantum []listed[*mldsa65.PublicKey]) (*Verifier, error) {
	if issuer == "" {
		return nil, errors.New("the issuer to trust is empty")
	}
	v := &Verifier{
		issuer:  issuer,
		ed25519: make(map[string]listed[ed25519.PublicKey]),
		mldsa:   make(map[string]listed[*mldsa65.PublicKey]),
	}
	for _, key := range classical {
		v.ed25519[encodeHeader(key.kid)] = key
	}
	for _, key := range quantum {
		v.mldsa[key.kid] = key
	}
	return v, nil
}

// Verify checks a token at the time now, and returns its claims. The steps, each with its error: length
// (ErrTooLarge), form (ErrMalformed), header (ErrHeader, ErrUnknownKey), Ed25519 signature (ErrSignature),
// canonical payload (errPayload), ML-DSA-65 signature (ErrPQC), `iss` (ErrIssuer), `aud` (ErrAudience),
// the rules of the claims (errPayload), `exp` = `iat` + 60 (errLifetime), and that now is not more than
// ClockSkew before `iat` (ErrNotYetValid) and before `exp` (ErrExpired).
func (v *Verifier) Verify(token string, now time.Time) (*Claims, error) {
	text, err := v.openEd25519(token, now)
	if err != nil {
		return nil, err
	}
	p, err := decodePayload(text)
	if err != nil {
		return nil, err
	}
	if err := v.verifyPQC(p, now); err != nil {
		return nil, err
	}
	if err := v.checkParties(p); err != nil {
		return nil, err
	}
	if err := p.checkTime(now); err != nil {
		return nil, err
	}
	return &p.Claims, nil
}

// openEd25519 verifies the outer signature and returns the payload.
func (v *Verifier) openEd25519(token string, now time.Time) ([]byte, error) {
	if len(token) >= MaxTokenBytes {
		return nil, fmt.Errorf("%w: %d bytes, and must have less than %d", ErrTooLarge, len(token), MaxTokenBytes)
	}
	parts, err := split(token)
	if err != nil {
		return nil, err
	}
	key, known := v.ed25519[parts[0]]
	if !known || !key.shown(now.Unix()) {
		return nil, refuseHeader(parts[0])
	}
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	payload, err := signed.Verify(key.key)
	if err != nil {
		return nil, ErrSignature
	}
	return payload, nil
}

// split returns the three parts of a token, each of them canonical base64url.
func split(token string) ([3]string, error) {
	if strings.Count(token, ".") != 2 {
		return [3]string{}, fmt.Errorf("%w: it has not three parts", ErrMalformed)
	}
	header, rest, _ := strings.Cut(token, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	parts := [3]string{header, payload, signature}
	for i, name := range [3]string{"header", "payload", "signature"} {
		if _, err := decodeSegment(parts[i]); err != nil {
			return parts, fmt.Errorf("%w: its %s is %w", ErrMalformed, name, err)
		}
	}
	return parts, nil
}

// refuseHeader tells a header of the right form, whose key is not known, from any other.
func refuseHeader(part string) error {
	raw, _ := decodeSegment(part) // split has decoded it
	kid, opens := strings.CutPrefix(string(raw), headerOpening)
	kid, closes := strings.CutSuffix(kid, headerClosing)
	if _, err := decodeSegment(kid); !opens || !closes || err != nil {
		return ErrHeader
	}
	return fmt.Errorf("%w: kid %q", ErrUnknownKey, kid)
}

// pqc is the claim pqc.
type pqc struct {
	Algorithm string `json:"alg"`
	Context   string `json:"ctx"`
	KeyID     string `json:"kid"`
	Signature string `json:"sig"`
}

// payload is what a token carries: the claims, those that follow from them, and pqc.
type payload struct {
	Claims
	Audience string `json:"aud"`
	Decision string `json:"decision"`
	Expires  int64  `json:"exp"`
	PQC      *pqc   `json:"pqc"`

	canonical []byte // the claims without pqc, in RFC 8785 form
	signature []byte // PQC.Signature, decoded
}

// decodePayload reads a payload whose outer signature has been verified. Its bytes must be the very ones
// that encoding what was read gives: so a repeated, unknown or miscased member, another order, white
// space, another spelling of a number or a string, and trailing data are all refused, by one comparison.
func decodePayload(text []byte) (*payload, error) {
	p := new(payload)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%w: %w", errPayload, err)
	}
	if err := p.checkPQC(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPQC, err)
	}
	var pqcAt int
	p.canonical, pqcAt = appendClaims(make([]byte, 0, len(text)), &p.Claims, envelope{p.Audience, p.Decision, p.Expires})
	again := appendPayload(make([]byte, 0, len(text)), p.canonical, pqcAt, pqcHead(p.PQC.KeyID), p.signature)
	if !bytes.Equal(again, text) {
		return nil, fmt.Errorf("%w: it is not the canonical form of the claims", errPayload)
	}
	return p, nil
}

func (p *payload) checkPQC() (err error) {
	switch {
	case p.PQC == nil:
		return errors.New("pqc is missing")
	case p.PQC.Algorithm != pqcAlgorithm:
		return fmt.Errorf("pqc.alg is %q, not %s", p.PQC.Algorithm, pqcAlgorithm)
	case p.PQC.Context != pqcContext:
		return fmt.Errorf("pqc.ctx is %q, not %s", p.PQC.Context, pqcContext)
	}
	if p.signature, err = decodeSegment(p.PQC.Signature); err != nil {
		return fmt.Errorf("pqc.sig is %w", err)
	}
	return nil
}

func (v *Verifier) verifyPQC(p *payload, now time.Time) error {
	key, known := v.mldsa[p.PQC.KeyID]
	if !known || !key.shown(now.Unix()) {
		return fmt.Errorf("%w: pqc.kid %q is unknown", ErrPQC, p.PQC.KeyID)
	}
	if !verifyMLDSA(key.key, p.canonical, pqcContext, p.signature) {
		return fmt.Errorf("%w: pqc.sig does not verify", ErrPQC)
	}
	return nil
}

// checkParties looks at who speaks to whom, after the signatures, and then at the claims' own rules.
func (v *Verifier) checkParties(p *payload) error {
	switch {
	case p.Issuer != v.issuer:
		return fmt.Errorf("%w: iss is %q, not %q", ErrIssuer, p.Issuer, v.issuer)
	case p.Audience != audienceClaim:
		return fmt.Errorf("%w: aud is %q, not %q", ErrAudience, p.Audience, audienceClaim)
	case p.Decision != decisionClaim:
		return fmt.Errorf("%w: decision is %q, not %q", errPayload, p.Decision, decisionClaim)
	}
	if err := p.check(); err != nil {
		return fmt.Errorf("%w: %w", errPayload, err)
	}
	return nil
}

func (p *payload) checkTime(now time.Time) error {
	switch {
	case p.Expires != p.IssuedAt+LifetimeSeconds:
		return fmt.Errorf("%w: exp is iat %+d seconds, not %+d", errLifetime, p.Expires-p.IssuedAt, LifetimeSeconds)
	case now.Add(ClockSkew).Before(time.Unix(p.IssuedAt, 0)):
		return fmt.Errorf("%w: iat is %d", ErrNotYetValid, p.IssuedAt)
	case !now.Before(time.Unix(p.Expires, 0)):
		return fmt.Errorf("%w: exp was %d; ask for a new authorization", ErrExpired, p.Expires)
	}
	return nil
}
