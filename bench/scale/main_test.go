package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"testing"

	"bailiff/fuzz/kit/testbin"
)

// TestRun goes through a whole run with few keys. Its figures say nothing; that it ends says that every key's policy is
// good, because test-runs under them are allowed.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	binary := filepath.Join(folder, "bailiff")
	testbin.Track(t)
	if err := testbin.Command(binary); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), options{service: binary, dir: folder, keys: 200}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !regexp.MustCompile(`\nscale: 200 keys start \d+\.\d\d s heap -?\d+ B/key resident -?\d+ B/key\n$`).Match(out.Bytes()) {
		t.Errorf("the last line has no figures:\n%s", &out)
	}
}

// TestStrangers is the canary: with keys that the service does not know there are no figures.
func TestStrangers(t *testing.T) {
	folder := t.TempDir()
	binary := filepath.Join(folder, "bailiff")
	testbin.Track(t)
	if err := testbin.Command(binary); err != nil {
		t.Fatal(err)
	}
	if _, err := measure(t.Context(), binary, filepath.Join(folder, "data"), []string{"sk_svc_nobody"}); err == nil {
		t.Error("keys that nobody has are measured")
	}
}
