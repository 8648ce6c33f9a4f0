package main

import (
	"crypto/rand"
	"errors"
	"io"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/emmansun/gmsm/mldsa"
)

// A signer signs with one ML-DSA-65 key (FIPS 204, algorithm 2): hedged, with fresh randomness, or deterministically. It
// fills signature, which has mldsa65.SignatureSize bytes.
type signer interface {
	sign(signature, message, context []byte, hedged bool) error
}

// A verifier verifies signatures by one key (FIPS 204, algorithm 3).
type verifier interface {
	verify(message, context, signature []byte) bool
}

// A key is a pair of keys, and both in the encoding of FIPS 204 (algorithms 22 and 24).
type key struct {
	signer
	verifier
	public, private []byte
}

// A library is an implementation of ML-DSA-65.
type library interface {
	String() string
	newKey(seed []byte) (key, error)
	load(private []byte) (signer, error)
	parse(public []byte) (verifier, error)
}

var libraries = []library{circl{}, gmsm{}}

type circl struct{}

func (circl) String() string { return "circl" }

func (circl) newKey(seed []byte) (key, error) {
	if len(seed) != mldsa65.SeedSize {
		return key{}, errors.New("a seed has 32 bytes")
	}
	public, private := mldsa65.NewKeyFromSeed((*[mldsa65.SeedSize]byte)(seed))
	return key{circlSigner{private}, circlVerifier{public}, public.Bytes(), private.Bytes()}, nil
}

func (circl) load(private []byte) (signer, error) {
	s := circlSigner{new(mldsa65.PrivateKey)}
	return s, s.UnmarshalBinary(private)
}

func (circl) parse(public []byte) (verifier, error) {
	v := circlVerifier{new(mldsa65.PublicKey)}
	return v, v.UnmarshalBinary(public)
}

type circlSigner struct{ *mldsa65.PrivateKey }

func (s circlSigner) sign(signature, message, context []byte, hedged bool) error {
	return mldsa65.SignTo(s.PrivateKey, message, context, hedged, signature)
}

type circlVerifier struct{ *mldsa65.PublicKey }

func (v circlVerifier) verify(message, context, signature []byte) bool {
	return mldsa65.Verify(v.PublicKey, message, context, signature)
}

type gmsm struct{}

func (gmsm) String() string { return "gmsm" }

func (gmsm) newKey(seed []byte) (key, error) {
	made, err := mldsa.NewKey65(seed)
	if err != nil {
		return key{}, err
	}
	public := made.Public().(*mldsa.PublicKey65)
	return key{gmsmSigner{&made.PrivateKey65}, gmsmVerifier{public}, public.Bytes(), made.Bytes()}, nil
}

func (gmsm) load(private []byte) (signer, error) {
	loaded, err := mldsa.NewPrivateKey65(private)
	return gmsmSigner{loaded}, err
}

func (gmsm) parse(public []byte) (verifier, error) {
	parsed, err := mldsa.NewPublicKey65(public)
	return gmsmVerifier{parsed}, err
}

type gmsmSigner struct{ *mldsa.PrivateKey65 }

func (s gmsmSigner) sign(signature, message, context []byte, hedged bool) error {
	random := io.Reader(zeros{})
	if hedged {
		random = rand.Reader
	}
	made, err := s.SignMessage(random, message, &mldsa.Options{Context: context})
	copy(signature, made)
	return err
}

// zeros is the randomness of deterministic signatures.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

type gmsmVerifier struct{ *mldsa.PublicKey65 }

func (v gmsmVerifier) verify(message, context, signature []byte) bool {
	return v.VerifyWithOptions(signature, message, &mldsa.Options{Context: context})
}

var errFaulty = errors.New("the signature does not verify")

// checked signs with one library and lets no signature leave that another does not verify.
type checked struct {
	signer
	verifier
}

func (c checked) sign(signature, message, context []byte, hedged bool) error {
	if err := c.signer.sign(signature, message, context, hedged); err != nil {
		return err
	}
	if !c.verify(message, context, signature) {
		return errFaulty
	}
	return nil
}
