package main

import (
	"os"
	"strings"
	"testing"
)

// TestReadme holds the README to the product: it shows the example policy as it is, and names no subcommand that
// does not exist.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := ""
	for line := range strings.Lines(string(examplePolicy)) {
		if line != "\n" {
			line = "    " + line
		}
		shown += line
	}
	if !strings.Contains(string(readme), shown) {
		t.Error("the policy in README.md is not cmd/bailiff/example/warranty.md, indented by four spaces")
	}
	var out, problems strings.Builder
	for line := range strings.Lines(string(readme)) {
		_, after, found := strings.Cut(line, "bin/bailiff ")
		if fields := strings.Fields(after); found && len(fields) > 0 {
			name := strings.Trim(fields[0], "`")
			if code := run([]string{name, "--help"}, streams{strings.NewReader(""), &out, &problems}); code != exitDone {
				t.Errorf("README.md names `bailiff %s`: %s", name, problems.String())
			}
		}
	}
}
