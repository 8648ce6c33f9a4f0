package attest

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
)

func responsePolicy() *ResponsePolicy {
	return &ResponsePolicy{
		KeyID: "key-1", Epoch: 3, IssuedAt: issuedAt.Unix(), Issuer: evmClaims().Issuer,
		PolicyHash: strings.Repeat("ab", 32), Rules: json.RawMessage(`{"version":1}`),
	}
}

// TestResponsePolicy: what is issued verifies for its key until it expires, and neither kind of token passes for the other.
func TestResponsePolicy(t *testing.T) {
	s, p := testSigner(t), responsePolicy()
	v := testVerifier(t, s)
	token, err := s.IssueResponsePolicy(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{-ClockSkew, 0, ResponsePolicySeconds*time.Second - 1} {
		got, err := v.VerifyResponsePolicy(token, "key-1", issuedAt.Add(after))
		if err != nil || got.Epoch != 3 || string(got.Rules) != string(p.Rules) || got.PolicyHash != p.PolicyHash {
			t.Errorf("%v later: %+v, %v", after, got, err)
		}
	}
	if _, err := v.Verify(token, issuedAt); !errors.Is(err, ErrHeader) && !errors.Is(err, ErrTooLarge) {
		t.Errorf("it passes for an attestation: %v", err)
	}
	if _, err := v.VerifyResponsePolicy(issue(t, s, evmClaims()), "key-1", issuedAt); !errors.Is(err, ErrHeader) {
		t.Errorf("an attestation passes for a response policy: %v", err)
	}
	other := *p
	other.Issuer = "another"
	foreign, _ := s.IssueResponsePolicy(&other)
	strange, _ := signerFrom(t, "another").IssueResponsePolicy(p)
	parts := strings.Split(token, ".")
	for name, row := range map[string]struct {
		token, key string
		at         time.Time
		want       error
	}{
		"another key":       {token, "key-2", issuedAt, ErrAudience},
		"expired":           {token, "key-1", issuedAt.Add(ResponsePolicySeconds * time.Second), ErrExpired},
		"too early":         {token, "key-1", issuedAt.Add(-ClockSkew - time.Second), ErrNotYetValid},
		"another issuer":    {foreign, "key-1", issuedAt, ErrIssuer},
		"another signer":    {strange, "key-1", issuedAt, ErrUnknownKey},
		"two parts":         {parts[0] + "." + parts[1], "key-1", issuedAt, ErrMalformed},
		"another signature": {parts[0] + "." + parts[1] + "." + strings.Repeat("A", 86), "key-1", issuedAt, ErrSignature},
		"too long":          {strings.Repeat("A", maxResponsePolicyBytes+1), "key-1", issuedAt, ErrTooLarge},
	} {
		if _, err := v.VerifyResponsePolicy(row.token, row.key, row.at); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
}

// TestResponsePolicySpoilt signs payloads anew with Ed25519 alone: the signature inside and the one spelling still refuse them.
func TestResponsePolicySpoilt(t *testing.T) {
	s := testSigner(t)
	token, err := s.IssueResponsePolicy(responsePolicy())
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	payload, _ := decodeSegment(parts[1])
	for name, row := range map[string]struct {
		old, new string
		want     error
	}{
		"another epoch":   {`"epoch":3`, `"epoch":4`, ErrPQC},
		"other rules":     {`{"version":1}`, `{}`, ErrPQC},
		"another context": {responsePolicyContext, pqcContext, ErrPQC},
		"white space":     {`"epoch":3`, `"epoch": 3`, errPayload},
		"a member twice":  {`"epoch":3`, `"epoch":3,"epoch":3`, errPayload},
		"no epoch":        {`"epoch":3,`, ``, errPayload},
		"epoch a string":  {`"epoch":3`, `"epoch":"3"`, errPayload},
		"pqc.sig no text": {`"sig":"`, `"sig":"=`, ErrPQC},
	} {
		changed := strings.Replace(string(payload), row.old, row.new, 1)
		spoilt := parts[0] + "." + string(appendBase64(nil, []byte(changed)))
		spoilt += "." + string(appendBase64(nil, ed25519Sign(s, spoilt)))
		if _, err := testVerifier(t, s).VerifyResponsePolicy(spoilt, "", issuedAt); changed == string(payload) || !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
}

// TestResponsePolicyClaims: what breaks a rule is not issued.
func TestResponsePolicyClaims(t *testing.T) {
	for name, spoil := range map[string]func(*ResponsePolicy){
		"no key":      func(p *ResponsePolicy) { p.KeyID = "" },
		"no issuer":   func(p *ResponsePolicy) { p.Issuer = "" },
		"no epoch":    func(p *ResponsePolicy) { p.Epoch = 0 },
		"no time":     func(p *ResponsePolicy) { p.IssuedAt = 0 },
		"short hash":  func(p *ResponsePolicy) { p.PolicyHash = "ab" },
		"no rules":    func(p *ResponsePolicy) { p.Rules = nil },
		"white space": func(p *ResponsePolicy) { p.Rules = json.RawMessage(`{ }`) },
		"no object":   func(p *ResponsePolicy) { p.Rules = json.RawMessage(`[]`) },
	} {
		p := responsePolicy()
		spoil(p)
		if token, err := testSigner(t).IssueResponsePolicy(p); !errors.Is(err, errClaims) {
			t.Errorf("%s: %.20s, %v", name, token, err)
		}
	}
}

// TestResponsePolicyLifetime: a policy that expires at another time than it has to is refused, though both signatures are good.
func TestResponsePolicyLifetime(t *testing.T) {
	s, p := testSigner(t), responsePolicy()
	header, _ := decodeSegment(responsePolicyHeader(s.KeyID()))
	for _, row := range []struct {
		seconds int64
		want    error
	}{{ResponsePolicySeconds, nil}, {ResponsePolicySeconds - 1, errLifetime}, {ResponsePolicySeconds + 1, errLifetime}} {
		claims, at := p.append(nil, p.IssuedAt+row.seconds)
		signature := make([]byte, mldsa65.SignatureSize)
		if err := signMLDSA(s.pair.mldsa.private, claims, responsePolicyContext, true, signature); err != nil {
			t.Fatal(err)
		}
		token := forge(s, string(header), string(appendPayload(nil, claims, at, pqcHeadFor(s.PQCKeyID(), responsePolicyContext), signature)))
		if _, err := testVerifier(t, s).VerifyResponsePolicy(token, "", issuedAt); !errors.Is(err, row.want) {
			t.Errorf("of %d seconds: %v, want %v", row.seconds, err, row.want)
		}
	}
}

// TestResponsePolicySize: rules that do not fit are not issued.
func TestResponsePolicySize(t *testing.T) {
	p := responsePolicy()
	p.Rules = json.RawMessage(`{"a":"` + strings.Repeat("a", maxResponsePolicyBytes/4*3) + `"}`)
	if token, err := testSigner(t).IssueResponsePolicy(p); !errors.Is(err, ErrTooLarge) || token != "" {
		t.Errorf("%d bytes, %v", len(token), err)
	}
}

func ed25519Sign(s *Signer, text string) []byte { return ed25519.Sign(s.pair.ed25519, []byte(text)) }
