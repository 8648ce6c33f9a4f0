package main

import (
	"crypto/sha3"
	"encoding/binary"
	"errors"
)

// Parameters of ML-DSA-65 (FIPS 204, table 1), and where a private key and a signature have what attempts reads.
const (
	columns       = 5             // ℓ, by which the counter of masks grows with each attempt
	maxShift      = 196           // β, the most by which c·s₁ moves a coefficient of the mask
	challengeSize = 48            // of c̃, at the start of a signature, before z
	maskSize      = 256 * 20 / 8  // of a polynomial whose coefficients have 20 bits
	maxAttempts   = 1000          // after so many a signature is not believed; one in 10^94 needs more
	rhoSize       = 32            // of ρ, at the start of a private key
	secretAt      = rhoSize       // K in a private key
	hashAt        = secretAt + 32 // tr in a private key
	hashSize      = 64            // of tr, μ and ρ″
)

var errNotMade = errors.New("no attempt gives this signature")

// attempts returns at which attempt a deterministic signature was accepted, from 1 (FIPS 204, algorithm 7): the signature's
// z is the mask of that attempt, moved by little. How many there are depends on the message and the key and may be known, and
// nearly all of the time that signing takes depends on it.
func attempts(private, message, context, signature []byte) (int, error) {
	var mu, seed [hashSize]byte
	h := sha3.NewSHAKE256()
	h.Write(private[hashAt : hashAt+hashSize])
	h.Write([]byte{0, byte(len(context))})
	h.Write(context)
	h.Write(message)
	h.Read(mu[:])

	h.Reset()
	h.Write(private[secretAt : secretAt+32])
	h.Write(make([]byte, 32)) // the randomness, which is zero
	h.Write(mu[:])
	h.Read(seed[:])

	var mask [maskSize]byte
	for i := range maxAttempts {
		h.Reset()
		h.Write(seed[:])
		h.Write(binary.LittleEndian.AppendUint16(nil, uint16(i*columns)))
		h.Read(mask[:])
		if near(mask[:], signature[challengeSize:challengeSize+maskSize]) {
			return i + 1, nil
		}
	}
	return 0, errNotMade
}

// near reports whether no coefficient of two polynomials differs by more than maxShift. Five bytes have two coefficients.
func near(a, b []byte) bool {
	for i := 0; i < len(a); i += 5 {
		firstA, secondA := coefficients(a[i:])
		firstB, secondB := coefficients(b[i:])
		if max(firstA-firstB, firstB-firstA, secondA-secondB, secondB-secondA) > maxShift {
			return false
		}
	}
	return true
}

func coefficients(b []byte) (first, second int) {
	return int(b[0]) | int(b[1])<<8 | int(b[2]&15)<<16, int(b[2]>>4) | int(b[3])<<4 | int(b[4])<<12
}
