// Package vectors finds the public test vectors, which are data beside the project and never part of it.
package vectors

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Variable is the environment variable that names the folder of the vectors; without it they are looked
// for in ../shared/vectors, seen from the root of the project.
const Variable = "BAILIFF_VECTORS"

// Path returns the path of one vector file or folder below the vectors' folder. Where it does not exist
// the test is skipped, except in continuous integration (CI=true), where its absence is a failure.
func Path(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv(Variable)
	if root == "" {
		_, file, _, _ := runtime.Caller(0)
		root = filepath.Join(filepath.Dir(file), "..", "..", "..", "shared", "vectors")
	}
	path := filepath.Join(root, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("test vectors are required in continuous integration: %v (set %s)", err, Variable)
		}
		t.Skipf("test vectors not found: %v (set %s)", err, Variable)
	}
	return path
}
