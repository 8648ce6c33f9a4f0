// Package npm lets other people's software take part in tests: it installs packages from the npm registry and runs them
// on Node.
package npm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// installTimeout bounds an installation; the largest takes half a minute.
const installTimeout = 5 * time.Minute

// Install installs what the package-lock.json of files names, and returns the folder, which holds files too. It lives
// in a cache folder of the project under a name made of name and the hash of files; concurrent runs each install into a
// folder of their own, and the first to be done gives it its name. Where node or npm is missing, or no registry can
// be reached, the test is skipped, and in continuous integration (CI=true) it fails.
func Install(t testing.TB, name string, files fs.FS) (dir string) {
	t.Helper()
	for _, command := range []string{"node", "npm"} {
		if _, err := exec.LookPath(command); err != nil {
			unavailable(t, "%s is not installed: %v", command, err)
		}
	}
	cache := cacheFolder(t)
	installed := filepath.Join(cache, "npm-"+name+"-"+digest(t, files))
	if isDir(installed) {
		return installed
	}
	fresh, err := os.MkdirTemp(cache, "npm-new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	if err := os.CopyFS(fresh, files); err != nil {
		t.Fatal(err)
	}
	// Not ci: it wants the optional packages of every platform in the lock file, which npm itself leaves out.
	install := []string{"install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"}
	if _, err := Run(t, installTimeout, fresh, nil, "npm", install...); err != nil {
		unavailable(t, "npm could not install the packages of %s, perhaps because no registry can be reached: %v", name, err)
	}
	if err := os.Rename(fresh, installed); err != nil && !isDir(installed) {
		t.Fatal(err)
	}
	return installed
}

// unavailable skips, except in continuous integration, where the packages must be there.
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
	cache := filepath.Join(root(t), ".cache")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cache, ".gitignore"), []byte("*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return cache
}

// root is the folder of the module that is tested, also in a build with -trimpath, which records no paths.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no folder above has a go.mod")
		}
	}
	t.Fatalf("the module's folder cannot be found: %v", err)
	return ""
}

func digest(t testing.TB, files fs.FS) string {
	t.Helper()
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		sum.Write(append([]byte(path+"\x00"), text...))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Run runs a command in dir and returns its output; what it says on standard error goes to the test's log where it
// fails.
func Run(t testing.TB, timeout time.Duration, dir string, input []byte, name string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
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
