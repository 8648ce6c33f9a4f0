package main

import (
	"strings"
	"testing"
)

// TestExample: the tests of the example policy pass, and name every rule of it.
func TestExample(t *testing.T) {
	var out, problems strings.Builder
	code := run([]string{"test", "--coverage", "--min-coverage", "100", "example"}, streams{strings.NewReader(""), &out, &problems})
	if code != exitDone || !strings.Contains(out.String(), "(100 %)") {
		t.Errorf("exit code %d\n%s%s", code, out.String(), problems.String())
	}
}
