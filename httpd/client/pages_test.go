package client_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/fuzz/kit/blocks"
)

// around is a program in which an example of the documents compiles: what a reader has already.
const around = `package main

import (
	"context"
	"time"

	"bailiff/httpd/client"
	"bailiff/httpd/client/verify"
)

func main() {
	var (
		key, commit, nonce, attestation, policy string
		hold                                    *client.Hold
		service                                 *client.Client
		ctx                                     = context.Background()
	)
	_, _, _, _, _, _, _, _ = key, commit, nonce, attestation, policy, hold, service, ctx
	_, _ = time.Now, verify.New
	{
		EXAMPLE
	}
}
`

// compile compiles an example of the documents, and returns what the compiler says.
func compile(t *testing.T, example string) string {
	t.Helper()
	dir := t.TempDir()
	program, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	place, err := filepath.Abs("example/main.go") // there is no such folder but for the compiler
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{place: program}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte(strings.Replace(around, "EXAMPLE", example, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command("go", "build", "-overlay", overlay, "-o", filepath.Join(dir, "example"), "./example").CombinedOutput()
	if err != nil && len(output) == 0 {
		t.Fatal(err)
	}
	return string(output)
}

// TestPages compiles the examples in Go of the documents.
func TestPages(t *testing.T) {
	found := 0
	for _, page := range []string{"clients.md", "verify.md"} {
		for _, b := range blocks.Of(t, "../../docs/"+page) {
			if b.Language == "go" {
				found++
				if problem := compile(t, b.Text); problem != "" {
					t.Errorf("%s:\n%s", b, problem)
				}
			}
		}
	}
	if found < 2 {
		t.Errorf("%d examples, want 2", found)
	}
	if compile(t, "service.Autorize()") == "" {
		t.Error("a method that does not exist compiles")
	}
}
