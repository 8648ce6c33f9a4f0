package conform_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/fuzz/conform/vectors"
)

// runnerTests is how many vectors the runner is tried with; runnerKeys is how many keys it may need for them.
const runnerTests, runnerKeys = 60, 2 * runnerTests

// TestRunner runs vectors by the runner in Python against the service, and against expectations that were changed.
func TestRunner(t *testing.T) {
	python, err := exec.LookPath("python3")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal("there is no python3; install it: CI runs the runner of the vectors")
	case err != nil:
		t.Skip("there is no python3")
	}
	w := serveFor(t, vectors.Key())
	dir := t.TempDir()
	for i := range runnerKeys {
		for _, shim := range []bool{false, true} {
			key, err := w.keys(context.Background(), shim)
			must(t, err)
			name := fmt.Sprintf("key%s%d", map[bool]string{true: "--shim"}[shim], i)
			must(t, os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, `{"api_key":%q}`, key), 0o600))
		}
	}
	next := filepath.Join(dir, "next.sh")
	must(t, os.WriteFile(next, []byte("cd \"$(dirname \"$0\")\"; n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) >n; cat \"key$1$n\"\n"), 0o600))
	folder := filepath.Join("..", "..", "docs", "vectors", "conformance")
	run := func(file string) (string, error) {
		said, err := exec.Command(python, filepath.Join(folder, "run.py"), "--url", w.url, "--keys", "sh "+next, "--most", fmt.Sprint(runnerTests), file).CombinedOutput()
		return string(said), err
	}
	file := filepath.Join(folder, "tool_calls_test.json")
	said, err := run(file)
	if t.Log(said); err != nil || !strings.Contains(said, fmt.Sprintf("%d tests passed, 0 failed", runnerTests)) {
		t.Errorf("the runner: %v", err)
	}
	text, err := os.ReadFile(file)
	must(t, err)
	changed := filepath.Join(dir, "changed_test.json")
	must(t, os.WriteFile(changed, []byte(strings.Replace(string(text), `"error_code":"SVC_POLICY_VIOLATION_TOOL_CALL_NOT_ALLOWED"`, `"error_code":"SVC_LOOP_LIMIT_EXCEEDED"`, -1)), 0o600))
	if said, err := run(changed); err == nil || !strings.Contains(said, "expected 'SVC_LOOP_LIMIT_EXCEEDED'") {
		t.Errorf("the runner does not find a changed expectation: %v\n%s", err, said)
	}
}
