// Package typescript has the TypeScript client, which is in this folder, for tests in Go; they compile it with the packages of its
// package-lock.json, and drive it on Node.
package typescript

import (
	"embed"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bailiff/fuzz/kit/npm"
)

//go:embed package.json package-lock.json tsconfig.json src test
var files embed.FS

// compileTime bounds a compilation, on a machine that does other things.
const compileTime = 3 * time.Minute

// Build returns a folder with the compiled client in dist and its packages, or skips the test as npm.Install does.
func Build(t testing.TB) (dir string) {
	t.Helper()
	dir = npm.Install(t, "client", files)
	dist := filepath.Join(dir, "dist")
	if _, err := os.Stat(dist); err == nil {
		return dir
	}
	fresh, err := os.MkdirTemp(dir, "dist-")
	if err != nil {
		t.Fatal(err)
	}
	if output, err := npm.Run(t, compileTime, dir, nil, "node", filepath.Join("node_modules", "typescript", "bin", "tsc"), "--outDir", fresh); err != nil {
		t.Fatalf("tsc: %v\n%s", err, output)
	}
	if err := os.Rename(fresh, dist); err != nil { // another run was first
		if _, missing := os.Stat(dist); missing != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Driver is the program that drives the client, as [Build] returned its folder. docs of package drive say what it does.
func Driver(t testing.TB) (command []string) {
	return []string{"node", filepath.Join(Build(t), "test", "drive.mjs")}
}
