package attest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
)

func checkpoint() Checkpoint {
	return Checkpoint{Stream: [16]byte{0xab, 1}, LSN: 42, Hash: sha256.Sum256([]byte("group")), At: time.Unix(1_780_000_000, 0).UTC()}
}

func sealed(t testing.TB, s *Signer, c Checkpoint) []byte {
	t.Helper()
	signed, err := s.SignCheckpoint(c)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func TestCheckpoint(t *testing.T) {
	s, c := testSigner(t), checkpoint()
	signed := sealed(t, s, c)
	documents, err := NewCheckpointVerifier(s.JWKS(c.At), s.PQCKeys(c.At))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]*CheckpointVerifier{"signer": s.CheckpointVerifier(), "documents": documents} {
		if got, err := v.Open(signed); err != nil || got != c {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, row := range [][2][]byte{{s.PQCKeys(c.At), s.PQCKeys(c.At)}, {s.JWKS(c.At), s.JWKS(c.At)}} {
		if _, err := NewCheckpointVerifier(row[0], row[1]); err == nil {
			t.Errorf("one document is taken for both: %.40s", row[0])
		}
	}
	const want = "bailiff-ledger/ab010000000000000000000000000000\n42\n"
	if !strings.HasPrefix(string(signed), want) {
		t.Errorf("it begins otherwise:\n%s", signed)
	}
}

// TestCheckpointIsANote has the reference implementation of signed notes verify the Ed25519 signature with its own
// encoding of the key.
func TestCheckpointIsANote(t *testing.T) {
	s, c := testSigner(t), checkpoint()
	key, err := note.NewEd25519VerifierKey(c.origin(), s.ed25519[0].key)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(key)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := note.Open(sealed(t, s, c), note.VerifierList(verifier))
	if err != nil || opened.Text != c.Text() || len(opened.Sigs) != 1 || len(opened.UnverifiedSigs) != 1 {
		t.Errorf("%+v, %v", opened, err)
	}
}

func TestCheckpointRefused(t *testing.T) {
	s, c := testSigner(t), checkpoint()
	good := string(sealed(t, s, c))
	lines := strings.SplitAfter(good, "\n") // 4 of text, a blank one, 2 signatures
	other := signerFrom(t, "another")
	moved := c
	moved.LSN++
	resigned := func(text string) string { return signedText(t, s, text, checkpointContext) }
	if got, err := s.CheckpointVerifier().Open([]byte(resigned(c.Text()))); err != nil || got != c {
		t.Fatalf("its own text: %+v, %v", got, err)
	}
	for name, text := range map[string]string{
		"empty":               "",
		"another size":        strings.Replace(good, "\n42\n", "\n43\n", 1),
		"another log":         strings.Replace(good, "/ab01", "/ab02", 1),
		"without Ed25519":     strings.Join(append(append([]string{}, lines[:5]...), lines[6]), ""),
		"without ML-DSA-65":   strings.Join(lines[:6], ""),
		"signed by another":   string(sealed(t, other, c)),
		"another's signature": strings.Join(append(append([]string{}, lines[:5]...), strings.SplitAfter(string(sealed(t, s, moved)), "\n")[5:]...), ""),
		"another text":        resigned("bailiff-ledger/ab\n042\n\ntime now\n"),
		"a line less":         resigned(strings.Join(lines[:3], "")),
		"a line more":         resigned(c.Text() + "more\n"),
		"too long":            good + strings.Repeat("x", MaxCheckpointBytes),
	} {
		if got, err := s.CheckpointVerifier().Open([]byte(text)); !errors.Is(err, errCheckpoint) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// signedText signs any text of lines as a checkpoint.
func signedText(t *testing.T, s *Signer, text, context string) string {
	t.Helper()
	name, _, _ := strings.Cut(text, "\n")
	signed, err := s.signNote(name, text, context)
	if err != nil {
		t.Fatal(err)
	}
	return string(signed)
}

// TestCheckpointOfARetiredKey: what was signed before the keys were changed stays good.
func TestCheckpointOfARetiredKey(t *testing.T) {
	old, c := signerFrom(t, "old"), checkpoint()
	current, err := newSigner(signerFrom(t, "new").pair, []retiredPair{{old.pair, c.At.Unix()}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := current.CheckpointVerifier().Open(sealed(t, old, c)); err != nil || got != c {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzParseCheckpoint: what is read is written again as the very same bytes.
func FuzzParseCheckpoint(f *testing.F) {
	f.Add(checkpoint().Text())
	f.Add(fmt.Sprintf("%s%032d\n0\n%s\ntime 2026-11-05T00:00:00Z\n", checkpointOrigin, 0, strings.Repeat("A", 43)+"="))
	f.Add("bailiff-ledger/AB\n01\nAA==\ntime 2026-11-05T01:00:00+01:00\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCheckpoint(text)
		if err == nil && !bytes.Equal([]byte(c.Text()), []byte(text)) {
			t.Errorf("%q was read as %q", text, c.Text())
		}
		if err != nil && !errors.Is(err, errCheckpoint) {
			t.Error(err)
		}
	})
}
