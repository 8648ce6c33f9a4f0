package cost

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var prove = flag.Bool("prove", false, "make each change in a copy of the project, and run the tests there")

// An edit adds lines to a file behind the line that has a text, which is there once. A file without such a text is new.
type edit struct{ path, behind, add string }

// A change is one that the project often sees.
type change struct {
	name                        string
	production, documents, fuzz int // at most so many files, test files and what make golden writes not counted
	edits                       []edit
	tests                       []string // what notices a change that is not whole: arguments of the go command
}

// root is the folder of the project.
const root = "../.."

// apply returns what a file becomes by an edit.
func (e edit) apply(text string) (string, error) {
	if e.behind == "" {
		if text != "" {
			return "", fmt.Errorf("%s is there already", e.path)
		}
		return e.add, nil
	}
	before, after, found := strings.Cut(text, e.behind)
	line, rest, _ := strings.Cut(after, "\n")
	if !found || strings.Contains(after, e.behind) {
		return "", fmt.Errorf("%s has the text %q not once; name another line there in fuzz/cost", e.path, e.behind)
	}
	return before + e.behind + line + "\n" + e.add + rest, nil
}

// read reads a file; a missing one is empty.
func read(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// make makes the change in a copy of the project.
func (c change) make(dir string) error {
	for _, e := range c.edits {
		path := filepath.Join(dir, e.path)
		text, err := read(path)
		if err != nil {
			return err
		}
		if text, err = e.apply(text); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// places counts the files of a change: those of production, those of docs, and those of fuzz.
func (c change) places() (production, documents, fuzz int) {
	seen := map[string]bool{}
	for _, e := range c.edits {
		switch {
		case seen[e.path], strings.Contains(e.path, "/testdata/"), strings.HasSuffix(e.path, "_test.go"):
		case strings.HasPrefix(e.path, "fuzz/"):
			fuzz++
		case strings.HasPrefix(e.path, "docs/"):
			documents++
		default:
			production++
		}
		seen[e.path] = true
	}
	return production, documents, fuzz
}

// faults says where a change takes more places than it may, and where one of them has moved.
func (c change) faults() (faults []string) {
	if production, documents, fuzz := c.places(); production > c.production || documents > c.documents || fuzz > c.fuzz {
		faults = append(faults, fmt.Sprintf("%s: %d files of production, %d of docs and %d of fuzz; %d, %d and %d are allowed",
			c.name, production, documents, fuzz, c.production, c.documents, c.fuzz))
	}
	texts := map[string]string{}
	for _, e := range c.edits {
		if _, known := texts[e.path]; !known {
			text, err := read(filepath.Join(root, e.path))
			if err != nil {
				return append(faults, err.Error())
			}
			texts[e.path] = text
		}
		text, err := e.apply(texts[e.path])
		if err != nil {
			faults = append(faults, c.name+": "+err.Error())
		}
		texts[e.path] = text
	}
	return faults
}

// TestCost holds the changes to their bounds.
func TestCost(t *testing.T) {
	for _, c := range changes {
		for _, fault := range c.faults() {
			t.Error(fault)
		}
	}
	moved, wide := changes[0], changes[0]
	moved.edits = []edit{{"go.mod", "no such line", ""}}
	wide.production = 0
	if len(moved.faults()) != 1 || len(wide.faults()) != 1 {
		t.Errorf("planted: a place that has moved is %q, and a change with too many places %q", moved.faults(), wide.faults())
	}
}

// TestProof makes each change in a copy of the project, writes the generated pages there, and runs the tests.
func TestProof(t *testing.T) {
	if !*prove {
		t.Skip("takes minutes; make cost runs it")
	}
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			dir := copyOf(t)
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			if output, err := in(dir, "make", "golden"); err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			for _, arguments := range append([]string{"vet ./..."}, c.tests...) {
				if output, err := in(dir, "go", strings.Fields(arguments)...); err != nil {
					t.Errorf("go %s: %v\n%s", arguments, err, output)
				}
			}
		})
	}
}

// copyOf copies the files of the project that git knows.
func copyOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	listed, err := in(root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, path))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not committed yet
		}
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755))
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, path), text, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// in runs a command in a folder.
func in(dir, name string, arguments ...string) ([]byte, error) {
	command := exec.Command(name, arguments...)
	command.Dir = dir
	command.Env = slices.Concat(os.Environ(), []string{"GOFLAGS=-pgo=off -buildvcs=false"})
	return command.CombinedOutput()
}
