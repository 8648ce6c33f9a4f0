package attest

import (
	"bytes"
	"crypto/sha3"
	"encoding/hex"
	"testing"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"

	"bailiff/fuzz/kit/vectors"
)

// Verification as attestations use it: public keys as the key set reads them, with a context string.
func TestMLDSAVerifyWycheproof(t *testing.T) {
	run := map[string]int{}
	for _, group := range vectors.MLDSA65Verify(t) {
		text := string(appendBase64(nil, group.PublicKey))
		key := akp{Algorithm: pqcAlgorithm, Context: pqcContext, KeyType: "AKP", Use: "sig", Public: text}
		key.KeyID = akpThumbprint(text)
		public, err := key.list()
		for _, test := range group.Tests {
			valid := err == nil &&
				verifyMLDSA(public.key, *test.Msg, string(test.Ctx), test.Sig)
			if valid != (test.Result == "valid") {
				t.Errorf("test %d %v is %s, got %v", test.TcID, test.Flags, test.Result, valid)
			}
			run[test.Result]++
		}
	}
	if run["valid"] != 79 || run["invalid"] != 131 {
		t.Errorf("ran %v, want 79 valid and 131 invalid", run)
	}
}

// Signing from a seed, deterministically, and the stored form of keys: PKCS#8 of RFC 9881.
func TestMLDSASignWycheproof(t *testing.T) {
	run, stored := map[string]int{}, 0
	for _, group := range vectors.MLDSA65Sign(t) {
		seed := group.PrivateSeed
		if len(seed) != mldsa65.SeedSize {
			run["invalid"] += len(group.Tests) // not expressible: seeds are arrays
			continue
		}
		key := newMLDSAKey([mldsa65.SeedSize]byte(seed))
		if !bytes.Equal(key.public.Bytes(), group.PublicKey) {
			t.Errorf("seed %x gives another public key", group.PrivateSeed)
		}
		if group.PrivateKeyPkcs8 != nil {
			checkPKCS8(t, key, group.PrivateKeyPkcs8)
			stored++
		}
		for _, test := range group.Tests {
			if test.Internal() {
				continue
			}
			run[test.Result]++
			signature := make([]byte, mldsa65.SignatureSize)
			err := signMLDSA(key.private, *test.Msg, string(test.Ctx), false, signature)
			if (err == nil) != (test.Result == "valid") || (err == nil && !bytes.Equal(signature, test.Sig)) {
				t.Errorf("test %d %v is %s: another signature, or %v", test.TcID, test.Flags, test.Result, err)
			}
		}
	}
	if run["valid"] != 83 || run["invalid"] != 4 || stored != 27 {
		t.Errorf("ran %v and %d stored keys, want 83 valid, 4 invalid and 27", run, stored)
	}
}

func checkPKCS8(t *testing.T, key mldsaKey, want []byte) {
	t.Helper()
	if got := encodeMLDSA(key.seed); !bytes.Equal(got, want) {
		t.Errorf("PKCS#8: got %x, want %x", got, want)
	}
	back, err := decodeMLDSA(want)
	if err != nil || back.seed != key.seed {
		t.Errorf("PKCS#8 %x: %v", want, err)
	}
	for i := range want[:len(want)-mldsa65.SeedSize] {
		broken := bytes.Clone(want)
		broken[i] ^= 1
		if _, err := decodeMLDSA(broken); err == nil {
			t.Errorf("PKCS#8 with byte %d changed: accepted", i)
		}
	}
	for _, broken := range [][]byte{nil, want[:len(want)-1], append(bytes.Clone(want), 0)} {
		if _, err := decodeMLDSA(broken); err == nil {
			t.Errorf("PKCS#8 of %d bytes: accepted", len(broken))
		}
	}
}

// The accumulated vectors of C2SP's CCTV: key generation, signing and verification of many seeds, hashed.
func TestMLDSAAccumulated(t *testing.T) {
	count, want := 10_000, "5ff5e196f0b830c3b10a9eb5358e7c98a3a20136cb677f3ae3b90175c3ace329"
	if testing.Short() {
		count, want = 100, "8358a1843220194417cadbc2651295cd8fc65125b5a5c1a239a16dc8b57ca199"
	}
	seeds, sum := sha3.NewSHAKE128(), sha3.NewSHAKE128()
	signature := make([]byte, mldsa65.SignatureSize)
	for range count {
		var seed [mldsa65.SeedSize]byte
		seeds.Read(seed[:])
		key := newMLDSAKey(seed)
		if err := signMLDSA(key.private, nil, "", false, signature); err != nil {
			t.Fatal(err)
		}
		if !verifyMLDSA(key.public, nil, "", signature) {
			t.Fatalf("the signature of seed %x does not verify", seed)
		}
		sum.Write(key.public.Bytes())
		sum.Write(signature)
	}
	var got [32]byte
	sum.Read(got[:])
	if hex.EncodeToString(got[:]) != want {
		t.Errorf("%d iterations give %x, want %s", count, got, want)
	}
}
