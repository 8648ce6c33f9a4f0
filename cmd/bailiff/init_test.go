package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bailiff/cmd/bailiff/cli"
	cmdpolicy "bailiff/cmd/bailiff/policy"
	"bailiff/grammar"
	"bailiff/runtime/hook/setup"
)

// TestStarters: every starter is without errors and warnings, passes its tests, and its tests name nearly all of its rules.
func TestStarters(t *testing.T) {
	for _, name := range cmdpolicy.StarterNames() {
		path := filepath.Join(t.TempDir(), "policies", "x.md")
		for _, line := range [][]string{
			{"init", "--for", name, "-o", path},
			{"check", "--deny-warnings", path},
			{"fmt", "-d", path},
			{"test", "--min-coverage", "80", path},
		} {
			var out, problems strings.Builder
			if code := run(line, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}); code != cli.ExitDone {
				t.Errorf("%s: bailiff %s: %d\n%s%s", name, strings.Join(line, " "), code, out.String(), problems.String())
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before := string(text)
		var problems strings.Builder
		if code := run([]string{"init", "--for", name, "-o", path}, cli.Streams{In: strings.NewReader(""), Out: &problems, Err: &problems}); code != cli.ExitFailed {
			t.Errorf("%s: a policy that is there is overwritten: %s", name, problems.String())
		}
		if text, _ = os.ReadFile(path); string(text) != before {
			t.Errorf("%s: a policy that is there was changed", name)
		}
	}
}

// TestStarterHosts: there is a starter for every host.
func TestStarterHosts(t *testing.T) {
	var names []string
	for _, host := range cmdpolicy.StarterHosts {
		names = append(names, host.Host)
	}
	if !slices.Equal(names, setup.Names()) {
		t.Errorf("starters %v, hosts %v", names, setup.Names())
	}
}

// offered are the rules that starters show as comments.
var offered = regexp.MustCompile(`(?m)^# (## [a-z]+|[a-z_.]+: [^ ].*)$`)

// TestStarterComments: the rules that starters show as comments are ones: without the # the policy has no errors.
func TestStarterComments(t *testing.T) {
	for _, name := range setup.Names() {
		policy, _, err := cmdpolicy.StarterOf(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := offered.FindAll(policy, -1); len(found) != 4 {
			t.Errorf("%s: %d rules are offered in comments: %q", name, len(found), found)
		}
		whole := offered.ReplaceAll(policy, []byte("$1"))
		if report := cmdpolicy.CheckPolicy(grammar.NewSource(name, whole)); report.Found.HasErrors() {
			t.Errorf("%s: %v", name, report.Found)
		}
	}
}

// TestStarterWeakened: each rule that guards the guard is needed. Without it the starter's own tests fail.
func TestStarterWeakened(t *testing.T) {
	for _, name := range setup.Names() {
		policy, tests, err := cmdpolicy.StarterOf(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"bash.blocked_commands", "file_write.blocked_paths", "file_read.blocked_paths", "bash.require_approval", "web_fetch.blocked_domains", "max_tool_calls_per_task", "max_tool_calls_per_hour"} {
			path := filepath.Join(t.TempDir(), "x.md")
			weak := ""
			for line := range strings.Lines(string(policy)) {
				if !strings.HasPrefix(line, key) {
					weak += line
				}
			}
			if err := os.WriteFile(path, []byte(weak), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(strings.TrimSuffix(path, ".md")+".test.yaml", tests, 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if code := run([]string{"test", path}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}); code == cli.ExitDone {
				t.Errorf("%s: without %s every test passes", name, key)
			}
		}
	}
}
