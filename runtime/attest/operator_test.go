package attest

import (
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/kit/vectors"
)

func readVectors(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(vectors.Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Keys come in by ParseOperatorKey, signatures by VerifyPolicy, as they do in the service.
func TestOperatorWycheproof(t *testing.T) {
	var file struct {
		TestGroups []struct {
			PublicKey struct{ PK string }
			Tests     []struct {
				TcID             int
				Msg, Sig, Result string
			}
		}
	}
	readVectors(t, "wycheproof/ed25519_test.json", &file)
	run := map[string]int{}
	for _, group := range file.TestGroups {
		public, err := ParseOperatorKey(FormatOperatorKey(unhex(t, group.PublicKey.PK)))
		if err != nil {
			t.Fatalf("key %s: %v", group.PublicKey.PK, err)
		}
		for _, test := range group.Tests {
			err := VerifyPolicy(public, unhex(t, test.Msg), unhex(t, test.Sig))
			if (err == nil) != (test.Result == "valid") {
				t.Errorf("test %d is %s, got %v", test.TcID, test.Result, err)
			}
			run[test.Result]++
		}
	}
	if run["valid"] != 88 || run["invalid"] != 63 {
		t.Errorf("ran %v, want 88 valid and 63 invalid", run)
	}
}

// Of the edge cases every key of small order and every second encoding of a key is refused, and for the
// others signatures verify as the README of the vectors says of Go: not with a second encoding of R, nor
// where only the multiplication by the cofactor would make them verify. The canary is the standard
// library, which takes signatures by keys that are refused here.
func TestOperatorEdgeCases(t *testing.T) {
	var cases []struct {
		Number        int
		Key, Sig, Msg string
		Flags         []string
	}
	readVectors(t, "cctv/ed25519/ed25519vectors.json", &cases)
	refused, verified, forged := 0, 0, 0
	for _, c := range cases {
		has := func(flag string) bool { return slices.Contains(c.Flags, flag) }
		key, sig := unhex(t, c.Key), unhex(t, c.Sig)
		public, err := ParseOperatorKey(FormatOperatorKey(key))
		weak := has("low_order_A") || has("non_canonical_A")
		if weak != errors.Is(err, errOperatorKey) || weak == (err == nil) {
			t.Errorf("case %d %v: key %s: %v", c.Number, c.Flags, c.Key, err)
			continue
		}
		if weak {
			refused++
			if ed25519.Verify(key, []byte(c.Msg), sig) {
				forged++
			}
			if !errors.Is(VerifyPolicy(key, []byte(c.Msg), sig), errOperatorKey) {
				t.Errorf("case %d: VerifyPolicy takes the key that ParseOperatorKey refuses", c.Number)
			}
			continue
		}
		valid := !has("non_canonical_R") && !has("low_order_residue") && !has("reencoded_k")
		if err := VerifyPolicy(public, []byte(c.Msg), sig); (err == nil) != valid {
			t.Errorf("case %d %v: want valid %v, got %v", c.Number, c.Flags, valid, err)
		}
		if valid {
			verified++
		}
	}
	if len(cases) != 914 || refused == 0 || verified == 0 || forged == 0 {
		t.Errorf("%d cases, %d refused keys, %d verified, %d forgeries that a lax verifier takes",
			len(cases), refused, verified, forged)
	}
}

func TestParseOperatorKeyRefuses(t *testing.T) {
	private, err := GenerateOperatorKey(repeatable("operator"))
	if err != nil {
		t.Fatal(err)
	}
	public := private.Public().(ed25519.PublicKey)
	good := FormatOperatorKey(public)
	if got, err := ParseOperatorKey(good); err != nil || !got.Equal(public) {
		t.Fatalf("the key itself: %v", err)
	}
	notOnCurve := make([]byte, 32)
	notOnCurve[0] = 2
	for name, text := range map[string]string{
		"empty":         "",
		"padded":        good + "=",
		"short":         good[:42],
		"hex":           hex.EncodeToString(public),
		"standard":      "+" + good[1:],
		"unused bits":   good[:42] + nextLetter(good[42]),
		"line end":      good[:42] + "\n",
		"space around":  " " + good[:41] + " ",
		"not a point":   FormatOperatorKey(notOnCurve),
		"identity":      FormatOperatorKey(append([]byte{1}, make([]byte, 31)...)),
		"beyond p":      FormatOperatorKey(append([]byte{0xee}, append(slices.Repeat([]byte{0xff}, 30), 0x7f)...)),
		"y of p plus 3": FormatOperatorKey(append([]byte{0xf0}, append(slices.Repeat([]byte{0xff}, 30), 0x7f)...)),
	} {
		if _, err := ParseOperatorKey(text); !errors.Is(err, errOperatorKey) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestPolicySignature(t *testing.T) {
	private, err := GenerateOperatorKey(repeatable("operator"))
	if err != nil {
		t.Fatal(err)
	}
	public := private.Public().(ed25519.PublicKey)
	body := []byte("version: 2.0.0\n\n## evm\nallowed_chains: 1\n")
	signature := SignPolicy(private, body)
	if err := VerifyPolicy(public, body, signature); err != nil {
		t.Fatal(err)
	}
	other := signerFrom(t, "other").pair.ed25519.Public().(ed25519.PublicKey)
	for name, err := range map[string]error{
		"one space more":  VerifyPolicy(public, append(body[:len(body):len(body)], ' '), signature),
		"another key":     VerifyPolicy(other, body, signature),
		"short signature": VerifyPolicy(public, body, signature[:63]),
		"no signature":    VerifyPolicy(public, body, nil),
	} {
		if !errors.Is(err, errPolicySignature) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := VerifyPolicy(nil, body, signature); !errors.Is(err, errOperatorKey) {
		t.Errorf("no key: got %v", err)
	}
}

func TestOperatorKeyFile(t *testing.T) {
	private, err := GenerateOperatorKey(repeatable("operator"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "operator.pem")
	if err := WriteOperatorKey(path, private); err != nil {
		t.Fatal(err)
	}
	checkMode(t, path, 0o600)
	if got, err := ReadOperatorKey(path); err != nil || !got.Equal(private) {
		t.Fatalf("read back: %v", err)
	}
	if err := WriteOperatorKey(path, private); !errors.Is(err, fs.ErrExist) {
		t.Errorf("written over: got %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadOperatorKey(path); !errors.Is(err, errKeyFile) || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("readable by all: got %v", err)
	}
	if err := WriteOperatorKey(filepath.Join(path, "operator.pem"), private); !errors.Is(err, errKeyFile) || errors.Is(err, fs.ErrExist) {
		t.Errorf("written below a file: got %v", err)
	}
	other, err := ecdh.X25519().NewPrivateKey(private.Seed())
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	for says, text := range map[string]string{
		"holds 0 PEM blocks": "", "outside of its PEM blocks": "key", "not an Ed25519 key in PKCS#8": string(pemBlock([]byte{0x30, 0})),
		"a key of type *ecdh.PrivateKey": string(pemBlock(der)),
	} {
		if _, err := decodeOperatorKey([]byte(text)); !errors.Is(err, errKeyFile) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// TestNoOperatorKey: without 32 random bytes there is no key.
func TestNoOperatorKey(t *testing.T) {
	if key, err := GenerateOperatorKey(strings.NewReader("short")); !errors.Is(err, io.ErrUnexpectedEOF) || key != nil {
		t.Errorf("%d bytes, %v", len(key), err)
	}
}
