package attest

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"
)

// TestRetentionCheckpoint signs one, and refuses what is another, was changed, or is the checkpoint of a log's end.
func TestRetentionCheckpoint(t *testing.T) {
	signer, err := LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	want := RetentionCheckpoint{Checkpoint{[16]byte{1}, 300, [32]byte{2}, time.Unix(1e9, 0).UTC()}, [32]byte{3}, [32]byte{4}}
	signed, err := signer.SignRetention(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := signer.CheckpointVerifier().OpenRetention(signed); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	end, err := signer.SignCheckpoint(want.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"a checkpoint of an end": string(end), "another record": strings.Replace(string(signed), "\n300\n", "\n301\n", 1),
		"a line less":      signedText(t, signer, strings.TrimSuffix(want.Text(), "export BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"), retentionContext),
		"another spelling": signedText(t, signer, strings.Replace(want.Text(), "\n300\n", "\n0300\n", 1), retentionContext),
		"a signature less": string(signed)[:strings.LastIndex(strings.TrimSpace(string(signed)), "\n")+1],
	} {
		if _, err := signer.CheckpointVerifier().OpenRetention([]byte(bad)); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	if _, err := signer.CheckpointVerifier().Open(signed); err == nil {
		t.Error("a retention checkpoint passes for the checkpoint of a log's end")
	}
	if _, err := other.CheckpointVerifier().OpenRetention(signed); err == nil {
		t.Error("another service's checkpoint passes")
	}
}
