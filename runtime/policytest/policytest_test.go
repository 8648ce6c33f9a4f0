package policytest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/runtime/policies"
)

// TestParse holds what is read, and what is refused where, against golden files.
func TestParse(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			file, err := Parse("dir/p.test.yaml", []byte(d.Input+"\n"))
			if err != nil {
				return err.Error() + "\n"
			}
			var out strings.Builder
			fmt.Fprintf(&out, "policy %s\n", file.Policy)
			for _, test := range file.Tests {
				fmt.Fprintf(&out, "%d %s\n", test.Line, test.Name)
				for _, step := range test.Steps {
					fmt.Fprintf(&out, "  %d shim=%v repeat=%d advance=%s resolve=%d expect %s\n  %s\n",
						step.Line, step.Shim, step.Repeat, step.Advance, step.Resolve, step.Expect.String(), step.Body)
				}
			}
			return out.String()
		})
	})
}

// TestPolicyFor says which names are those of test files.
func TestPolicyFor(t *testing.T) {
	for name, want := range map[string]string{
		"a/p.test.yaml": "a/p.md", "p_test.yml": "p.md", "p.test.json": "p.md", "p.v2.test.yaml": "p.v2.md",
		"p.yaml": "", "p.test.md": "", "test.yaml": "", "p.tests.yaml": "",
	} {
		if got, ok := PolicyFor(name); got != want || ok != (want != "") {
			t.Errorf("%s: %q %v", name, got, ok)
		}
	}
}

func compile(t *testing.T, text string) *policies.Policy {
	t.Helper()
	policy, err := policies.CompilePolicy(grammar.NewSource("p.md", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// runAll runs the tests of a file.
func runAll(t *testing.T, policy *policies.Policy, name, text string) []Result {
	t.Helper()
	file, err := Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var results []Result
	for i := range file.Tests {
		result, err := file.Tests[i].Run(file.Name, policy, intent.Options{})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, result)
	}
	return results
}

const shellPolicy = "version: 2.0.0\n\n## tool_calls\nallowed: bash\nbash.blocked_commands: rm\n"

// TestMeets is the canary of expectations: each part of one that does not hold fails its test.
func TestMeets(t *testing.T) {
	policy := compile(t, shellPolicy)
	const intent = "{name: x, intent: {action: bash, command: rm x}, expect: {status: DENIED, code: SVC_POLICY_VIOLATION_BLOCKED_COMMAND, rule: tool_calls.bash.blocked_commands, message: an entry}}"
	for planted, was := range map[string]string{
		"": "", "status: ALLOWED": "status: DENIED", "DOMAIN": "COMMAND", "rule: tool_calls.allowed": "rule: tool_calls.bash.blocked_commands",
		"message: no entry": "message: an entry", "command: ls": "command: rm x",
	} {
		results := runAll(t, policy, "p.test.yaml", "tests: ["+strings.Replace(intent, was, planted, 1)+"]")
		if ok := planted == ""; results[0].OK != ok {
			t.Errorf("with %q: %+v", planted, results[0])
		}
		if failed := results[0]; !failed.OK && (failed.Expected == "" || failed.Got == "" || failed.Named != nil) {
			t.Errorf("with %q: %+v", planted, failed)
		}
	}
}

// TestCheck: an expected rule that the policy has not is an error, with the nearest one.
func TestCheck(t *testing.T) {
	policy := compile(t, shellPolicy)
	for rule, want := range map[string]string{
		"tool_calls.bash.blocked_commands": "", "tool_calls.allowed": "", "mcp.allowed_tools": "",
		"tool_calls.bash.blocked_comands": "did you mean tool_calls.bash.blocked_commands?",
		"Tool_Calls.allowed":              "did you mean tool_calls.allowed?",
		"bash.blocked_commands":           "did you mean tool_calls.bash.blocked_commands?",
		"soft_limits.cap.x.max_count":     "it has evm.allowed_actions, mcp.allowed_tools, tool_calls.allowed, tool_calls.bash.blocked_commands",
	} {
		file, err := Parse("p.test.yaml", []byte("tests:\n  - name: x\n    steps:\n      - {intent: {action: bash, command: ls}, expect: {status: ALLOWED}}\n"+
			"      - expect: {status: DENIED, rule: "+rule+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = file.Check(policy)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", rule, err)
			}
			continue
		}
		if wanted := `p.test.yaml:5:40: the policy has no rule "` + rule + `" that a verdict could name; ` + want; err == nil || err.Error() != wanted {
			t.Errorf("%v\nwant\n%s", err, wanted)
		}
	}
}

// TestCover counts the rules that verdicts named, and nothing that a failed step named.
func TestCover(t *testing.T) {
	policy := compile(t, shellPolicy)
	const blocked = "{name: a, intent: {action: bash, command: rm x}, expect: {status: DENIED}}"
	const (
		unknown = ", {name: b, intent: {action: ls}, expect: {status: DENIED}}"
		failing = ", {name: b, intent: {action: ls}, expect: {status: ALLOWED}}"
		mcp     = ", {name: c, intent: {action: mcp.a.b}, expect: {status: DENIED}}"
		evm     = ", {name: d, intent: {action: contract.call, chainId: 1}, expect: {status: DENIED}}"
		nothing = "{name: e, intent: {action: bash, command: ls}, expect: {status: ALLOWED}}, {name: f, intent: {action: bash, path: 1}, expect: {status: ERROR}}"
	)
	for text, percent := range map[string]int{ // of commands, tools, MCP and EVM
		blocked: 25, blocked + unknown: 50, blocked + failing: 25, blocked + unknown + mcp: 75, blocked + unknown + mcp + evm: 100, nothing: 0,
	} {
		cover := Cover(policy, runAll(t, policy, "p.test.yaml", "tests: ["+text+"]"))
		if cover.Percent() != percent || cover.Rules != 4 || cover.Covered()+len(cover.Uncovered) != 4 {
			t.Errorf("%s: %d %%: %+v", text, cover.Percent(), cover)
		}
	}
	if empty := (Coverage{}); empty.Percent() != 100 {
		t.Error("a policy without rules is not covered")
	}
}

// FuzzParse: whatever is in a file, it is read or refused with its name, and what is read can be run.
func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("../../cmd/bailiff/policy/example/warranty.test.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, text := range []string{"", "a: &x [*x]", "tests: [{name: x, steps: [{}]}]", "tests: [{name: x, intent: {intent: {action: ls}}, expect: {status: ERROR}}]", "{", "? [a]\n: b", "\x00", "a: !!binary x"} {
		f.Add([]byte(text))
	}
	policy, err := policies.CompilePolicy(grammar.NewSource("p.md", []byte(shellPolicy)))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("p.test.yaml", text)
		var problem *fileProblem
		if err != nil {
			if !errors.As(err, &problem) || problem.File != "p.test.yaml" || problem.Message == "" {
				t.Errorf("the error is %v", err)
			}
			return
		}
		for i := range file.Tests {
			test := &file.Tests[i]
			for j := range test.Steps {
				test.Steps[j].Repeat = 1
			}
			if _, err := test.Run(file.Name, policy, intent.Options{}); err != nil {
				t.Error(err)
			}
		}
	})
}
