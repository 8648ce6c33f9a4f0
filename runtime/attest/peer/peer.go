// Package peer lets other people's implementations verify attestations in tests: jose (Ed25519) and
// @noble/post-quantum (ML-DSA-65) on Node, which it installs itself from the npm registry.
package peer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

//go:embed package.json package-lock.json verify.mjs
var files embed.FS

// Verifier is the path of the installed verify.mjs.
type Verifier string

// Question is what the verifier is asked. Its members are those that verify.mjs reads.
type Question struct {
	JWKS     json.RawMessage `json:"jwks"`
	PQCKeys  json.RawMessage `json:"pqcKeys"`
	Issuer   string          `json:"issuer"`
	Audience string          `json:"audience"`
	Context  string          `json:"context"` // of the ML-DSA-65 signature
	Now      int64           `json:"now"`     // Unix seconds
	Tokens   []string        `json:"tokens"`
}

// Result is what the two libraries say of one token: "ok", or what is wrong.
type Result struct{ Jose, Noble string }

// Ask returns a result for each token.
func (v Verifier) Ask(t testing.TB, q Question) []Result {
	t.Helper()
	input, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	output, err := run(t, filepath.Dir(string(v)), input, "node", string(v))
	if err != nil {
		t.Fatalf("node verify.mjs: %v", err)
	}
	var results []Result
	if err := json.Unmarshal(output, &results); err != nil || len(results) != len(q.Tokens) {
		t.Fatalf("verify.mjs answered %s (%v)", output, err)
	}
	return results
}

// Install returns the verifier with its packages installed. They live in a cache folder of the project that
// is named after what is to be installed; concurrent runs each install into a folder of their own, and the
// first to be done gives it its name. Where node or npm is missing, or no registry can be reached, the test is
// skipped, and in continuous integration (CI=true) it fails.
func Install(t testing.TB) Verifier {
	t.Helper()
	for _, command := range []string{"node", "npm"} {
		if _, err := exec.LookPath(command); err != nil {
			unavailable(t, "%s is not installed: %v", command, err)
		}
	}
	cache := cacheFolder(t)
	installed := filepath.Join(cache, "npm-attest-"+digest(t))
	if _, err := os.Stat(installed); err == nil {
		return Verifier(filepath.Join(installed, "verify.mjs"))
	}
	fresh, err := os.MkdirTemp(cache, "npm-attest-new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(fresh, name), content(t, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	install := []string{"ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline",
		"--fetch-retries=1", "--fetch-retry-mintimeout=1000"}
	if _, err := run(t, fresh, nil, "npm", install...); err != nil {
		unavailable(t, "npm could not install jose and @noble/post-quantum, perhaps because no registry can be reached: %v", err)
	}
	if err := os.Rename(fresh, installed); err != nil && !isDir(installed) {
		t.Fatal(err)
	}
	return Verifier(filepath.Join(installed, "verify.mjs"))
}

// unavailable skips, except in continuous integration, where the peers must be there.
func unavailable(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("required in continuous integration: "+format, args...)
	}
	t.Skipf(format, args...)
}

// cacheFolder is the folder .cache at the root of the project; it tells git to ignore all that it holds.
func cacheFolder(t testing.TB) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	cache := filepath.Join(filepath.Dir(file), "..", "..", "..", ".cache")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cache, ".gitignore"), []byte("*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return cache
}

var names = []string{"package.json", "package-lock.json", "verify.mjs"}

func content(t testing.TB, name string) []byte {
	t.Helper()
	text, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func digest(t testing.TB) string {
	t.Helper()
	sum := sha256.New()
	for _, name := range names {
		sum.Write(content(t, name))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// run runs a command in dir and returns its output; what it says on standard error goes to the test's log
// where it fails.
func run(t testing.TB, dir string, input []byte, name string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Stdin = dir, bytes.NewReader(input)
	var problems bytes.Buffer
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		t.Logf("%s: %s", name, problems.String())
	}
	return output, err
}
