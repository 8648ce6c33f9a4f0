// Package python has the Python client, which is in this folder, for tests in Go; they drive it with the interpreters that the
// machine has.
package python

import (
	"os/exec"
	"path/filepath"
	"testing"

	"bailiff/httpd/client/drive"
)

// An Interpreter drives the client.
type Interpreter struct {
	Command []string
	MLDSA   bool // its package cryptography has ML-DSA-65
}

// Interpreters returns those that have the package cryptography: the first python3 of the path, and the system's. Root is the
// path of the project's root. Where there is none the test is skipped.
func Interpreters(t testing.TB, root string) (all []Interpreter) {
	t.Helper()
	driver, err := filepath.Abs(filepath.Join(root, "httpd/client/python/drive.py"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		command := []string{"env", "PYTHONDONTWRITEBYTECODE=1", path, driver}
		var has struct{ Ed25519, MLDSA bool }
		drive.Run(t, command, drive.Task{Do: "capable"}, &has, nil)
		if has.Ed25519 {
			all = append(all, Interpreter{command, has.MLDSA})
		} else {
			t.Logf("%s lacks the package cryptography (Debian: python3-cryptography)", path)
		}
	}
	if len(all) == 0 {
		t.Skip("no python3 with the package cryptography is installed (Debian: python3-cryptography)")
	}
	return all
}
