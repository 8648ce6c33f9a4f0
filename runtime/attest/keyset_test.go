package attest

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// The documents' members are those that the decisions list, and no others.
func TestKeySetDocuments(t *testing.T) {
	s := testSigner(t)
	public := s.pair.ed25519.Public().(ed25519.PublicKey)
	checkDocument(t, s.JWKS(issuedAt), map[string]any{
		"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": s.KeyID(),
		"x": base64.RawURLEncoding.EncodeToString(public),
	})
	checkDocument(t, s.PQCKeys(issuedAt), map[string]any{
		"kty": "AKP", "alg": "ML-DSA-65", "use": "sig", "kid": s.PQCKeyID(), "ctx": "svc-pqc-attestation-v1",
		"pub": base64.RawURLEncoding.EncodeToString(s.pair.mldsa.public.Bytes()),
	})
}

func checkDocument(t *testing.T, document []byte, want map[string]any) {
	t.Helper()
	var got struct {
		Keys []map[string]any `json:"keys"`
	}
	if err := json.Unmarshal(document, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Keys) != 1 || !reflect.DeepEqual(got.Keys[0], want) {
		t.Errorf("got %v, want %v", got.Keys, want)
	}
}

// RFC 8037, appendix A.3 publishes the thumbprint of this key.
func TestThumbprintOfRFC8037(t *testing.T) {
	public, err := hex.DecodeString("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
	if err != nil {
		t.Fatal(err)
	}
	key, err := listEd25519(public, 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"; key.kid != want {
		t.Errorf("got %s, want %s", key.kid, want)
	}
}

func TestNewVerifierRefuses(t *testing.T) {
	s, other := testSigner(t), signerFrom(t, "another signer")
	jwks, pqcKeys := string(s.JWKS(issuedAt)), string(s.PQCKeys(issuedAt))
	twice := func(document string) string {
		key := strings.TrimSuffix(strings.TrimPrefix(document, `{"keys":[`), `]}`)
		return `{"keys":[` + key + `,` + key + `]}`
	}
	pub := base64.RawURLEncoding.EncodeToString(s.pair.mldsa.public.Bytes())
	for _, test := range []struct{ name, jwks, pqcKeys string }{
		{"no keys", `{"keys":[]}`, pqcKeys},
		{"no post-quantum keys", jwks, `{"keys":[]}`},
		{"no JSON", "", pqcKeys},
		{"trailing data", jwks, pqcKeys + "x"},
		{"sets exchanged", pqcKeys, jwks},
		{"post-quantum key in the JWKS", `{"keys":[` + jwks[9:len(jwks)-2] + `,` + pqcKeys[9:], pqcKeys},
		{"Ed25519 key among post-quantum ones", jwks, `{"keys":[` + pqcKeys[9:len(pqcKeys)-2] + `,` + jwks[9:]},
		{"a key twice", twice(jwks), pqcKeys},
		{"a post-quantum key twice", jwks, twice(pqcKeys)},
		{"repeated member", replace(t, jwks, `"use":"sig"`, `"use":"sig","use":"sig"`), pqcKeys},
		{"repeated member, post-quantum", jwks, replace(t, pqcKeys, `"use":"sig"`, `"use":"sig","use":"sig"`)},
		{"another use", replace(t, jwks, `"sig"`, `"enc"`), pqcKeys},
		{"another alg", replace(t, jwks, "EdDSA", "ES256"), pqcKeys},
		{"another kid", replace(t, jwks, s.KeyID(), other.KeyID()), pqcKeys},
		{"another post-quantum kid", jwks, replace(t, pqcKeys, s.PQCKeyID(), other.PQCKeyID())},
		{"another context", jwks, replace(t, pqcKeys, pqcContext, "x")},
		{"short pub", jwks, replace(t, pqcKeys, pub, pub[:len(pub)-4])},
		{"small-order key", `{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","kid":"x","x":"` +
			base64.RawURLEncoding.EncodeToString(make([]byte, 32)) + `"}]}`, pqcKeys},
	} {
		if _, err := NewVerifier(issuer, []byte(test.jwks), []byte(test.pqcKeys)); err == nil {
			t.Errorf("%s: accepted", test.name)
		}
	}
	if _, err := NewVerifier("", []byte(jwks), []byte(pqcKeys)); err == nil {
		t.Error("no issuer: accepted")
	}
	if _, err := NewVerifier(issuer, []byte(jwks), []byte(pqcKeys)); err != nil {
		t.Errorf("the documents as they are: %v", err)
	}
}

// TestKeyIDsRefuses: documents with anything but the keys that verify are refused by the part that is wrong.
func TestKeyIDsRefuses(t *testing.T) {
	s := testSigner(t)
	jwks, pqcKeys := string(s.JWKS(issuedAt)), string(s.PQCKeys(issuedAt))
	for _, row := range []struct{ jwks, pqcKeys, says string }{
		{"{", pqcKeys, "key set: "},
		{jwks, "{", "post-quantum key set: "},
		{replace(t, jwks, `"sig"`, `"enc"`), pqcKeys, "key set: key 1 is not an Ed25519 key"},
		{jwks, replace(t, pqcKeys, `"AKP"`, `"OKP"`), "post-quantum key set: key 1: not an ML-DSA-65 key"},
		{jwks, replace(t, pqcKeys, `"pub":"`, `"pub":"=`), "post-quantum key set: key 1: pub is not canonical"},
		{replace(t, jwks, FormatOperatorKey(s.ed25519[0].key), "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), pqcKeys, "key set: key 1: it is not a point of the curve"},
		{replace(t, jwks, s.KeyID(), s.PQCKeyID()), pqcKeys, "is not its RFC 7638 thumbprint"},
	} {
		if _, err := KeyIDs([]byte(row.jwks), []byte(row.pqcKeys)); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("got %v, want %q", err, row.says)
		}
	}
}

// TestDeriveKey: a derived key follows from the pair and the label, and from nothing else.
func TestDeriveKey(t *testing.T) {
	s := testSigner(t)
	key := s.DeriveKey("cookies")
	if key != testSigner(t).DeriveKey("cookies") || key == s.DeriveKey("nonces") || key == signerFrom(t, "another signer").DeriveKey("cookies") {
		t.Error("the key of a label does not follow from the pair and the label")
	}
}
