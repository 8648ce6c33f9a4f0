package attest

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
)

// Signer issues attestations with one pair of keys, and publishes it and the retired ones. It is safe for
// concurrent use, and takes no locks: signing is CPU time only, about an eighth of a millisecond.
type Signer struct {
	pair    *keyPair
	header  string // the token's first part and the dot after it
	pqcHead string // the member pqc up to its signature
	ed25519 []listed[ed25519.PublicKey]
	mldsa   []listed[*mldsa65.PublicKey]
}

func newSigner(pair *keyPair, retired []retiredPair) (*Signer, error) {
	s := &Signer{pair: pair}
	if err := s.list(pair, 0); err != nil {
		return nil, err
	}
	for _, old := range retired {
		if err := s.list(old.keyPair, old.at+retiredSeconds); err != nil {
			return nil, err
		}
	}
	if err := distinct(s.ed25519); err != nil {
		return nil, fmt.Errorf("%w: %w; a retired file must be moved, not copied", errKeyFile, err)
	}
	if err := distinct(s.mldsa); err != nil {
		return nil, fmt.Errorf("%w: %w; a retired file must be moved, not copied", errKeyFile, err)
	}
	s.header = encodeHeader(s.ed25519[0].kid) + "."
	s.pqcHead = pqcHead(s.mldsa[0].kid)
	return s, nil
}

// list adds the public keys of a pair to the key sets, until a time in Unix seconds (0: for ever).
func (s *Signer) list(pair *keyPair, until int64) error {
	classical, err := listEd25519(pair.ed25519.Public().(ed25519.PublicKey), until)
	if err != nil {
		return fmt.Errorf("%w: %w", errKeyFile, err)
	}
	s.ed25519 = append(s.ed25519, classical)
	s.mldsa = append(s.mldsa, listMLDSA(pair.mldsa.public, until))
	return nil
}

// encodeHeader is the first part of every token that names kid: there is one spelling only.
func encodeHeader(kid string) string {
	return string(appendBase64(nil, []byte(headerOpening+kid+headerClosing)))
}

const (
	headerOpening = `{"alg":"EdDSA","kid":"`
	headerClosing = `"}`
)

// DeriveKey returns a secret key for another use than signing, which a label names: it changes with the Ed25519 key, and neither
// tells anything about the other.
func (s *Signer) DeriveKey(label string) (key [32]byte) {
	derived, err := hkdf.Key(sha256.New, s.pair.ed25519.Seed(), nil, "bailiff "+label, len(key))
	if err != nil {
		panic(err) // of a longer key than there can be
	}
	return [32]byte(derived)
}

// KeyID is the `kid` of the tokens: the RFC 7638 thumbprint of the current Ed25519 key.
func (s *Signer) KeyID() string { return s.ed25519[0].kid }

// PQCKeyID is the `pqc.kid` of the tokens: the RFC 7638 thumbprint of the current ML-DSA-65 key.
func (s *Signer) PQCKeyID() string { return s.mldsa[0].kid }

// Pair names both keys that the signer signs with.
func (s *Signer) Pair() string { return s.KeyID() + "." + s.PQCKeyID() }

// Lists reports whether the signer has both keys, by their ids, as its current ones or as a pair that was retired.
func (s *Signer) Lists(keyID, pqcKeyID string) bool {
	for i := range s.ed25519 {
		if s.ed25519[i].kid == keyID && s.mldsa[i].kid == pqcKeyID {
			return true
		}
	}
	return false
}

// JWKS returns the document of `/.well-known/jwks.json`: the Ed25519 public keys to be shown at now, the
// current one first (RFC 7517, RFC 8037).
func (s *Signer) JWKS(now time.Time) []byte { return keySet(s.ed25519, now.Unix()) }

// PQCKeys returns the document of `/.well-known/svc-pqc-keys.json` and `/v1/pqc-keys`: the ML-DSA-65
// public keys to be shown at now, the current one first (RFC 9964).
func (s *Signer) PQCKeys(now time.Time) []byte { return keySet(s.mldsa, now.Unix()) }

// scratch is what issuing one token needs beside its result.
type scratch struct {
	canonical []byte // the claims without pqc
	pqcAt     int    // where pqc belongs in canonical
	payload   []byte
	signature [mldsa65.SignatureSize]byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Check reports, without signing, whether Issue would issue these claims: the error is errClaims or
// ErrTooLarge. A caller that must not fail once it has committed asks first: with any jti
// and iat that Issue would take, the answer is the same.
func (s *Signer) Check(c *Claims) error {
	b := scratches.Get().(*scratch)
	defer scratches.Put(b)
	return s.prepare(b, c)
}

// Issue appends the compact JWT of the claims to dst and returns the result. The claims are not kept. An
// error (errClaims, ErrTooLarge) leaves dst as it was; both depend on the claims alone, so that asking
// again gives the same answer.
func (s *Signer) Issue(dst []byte, c *Claims) ([]byte, error) {
	b := scratches.Get().(*scratch)
	defer scratches.Put(b)
	if err := s.prepare(b, c); err != nil {
		return dst, err
	}
	if err := signMLDSA(s.pair.mldsa.private, b.canonical, pqcContext, true, b.signature[:]); err != nil {
		return dst, fmt.Errorf("signing with ML-DSA-65: %w", err)
	}
	b.payload = appendPayload(b.payload[:0], b.canonical, b.pqcAt, s.pqcHead, b.signature[:])
	start := len(dst)
	token := appendBase64(append(dst, s.header...), b.payload)
	signature := ed25519.Sign(s.pair.ed25519, token[start:])
	return appendBase64(append(token, '.'), signature), nil
}

// prepare checks the claims, writes their canonical form, and computes the length of the token to come.
func (s *Signer) prepare(b *scratch, c *Claims) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("%w: %w", errClaims, err)
	}
	b.canonical, b.pqcAt = appendClaims(b.canonical[:0], c, issued(c))
	payload := len(b.canonical) + len(s.pqcHead) + segment.EncodedLen(mldsa65.SignatureSize) + len(`"}`)
	length := len(s.header) + segment.EncodedLen(payload) + len(".") + segment.EncodedLen(ed25519.SignatureSize)
	if length >= MaxTokenBytes {
		return fmt.Errorf("%w: the token would have %d bytes, and must have less than %d; shorten agentId, to or token",
			ErrTooLarge, length, MaxTokenBytes)
	}
	return nil
}

// signMLDSA is ML-DSA.Sign of FIPS 204, algorithm 2: hedged, with fresh randomness of the system, or, for
// published vectors, deterministic. signature holds exactly mldsa65.SignatureSize bytes.
func signMLDSA(key *mldsa65.PrivateKey, message []byte, context string, hedged bool, signature []byte) error {
	return mldsa65.SignTo(key, message, []byte(context), hedged, signature)
}

// verifyMLDSA is ML-DSA.Verify of FIPS 204, algorithm 3.
func verifyMLDSA(key *mldsa65.PublicKey, message []byte, context string, signature []byte) bool {
	return mldsa65.Verify(key, message, []byte(context), signature)
}
