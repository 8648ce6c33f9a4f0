package attest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"math/rand"
	"strings"
	"testing"
	"time"
)

const issuer = "svc-core"

// issuedAt is when the tokens of these tests are issued.
var issuedAt = time.Unix(1_795_000_000, 0)

// testSigner has the same keys in every run and every process, so that fuzz corpora keep their meaning.
func testSigner(t testing.TB) *Signer {
	t.Helper()
	return signerFrom(t, "a signer of the tests")
}

func signerFrom(t testing.TB, seed string) *Signer {
	t.Helper()
	pair, err := generateKeyPair(repeatable(seed))
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSigner(pair, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func testVerifier(t testing.TB, s *Signer) *Verifier {
	t.Helper()
	v, err := NewVerifier(issuer, s.JWKS(issuedAt), s.PQCKeys(issuedAt))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// repeatable is a source of 64 bytes that depend on seed alone.
func repeatable(seed string) *bytes.Reader {
	first, second := sha256.Sum256([]byte(seed+"1")), sha256.Sum256([]byte(seed+"2"))
	return bytes.NewReader(append(first[:], second[:]...))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// evmClaims are those of a token transfer: every member but userOpHash and mode.
func evmClaims() *Claims {
	decimals := 6
	return &Claims{
		Issuer: issuer, Subject: "treasury-bot", ID: TokenID{0: 1, 15: 2}, IssuedAt: issuedAt.Unix(),
		TxCommit: digest("transaction"), PolicyHash: digest("policy"), ChainID: 8453,
		Framework: "langchain", KeyID: "key_7f3a", Kind: KindEVM, IntentHash: digest("intent"),
		Intent: Intent{
			Action: "wallet.transfer", AmountBase: "250000000",
			TargetAddress: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", Token: "USDC", Decimals: &decimals,
			To:           Recipients{List: []string{"0x52908400098527886e0f7030069857d2e4169ee7"}},
			CalldataHash: digest("call data"),
		},
	}
}

func toolClaims() *Claims {
	c := evmClaims()
	c.Kind, c.ChainID, c.Intent, c.Mode = KindTool, 0, Intent{Action: "bash"}, ModeObserve
	return c
}

func userOpClaims() *Claims {
	c := evmClaims()
	c.TxCommit, c.UserOpHash = "", "0x"+digest("operation")
	c.Intent = Intent{Action: "erc4337.userop", AmountBase: "0", To: Recipients{List: []string{"a", "b"}, Array: true}}
	return c
}

func issue(t testing.TB, s *Signer, c *Claims) string {
	t.Helper()
	token, err := s.Issue(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	return string(token)
}

// randomClaims are valid claims whose strings hold what JSON finds hard: controls, quotes, separators,
// characters beyond the BMP.
func randomClaims(r *rand.Rand) *Claims {
	c := []func() *Claims{evmClaims, toolClaims, userOpClaims}[r.Intn(3)]()
	c.Issuer, c.Subject, c.KeyID = awkward(r, 20), awkward(r, 40), awkward(r, 20)
	c.Framework = awkward(r, 30)
	c.IssuedAt = 1 + r.Int63n(maxInteger-LifetimeSeconds)
	r.Read(c.ID[:])
	if c.Kind != KindEVM {
		c.Kind = []string{KindTool, KindMCP, kindModel}[r.Intn(3)]
		return c
	}
	c.ChainID = 1 + uint64(r.Int63n(maxInteger))
	if r.Intn(2) == 0 {
		c.Intent.To = Recipients{List: []string{awkward(r, 10), awkward(r, 10)}, Array: true}
	}
	if r.Intn(2) == 0 {
		c.Intent.Token, c.Intent.Decimals = awkward(r, 8), nil
	}
	return c
}

func awkward(r *rand.Rand, most int) string {
	const letters = "az09 \"\\/<>&\b\f\n\r\t\x00\x1f\x7f\u0080é\u2028\u2029\ufeff\uffff😀𝒳"
	runes := []rune(letters)
	var b strings.Builder
	for range 1 + r.Intn(most) {
		b.WriteRune(runes[r.Intn(len(runes))])
	}
	return b.String()
}

// forge signs a header and a payload as they are with the signer's Ed25519 key.
func forge(s *Signer, header, payload string) string {
	token := appendBase64(nil, []byte(header))
	token = appendBase64(append(token, '.'), []byte(payload))
	signature := ed25519.Sign(s.pair.ed25519, token)
	return string(appendBase64(append(token, '.'), signature))
}

// payloadOf is the payload of claims as they are (in RFC 8785 form without pqc), with the ML-DSA-65
// signature that the signer makes of them in a context.
func payloadOf(t testing.TB, s *Signer, claims, context string) string {
	t.Helper()
	signature := make([]byte, 3309)
	if err := signMLDSA(s.pair.mldsa.private, []byte(claims), context, true, signature); err != nil {
		t.Fatal(err)
	}
	at := strings.Index(claims, `,"sub":`)
	if at < 0 {
		t.Fatalf("no sub in %s", claims)
	}
	return string(appendPayload(nil, []byte(claims), at, s.pqcHead, signature))
}

func headerOf(s *Signer) string { return headerOpening + s.KeyID() + headerClosing }

func canonicalOf(c *Claims) string {
	text, _ := appendClaims(nil, c, issued(c))
	return string(text)
}

func replace(t testing.TB, text, old, with string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("%s does not hold %s", text, old)
	}
	return strings.Replace(text, old, with, 1)
}
