package decision

import (
	"fmt"
	"strings"
	"testing"
)

// manyPaths is a list of more entries than the machine compares one by one.
func manyPaths() string {
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf("/blocked/%d", i))
	}
	return strings.Join(append(list, ".env*"), ", ")
}

// TestSeveralPaths: of several paths the first denied one is named, with its entry, whichever rule and whichever test of it
// finds it, and an intent counts as one call.
func TestSeveralPaths(t *testing.T) {
	const grants = "version: 2.4.0\n## tool_calls\nallowed: file_write, file_read\n"
	short := newStory(t, grants+"file_write.blocked_paths: /etc, .env*\n## execution_limits\nmax_tool_calls_per_task: 1\n")
	long := newStory(t, grants+"file_write.blocked_paths: "+manyPaths()+"\n")
	custom := newStory(t, grants+"## custom\ndeny_if.path contains: secret\nallow_only.path starts_with: /w/\n")
	for _, c := range []struct {
		story               *story
		paths               string
		status, value, says string
	}{
		{short, `"/w/a","/etc/x","/w/.env","$HOME"`, "DENIED", "/etc/x", "; the entry is /etc"},
		{short, `"/w/a","/w/.env","/etc/x"`, "DENIED", "/w/.env", "; the entry is .env*"},
		{short, `"/w/a","$HOME/x","/etc/x"`, "DENIED", "$HOME/x", `path "$HOME/x" can't be judged: it holds a variable`},
		{short, `"$HOME/x"`, "DENIED", "$HOME/x", `path "$HOME/x" can't be judged: it holds a variable`},
		{short, `"/w/a","/w/b","/w/c"`, "ALLOWED", "", ""},
		{short, `"/w/d"`, "DENIED", "2", "SVC_LOOP_LIMIT_EXCEEDED"},
		{long, `"/w","/blocked/7/x","/blocked/3","$HOME"`, "DENIED", "/blocked/7/x", "; the entry is /blocked/7"},
		{long, `"/w","/w/.env.local","/blocked/3"`, "DENIED", "/w/.env.local", "; the entry is .env*"},
		{long, `"/w","/blocked/3","/w/.env.local"`, "DENIED", "/blocked/3", "; the entry is /blocked/3"},
		{custom, `"/w/a","/w/secret/a","/x/secret"`, "DENIED", "/w/secret/a", "custom.deny_if.path"},
		{custom, `"/w/a","/x/b","../c"`, "DENIED", "/x/b", "custom.allow_only.path"},
		{custom, `"/w/a","/w/./b"`, "ALLOWED", "", ""},
	} {
		answer, fault := c.story.Decide(requestOf(`{"action":"file_write","task_id":"t","paths":[`+c.paths+`]}`), false, Call{})
		if fault != nil {
			t.Fatal(fault)
		}
		message := fmt.Sprintf("%s %s", answer.Code, answer.Message)
		if answer.Status != c.status || answer.Details.Value != c.value || !strings.Contains(message, c.says) {
			t.Errorf("%s: %s of %q: %s; want %s of %q: %s", c.paths, answer.Status, answer.Details.Value, message, c.status, c.value, c.says)
		}
	}
}
