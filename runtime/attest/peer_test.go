package attest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/seed"
)

//go:embed peer/package.json peer/package-lock.json peer/verify.mjs
var peer embed.FS

// peerResult is what verify.mjs says of one token.
type peerResult struct{ Jose, Noble string }

// Other people's implementations verify the tokens: jose (Ed25519, from the JWKS, with issuer, audience
// and expiry) and @noble/post-quantum (ML-DSA-65, over a canonical form that the script makes itself).
// The canaries are tokens that one of the two, or both, must refuse.
func TestNodeVerifies(t *testing.T) {
	script := installPeer(t)
	s, other := testSigner(t), signerFrom(t, "another signer")
	r := rand.New(rand.NewSource(seed.Value(t)))
	type sample struct {
		name, token string
		jose, noble bool
	}
	samples := []sample{
		{"EVM", issue(t, s, evmClaims()), true, true},
		{"tool", issue(t, s, toolClaims()), true, true},
		{"user operation", issue(t, s, userOpClaims()), true, true},
	}
	for range 5 {
		c := randomClaims(r)
		c.Issuer, c.IssuedAt = issuer, issuedAt.Unix()
		samples = append(samples, sample{"generated " + canonicalOf(c), issue(t, s, c), true, true})
	}
	claims := canonicalOf(evmClaims())
	plain := payloadOf(t, s, claims, PQCContext)
	raised := replace(t, plain, "250000000", "950000000")
	parts := strings.Split(samples[0].token, ".")
	honest := func(old, with string) string {
		return forge(s, headerOf(s), payloadOf(t, s, replace(t, claims, old, with), PQCContext))
	}
	samples = append(samples,
		sample{"payload tampered", parts[0] + "." + string(appendBase64(nil, []byte(raised))) + "." + parts[2], false, false},
		sample{"tampered by a thief of the Ed25519 key", forge(s, headerOf(s), raised), true, false},
		sample{"Ed25519 by another key", forge(other, headerOf(s), plain), false, true},
		sample{"signed in another context", forge(s, headerOf(s), payloadOf(t, s, claims, "x")), true, false},
		sample{"another issuer", honest(`"iss":"svc-core"`, `"iss":"svc-test"`), false, true},
		sample{"another audience", honest(`"aud":"svc"`, `"aud":"web"`), false, true},
		sample{"expired", honest(`"exp":1795000060`, `"exp":1795000000`), false, true},
		sample{"another signer", issue(t, other, evmClaims()), false, false},
	)
	tokens := make([]string, len(samples))
	for i := range samples {
		tokens[i] = samples[i].token
	}
	for i, got := range runPeer(t, script, s, tokens) {
		want := samples[i]
		if (got.Jose == "ok") != want.jose || (got.Noble == "ok") != want.noble {
			t.Errorf("%s: jose %q (want ok: %v), noble %q (want ok: %v)", want.name, got.Jose, want.jose, got.Noble, want.noble)
		}
	}
}

func runPeer(t *testing.T, script string, s *Signer, tokens []string) []peerResult {
	t.Helper()
	input, err := json.Marshal(map[string]any{
		"jwks": json.RawMessage(s.JWKS(issuedAt)), "pqcKeys": json.RawMessage(s.PQCKeys(issuedAt)),
		"issuer": issuer, "audience": Audience, "context": PQCContext, "now": issuedAt.Unix(), "tokens": tokens,
	})
	if err != nil {
		t.Fatal(err)
	}
	output, err := run(t, filepath.Dir(script), input, "node", script)
	if err != nil {
		t.Fatalf("node verify.mjs: %v", err)
	}
	var results []peerResult
	if err := json.Unmarshal(output, &results); err != nil || len(results) != len(tokens) {
		t.Fatalf("verify.mjs answered %s (%v)", output, err)
	}
	return results
}

// installPeer returns the path of verify.mjs beside its installed packages. They live in a cache folder
// of the project that is named after what is to be installed; concurrent runs each install into a folder
// of their own, and the first to be done gives it its name.
func installPeer(t *testing.T) string {
	t.Helper()
	for _, command := range []string{"node", "npm"} {
		if _, err := exec.LookPath(command); err != nil {
			unavailable(t, "%s is not installed: %v", command, err)
		}
	}
	cache := peerCache(t)
	installed := filepath.Join(cache, "npm-attest-"+peerDigest(t))
	if _, err := os.Stat(installed); err == nil {
		return filepath.Join(installed, "verify.mjs")
	}
	fresh, err := os.MkdirTemp(cache, "npm-attest-new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	for _, name := range peerFiles {
		if err := os.WriteFile(filepath.Join(fresh, name), peerFile(t, name), 0o600); err != nil {
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
	return filepath.Join(installed, "verify.mjs")
}

// unavailable skips, except in continuous integration, where the peers must be there.
func unavailable(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("required in continuous integration: "+format, args...)
	}
	t.Skipf(format, args...)
}

// peerCache is the folder .cache at the root of the project; it tells git to ignore all that it holds.
func peerCache(t *testing.T) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	cache := filepath.Join(filepath.Dir(file), "..", "..", ".cache")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cache, ".gitignore"), []byte("*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return cache
}

var peerFiles = []string{"package.json", "package-lock.json", "verify.mjs"}

func peerFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := fs.ReadFile(peer, "peer/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func peerDigest(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	for _, name := range peerFiles {
		sum.Write(peerFile(t, name))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// run runs a command in dir and returns its output; what it says on standard error goes to the test's log
// where it fails.
func run(t *testing.T, dir string, input []byte, name string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
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
