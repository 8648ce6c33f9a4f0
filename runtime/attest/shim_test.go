package attest

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const activationClaimsText = `{"activation_schema":"svc-trusted-shim-activation/v1","iss":"i","aud":"a","sub":"s","jti":"0123456789abcdef",` +
	`"iat":1,"nbf":2,"exp":3,"shim_version":"1.0.0","capabilities":["profile.git"],"policy_hash":"p","operator_key_fingerprint":"f","more":[1]}`

// activationToken signs any header and payload.
func activationToken(private ed25519.PrivateKey, header, payload string) string {
	token := appendBase64(append(appendBase64(nil, []byte(header)), '.'), []byte(payload))
	return string(appendBase64(append(token, '.'), ed25519.Sign(private, token)))
}

// TestParseActivation: every claim ends up where it belongs, and only the key that signed verifies.
func TestParseActivation(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	token := activationToken(private, `{"typ":"JWT","kid":"k","alg":"EdDSA"}`, activationClaimsText)
	got, err := ParseActivation(token)
	if err != nil {
		t.Fatal(err)
	}
	want := &Activation{
		KeyID: "k", Issuer: "i", Audience: "a", Subject: "s", ID: "0123456789abcdef", IssuedAt: 1, NotBefore: 2, Expires: 3,
		Version: "1.0.0", Capabilities: []string{"profile.git"}, PolicyHash: "p", OperatorFingerprint: "f", token: token,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	if err := got.Verify(public); err != nil {
		t.Error(err)
	}
	if err := got.Verify(other); !errors.Is(err, errActivationSignature) {
		t.Error(err)
	}
}

// TestParseActivationRefuses: what is no activation, and headers that promise something else than Ed25519.
func TestParseActivationRefuses(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const header = `{"alg":"EdDSA","kid":"k"}`
	for _, row := range []struct{ header, payload string }{
		{header, ""}, {header, "[]"}, {header, "{}"}, {header, "null"}, {header, activationClaimsText + "x"},
		{header, strings.Replace(activationClaimsText, `"sub":"s"`, `"Sub":"s"`, 1)},
		{header, strings.Replace(activationClaimsText, `"sub":"s"`, `"sub":"s","sub":"s"`, 1)},
		{header, strings.Replace(activationClaimsText, `"aud":"a"`, `"aud":[]`, 1)},
		{header, strings.Replace(activationClaimsText, `"aud":"a"`, `"aud":["a","b"]`, 1)},
		{header, strings.Replace(activationClaimsText, `"exp":3`, `"exp":"3"`, 1)},
		{header, strings.Replace(activationClaimsText, `"nbf":2`, `"nbf":"2"`, 1)},
		{header, strings.Replace(activationClaimsText, `["profile.git"]`, `null`, 1)},
		{`{"alg":"EdDSA"}`, activationClaimsText}, {`{"kid":"k"}`, activationClaimsText}, {`[]`, activationClaimsText},
		{`{"alg":"EdDSA","kid":"k","kid":"j"}`, activationClaimsText}, {`{"alg":"EdDSA","kid":"k","crit":["b64"],"b64":true}`, activationClaimsText},
	} {
		if a, err := ParseActivation(activationToken(private, row.header, row.payload)); !errors.Is(err, errActivation) {
			t.Errorf("%s %s: %+v %v", row.header, row.payload, a, err)
		}
	}
	for _, text := range []string{"", "a.b", "*." + strings.Repeat("A", 4) + ".", activationToken(private, header, activationClaimsText+strings.Repeat(" ", maxActivationBytes))} {
		if a, err := ParseActivation(text); !errors.Is(err, errActivation) {
			t.Errorf("%.40s: %+v %v", text, a, err)
		}
	}
	for _, alg := range []string{"none", "HS256", "RS256", "eddsa", ""} {
		a, err := ParseActivation(activationToken(private, fmt.Sprintf(`{"alg":%q,"kid":"k"}`, alg), activationClaimsText))
		if err != nil {
			t.Errorf("%s: %v", alg, err)
		} else if err := a.Verify(public); !errors.Is(err, errActivationSignature) {
			t.Errorf("%s: %v", alg, err)
		}
	}
}

// TestParseActivationKey: a JWK of an Ed25519 public key with a kid is read, and nothing else.
func TestParseActivationKey(t *testing.T) {
	const good = `{"kty":"OKP","crv":"Ed25519","kid":"k","use":"sig","alg":"EdDSA","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`
	kid, key, err := ParseActivationKey([]byte(good))
	if err != nil || kid != "k" || FormatOperatorKey(key) != "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" {
		t.Errorf("%s, %x, %v", kid, key, err)
	}
	for _, row := range []struct{ old, new, says string }{
		{`"use":"sig","alg":"EdDSA",`, ``, ""},
		{`"kid"`, `"kid":"j","kid"`, "not a JWK"},
		{`"kid":"k",`, ``, "no kid"},
		{`"use":"sig"`, `"use":"enc"`, "use is not sig"},
		{`"alg":"EdDSA"`, `"alg":"ES256"`, "alg is not EdDSA"},
		{`"kty":"OKP","crv":"Ed25519"`, `"kty":"oct","k":"AA"`, "not an Ed25519 public key"},
		{"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "not a point of the curve"},
	} {
		_, _, err := ParseActivationKey([]byte(replace(t, good, row.old, row.new)))
		if (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v, want %q", row.new, err, row.says)
		}
	}
}

// FuzzParseActivation: nothing panics, and what is read can be read again.
func FuzzParseActivation(f *testing.F) {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	f.Add(`{"alg":"EdDSA","kid":"k"}`, activationClaimsText)
	f.Add(`{"alg":"none","kid":""}`, strings.Replace(activationClaimsText, `"aud":"a"`, `"aud":["a"]`, 1))
	f.Fuzz(func(t *testing.T, header, payload string) {
		a, err := ParseActivation(activationToken(private, header, payload))
		if (err == nil) == (a == nil) {
			t.Fatalf("%+v %v", a, err)
		}
		if err == nil && a.Verify(private.Public().(ed25519.PublicKey)) == nil && !strings.Contains(header, "EdDSA") && !strings.Contains(header, `\u`) {
			t.Errorf("%s verifies", header)
		}
	})
}
