//go:build mutants

package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/fuzz/built"
)

// found is what the differential test says where it has found a difference. Anything else that makes it fail, a panic or
// a policy that no longer compiles, is no find.
const found = "the verdicts differ in their "

// slots lets two mutants be built and run at a time.
var slots = make(chan struct{}, 2)

// TestMutants builds the differential test with each mutant, and runs it over its fixed pairs.
func TestMutants(t *testing.T) {
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range All {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			mutated, err := m.Apply(root)
			if err != nil {
				t.Fatal(err)
			}
			output, failed := run(t, absolute, map[string][]byte{m.File: mutated})
			if !failed || !strings.Contains(output, found) {
				t.Errorf("the differential test does not find that %s\n%s", m.Name, tail(output))
			}
		})
	}
}

// TestNoMutant: without a fault nothing is found, so that the finds above are due to the faults.
func TestNoMutant(t *testing.T) {
	built.Track(t, "bailiff/fuzz/differential")
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if output, failed := run(t, absolute, nil); failed {
		t.Errorf("the differential test fails without any mutant:\n%s", tail(output))
	}
}

// run builds the differential test with some files replaced, and runs it over the fixed pairs.
func run(t *testing.T, root string, replaced map[string][]byte) (output string, failed bool) {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range replaced {
		copied := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, filepath.FromSlash(file))] = copied
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	overlayFile, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "differential.test")
	if err := os.WriteFile(overlayFile, list, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "test", "-c", "-overlay", overlayFile, "-o", binary, "./fuzz/differential")
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the mutant does not build: %v\n%s", err, text)
	}
	test := exec.Command(binary, "-test.run", "^TestDifferential$/^fixed$", "-shrink=false")
	test.Dir = filepath.Join(root, "fuzz", "differential")
	text, err := test.CombinedOutput()
	return string(text), err != nil
}

// tail returns the last lines of a text.
func tail(text string) string {
	const most = 2000
	return text[max(len(text)-most, 0):]
}
