package compiler

import (
	"testing"

	"bailiff/compiler/codes"
	"bailiff/compiler/example"
	"bailiff/grammar"
)

// TestInForce compiles texts that have an error since they were put in force: they are refused anew, and go on meaning
// what they meant.
func TestInForce(t *testing.T) {
	for _, test := range []struct {
		code             grammar.Code
		text, line, want string
	}{
		{grammar.CodeLookalike, example.Tools("bash.blocked_commands: rm \u2013rf"), `{"action":"bash","command":"rm \u2013rf /"}`, "denied tool_calls.bash.blocked_commands BLOCKED_COMMAND"},
		{grammar.CodeSectionLetters, example.Tools("## custom\ndeny_string: x\n## execution_l\u0130mits\nrequire_shim: true"), `{"action":"bash","command":"ls"}`, "denied execution_limits.require_shim PROVENANCE_REQUIRED"},
		{codes.BooleanLetters, example.Tools("require_shim: fal\u017fe"), `{"action":"bash","command":"ls"}`, "allowed"},
		{codes.AllowedBlocked, "version: 2.0.0\n## mcp\nallowed_tools: files.tmp.delete, files.read\nblocked_tools: *.delete\n", `{"action":"mcp.files.read"}`, "allowed"},
		{codes.Ref, example.Git("protected_refs: HEAD, main"), `shim {"action":"git.x","metadata":{"execution":{},"git":{"operation":"commit","repository_id":"r","worktree":"/w","branch":"main"}}}`, "denied git.protected_refs GIT_REF_NOT_ALLOWED"},
		{codes.Ref, example.Git("protected_refs: HEAD"), `shim {"action":"git.x","metadata":{"execution":{},"git":{"operation":"commit","repository_id":"r","worktree":"/w","branch":"fix"}}}`, "allowed"},
		{codes.Memory, heavyPatterns(200), `{"action":"bash","metadata":{"a0":"é1"}}`, "allowed"},
		{codes.Effort, example.Custom(`deny_if.metadata.note matches N?.{0,300}.{0,180}xN$`), `{"action":"bash","metadata":{"note":"axN"}}`, "denied custom.deny_if.metadata.note CUSTOM_RULE"},
		{codes.ListSeparator, example.Tools("bash.blocked_commands: rm -rf; sudo, curl"), `{"action":"bash","command":"curl x"}`, "denied tool_calls.bash.blocked_commands BLOCKED_COMMAND"},
		{codes.ListSeparator, example.Tools("bash.blocked_commands: rm -rf; sudo"), `{"action":"bash","command":"sudo ls"}`, "allowed"},
		{codes.ListMarks, example.Tools("bash.blocked_commands: [rm -rf, sudo, curl]"), `{"action":"bash","command":"sudo ls"}`, "denied tool_calls.bash.blocked_commands BLOCKED_COMMAND"},
		{codes.ListMarks, example.Tools("bash.blocked_commands: Bash(rm:*), curl"), `{"action":"bash","command":"curl x"}`, "denied tool_calls.bash.blocked_commands BLOCKED_COMMAND"},
		{codes.ListMarks, "version: 2.0.0\n## tool_calls\nallowed: file_write\nfile_write.blocked_paths: /srv/\\#x, /etc\n", `{"action":"file_write","path":"/etc/hosts"}`, "denied tool_calls.file_write.blocked_paths BLOCKED_PATH"},
		{codes.Placeholder, "version: 2.0.0\n## mcp\nallowed_servers: $SERVER, files\n", `{"action":"mcp.files.read"}`, "allowed"},
		{codes.ListQuoted, example.Tools("bash.blocked_commands: \"rm -rf, sudo\""), `{"action":"bash","command":"sudo ls"}`, "allowed"},
		{codes.Placeholder, example.Tools("bash.blocked_commands: sudo, …"), `{"action":"bash","command":"sudo ls"}`, "denied tool_calls.bash.blocked_commands BLOCKED_COMMAND"},
		{codes.SlashComment, example.Tools("bash.blocked_commands: sudo // no root"), `{"action":"bash","command":"sudo ls"}`, "allowed"},
	} {
		src := grammar.NewSource("policy", []byte(test.text))
		if compiled, found := compileLinted(src); compiled.Program != nil || !hasCode(found, test.code) {
			t.Errorf("%s: a new text is taken: %v", test.code, found)
		}
		compiled, found := CompileInForce(src)
		if compiled.Program == nil || !hasCode(found, test.code) {
			t.Errorf("%s: a text in force is refused, or nothing is said: %v", test.code, found)
			continue
		}
		if got := decideLine(t, compiled, test.line); got != test.want {
			t.Errorf("%s: %s is %s, want %s", test.code, test.line, got, test.want)
		}
	}
	if compiled, _ := CompileInForce(grammar.NewSource("policy", []byte(example.Tools("require_shim: maybe")))); compiled.Program != nil {
		t.Error("a text that was never in force is taken")
	}
}

func hasCode(found grammar.Diagnostics, code grammar.Code) bool {
	for _, d := range found {
		if d.Code == code {
			return true
		}
	}
	return false
}
