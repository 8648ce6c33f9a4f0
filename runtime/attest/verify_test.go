package attest

import (
	"errors"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/seed"
)

func unix(seconds int64) time.Time { return time.Unix(seconds, 0) }

// attack is a token that must be refused, and the step that must refuse it.
type attack struct {
	name  string
	token string
	now   time.Time
	want  error
}

// attacks are made with the signer's own keys wherever a thief of one key could make them too.
func attacks(t testing.TB, s *Signer) []attack {
	t.Helper()
	return slices.Concat(formAttacks(t, s), headerAttacks(t, s), payloadAttacks(t, s), pqcAttacks(t, s), claimAttacks(t, s))
}

func formAttacks(t testing.TB, s *Signer) []attack {
	good := issue(t, s, evmClaims())
	parts := strings.Split(good, ".")
	lineEnd := parts[0] + "." + parts[1][:100] + "\r\n" + parts[1][100:] + "." + parts[2]
	foreign := strings.Split(issue(t, s, toolClaims()), ".")[2]
	return []attack{
		{name: "empty", token: "", want: ErrMalformed},
		{name: "two parts", token: parts[0] + "." + parts[1], want: ErrMalformed},
		{name: "four parts", token: good + ".", want: ErrMalformed},
		{name: "8 KiB", token: good + strings.Repeat("A", MaxTokenBytes-len(good)), want: ErrTooLarge},
		{name: "padding", token: good + "=", want: ErrMalformed},
		{name: "line end", token: good + "\n", want: ErrMalformed},
		{name: "line end inside", token: lineEnd, want: ErrMalformed},
		{name: "leading space", token: " " + good, want: ErrMalformed},
		{name: "unused bits", token: good[:len(good)-1] + nextLetter(good[len(good)-1]), want: ErrMalformed},
		{name: "no signature", token: parts[0] + "." + parts[1] + ".", want: ErrSignature},
		{name: "signature of another token", token: parts[0] + "." + parts[1] + "." + foreign, want: ErrSignature},
	}
}

func headerAttacks(t testing.TB, s *Signer) []attack {
	plain := payloadOf(t, s, canonicalOf(evmClaims()), pqcContext)
	other := signerFrom(t, "another signer")
	header := func(text string) string { return forge(s, text, plain) }
	kid := `"kid":"` + s.KeyID() + `"`
	return []attack{
		{name: "alg none", token: header(`{"alg":"none",` + kid + `}`), want: ErrHeader},
		{name: "alg HS256", token: header(`{"alg":"HS256",` + kid + `}`), want: ErrHeader},
		{name: "alg Ed25519", token: header(`{"alg":"Ed25519",` + kid + `}`), want: ErrHeader},
		{name: "no kid", token: header(`{"alg":"EdDSA"}`), want: ErrHeader},
		{name: "typ", token: header(`{"alg":"EdDSA",` + kid + `,"typ":"JWT"}`), want: ErrHeader},
		{name: "own key in the header", token: header(`{"alg":"EdDSA","jwk":{},` + kid + `}`), want: ErrHeader},
		{name: "header with a space", token: header(`{"alg":"EdDSA", ` + kid + `}`), want: ErrHeader},
		{name: "header in another order", token: header(`{` + kid + `,"alg":"EdDSA"}`), want: ErrHeader},
		{name: "no header", token: header(""), want: ErrHeader},
		{name: "unknown key", token: issue(t, other, evmClaims()), want: ErrUnknownKey},
		{name: "signed by another", token: forge(other, headerOf(s), plain), want: ErrSignature},
	}
}

func payloadAttacks(t testing.TB, s *Signer) []attack {
	plain := payloadOf(t, s, canonicalOf(evmClaims()), pqcContext)
	payload := func(text string) string { return forge(s, headerOf(s), text) }
	edited := func(old, with string) string { return payload(replace(t, plain, old, with)) }
	return []attack{
		{name: "repeated member", token: edited(`"aud":"svc"`, `"aud":"svc","aud":"svc"`), want: errPayload},
		{name: "unknown member", token: edited(`"aud":"svc"`, `"aud":"svc","azp":"x"`), want: errPayload},
		{name: "member in another case", token: edited(`"sub":`, `"Sub":`), want: errPayload},
		{name: "white space", token: edited(`{"aud"`, `{ "aud"`), want: errPayload},
		{name: "escaped letter", token: edited(`"svc"`, `"\u0073vc"`), want: errPayload},
		{name: "number as 1.795e9", token: edited(`"iat":1795000000`, `"iat":1.795e9`), want: errPayload},
		{name: "trailing data", token: payload(plain + " "), want: errPayload},
		{name: "no payload", token: payload(""), want: errPayload},
		{name: "null payload", token: payload("null"), want: ErrPQC},
		{name: "null mode", token: edited(`,"policyHash"`, `,"mode":null,"policyHash"`), want: errPayload},
		{name: "empty mode", token: edited(`,"policyHash"`, `,"mode":"","policyHash"`), want: errPayload},
	}
}

func pqcAttacks(t testing.TB, s *Signer) []attack {
	other := signerFrom(t, "another signer")
	claims := canonicalOf(evmClaims())
	plain := payloadOf(t, s, claims, pqcContext)
	foreign := replace(t, payloadOf(t, other, claims, pqcContext), other.PQCKeyID(), s.PQCKeyID())
	payload := func(text string) string { return forge(s, headerOf(s), text) }
	edited := func(old, with string) string { return payload(replace(t, plain, old, with)) }
	return []attack{
		{name: "without pqc", token: payload(claims), want: ErrPQC},
		{name: "other pqc.alg", token: edited(`"ML-DSA-65"`, `"ML-DSA-44"`), want: ErrPQC},
		{name: "other pqc.ctx", token: edited(pqcContext, "svc-pqc-attestation-v2"), want: ErrPQC},
		{name: "other pqc.kid", token: edited(s.PQCKeyID(), other.PQCKeyID()), want: ErrPQC},
		{name: "empty pqc.sig", token: payload(emptySignature(plain)), want: ErrPQC},
		{name: "signed without context", token: payload(payloadOf(t, s, claims, "")), want: ErrPQC},
		{name: "signed in another context", token: payload(payloadOf(t, s, claims, "x")), want: ErrPQC},
		{name: "pqc by another", token: payload(foreign), want: ErrPQC},
		{name: "amount changed under pqc", token: edited(`"250000000"`, `"950000000"`), want: ErrPQC},
	}
}

// claimAttacks bear two good signatures.
func claimAttacks(t testing.TB, s *Signer) []attack {
	good, claims := issue(t, s, evmClaims()), canonicalOf(evmClaims())
	honest := func(old, with string) string {
		return forge(s, headerOf(s), payloadOf(t, s, replace(t, claims, old, with), pqcContext))
	}
	return []attack{
		{name: "recipients empty", token: honest(`"to":"0x52908400098527886e0f7030069857d2e4169ee7"`, `"to":[]`), want: errPayload},
		{name: "denied", token: honest(`"ALLOWED"`, `"DENIED"`), want: errPayload},
		{name: "no chain", token: honest(`"chainId":8453,`, ``), want: errPayload},
		{name: "no commitment", token: honest(`,"txCommit":"`+digest("transaction")+`"`, ``), want: errPayload},
		{name: "other issuer", token: honest(`"iss":"svc-core"`, `"iss":"svc-test"`), want: ErrIssuer},
		{name: "other audience", token: honest(`"aud":"svc"`, `"aud":"svc2"`), want: ErrAudience},
		{name: "an hour of life", token: honest(`"exp":1795000060`, `"exp":1795003600`), want: errLifetime},
		{name: "59 seconds of life", token: honest(`"exp":1795000060`, `"exp":1795000059`), want: errLifetime},
		{name: "expired", token: good, now: unix(1795000060), want: ErrExpired},
		{name: "from the future", token: good, now: unix(1795000000 - 6), want: ErrNotYetValid},
	}
}

// nextLetter is a base64url letter that differs from the given one in its lowest bit only: in the last
// character of 64 bytes that bit is unused.
func nextLetter(c byte) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(letters[strings.IndexByte(letters, c)^1])
}

func emptySignature(payload string) string {
	head, rest, _ := strings.Cut(payload, `"sig":"`)
	_, tail, _ := strings.Cut(rest, `"`)
	return head + `"sig":""` + tail
}

func (a *attack) at() time.Time {
	if a.now.IsZero() {
		return issuedAt
	}
	return a.now
}

func TestVerifyRefuses(t *testing.T) {
	s := testSigner(t)
	v := testVerifier(t, s)
	for _, a := range attacks(t, s) {
		if c, err := v.Verify(a.token, a.at()); !errors.Is(err, a.want) || c != nil {
			t.Errorf("%s: got %v, want %v", a.name, err, a.want)
		}
	}
}

// A verifier that leaves out any one step accepts an attack of the table: each step is needed, and the
// table would notice its loss. These are the canaries of TestVerifyRefuses.
func TestEveryStepIsNeeded(t *testing.T) {
	s := testSigner(t)
	v := testVerifier(t, s)
	for _, skipped := range []string{"Ed25519", "PQC", "parties", "time"} {
		var accepted []string
		for _, a := range attacks(t, s) {
			if verifyWithout(v, skipped, a.token, a.at()) == nil {
				accepted = append(accepted, a.name)
			}
		}
		t.Logf("without %s: accepts %q", skipped, accepted)
		if len(accepted) == 0 {
			t.Errorf("a verifier that skips %s is not noticed", skipped)
		}
	}
	for _, a := range attacks(t, s) {
		if verifyWithout(v, "nothing", a.token, a.at()) == nil {
			t.Errorf("%s: accepted by all steps", a.name)
		}
	}
}

// verifyWithout is Verify with one step left out.
func verifyWithout(v *Verifier, skipped, token string, now time.Time) error {
	text, err := v.openEd25519(token, now)
	if skipped == "Ed25519" && errors.Is(err, ErrSignature) {
		text, err = decodeSegment(strings.Split(token, ".")[1])
	}
	if err != nil {
		return err
	}
	p, err := decodePayload(text)
	if err != nil {
		return err
	}
	if err := v.verifyPQC(p, now); err != nil && skipped != "PQC" {
		return err
	}
	if err := v.checkParties(p); err != nil && skipped != "parties" {
		return err
	}
	if err := p.checkTime(now); err != nil && skipped != "time" {
		return err
	}
	return nil
}

func TestVerifyAccepts(t *testing.T) {
	s := testSigner(t)
	own, err := s.Verifier(issuer)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]*Verifier{"documents": testVerifier(t, s), "signer": own} {
		for _, claims := range []*Claims{evmClaims(), toolClaims(), userOpClaims()} {
			token := issue(t, s, claims)
			for _, now := range []time.Time{issuedAt.Add(-ClockSkew), issuedAt, issuedAt.Add(time.Minute - 1)} {
				got, err := v.Verify(token, now)
				if err != nil {
					t.Fatalf("%s, %s at %v: %v", name, claims.Intent.Action, now, err)
				}
				if canonicalOf(got) != canonicalOf(claims) {
					t.Errorf("%s: got %+v, want %+v", name, got, claims)
				}
			}
		}
	}
}

// A token with any one byte changed, left out or put in is refused.
func TestTamperedTokens(t *testing.T) {
	s := testSigner(t)
	v := testVerifier(t, s)
	r := rand.New(rand.NewSource(seed.Value(t)))
	token := issue(t, s, evmClaims())
	for i := range len(token) {
		flipped := []byte(token)
		flipped[i] ^= 1 << r.Intn(8)
		if _, err := v.Verify(string(flipped), issuedAt); err == nil {
			t.Errorf("byte %d changed from %q to %q: accepted", i, token[i], flipped[i])
		}
		if i%16 != 0 {
			continue
		}
		if _, err := v.Verify(token[:i]+token[i+1:], issuedAt); err == nil {
			t.Errorf("byte %d left out: accepted", i)
		}
		if _, err := v.Verify(token[:i]+string(token[r.Intn(len(token))])+token[i:], issuedAt); err == nil {
			t.Errorf("a byte put in at %d: accepted", i)
		}
	}
}

// With the Ed25519 key alone an attacker cannot change a byte of the claims: the inner signature covers all.
func TestTamperedClaims(t *testing.T) {
	s := testSigner(t)
	v := testVerifier(t, s)
	r := rand.New(rand.NewSource(seed.Value(t)))
	plain := payloadOf(t, s, canonicalOf(evmClaims()), pqcContext)
	reached := 0
	for i := range len(plain) {
		changed := []byte(plain)
		changed[i] ^= 1 << r.Intn(7)
		_, err := v.Verify(forge(s, headerOf(s), string(changed)), issuedAt)
		if err == nil {
			t.Errorf("byte %d of the payload changed from %q to %q: accepted", i, plain[i], changed[i])
		}
		if errors.Is(err, ErrPQC) {
			reached++
		}
	}
	if reached < len(plain)/2 {
		t.Errorf("only %d of %d changes were left to the ML-DSA signature to find", reached, len(plain))
	}
}
