package attest

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/go-jose/go-jose/v4"
	// The JSON package of go-jose compares names exactly and refuses repeated ones.
	"github.com/go-jose/go-jose/v4/json"
)

// retiredSeconds is how long after its retirement a public key stays in the key sets.
const retiredSeconds = 24 * 60 * 60

// listed is a public key as the key sets show it.
type listed[K any] struct {
	key   K
	kid   string // RFC 7638 thumbprint
	jwk   []byte // the key's JSON object
	until int64  // Unix seconds at which a retired key is dropped; 0: never
}

func (l *listed[K]) shown(now int64) bool { return l.until == 0 || now < l.until }

// akp is a member of the post-quantum key set (RFC 9964). Its names are in the order of RFC 8785.
type akp struct {
	Algorithm string `json:"alg"`
	Context   string `json:"ctx"`
	KeyID     string `json:"kid"`
	KeyType   string `json:"kty"`
	Public    string `json:"pub"`
	Use       string `json:"use"`
}

func listEd25519(public ed25519.PublicKey, until int64) (listed[ed25519.PublicKey], error) {
	none := listed[ed25519.PublicKey]{}
	if err := checkPoint(public); err != nil {
		return none, err
	}
	jwk := jose.JSONWebKey{Key: public, Algorithm: string(jose.EdDSA), Use: "sig"}
	thumbprint, err := jwk.Thumbprint(crypto.SHA256)
	if err != nil {
		return none, err
	}
	jwk.KeyID = string(appendBase64(nil, thumbprint))
	text, err := jwk.MarshalJSON()
	return listed[ed25519.PublicKey]{key: public, kid: jwk.KeyID, jwk: text, until: until}, err
}

func listMLDSA(public *mldsa65.PublicKey, until int64) listed[*mldsa65.PublicKey] {
	key := akp{
		Algorithm: pqcAlgorithm, Context: pqcContext, KeyType: "AKP", Use: "sig",
		Public: string(appendBase64(nil, public.Bytes())),
	}
	key.KeyID = akpThumbprint(key.Public)
	text, _ := json.Marshal(key) // of strings alone
	return listed[*mldsa65.PublicKey]{key: public, kid: key.KeyID, jwk: text, until: until}
}

// akpThumbprint is the RFC 7638 thumbprint of an ML-DSA-65 key: its required members are alg, kty and pub
// (RFC 9964).
func akpThumbprint(public string) string {
	sum := sha256.Sum256([]byte(`{"alg":"` + pqcAlgorithm + `","kty":"AKP","pub":"` + public + `"}`))
	return string(appendBase64(nil, sum[:]))
}

// keySet is the JSON document of the keys to be shown at now.
func keySet[K any](keys []listed[K], now int64) []byte {
	document := []byte(`{"keys":[`)
	separator := ""
	for i := range keys {
		if keys[i].shown(now) {
			document = append(append(document, separator...), keys[i].jwk...)
			separator = ","
		}
	}
	return append(document, `]}`...)
}

// KeyIDs returns the ids (RFC 7638 thumbprints) of the keys in a service's two key-set documents.
func KeyIDs(jwks, pqcKeys []byte) (ids []string, err error) {
	classical, err := parseJWKS(jwks)
	if err != nil {
		return nil, err
	}
	quantum, err := parsePQCKeys(pqcKeys)
	for _, key := range classical {
		ids = append(ids, "Ed25519 "+key.kid)
	}
	for _, key := range quantum {
		ids = append(ids, "ML-DSA-65 "+key.kid)
	}
	return ids, err
}

// parseJWKS reads a set of Ed25519 keys, and of nothing else.
func parseJWKS(document []byte) ([]listed[ed25519.PublicKey], error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(document, &set); err != nil {
		return nil, fmt.Errorf("key set: %w", err)
	}
	var keys []listed[ed25519.PublicKey]
	for i, jwk := range set.Keys {
		public, ok := jwk.Key.(ed25519.PublicKey)
		if !ok || jwk.Algorithm != string(jose.EdDSA) || jwk.Use != "sig" {
			return nil, fmt.Errorf("key set: key %d is not an Ed25519 key of alg EdDSA and use sig", i+1)
		}
		key, err := listEd25519(public, 0)
		if err != nil {
			return nil, fmt.Errorf("key set: key %d: %w", i+1, err)
		}
		if key.kid != jwk.KeyID {
			return nil, fmt.Errorf("key set: kid %q of key %d is not its RFC 7638 thumbprint", jwk.KeyID, i+1)
		}
		keys = append(keys, key)
	}
	return keys, distinct(keys)
}

// parsePQCKeys reads a set of ML-DSA-65 keys, and of nothing else.
func parsePQCKeys(document []byte) ([]listed[*mldsa65.PublicKey], error) {
	var set struct {
		Keys []akp `json:"keys"`
	}
	if err := json.Unmarshal(document, &set); err != nil {
		return nil, fmt.Errorf("post-quantum key set: %w", err)
	}
	var keys []listed[*mldsa65.PublicKey]
	for i := range set.Keys {
		key, err := set.Keys[i].list()
		if err != nil {
			return nil, fmt.Errorf("post-quantum key set: key %d: %w", i+1, err)
		}
		keys = append(keys, key)
	}
	return keys, distinct(keys)
}

func (k *akp) list() (listed[*mldsa65.PublicKey], error) {
	none := listed[*mldsa65.PublicKey]{}
	if k.KeyType != "AKP" || k.Algorithm != pqcAlgorithm || k.Use != "sig" || k.Context != pqcContext {
		return none, fmt.Errorf("not an %s key of kty AKP, use sig and ctx %s", pqcAlgorithm, pqcContext)
	}
	raw, err := decodeSegment(k.Public)
	if err != nil {
		return none, fmt.Errorf("pub is %w", err)
	}
	var public mldsa65.PublicKey
	if err := public.UnmarshalBinary(raw); err != nil {
		return none, fmt.Errorf("pub is not %d bytes", mldsa65.PublicKeySize)
	}
	if k.KeyID != akpThumbprint(k.Public) {
		return none, fmt.Errorf("kid %q is not its RFC 7638 thumbprint", k.KeyID)
	}
	return listMLDSA(&public, 0), nil
}

// distinct refuses an empty set, and one that lists a key twice.
func distinct[K any](keys []listed[K]) error {
	seen := make(map[string]bool, len(keys))
	for i := range keys {
		if seen[keys[i].kid] {
			return fmt.Errorf("key %s is listed twice", keys[i].kid)
		}
		seen[keys[i].kid] = true
	}
	if len(keys) == 0 {
		return errors.New("key set: it holds no keys")
	}
	return nil
}
