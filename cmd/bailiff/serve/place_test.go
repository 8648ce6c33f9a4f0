package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	cmdsettings "bailiff/cmd/bailiff/settings"
)

// TestPlace: data is served where it was served before, also under another name, and a copy of it is not, until its place is claimed.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) *cmdsettings.Settings {
		return &cmdsettings.Settings{DataDir: filepath.Join(dir, name)}
	}
	if err := os.MkdirAll(at("data").LedgerPath(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := CheckPlace(at("data")); err != nil {
		t.Errorf("data without a place: %v", err)
	}
	for range 2 {
		if err := claimPlace(at("data")); err != nil {
			t.Fatal(err)
		}
		if err := CheckPlace(at("data")); err != nil {
			t.Errorf("claimed: %v", err)
		}
	}
	if err := os.CopyFS(at("copy").DataDir, os.DirFS(at("data").DataDir)); err != nil {
		t.Fatal(err)
	}
	if err := CheckPlace(at("copy")); err == nil || !strings.Contains(err.Error(), "serve --moved") {
		t.Errorf("a copy: %v", err)
	}
	if err := claimPlace(at("copy")); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"copy": "claimed", "data": "renamed"} {
		if err := os.Rename(at(from).DataDir, at(to).DataDir); err != nil {
			t.Fatal(err)
		}
		if err := CheckPlace(at(to)); err != nil {
			t.Errorf("%s: %v", to, err)
		}
	}
	if err := os.Truncate(placePath(at("renamed").LedgerPath()), 0); err != nil {
		t.Fatal(err)
	}
	if err := CheckPlace(at("renamed")); err != nil {
		t.Errorf("a place that was not written: %v", err)
	}
}
