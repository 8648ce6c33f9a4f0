package attest

import (
	"crypto/ed25519"
	"testing"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
)

// BenchmarkIssue is to be read beside the two signatures that it can't do without.
func BenchmarkIssue(b *testing.B) {
	s, c := testSigner(b), evmClaims()
	b.ReportAllocs()
	dst := make([]byte, 0, MaxTokenBytes)
	for b.Loop() {
		if _, err := s.Issue(dst, c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIssueParallel(b *testing.B) {
	s, c := testSigner(b), evmClaims()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		dst := make([]byte, 0, MaxTokenBytes)
		for pb.Next() {
			if _, err := s.Issue(dst, c); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkCheck is all of Issue but the signatures and their base64.
func BenchmarkCheck(b *testing.B) {
	s, c := testSigner(b), evmClaims()
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Check(c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEd25519Sign(b *testing.B) {
	s := testSigner(b)
	message := []byte(issue(b, s, evmClaims()))
	b.ReportAllocs()
	for b.Loop() {
		ed25519.Sign(s.pair.ed25519, message)
	}
}

func BenchmarkMLDSASign(b *testing.B) {
	s := testSigner(b)
	message, signature := []byte(canonicalOf(evmClaims())), make([]byte, mldsa65.SignatureSize)
	b.ReportAllocs()
	for b.Loop() {
		if err := signMLDSA(s.pair.mldsa.private, message, pqcContext, true, signature); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	s := testSigner(b)
	v, token := testVerifier(b, s), issue(b, s, evmClaims())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(token, issuedAt); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEd25519Verify(b *testing.B) {
	s := testSigner(b)
	message := []byte(issue(b, s, evmClaims()))
	public, signature := s.pair.ed25519.Public().(ed25519.PublicKey), ed25519.Sign(s.pair.ed25519, message)
	b.ReportAllocs()
	for b.Loop() {
		if !ed25519.Verify(public, message, signature) {
			b.Fatal("does not verify")
		}
	}
}

func BenchmarkMLDSAVerify(b *testing.B) {
	s := testSigner(b)
	message, signature := []byte(canonicalOf(evmClaims())), make([]byte, mldsa65.SignatureSize)
	if err := signMLDSA(s.pair.mldsa.private, message, pqcContext, true, signature); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !verifyMLDSA(s.pair.mldsa.public, message, pqcContext, signature) {
			b.Fatal("does not verify")
		}
	}
}
