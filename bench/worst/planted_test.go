//go:build mutants

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlanted plants the fault of each canary, and runs the test that has to find it.
func TestPlanted(t *testing.T) {
	for _, c := range canaries {
		t.Run(strings.ReplaceAll(c.row+" "+c.bound, "/", " "), func(t *testing.T) {
			if problem := c.problem(); problem != "" {
				t.Fatal(problem)
			}
			names := strings.Split(c.test, "/")
			test := exec.Command(c.suite(t), "-test.run", "^"+strings.Join(names, "$/^")+"$", "-test.v", "-test.timeout", "2m")
			test.Dir = filepath.Join("..", "..", filepath.FromSlash(c.tests))
			output, err := test.CombinedOutput()
			if err == nil || !strings.Contains(string(output), "--- FAIL: "+c.test+" (") {
				t.Errorf("%s does not find the fault: %v\n%s", c.test, err, output)
			}
		})
	}
}

// suite builds the tests of a canary's package with its fault, and returns the binary.
func (c *canary) suite(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	overlay, binary := filepath.Join(folder, "overlay.json"), filepath.Join(folder, "suite.test")
	list, err := json.Marshal(map[string]map[string]string{"Replace": plant(t, folder, c.fault)})
	if err == nil {
		err = os.WriteFile(overlay, list, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "bailiff/"+c.tests)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("with the fault it does not build: %v\n%s", err, output)
	}
	return binary
}
