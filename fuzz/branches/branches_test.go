package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/kit/reviewed"
)

// planted is a module each of whose functions has branches that its test takes, or does not, as their names say.
const planted = `package planted

import "errors"

func Half(a int) int { // only with a = 1
	if a > 0 {
		a++
	}
	return a
}

func Early(a int) error { // only with a = 0
	if a > 0 {
		return errors.New("above")
	} else if a < 0 {
		return errors.New("below")
	}
	return nil
}

func Both(a int) int { // with 0 and 1
	if a == 0 {
		return 1
	}
	return 2
}

func Kind(a any) (s string) { // with a string, and an int twice
	switch a := a.(type) {
	case string:
		s = a
	case int:
	}
	switch {
	case s == "x":
		s += "y"
		fallthrough
	case s == "z":
		s += "z"
	default:
		for range len(s) {
			s += "w"
		}
	}
	return s
}

var kinds = map[string]func(int) int{
	"a": func(a int) int { // only with 0
		if a > 0 {
			return 1
		}
		return 0
	},
}
`

const plantedTest = `package planted

import "testing"

func Test(t *testing.T) {
	Half(1)
	_ = Early(0)
	Both(0)
	Both(1)
	Kind("x")
	Kind(1)
	Kind(2)
	kinds["a"](0)
}
`

// TestPlanted: of a module whose branches are known, a profile that the go command makes gives those that are not taken.
func TestPlanted(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module bailiff\n\ngo 1.26\n", "planted/planted.go": planted, "planted/planted_test.go": plantedTest} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", "test", "-covermode=atomic", "-coverprofile=profile", "./planted")
	command.Dir = dir
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	in, err := os.Open(filepath.Join(dir, "profile"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ran, err := readProfile(in)
	if err != nil {
		t.Fatal(err)
	}
	all, err := find(dir, "planted", ran)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, b := range all {
		if b.count <= 0 {
			left = append(left, fmt.Sprintf("%s: %s: %s", b.function, b.at, b.way))
		}
	}
	want := []string{
		"Half: if a > 0 {: it does not hold", "Early: if a > 0 {: it holds", "Early: if a < 0 {: it holds",
		"Kind: switch a := a.(type) {: no case", "Kind: for range len(s) {: the loop runs", "kinds: if a > 0 {: it holds",
	}
	if !slices.Equal(left, want) || len(all) != 17 {
		t.Errorf("%d branches, of which these are not taken:\n%s", len(all), strings.Join(left, "\n"))
	}
	if _, err := readProfile(strings.NewReader("mode: set\n")); err == nil {
		t.Error("a profile that does not count is read")
	}
}

// TestReasons: each entry of the list names a branch.
func TestReasons(t *testing.T) {
	reasons, err := reviewed.Read("reasons.txt", reasonsText)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		all, err := find(filepath.Join("..", ".."), part, nil)
		if err != nil || len(all) == 0 {
			t.Fatalf("%s: %d branches, %v", part, len(all), err)
		}
		for _, b := range all {
			delete(reasons, b.name())
		}
	}
	for name := range reasons {
		t.Errorf("reasons.txt has an entry that names no branch: %s", name)
	}
}
