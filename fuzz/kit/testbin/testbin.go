// Package testbin builds the command for tests that run it as a user does.
package testbin

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// command is the package of the command.
const command = "bailiff/cmd/bailiff"

// Command builds the command into the file path, with further flags of go build, and without DWARF: it is not debugged, and linking takes half the
// time.
func Command(path string, flags ...string) error {
	build := exec.Command("go", append(append([]string{"build", "-ldflags=-w"}, flags...), "-o", path, command)...)
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the command: %w\n%s", err, output)
	}
	return nil
}

// Track makes what go test keeps of a result depend on the sources of packages, tests included, of the command where none
// are named. A test that runs what it builds needs that: go test sees which files a test looks at, and not what the tools
// that it starts read, so that it would show an old result for new sources.
func Track(t testing.TB, packages ...string) {
	t.Helper()
	if len(packages) == 0 {
		packages = []string{command}
	}
	const format = `{{if .Module}}{{if .Module.Main}}{{.Dir}}{{range .EmbedFiles}}
{{$.Dir}}/{{.}}{{end}}
{{.Module.GoMod}}{{end}}{{end}}`
	list := exec.Command("go", append([]string{"list", "-deps", "-test", "-f", format}, packages...)...)
	list.Stderr = os.Stderr
	output, err := list.Output()
	if err != nil {
		t.Fatalf("listing the sources of %s: %v", packages, err)
	}
	for _, path := range strings.Split(strings.TrimSpace(string(output)), "\n") {
		if err := look(path); err != nil {
			t.Fatal(err)
		}
	}
}

// look looks at a file, or at all files of a folder.
func look(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		_, err = os.ReadDir(path)
	}
	return err
}
