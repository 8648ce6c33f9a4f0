package attest

import "errors"

// The steps at which [Signer.Issue] or [Verifier.Verify] can refuse. Each returned error wraps exactly one
// of them and adds the value that was found.
var (
	// errClaims: the claims to issue break a rule of the attestation (a missing field, a malformed hash).
	errClaims = errors.New("attestation claims are invalid")
	// ErrTooLarge: the token is, or would be, MaxTokenBytes long or longer.
	ErrTooLarge = errors.New("attestation is too large")

	// ErrMalformed: the token is not three parts of canonical unpadded base64url.
	ErrMalformed = errors.New("attestation is malformed")
	// ErrHeader: the header is not exactly {"alg":"EdDSA","kid":"…"}.
	ErrHeader = errors.New("attestation header is not exactly alg and kid")
	// ErrUnknownKey: kid names no key of the verifier's key set, or one retired for too long.
	ErrUnknownKey = errors.New("attestation key is unknown")
	// ErrSignature: the Ed25519 signature does not verify.
	ErrSignature = errors.New("attestation signature is invalid")
	// errPayload: the signed payload is not the canonical form of valid claims.
	errPayload = errors.New("attestation payload is invalid")
	// ErrPQC: the pqc claim is missing, names something else than expected, or does not verify.
	ErrPQC = errors.New("attestation post-quantum signature is invalid")
	// ErrIssuer: both signatures verify, but iss is not the issuer that these keys belong to.
	ErrIssuer = errors.New("attestation issuer is not trusted")
	// ErrAudience: aud is not audienceClaim.
	ErrAudience = errors.New("attestation audience is wrong")
	// errLifetime: exp is not exactly iat + LifetimeSeconds.
	errLifetime = errors.New("attestation lifetime is wrong")
	// ErrNotYetValid: iat lies further ahead than ClockSkew.
	ErrNotYetValid = errors.New("attestation is not valid yet")
	// ErrExpired: exp has come.
	ErrExpired = errors.New("attestation has expired")

	// errKeyFile: a private key file can't be used: unreadable, open to others, or not what it should hold.
	errKeyFile = errors.New("key file can't be used")
	// errOperatorKey: the text is no acceptable operator public key.
	errOperatorKey = errors.New("operator public key is invalid")
	// errPolicySignature: an operator's signature does not verify.
	errPolicySignature = errors.New("policy signature does not verify against the operator public key")
)

// steps name the steps of [Verifier.Verify], as docs/vectors and the clients in other languages name them.
var steps = []struct {
	err  error
	name string
}{
	{ErrTooLarge, "too_large"}, {ErrMalformed, "malformed"}, {ErrHeader, "header"}, {ErrUnknownKey, "unknown_key"},
	{ErrSignature, "signature"}, {errPayload, "payload"}, {ErrPQC, "pqc"}, {ErrIssuer, "issuer"}, {ErrAudience, "audience"},
	{errLifetime, "lifetime"}, {ErrNotYetValid, "not_yet_valid"}, {ErrExpired, "expired"},
}

// Step returns the name of the step at which Verify refused, empty for another error and for nil.
func Step(err error) string {
	for _, step := range steps {
		if errors.Is(err, step.err) {
			return step.name
		}
	}
	return ""
}
