package conform_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bailiff/fuzz/conform/vectors"
)

// runnerGroups is how many groups are tried of a file that is changed; runnerKeys is how many keys of each kind they may need.
const runnerGroups, runnerKeys = 16, 600

// conformance is the folder of the vectors and their runner.
var conformance = filepath.Join("..", "..", "docs", "vectors", "conformance")

// A runner is the runner in Python with a service that the vectors fit.
type runner struct{ python, url, keys, path string }

// startRunner starts the service, and makes API keys of each kind, which a function of the shell gives out, without a further process for
// each.
func startRunner(t *testing.T, keys int) *runner {
	t.Helper()
	python, err := exec.LookPath("python3")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal("there is no python3; install it: CI runs the runner of the vectors")
	case err != nil:
		t.Skip("there is no python3")
	}
	w, dir := serveFor(t, vectors.Key(), vectors.Key()), t.TempDir()
	for i := range keys {
		for _, shim := range []bool{false, true} {
			key, err := w.keys(context.Background(), shim)
			must(t, err)
			name := fmt.Sprintf("key%s%d", map[bool]string{true: "--shim"}[shim], i)
			must(t, os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, "{\"api_key\":%q}\n", key), 0o600))
		}
	}
	next := "next() { cd '" + dir + "'; n=0; [ -f n ] && read n <n; echo $((n+1)) >n; read k <\"key$1$n\"; echo \"$k\"; }; next"
	return &runner{python: python, url: w.url, keys: next}
}

// run runs the tests of files, or all.
func (r *runner) run(files ...string) (said string, err error) {
	command := exec.Command(r.python, append([]string{filepath.Join(conformance, "run.py"), "--url", r.url, "--keys", r.keys}, files...)...)
	command.Env = append(os.Environ(), "PYTHONPATH="+r.path)
	output, err := command.CombinedOutput()
	return string(output), err
}

// signs reports whether Python can sign what the operator and the shim sign.
func (r *runner) signs() bool {
	return exec.Command(r.python, "-c", "from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey").Run() == nil
}

// read reads a file of vectors.
func read(t *testing.T, path string) *vectors.File {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	file := new(vectors.File)
	must(t, json.Unmarshal(text, file))
	return file
}

// some writes some groups of a file of vectors, with another text in place of what matches old.
func some(t *testing.T, name, old, replaced string) (path string, of vectors.Share) {
	t.Helper()
	file := read(t, filepath.Join(conformance, name))
	groups := file.Groups
	file.Groups = nil
	for i := range runnerGroups {
		file.Groups = append(file.Groups, groups[i*len(groups)/runnerGroups])
	}
	of.Add(file)
	text, err := json.Marshal(file)
	must(t, err)
	if old != "" {
		changed := regexp.MustCompile(old).ReplaceAll(text, []byte(replaced))
		if string(changed) == string(text) {
			t.Fatalf("%s has no %s", name, old)
		}
		text = changed
	}
	path = filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, text, 0o600))
	return path, of
}

// TestRunner runs the vectors by the runner in Python, two files at once, each against a service of its own. Those with a step at another
// time are never run, and those that need a signature only where Python can sign.
func TestRunner(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(conformance, "*_test.json"))
	must(t, err)
	if len(names) == 0 {
		t.Fatal("there are no vectors")
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			var of vectors.Share
			of.Add(read(t, name))
			r := startRunner(t, of.Plain+of.Signed)
			signs := r.signs()
			switch {
			case !signs && os.Getenv("CI") == "true":
				t.Fatalf("%d vectors would not be run: python3 lacks the package cryptography; install it (Debian: python3-cryptography)", of.Signed)
			case !signs:
				t.Logf("%d vectors are not run: python3 lacks the package cryptography (Debian: python3-cryptography)", of.Signed)
			}
			r.passes(t, of, signs, name)
		})
	}
}

// TestRunnerUnsigned runs vectors where Python can't sign.
func TestRunnerUnsigned(t *testing.T) {
	r := startRunner(t, runnerKeys)
	r.path = t.TempDir()
	must(t, os.WriteFile(filepath.Join(r.path, "cryptography.py"), []byte("raise ImportError\n"), 0o600))
	path, of := some(t, "tool_calls_test.json", "", "")
	if of.Plain == 0 || of.Signed == 0 || of.Timed == 0 {
		t.Errorf("%+v: the groups have too few tests", of)
	}
	r.passes(t, of, false, path)
}

// passes runs the tests of files, and holds that all pass that can be run.
func (r *runner) passes(t *testing.T, of vectors.Share, signs bool, files ...string) {
	t.Helper()
	said, err := r.run(files...)
	passed, wants := of.Plain, []string(nil)
	if of.Timed > 0 {
		wants = append(wants, fmt.Sprintf("; %d not run: a step is at another time", of.Timed))
	}
	switch {
	case signs:
		passed += of.Signed
	case of.Signed > 0:
		wants = append(wants, fmt.Sprintf("; %d not run: a shim's consent", of.Signed))
	}
	if err != nil || !strings.HasPrefix(said, fmt.Sprintf("%d passed; 0 failed", passed)) || strings.Count(said, "not run") != len(wants) {
		t.Errorf("the runner: %v, %s; expected %d passed", err, said, passed)
	}
	for _, want := range wants {
		if !strings.Contains(said, want) {
			t.Errorf("the runner: %v, %s; expected %s", err, said, want)
		}
	}
}

// TestRunnerNotices changes expectations and the groups' key.
func TestRunnerNotices(t *testing.T) {
	r := startRunner(t, runnerKeys)
	for _, change := range []struct{ old, replaced, says string }{
		{`"error_code":"SVC_POLICY_VIOLATION_TOOL_CALL_NOT_ALLOWED"`, `"error_code":"SVC_LOOP_LIMIT_EXCEEDED"`, "expected 'SVC_LOOP_LIMIT_EXCEEDED'"},
		{`"matched_rule":"tool_calls.allowed"`, `"matched_rule":"tool_calls.other"`, "expected 'tool_calls.other'"},
		{`"http":403`, `"http":400`, "http is 403, expected 400"},
		{`"intentHash":"[0-9a-f]{8}`, `"intentHash":"00000000`, "expected '00000000"},
		{`"publicKey":"[^"]*"`, `"publicKey":"` + strings.Repeat("A", 43) + `"`, "is not deployed"},
	} {
		path, _ := some(t, "tool_calls_test.json", change.old, change.replaced)
		if said, err := r.run(path); err == nil || !strings.Contains(said, change.says) {
			t.Errorf("the runner does not find %s: %v\n%s", change.replaced, err, said)
		}
	}
}
