package attest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"strings"
	"testing"
)

// TestReport: a signed report is opened by its signer's key, and not by another one, changed, too long, or by a key of small order.
func TestReport(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const text = "{\n \"cases\": 7\n}\n"
	signed, err := SignReport(private, text)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := OpenReport(public, signed); err != nil || got != text {
		t.Errorf("%q, %v", got, err)
	}
	other, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() (string, error){
		"another key":    func() (string, error) { return OpenReport(other, signed) },
		"a small order":  func() (string, error) { return OpenReport(make(ed25519.PublicKey, 32), signed) },
		"another number": func() (string, error) { return OpenReport(public, bytes.Replace(signed, []byte("7"), []byte("8"), 1)) },
		"no signature":   func() (string, error) { return OpenReport(public, []byte(text)) },
		"too long":       func() (string, error) { return OpenReport(public, make([]byte, MaxReportBytes+1)) },
	} {
		if _, err := try(); err == nil {
			t.Errorf("%s: it is opened", name)
		}
	}
	for name, wrong := range map[string]string{"no line feed": "{}", "a tab": "{\t}\n", "too long": strings.Repeat("x", MaxReportBytes) + "\n"} {
		if _, err := SignReport(private, wrong); err == nil {
			t.Errorf("%s: it is signed", name)
		}
	}
}
