package attest

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"strings"
	"testing"

	otherjcs "github.com/gowebpki/jcs"

	"bailiff/fuzz/kit/vectors"
	"bailiff/runtime/jcs"
)

// FuzzVerify: what is accepted has the one header, a payload that an independent RFC 8785 leaves alone,
// and the time window of its own claims. The keys are the same in every process.
func FuzzVerify(f *testing.F) {
	s := testSigner(f)
	v := testVerifier(f, s)
	for _, c := range []*Claims{evmClaims(), toolClaims(), userOpClaims()} {
		f.Add(issue(f, s, c), issuedAt.Unix())
	}
	for _, a := range attacks(f, s) {
		f.Add(a.token, a.at().Unix())
	}
	f.Fuzz(func(t *testing.T, token string, now int64) {
		c, err := v.Verify(token, unix(now))
		if err != nil {
			if c != nil {
				t.Fatal("claims beside an error")
			}
			return
		}
		parts := strings.Split(token, ".")
		if len(token) >= MaxTokenBytes || len(parts) != 3 || parts[0]+"." != s.header {
			t.Fatalf("accepted another form: %q", token)
		}
		payload, err := decodeSegment(parts[1])
		if err != nil {
			t.Fatal(err)
		}
		if again, err := otherjcs.Transform(payload); err != nil || !bytes.Equal(again, payload) {
			t.Fatalf("accepted a payload that is not canonical: %s", payload)
		}
		if now < c.IssuedAt-5 || now >= c.IssuedAt+60 || c.Issuer != issuer {
			t.Fatalf("accepted %+v at %d", c, now)
		}
	})
}

// FuzzPayload reaches what lies behind the outer signature: a payload that is read at all is in RFC 8785
// form by an independent implementation, and another reader finds the same claims in it.
func FuzzPayload(f *testing.F) {
	s := testSigner(f)
	for _, c := range []*Claims{evmClaims(), toolClaims(), userOpClaims()} {
		f.Add([]byte(payloadOf(f, s, canonicalOf(c), pqcContext)))
	}
	for _, c := range []*Claims{evmClaims(), toolClaims(), userOpClaims()} {
		short := replace(f, canonicalOf(c), `,"sub":"`, `,"pqc":{"alg":"ML-DSA-65",`+
			`"ctx":"svc-pqc-attestation-v1","kid":"k","sig":"AAAA"},"sub":"\u0001\u2028é\\`)
		f.Add([]byte(short))
		short = replace(f, short, `\u2028`, "\u2028")
		if _, err := decodePayload([]byte(short)); err != nil {
			f.Fatalf("a seed that must be read: %v", err)
		}
		f.Add([]byte(short))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decodePayload(text)
		if err != nil {
			return
		}
		if again, err := otherjcs.Transform(text); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("not canonical: %s (%v)", text, err)
		}
		if again, err := otherjcs.Transform(p.canonical); err != nil || !bytes.Equal(again, p.canonical) {
			t.Fatalf("not canonical without pqc: %s (%v)", p.canonical, err)
		}
		var other map[string]any
		if err := json.Unmarshal(text, &other); err != nil {
			t.Fatal(err)
		}
		if other["sub"] != p.Subject || other["iss"] != p.Issuer || other["policyHash"] != p.PolicyHash {
			t.Fatalf("read otherwise: %v", other)
		}
	})
}

// FuzzOperatorKey: a key that is accepted has that one text, and no signature of R and S both trivial
// verifies under it; everything that ed25519 makes is accepted.
func FuzzOperatorKey(f *testing.F) {
	private, err := GenerateOperatorKey(repeatable("operator"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(FormatOperatorKey(private.Public().(ed25519.PublicKey)))
	f.Add(FormatOperatorKey(make([]byte, 32)))
	f.Add(FormatOperatorKey(append([]byte{1}, make([]byte, 31)...)))
	f.Add(FormatOperatorKey(bytes.Repeat([]byte{0xff}, 32)))
	trivial := append([]byte{1}, make([]byte, 63)...)
	f.Fuzz(func(t *testing.T, text string) {
		if public, err := ParseOperatorKey(text); err == nil {
			if FormatOperatorKey(public) != text {
				t.Fatalf("%q is a second text of %q", text, FormatOperatorKey(public))
			}
			if VerifyPolicy(public, []byte(text), trivial) == nil {
				t.Fatalf("a signature that anybody can make verifies under %q", text)
			}
		}
		made, err := GenerateOperatorKey(repeatable(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseOperatorKey(FormatOperatorKey(made.Public().(ed25519.PublicKey))); err != nil {
			t.Fatalf("a key made by GenerateOperatorKey: %v", err)
		}
	})
}

// The published RFC 8785 texts hold the strings that canonical JSON is hard on: what jcs.AppendString writes
// of each of them must be the text in the expected output.
func TestStringsOfRFC8785(t *testing.T) {
	strung := 0
	for _, name := range []string{"french", "unicode", "values", "weird"} {
		output, err := os.ReadFile(vectors.Path(t, "jcs/testdata/output/"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.Unmarshal(output, &members); err != nil {
			t.Fatal(err)
		}
		for key, value := range members {
			text, ok := value.(string)
			if !ok {
				continue
			}
			member := append(jcs.AppendString(nil, key), ':')
			if want := jcs.AppendString(member, text); !bytes.Contains(output, want) {
				t.Errorf("%s: no %s in %s", name, want, output)
			}
			strung++
		}
	}
	if strung < 10 {
		t.Errorf("only %d strings were compared", strung)
	}
}
