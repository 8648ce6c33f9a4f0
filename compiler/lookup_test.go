package compiler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bailiff/compiler/codes"
	"bailiff/compiler/example"
	"bailiff/compiler/frame"
	"bailiff/vm/form/fspath"
	"bailiff/vm/match"
)

// TestProtectedRefs holds every pair of a protected ref and an updated one, and each beside a harmless update, to the
// rule as it is said.
func TestProtectedRefs(t *testing.T) {
	names := []string{"main", "heads/main", "refs/main", "refs/heads/main", "refs/tags/main", "tags/main", "topic", "re", "ref", "refs", "refs/",
		"refsx", "r", "rex", "release/1", "refs/heads/release/1", "refs/heads/refs/x", "refs/x", "heads/refs/x", "heads/", "heads", "refs/remotes/origin/main", "Main", "ünder"}
	isNone := func(name string) bool { return strings.HasSuffix(name, "/") } // no ref has such a name
	listed := append(slices.DeleteFunc(slices.Clone(names), isNone), "*", "r*", "re*", "refs*", "refs/*", "refs/h*", "refs/heads/*", "heads/*", "refs/heads/r*", "refs/heads/re*",
		"refs/heads/ref*", "refs/heads/refs*", "refs/heads/refs/*", "refs/tags/re*", "refs/heads/m*", "m*", "release/*", "refs/tags/*")
	covered := 0
	for _, protected := range listed {
		compiled, found := compileText(example.Git("protected_refs: " + protected))
		if found.HasErrors() {
			t.Fatalf("%s: %s", protected, compiled.Source.Render(found[0]))
		}
		for _, name := range names {
			if isNone(name) {
				continue
			}
			for _, beside := range []string{"", `{"ref":"refs/notes/x","fast_forward":true},`} {
				want := refCovered(compiled.Policy.Profiles.Git.ProtectedRefs, name) || beside != "" && refCovered(compiled.Policy.Profiles.Git.ProtectedRefs, "refs/notes/x")
				got := decideLine(t, compiled, fmt.Sprintf(`shim {"action":"git.x","metadata":{"execution":{},"git":{"operation":"fetch","repository_id":"r","worktree":"/w","ref_updates":[%s{"ref":%q,"fast_forward":true}]}}}`, beside, name))
				if (got == "denied git.protected_refs GIT_REF_NOT_ALLOWED") != want {
					t.Errorf("protected %q, update of %q beside %q: %s, want covered %t", protected, name, beside, got, want)
				}
				if want {
					covered++
				}
			}
		}
	}
	if covered < 200 {
		t.Errorf("only %d updates were of protected refs", covered)
	}
}

// TestManyPaths holds lists of many blocked paths, which are looked up otherwise than short ones, to how each entry
// matches.
func TestManyPaths(t *testing.T) {
	const entries = 2 * frame.FewPaths
	segments := []string{"a", "b", "c", "ab", "a.b", ".env", "ä", "C:", "x y"}
	r := rand.New(rand.NewPCG(1, 2))
	some := func(most int) string {
		var path strings.Builder
		for range 1 + r.IntN(most) {
			path.WriteString("/" + segments[r.IntN(len(segments))])
		}
		return path.String()
	}
	for _, extra := range []string{"", ", .env, ~/b", ", /"} {
		var listed []string
		for i := range entries {
			listed = append(listed, some(4)+fmt.Sprintf("/%d", i%7))
		}
		compiled, found := compileText("version: 2.0.0\n## tool_calls\nallowed: file_write\nfile_write.blocked_paths: " + strings.Join(listed, ", ") + extra + "\n")
		if found.HasErrors() {
			t.Fatalf("%s", compiled.Source.Render(found[0]))
		}
		blocked := 0
		for range 3000 {
			path := some(5) + []string{"", "/0", "/1", "/6/x", "0", "/"}[r.IntN(6)]
			clean, suspicious := fspath.Clean(path)
			want := suspicious || slices.ContainsFunc(compiled.Policy.ToolCalls.Write.Blocked.Texts(), func(entry string) bool { return match.CoversPath(entry, clean) })
			if want {
				blocked++
			}
			if got := decideLine(t, compiled, fmt.Sprintf(`{"action":"file_write","path":%q}`, path)); (got != "allowed") != want {
				t.Fatalf("path %q, want blocked %t: %s", path, want, got)
			}
		}
		if blocked == 0 || blocked == 3000 && extra != ", /" {
			t.Errorf("%d of 3000 paths were blocked", blocked)
		}
	}
}

// TestPathsThatFit makes sure that a list as long as a line can be is taken where its entries are whole paths, and that
// one that is too much is told so with its place.
func TestPathsThatFit(t *testing.T) {
	list := func(form string, n int) string {
		entries := make([]string, n)
		for i := range entries {
			entries[i] = fmt.Sprintf(form, i)
		}
		return "version: 2.0.0\n## tool_calls\nallowed: file_write\nfile_write.blocked_paths: " + strings.Join(entries, ", ") + "\n"
	}
	if compiled, found := compileText(list("/data/p%d/x", 4000)); found.HasErrors() {
		t.Errorf("%s", compiled.Source.Render(found[0]))
	}
	compiled, found := compileText(list("~/p%d", 4000))
	if len(found) != 1 || found[0].Code != codes.Effort {
		t.Fatalf("4000 floating names: %v", found)
	}
	if at := compiled.Source.Slice(found[0].Span); at != "file_write.blocked_paths" || !strings.Contains(found[0].Hint, "block a folder") {
		t.Errorf("reported at %q with %q", at, found[0].Hint)
	}
}

// decideLine returns the first rule for one line of a table of intents.
func decideLine(t *testing.T, compiled *Compiled, line string) string {
	t.Helper()
	in, from, err := readIntent(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return firstRule(compiled.Program, bind(t, compiled.Program, in, from))
}
