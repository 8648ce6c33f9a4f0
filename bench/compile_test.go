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
	{"parse", func(tb testing.TB) func() error {
		text := read(tb, sixtyLines)
		return func() error {
			if _, found := grammar.Parse(grammar.NewSource(sixtyLines, text)); found.HasErrors() {
				return errInvalid
			}
			return nil
		}
	}},
	{"parse+compile", func(tb testing.TB) func() error {
		text := read(tb, sixtyLines)
		return func() error {
			if compiled, _ := compiler.Compile(grammar.NewSource(sixtyLines, text)); compiled.Program == nil {
				return errInvalid
			}
			return nil
		}
	}},
}

// BenchmarkCompile takes a policy of sixty lines from text to a verified program: what a start or a deployment costs.
func BenchmarkCompile(b *testing.B) { run(b, compileBodies) }

func TestSixtyLinesAreSixty(t *testing.T) {
	if lines := bytes.Count(read(t, sixtyLines), []byte("\n")); lines != 60 {
		t.Errorf("%s has %d lines", sixtyLines, lines)
	}
}
