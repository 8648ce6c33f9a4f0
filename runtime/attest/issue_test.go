package attest

import (
	"encoding/json"
	"errors"
	"io"
	"math/rand"
	"strings"
	"sync"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
)

// The form of the claims is part of the contract: others compute it to check the signatures.
func TestCanonicalClaims(t *testing.T) {
	for _, test := range []struct {
		name   string
		claims *Claims
		want   string
	}{
		{"every EVM member", evmClaims(), `{"aud":"svc","chainId":8453,"decision":"ALLOWED","exp":1795000060,` +
			`"framework":"langchain","iat":1795000000,"intent":{"action":"wallet.transfer",` +
			`"amountBase":"250000000","calldataHash":"` + digest("call data") + `","decimals":6,` +
			`"targetAddress":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",` +
			`"to":"0x52908400098527886e0f7030069857d2e4169ee7","token":"USDC"},` +
			`"intentHash":"` + digest("intent") + `","iss":"svc-core","jti":"AQAAAAAAAAAAAAAAAAAAAg",` +
			`"keyId":"key_7f3a","kind":"evm","policyHash":"` + digest("policy") + `","sub":"treasury-bot",` +
			`"txCommit":"` + digest("transaction") + `"}`},
		{"a tool under OBSERVE", toolClaims(), `{"aud":"svc","decision":"ALLOWED","exp":1795000060,` +
			`"framework":"langchain","iat":1795000000,"intent":{"action":"bash"},` +
			`"intentHash":"` + digest("intent") + `","iss":"svc-core","jti":"AQAAAAAAAAAAAAAAAAAAAg",` +
			`"keyId":"key_7f3a","kind":"tool","mode":"OBSERVE","policyHash":"` + digest("policy") + `",` +
			`"sub":"treasury-bot","txCommit":"` + digest("transaction") + `"}`},
		{"a user operation", userOpClaims(), `{"aud":"svc","chainId":8453,"decision":"ALLOWED","exp":1795000060,` +
			`"framework":"langchain","iat":1795000000,"intent":{"action":"erc4337.userop","amountBase":"0",` +
			`"to":["a","b"]},"intentHash":"` + digest("intent") + `","iss":"svc-core",` +
			`"jti":"AQAAAAAAAAAAAAAAAAAAAg","keyId":"key_7f3a","kind":"evm",` +
			`"policyHash":"` + digest("policy") + `","sub":"treasury-bot",` +
			`"userOpHash":"0x` + digest("operation") + `"}`},
	} {
		if got := canonicalOf(test.claims); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// What is signed, and what the token carries, is the RFC 8785 form that an independent implementation
// makes of it, and verifies as the same claims. The canary: RFC 8785 must not leave encoding/json's own
// form of the same claims alone.
func TestCanonicalIsRFC8785(t *testing.T) {
	s := testSigner(t)
	v := testVerifier(t, s)
	properties := gopter.NewProperties(seed.Parameters(t, 300))
	properties.Property("claims and payload are fixpoints of RFC 8785", prop.ForAll(func(n int64) string {
		c := randomClaims(rand.New(rand.NewSource(n)))
		if err := s.Check(c); err != nil {
			return "refused: " + err.Error()
		}
		token := strings.Split(issue(t, s, c), ".")
		payload, err := decodeSegment(token[1])
		if err != nil {
			return err.Error()
		}
		for _, text := range []string{canonicalOf(c), string(payload)} {
			again, err := jcs.Transform([]byte(text))
			if err != nil || string(again) != text {
				return "not canonical: " + text
			}
		}
		v.issuer = c.Issuer
		got, err := v.Verify(strings.Join(token, "."), unix(c.IssuedAt))
		if err != nil || canonicalOf(got) != canonicalOf(c) {
			return "not verified as the same claims"
		}
		return ""
	}, gen.Int64()))
	properties.TestingRun(t)

	text, err := json.Marshal(evmClaims())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := jcs.Transform(text); err != nil || string(again) == string(text) {
		t.Fatalf("RFC 8785 finds nothing to change in %s (%v)", text, err)
	}
}

func TestIssueRefusesClaims(t *testing.T) {
	s := testSigner(t)
	thirtySeven := 37
	for _, test := range []struct {
		name string
		edit func(*Claims)
	}{
		{"no iss", func(c *Claims) { c.Issuer = "" }},
		{"no sub", func(c *Claims) { c.Subject = "" }},
		{"long sub", func(c *Claims) { c.Subject = strings.Repeat("é", 257) }},
		{"sub not UTF-8", func(c *Claims) { c.Subject = "a\xff" }},
		{"sub a surrogate", func(c *Claims) { c.Subject = "\xed\xa0\x80" }},
		{"no keyId", func(c *Claims) { c.KeyID = "" }},
		{"no framework", func(c *Claims) { c.Framework = "" }},
		{"long framework", func(c *Claims) { c.Framework = strings.Repeat("a", 65) }},
		{"zero jti", func(c *Claims) { c.ID = TokenID{} }},
		{"zero iat", func(c *Claims) { c.IssuedAt = 0 }},
		{"iat in nanoseconds", func(c *Claims) { c.IssuedAt = issuedAt.UnixNano() }},
		{"no commitment", func(c *Claims) { c.TxCommit = "" }},
		{"two commitments", func(c *Claims) { c.UserOpHash = "0x" + c.TxCommit }},
		{"upper-case txCommit", func(c *Claims) { c.TxCommit = strings.ToUpper(c.TxCommit) }},
		{"prefixed txCommit", func(c *Claims) { c.TxCommit = "0x" + c.TxCommit[2:] }},
		{"bare userOpHash", func(c *Claims) { c.UserOpHash, c.TxCommit = c.TxCommit, "" }},
		{"short policyHash", func(c *Claims) { c.PolicyHash = c.PolicyHash[1:] }},
		{"no intentHash", func(c *Claims) { c.IntentHash = "" }},
		{"unknown kind", func(c *Claims) { c.Kind = "EVM" }},
		{"unknown mode", func(c *Claims) { c.Mode = "STRICT" }},
		{"EVM without chain", func(c *Claims) { c.ChainID = 0 }},
		{"chain beyond 2^53-1", func(c *Claims) { c.ChainID = 1 << 53 }},
		{"no action", func(c *Claims) { c.Intent.Action = "" }},
		{"long action", func(c *Claims) { c.Intent.Action = strings.Repeat("a", 129) }},
		{"action not printable", func(c *Claims) { c.Intent.Action = "a\n" }},
		{"EVM without amount", func(c *Claims) { c.Intent.AmountBase = "" }},
		{"amount with leading zero", func(c *Claims) { c.Intent.AmountBase = "01" }},
		{"negative amount", func(c *Claims) { c.Intent.AmountBase = "-1" }},
		{"amount 2^256", func(c *Claims) { c.Intent.AmountBase = maxUint256[:77] + "6" }},
		{"checksummed target", func(c *Claims) { c.Intent.TargetAddress = "0x" + strings.Repeat("A", 40) }},
		{"37 decimals", func(c *Claims) { c.Intent.Decimals = &thirtySeven }},
		{"short calldataHash", func(c *Claims) { c.Intent.CalldataHash = "00" }},
		{"token not UTF-8", func(c *Claims) { c.Intent.Token = "a\xff" }},
		{"fee with leading zero", func(c *Claims) { c.Intent.MaxFeeBase = "01" }},
		{"empty recipient", func(c *Claims) { c.Intent.To.List = []string{""} }},
		{"no recipients", func(c *Claims) { c.Intent.To = Recipients{Array: true} }},
		{"unmarked array", func(c *Claims) { c.Intent.To.List = []string{"a", "b"} }},
		{"tool with an amount", func(c *Claims) { c.Kind = KindTool }},
		{"tool with userOpHash", func(c *Claims) { *c = *userOpClaims(); c.Kind, c.Intent = KindTool, Intent{Action: "a"} }},
	} {
		c := evmClaims()
		test.edit(c)
		dst, err := s.Issue([]byte("before"), c)
		if !errors.Is(err, errClaims) || string(dst) != "before" {
			t.Errorf("%s: got %d bytes and %v, want errClaims", test.name, len(dst), err)
		}
		if again := s.Check(c); again == nil || again.Error() != err.Error() {
			t.Errorf("%s: Check says %v, Issue %v", test.name, again, err)
		}
	}
}

// The longest ASCII values that the requests' rules allow fit, and what does not fit is refused before
// anything is signed, one byte above the last size that does.
func TestTokenSize(t *testing.T) {
	s := testSigner(t)
	c := evmClaims()
	c.Subject, c.Framework = strings.Repeat("a", maxSubject), strings.Repeat("f", maxFramework)
	c.Intent.Action, c.Intent.AmountBase = strings.Repeat("x", maxAction), maxUint256
	c.Intent.Token, c.Mode, c.KeyID = c.Intent.TargetAddress, ModeObserve, digest("key")[:36]
	t.Logf("the longest usual token has %d bytes", len(issue(t, s, c)))

	longest := 0
	for n := 1; ; n++ {
		c.Intent.To.List[0] = strings.Repeat("r", n)
		token, err := s.Issue(nil, c)
		if err != nil {
			if !errors.Is(err, ErrTooLarge) || !errors.Is(s.Check(c), ErrTooLarge) {
				t.Fatalf("want ErrTooLarge, got %v", err)
			}
			break
		}
		longest = len(token)
		if _, err := testVerifier(t, s).Verify(string(token), issuedAt); err != nil {
			t.Fatalf("a token of %d bytes: %v", len(token), err)
		}
	}
	if longest != MaxTokenBytes-1 && longest != MaxTokenBytes-2 {
		t.Fatalf("the longest token has %d bytes; one more character of payload is one or two of base64", longest)
	}
}

// TestNewTokenID: an id is 16 random bytes, or there is none.
func TestNewTokenID(t *testing.T) {
	id, err := NewTokenID(repeatable("id"))
	if again, _ := NewTokenID(repeatable("id")); err != nil || id != again || id == (TokenID{}) {
		t.Errorf("%s, %v", id, err)
	}
	if id, err := NewTokenID(strings.NewReader("15 random bytes")); !errors.Is(err, io.ErrUnexpectedEOF) || id != (TokenID{}) {
		t.Errorf("%s, %v", id, err)
	}
}

// The ML-DSA-65 signature is hedged: the same claims are never signed with the same randomness.
func TestSigningIsHedged(t *testing.T) {
	s := testSigner(t)
	first, second := issue(t, s, evmClaims()), issue(t, s, evmClaims())
	if first == second {
		t.Error("two tokens of the same claims are equal")
	}
}

// Many goroutines share a signer and its pool of buffers; each must get its own token.
func TestIssueConcurrently(t *testing.T) {
	s := testSigner(t)
	v := testVerifier(t, s)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for n := range 20 {
				c := evmClaims()
				c.ID = TokenID{byte(worker + 1), byte(n)}
				token, err := s.Issue(nil, c)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := v.Verify(string(token), issuedAt); err != nil || got.ID != c.ID {
					t.Errorf("worker %d, token %d: %v", worker, n, err)
				}
			}
		})
	}
	group.Wait()
}

// A recipient in an array of one is not the same bytes as a recipient alone.
func TestRecipientsKeepTheirForm(t *testing.T) {
	for _, text := range []string{`"a"`, `["a"]`, `["a","b"]`, `null`} {
		var r Recipients
		if text != "null" {
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				t.Fatal(err)
			}
		}
		if again, err := json.Marshal(r); err != nil || string(again) != text {
			t.Errorf("%s became %s (%v)", text, again, err)
		}
	}
	if text, err := json.Marshal(Recipients{List: []string{"a", "b"}}); err == nil {
		t.Errorf("several recipients that are no array became %s", text)
	}
	var r Recipients
	if err := json.Unmarshal([]byte(`{"a":1}`), &r); err == nil {
		t.Error("an object was read as recipients")
	}
}
