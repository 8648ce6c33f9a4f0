package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTriesPaste holds that a shell finds the API key by what a first run prints, wherever that keeps it.
func TestTriesPaste(t *testing.T) {
	for _, name := range []string{"data", "my data", "it's", "$HOME"} {
		folder := t.TempDir()
		s := settings{"SVC_DATA_DIR": name, "WARRANTY_PATH": "config/warranty.md"}
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, s.apiKeyPath()), []byte("sk_svc_1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, header, _ := strings.Cut(triesFor(s, "127.0.0.1:8787"), "-H ")
		header, _, _ = strings.Cut(header, " -d ")
		shell := exec.Command("sh", "-c", "printf %s "+header)
		shell.Dir = folder
		if out, err := shell.CombinedOutput(); string(out) != "Authorization: Bearer sk_svc_1" {
			t.Errorf("%s: %s says %q, %v", name, header, out, err)
		}
	}
}

// TestTriesObserve holds that nobody is told of a denial where nothing is enforced.
func TestTriesObserve(t *testing.T) {
	if text := triesFor(settings{"SVC_MODE": "OBSERVE"}, "127.0.0.1:8787"); strings.Contains(text, "DENIED") {
		t.Error(text)
	}
}
