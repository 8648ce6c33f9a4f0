package attest

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"

	"filippo.io/edwards25519"
)

// operatorKeyChars is the length of 32 bytes in unpadded base64url.
const operatorKeyChars = 43

// ParseOperatorKey reads an operator public key: 43 characters of canonical unpadded base64url, the RFC
// 8032 encoding of a curve point. Refused with errOperatorKey are points of small order, for which
// signatures exist that verify on any policy, and points in an encoding that is not canonical, which would
// be second names of the same key (specification, policy-signature.3).
func ParseOperatorKey(text string) (ed25519.PublicKey, error) {
	if len(text) != operatorKeyChars {
		return nil, fmt.Errorf("%w: it has %d characters, not the %d of 32 bytes in unpadded base64url",
			errOperatorKey, len(text), operatorKeyChars)
	}
	raw, err := decodeSegment(text)
	if err != nil {
		return nil, fmt.Errorf("%w: it is %w", errOperatorKey, err)
	}
	if err := checkPoint(raw); err != nil {
		return nil, fmt.Errorf("%w: %w", errOperatorKey, err)
	}
	return raw, nil
}

// FormatOperatorKey returns the text that ParseOperatorKey reads.
func FormatOperatorKey(public ed25519.PublicKey) string { return string(appendBase64(nil, public)) }

// checkPoint refuses what is no canonical encoding of a point of the curve, and points whose order
// divides the cofactor.
func checkPoint(public []byte) error {
	if len(public) != ed25519.PublicKeySize {
		return fmt.Errorf("it has %d bytes, not %d", len(public), ed25519.PublicKeySize)
	}
	point, err := new(edwards25519.Point).SetBytes(public)
	switch {
	case err != nil:
		return errors.New("it is not a point of the curve")
	case !bytes.Equal(point.Bytes(), public):
		return errors.New("it is not the canonical encoding of its point")
	case new(edwards25519.Point).MultByCofactor(point).Equal(edwards25519.NewIdentityPoint()) == 1:
		return errors.New("it is a point of small order, for which anybody can sign")
	}
	return nil
}

// GenerateOperatorKey makes an operator private key from 32 bytes of random.
func GenerateOperatorKey(random io.Reader) (ed25519.PrivateKey, error) {
	var seed [ed25519.SeedSize]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return nil, fmt.Errorf("reading %d random bytes for the operator key: %w", len(seed), err)
	}
	return ed25519.NewKeyFromSeed(seed[:]), nil
}

// encodeOperatorKey returns the private key as one PEM block of PKCS#8 (RFC 8410), the form that
// `openssl genpkey -algorithm ed25519` writes.
func encodeOperatorKey(private ed25519.PrivateKey) []byte { return pemBlock(encodeEd25519(private)) }

// decodeOperatorKey reads what encodeOperatorKey returns; white space may surround it, nothing else.
func decodeOperatorKey(text []byte) (ed25519.PrivateKey, error) {
	blocks, err := pemBlocks(text, 1)
	if err != nil {
		return nil, fmt.Errorf("%w: operator private key: %w", errKeyFile, err)
	}
	private, err := decodeEd25519(blocks[0])
	if err != nil {
		return nil, fmt.Errorf("%w: operator private key: it is %w", errKeyFile, err)
	}
	return private, nil
}

// WriteOperatorKey writes the private key to a new file of mode 0600, whole and durable or not at all. A
// file that exists is never replaced: the error then is fs.ErrExist too.
func WriteOperatorKey(path string, private ed25519.PrivateKey) error {
	return writePrivate(path, encodeOperatorKey(private))
}

// ReadOperatorKey reads the private key from a file, which it refuses if others than its owner can read it.
func ReadOperatorKey(path string) (ed25519.PrivateKey, error) {
	text, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	return decodeOperatorKey(text)
}

// SignPolicy returns the 64-byte Ed25519 signature over the signed bytes of a policy: the text before
// its line `## signature`, as it is.
func SignPolicy(private ed25519.PrivateKey, body []byte) []byte { return ed25519.Sign(private, body) }

// VerifyPolicy checks an operator's signature over body. It returns errOperatorKey for a key that
// ParseOperatorKey would refuse, and errPolicySignature if the signature does not verify. Verification is
// that of RFC 8032 without cofactor: S must be below the group order, and R in the one encoding that the
// verifier computes, so that without the private key no second signature can be made of a known one.
func VerifyPolicy(public ed25519.PublicKey, body, signature []byte) error {
	if err := checkPoint(public); err != nil {
		return fmt.Errorf("%w: %w", errOperatorKey, err)
	}
	if !ed25519.Verify(public, body, signature) {
		return errPolicySignature
	}
	return nil
}

// HaltText is what an operator signs to freeze or thaw a service, or to suspend or resume an API key (specification, halt.3). The
// action is "freeze", "thaw", "suspend" or "resume"; keyID is empty for the service; at is in Unix seconds.
func HaltText(issuer, action, keyID, reason string, at int64, serial uint64) []byte {
	return fmt.Appendf(nil, "svc-freeze-v1\n%s\n%s\n%s\n%s\n%d\n%d", issuer, action, keyID, reason, at, serial)
}

// RotationText is what the operator signs to replace the operator's key by another one (specification, rotation.2). from and to are as
// [FormatOperatorKey] writes them; at is in Unix seconds.
func RotationText(issuer, from, to string, at int64, serial uint64) []byte {
	return fmt.Appendf(nil, "svc-operator-rotation-v1\n%s\n%s\n%s\n%d\n%d", issuer, from, to, at, serial)
}

// ResolutionText is what an operator signs to resolve a hold (decisions, section 5, "Holds"). The hashes are SHA-256 in
// lower-case hex, decision is ALLOWED or DENIED, resolvedAt Unix seconds.
func ResolutionText(holdID, intentHash, policyHash, decision string, resolvedAt int64) []byte {
	return fmt.Appendf(nil, "svc-hold-resolution-v1\n%s\n%s\n%s\n%s\n%d", holdID, intentHash, policyHash, decision, resolvedAt)
}
