// Package attest makes and checks what Bailiff signs: intent attestations, the key sets that let others
// verify them, and the operator's signature on a policy.
//
// An attestation is a compact JWT (RFC 7519) with two signatures over one set of claims. The inner one is
// ML-DSA-65 (FIPS 204, hedged, context string pqcContext) over the RFC 8785 form of the claims without
// `pqc`; it travels in the claim `pqc`. The outer one is Ed25519 (RFC 8032, JOSE algorithm EdDSA) over the
// token's header and payload, and so covers the inner one too.
//
// The package promises:
//
//   - A token is shorter than [MaxTokenBytes], and its payload is the RFC 8785 form of its claims.
//   - [Verifier.Verify] accepts one spelling of a token only: exact header, canonical base64url, canonical
//     payload, both signatures. Without the keys no token can be rewritten into another that is accepted.
//   - Nothing of a payload is parsed before its Ed25519 signature is verified.
//   - Private keys are read from, and written to, files that only their owner can read.
//   - Operator keys of small order and operator keys with a second spelling are refused.
//
// Keys are made at the first start by [LoadOrCreate]. To retire a pair, move its file aside under the name
// `retired-<Unix seconds>.pem` in the same folder and start the service again: a new pair is made, and the
// key sets go on listing the old public keys until 24 hours after the time in the name.
//
// It is the only package that imports go-jose and circl.
package attest
