package vectors

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// Bytes are bytes that a vector gives in hexadecimal digits.
type Bytes []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// An MLDSAGroup has vectors of one ML-DSA-65 key: for signing its seed, for verifying the public key alone. Both have
// wrong lengths in groups that are to be refused.
type MLDSAGroup struct {
	PrivateSeed, PrivateKeyPkcs8, PublicKey Bytes
	Tests                                   []MLDSATest
}

// An MLDSATest is one message with a signature, which is the deterministic one where it is valid and Internal is false.
type MLDSATest struct {
	TcID     int
	Comment  string
	Msg      *Bytes // absent where a test gives only the hash of the message
	Ctx, Sig Bytes
	Rnd      string // randomness of its own, which signing through a library's interface can't be given
	Result   string // valid or invalid
	Flags    []string
}

// Internal reports whether a test needs more than a message and a context: FIPS 204's internal functions.
func (t *MLDSATest) Internal() bool { return t.Msg == nil || t.Rnd != "" }

// MLDSA65Sign are Wycheproof's vectors of signing from a seed.
func MLDSA65Sign(t testing.TB) []MLDSAGroup {
	t.Helper()
	return mldsa(t, "wycheproof/mldsa_65_sign_seed_test.json")
}

// MLDSA65Verify are Wycheproof's vectors of verification.
func MLDSA65Verify(t testing.TB) []MLDSAGroup {
	t.Helper()
	return mldsa(t, "wycheproof/mldsa_65_verify_test.json")
}

func mldsa(t testing.TB, name string) []MLDSAGroup {
	t.Helper()
	text, err := os.ReadFile(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ TestGroups []MLDSAGroup }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.TestGroups
}
