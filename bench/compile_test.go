package bench

import (
	"bytes"
	"errors"
	"testing"

	"bailiff/compiler"
	"bailiff/grammar"
)

// sixtyLines is a policy of sixty lines that uses most of what a policy can say.
const sixtyLines = "testdata/sixty.md"

var errInvalid = errors.New("the policy does not compile")

var compileBodies = []body{
	{"parse/60", parsing(sixtyLines)},
	{"parse+compile/60", compiling(sixtyLines)},
	{"parse/200", parsing(allSections)},
	{"parse+compile/200", compiling(allSections)},
}

func parsing(path string) func(testing.TB) func() error {
	return func(tb testing.TB) func() error {
		text := read(tb, path)
		return func() error {
			if _, found := grammar.Parse(grammar.NewSource(path, text)); found.HasErrors() {
				return errInvalid
			}
			return nil
		}
	}
}

func compiling(path string) func(testing.TB) func() error {
	return func(tb testing.TB) func() error {
		text := read(tb, path)
		return func() error {
			if compiled, _ := compiler.Compile(grammar.NewSource(path, text)); compiled.Program == nil {
				return errInvalid
			}
			return nil
		}
	}
}

// BenchmarkCompile takes policies from text to verified programs: what a start or a deployment costs. The target: under
// 3 ms for two hundred lines that use every section.
func BenchmarkCompile(b *testing.B) { run(b, compileBodies) }

func TestSixtyLinesAreSixty(t *testing.T) {
	if lines := bytes.Count(read(t, sixtyLines), []byte("\n")); lines != 60 {
		t.Errorf("%s has %d lines", sixtyLines, lines)
	}
}
