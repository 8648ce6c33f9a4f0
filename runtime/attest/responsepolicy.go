package attest

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/go-jose/go-jose/v4"
)

const (
	// responsePolicyType is the `typ` of a response policy. An attestation has no typ, and each verifier refuses the other kind.
	responsePolicyType = "svc-response-policy+jwt"
	// responsePolicyContext is `pqc.ctx` of a response policy, the FIPS 204 context string of its post-quantum signature.
	responsePolicyContext = "svc-pqc-response-policy-v1"
	// ResponsePolicySeconds is exp - iat of every response policy.
	ResponsePolicySeconds = 5 * 60
	// maxResponsePolicyBytes bounds the token of a response policy. Its rules are a part of a policy's text.
	maxResponsePolicyBytes = 768 << 10
)

// A ResponsePolicy is what one API key's policy says about the results of tools, as the service signs it.
type ResponsePolicy struct {
	KeyID      string          `json:"aud"`        // id of the API key that it is for
	Epoch      uint64          `json:"epoch"`      // of the API key: moves with each deployment, from 1
	IssuedAt   int64           `json:"iat"`        // Unix seconds
	Issuer     string          `json:"iss"`        // the service
	PolicyHash string          `json:"policyHash"` // of the policy that the rules are from
	Rules      json.RawMessage `json:"rules"`      // a JSON object without white space; package response knows its members
}

// check returns what keeps a response policy from being issued or used.
func (p *ResponsePolicy) check() error {
	var rules bytes.Buffer
	switch {
	case !isText(p.Issuer):
		return errors.New("iss is empty or not UTF-8")
	case !isText(p.KeyID):
		return errors.New("aud is empty or not UTF-8")
	case p.Epoch == 0 || p.Epoch > maxInteger:
		return fmt.Errorf("epoch %d is not 1 to 2^53-1", p.Epoch)
	case p.IssuedAt <= 0 || p.IssuedAt > maxInteger-ResponsePolicySeconds:
		return fmt.Errorf("iat %d is not a time in Unix seconds", p.IssuedAt)
	case !isHex(p.PolicyHash, 64):
		return errors.New("policyHash is not 64 lower-case hex digits")
	case !bytes.HasPrefix(p.Rules, []byte{'{'}) || json.Compact(&rules, p.Rules) != nil || !bytes.Equal(rules.Bytes(), p.Rules):
		return errors.New("rules is not a JSON object without white space")
	}
	return nil
}

// append appends the claims without pqc, sorted by name, and returns where pqc belongs.
func (p *ResponsePolicy) append(dst []byte, expires int64) (out []byte, pqcAt int) {
	dst = appendMember(dst, `{"aud":`, p.KeyID)
	dst = strconv.AppendUint(append(dst, `,"epoch":`...), p.Epoch, 10)
	dst = strconv.AppendInt(append(dst, `,"exp":`...), expires, 10)
	dst = strconv.AppendInt(append(dst, `,"iat":`...), p.IssuedAt, 10)
	dst = appendMember(dst, `,"iss":`, p.Issuer)
	dst = appendMember(dst, `,"policyHash":`, p.PolicyHash)
	pqcAt = len(dst)
	dst = append(append(dst, `,"rules":`...), p.Rules...)
	return append(dst, '}'), pqcAt
}

// IssueResponsePolicy returns the compact JWT of a response policy. The errors are errClaims and ErrTooLarge.
func (s *Signer) IssueResponsePolicy(p *ResponsePolicy) (string, error) {
	if err := p.check(); err != nil {
		return "", fmt.Errorf("%w: %w", errClaims, err)
	}
	claims, pqcAt := p.append(nil, p.IssuedAt+ResponsePolicySeconds)
	signature := make([]byte, mldsa65.SignatureSize)
	if err := signMLDSA(s.pair.mldsa.private, claims, responsePolicyContext, true, signature); err != nil {
		return "", fmt.Errorf("signing with ML-DSA-65: %w", err)
	}
	payload := appendPayload(nil, claims, pqcAt, pqcHeadFor(s.PQCKeyID(), responsePolicyContext), signature)
	token := appendBase64([]byte(responsePolicyHeader(s.KeyID())+"."), payload)
	token = appendBase64(append(token, '.'), ed25519.Sign(s.pair.ed25519, token))
	if len(token) > maxResponsePolicyBytes {
		return "", fmt.Errorf("%w: the token would have %d bytes; at most %d are allowed", ErrTooLarge, len(token), maxResponsePolicyBytes)
	}
	return string(token), nil
}

// responsePolicyHeader is the first part of every response policy that names kid.
func responsePolicyHeader(kid string) string {
	return string(appendBase64(nil, []byte(headerOpening+kid+`","typ":"`+responsePolicyType+headerClosing)))
}

// responsePolicyPayload is what the token of a response policy carries.
type responsePolicyPayload struct {
	ResponsePolicy
	Expires int64 `json:"exp"`
	PQC     *pqc  `json:"pqc"`
}

// VerifyResponsePolicy checks a response policy for one API key at the time now. An empty keyID takes that of any key. Its steps
// and errors are those of Verify; the caller refuses an epoch that is lower than one it has seen.
func (v *Verifier) VerifyResponsePolicy(token, keyID string, now time.Time) (*ResponsePolicy, error) {
	text, err := v.openResponsePolicy(token, now)
	if err != nil {
		return nil, err
	}
	p := new(responsePolicyPayload)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%w: %w", errPayload, err)
	}
	if err := v.checkResponsePQC(p, text, now); err != nil {
		return nil, err
	}
	switch {
	case p.Issuer != v.issuer:
		return nil, fmt.Errorf("%w: iss is %q, not %q", ErrIssuer, p.Issuer, v.issuer)
	case keyID != "" && p.KeyID != keyID:
		return nil, fmt.Errorf("%w: aud is %q, not %q", ErrAudience, p.KeyID, keyID)
	case p.Expires != p.IssuedAt+ResponsePolicySeconds:
		return nil, fmt.Errorf("%w: exp is iat %+d seconds, not %+d", errLifetime, p.Expires-p.IssuedAt, ResponsePolicySeconds)
	case now.Add(ClockSkew).Before(time.Unix(p.IssuedAt, 0)):
		return nil, fmt.Errorf("%w: iat is %d", ErrNotYetValid, p.IssuedAt)
	case !now.Before(time.Unix(p.Expires, 0)):
		return nil, fmt.Errorf("%w: exp was %d; fetch a new one", ErrExpired, p.Expires)
	}
	return &p.ResponsePolicy, nil
}

// openResponsePolicy verifies the outer signature of a token with the typ of a response policy, and returns the payload.
func (v *Verifier) openResponsePolicy(token string, now time.Time) ([]byte, error) {
	if len(token) > maxResponsePolicyBytes {
		return nil, fmt.Errorf("%w: %d bytes, and at most %d are allowed", ErrTooLarge, len(token), maxResponsePolicyBytes)
	}
	parts, err := split(token)
	if err != nil {
		return nil, err
	}
	raw, _ := decodeSegment(parts[0]) // split has decoded it
	kid, opens := strings.CutPrefix(string(raw), headerOpening)
	kid, closes := strings.CutSuffix(kid, `","typ":"`+responsePolicyType+headerClosing)
	if !opens || !closes {
		return nil, fmt.Errorf("%w and typ %s", ErrHeader, responsePolicyType)
	}
	key, known := v.ed25519[encodeHeader(kid)]
	if !known || !key.shown(now.Unix()) {
		return nil, fmt.Errorf("%w: kid %.64q", ErrUnknownKey, kid)
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

// checkResponsePQC verifies the signature inside, and that the payload is the one spelling of what was read.
func (v *Verifier) checkResponsePQC(p *responsePolicyPayload, text []byte, now time.Time) error {
	if p.PQC == nil || p.PQC.Algorithm != pqcAlgorithm || p.PQC.Context != responsePolicyContext {
		return fmt.Errorf("%w: pqc is not of alg %s and ctx %s", ErrPQC, pqcAlgorithm, responsePolicyContext)
	}
	signature, err := decodeSegment(p.PQC.Signature)
	if err != nil {
		return fmt.Errorf("%w: pqc.sig is %w", ErrPQC, err)
	}
	if err := p.check(); err != nil {
		return fmt.Errorf("%w: %w", errPayload, err)
	}
	claims, pqcAt := p.append(nil, p.Expires)
	if !bytes.Equal(appendPayload(nil, claims, pqcAt, pqcHeadFor(p.PQC.KeyID, responsePolicyContext), signature), text) {
		return fmt.Errorf("%w: it is not the canonical form of the claims", errPayload)
	}
	key, known := v.mldsa[p.PQC.KeyID]
	if !known || !key.shown(now.Unix()) || !verifyMLDSA(key.key, claims, responsePolicyContext, signature) {
		return fmt.Errorf("%w: pqc.kid is unknown, or pqc.sig does not verify", ErrPQC)
	}
	return nil
}
