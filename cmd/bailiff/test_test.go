package main

import (
	"bailiff/cmd/bailiff/cli"
	"strings"
	"testing"
)

// TestExample: the tests of the example policy pass, and name every rule of it.
func TestExample(t *testing.T) {
	var out, problems strings.Builder
	code := run([]string{"test", "--coverage", "--min-coverage", "100", "policy/example"}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems})
	if code != cli.ExitDone || !strings.Contains(out.String(), "(100 %)") {
		t.Errorf("exit code %d\n%s%s", code, out.String(), problems.String())
	}
}
