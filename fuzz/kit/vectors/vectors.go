// Package vectors has the public test vectors that tests of several packages read; testdata/README.md says whose they are.
// Bailiff's own conformance vectors are made by fuzz/conform/vectors.
package vectors

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Path returns the path of a vector file or folder, named from testdata with slashes. One that is missing fails the test.
func Path(t testing.TB, name string) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	path := filepath.Join(filepath.Dir(file), "testdata", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}
