package compiler

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bailiff/compiler/codes"
	"bailiff/compiler/profiles"
	"bailiff/fuzz/kit/seed"
	"bailiff/grammar"
	"bailiff/vm/errcode"
)

// profileCodes are the codes of resource profiles.
var profileCodes = slices.DeleteFunc(codes.All(), func(info grammar.CodeInfo) bool { return info.Code[1:] < "2400" })

// TestProfileCodes compiles the two policies of each row: the wrong one has the finding, the right one has none at all.
func TestProfileCodes(t *testing.T) {
	for _, info := range profileCodes {
		_, found := compileLinted(grammar.NewSource("wrong", []byte(info.Wrong)))
		if !slices.ContainsFunc(found, func(d grammar.Diagnostic) bool { return d.Code == info.Code }) {
			t.Errorf("%s: its wrong policy has not this finding, but %v", info.Code, found)
		}
		_, found = compileLinted(grammar.NewSource("right", []byte(info.Right)))
		found = slices.DeleteFunc(found, func(d grammar.Diagnostic) bool { return d.Severity != grammar.Error && d.Code != info.Code })
		if len(found) > 0 {
			t.Errorf("%s: its right policy has findings: %v", info.Code, found)
		}
	}
}

// TestUnshimmed tells the sections that may be deployed from the others.
func TestUnshimmed(t *testing.T) {
	compiled, _ := compileText("version: 2.1.0\n## repository\nrequire_shim: true\n## filesystem\nactions: x\nrequire_shim: false\n## git\nactions: y\n## execution_limits\nmax_tool_calls_per_task: 1\n")
	p := compiled.Policy
	if got := strings.Join(p.Profiles.Names(), " "); got != "repository filesystem git" {
		t.Errorf("the profiles are %q", got)
	}
	if got := strings.Join(p.Unshimmed(), " "); got != "filesystem git" {
		t.Errorf("%q don't require a shim", got)
	}
	compiled, _ = compileText("version: 2.1.0\n## execution_limits\nmax_tool_calls_per_task: 1\n")
	if got := compiled.Policy.Unshimmed(); len(got) > 0 {
		t.Errorf("without a profile, %q require a shim", got)
	}
}

// TestProfilesNeedNothingElsewhere makes sure that actions no profile governs need nothing of what profiles look at.
func TestProfilesNeedNothingElsewhere(t *testing.T) {
	compiled, _ := compileText(fullProfiles)
	program := compiled.Program
	needs := func(action string) (names []string) {
		for slot, name := range program.Fields() {
			if program.Needs(action).Has(uint16(slot)) && (strings.HasPrefix(name, "@fs") || strings.HasPrefix(name, "@git") || strings.HasPrefix(name, "@db") || name == profiles.SlotBoundary) {
				names = append(names, name)
			}
		}
		return names
	}
	for _, action := range []string{"web_fetch", "filex", "model.inference", "contract.call"} {
		if names := needs(action); len(names) > 0 {
			t.Errorf("%s needs %v", action, names)
		}
	}
	for action, slot := range map[string]string{"bash": profiles.SlotWritten, "file.x": profiles.SlotFilePaths, "git.x": profiles.SlotGitRefs, "db.x": profiles.SlotDBResources} {
		if !slices.Contains(needs(action), slot) {
			t.Errorf("%s does not need %s", action, slot)
		}
	}
	if slices.Contains(needs("db.x"), profiles.SlotWritten) || slices.Contains(needs("bash"), profiles.SlotGitRefs) {
		t.Error("a profile's actions need what other profiles look at")
	}
}

// fullProfiles is a policy with every key of the profiles.
const fullProfiles = `version: 2.1.0
## repository
roots: ., /srv
block_outside_writes: true
protect_git_history: true
protect_sensitive_files: true
git_providers: github, gitlab
require_shim: true
## filesystem
actions: file.*
write_roots: /work, /srv/a
read_roots: /work/repo, /srv
allowed_effects: read, create, overwrite, delete, egress, copy
blocked_paths: .env, /srv/secrets
protected_file_classes: secret, source
protected_effects: overwrite, egress
max_files_per_action: 1
max_bytes_written_per_task: 100
max_bytes_deleted_per_task: 100
max_destructive_effects_per_task: 5
require_shim: true
## git
actions: git.*
filesystem_actions: vcs.*
providers: github
allowed_remote_schemes: https
allowed_operations: status, commit, push_fast_forward, pull_ff_only, create_branch, change_protection, force_push
require_approval: commit
protected_refs: main, release/*, refs/heads/stable
max_ref_changes_per_task: 4
require_shim: true
## database
actions: db.*
protected_environments: production
allowed_operations: select, insert, create_table, execute_routine, create_routine
require_approval: insert
allowed_resources: app.public.*, reports
routine_catalog: app.public.refresh
require_read_only_for_select: true
deny_unreviewed_indirect_effects: true
max_schema_changes_per_task: 3
require_shim: true
## tool_calls
allowed: bash, file_write
`

// blockedLine takes the place of `allowed_operations` of git in some policies: the two exclude each other.
const blockedLine = "blocked_operations: force_push, change_credentials, commit"

// somePolicy returns the full policy without some of its lines.
func somePolicy(r *rand.Rand) string {
	var b strings.Builder
	keep := r.Intn(3) // all lines, few lines, most lines
	roots := keep == 0 || r.Intn(3) < keep
	for line := range strings.Lines(fullProfiles) {
		always := strings.HasPrefix(line, "version") || strings.HasPrefix(line, "##") || strings.HasPrefix(line, "actions") || strings.HasPrefix(line, "allowed: ")
		switch {
		case strings.HasPrefix(line, "allowed_operations: status") && r.Intn(2) == 0:
			b.WriteString(blockedLine + "\n")
		case !roots && (strings.HasPrefix(line, "roots") || strings.HasPrefix(line, "block_outside_writes")):
		case strings.HasPrefix(line, "roots"):
			b.WriteString(among(r, line, "roots: /work/repo, /srv\n", "roots: .\n"))
		case always || keep == 0 || r.Intn(3) < keep:
			b.WriteString(line)
		}
	}
	return b.String()
}

// among returns one of the values; usual ones are in the list more than once.
func among[T any](r *rand.Rand, values ...T) T { return values[r.Intn(len(values))] }

func someOf(r *rand.Rand, values ...string) []any {
	list := []any{}
	for range among(r, 1, 1, 1, 1, 2, 2, 0) {
		list = append(list, among(r, values...))
	}
	return list
}

// unsound gives a value now and then another type, or leaves it out.
func unsound(r *rand.Rand, object map[string]any, name string, value any) {
	switch r.Intn(40) {
	case 0:
	case 1:
		object[name] = among[any](r, 1, true, "", "x", nil, []any{}, map[string]any{}, []any{1}, -1, 1.5)
	default:
		object[name] = value
	}
}

// governedLine returns an intent as the golden files have it, about what the full policy governs.
func governedLine(r *rand.Rand) string {
	execution, metadata := map[string]any{}, map[string]any{}
	unsound(r, execution, "race_safe_path_resolution", true)
	unsound(r, execution, "writable_roots", someOf(r, "/work/repo", "/work", "/tmp", "/"))
	unsound(r, metadata, "execution", execution)
	action := among(r, "bash", "file_write", "file.x", "file.y", "File.x", "git.x", "git.y", "git.z", "vcs.x", "db.x", "db.y", "db.z", "tool")
	if !strings.HasPrefix(action, "git") && !strings.HasPrefix(action, "db") {
		unsound(r, metadata, "filesystem", someFiles(r))
	}
	if strings.HasPrefix(action, "git") || action == "vcs.x" || r.Intn(8) == 0 {
		unsound(r, metadata, "git", someGit(r))
	}
	if strings.HasPrefix(action, "db") {
		unsound(r, metadata, "database", someDatabase(r))
	}
	body := map[string]any{"action": action, "metadata": metadata}
	if r.Intn(8) > 0 {
		body["task_id"] = "t"
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return among(r, "shim ", "shim ", "shim ", "shim ", "shim ", "shim ", "shim ", "shim ", "") + string(text)
}

func someFiles(r *rand.Rand) map[string]any {
	files, targets := map[string]any{}, []any{}
	for range among(r, 1, 1, 1, 2, 3) {
		target := map[string]any{}
		dir := among(r, "/work/repo", "/work/repo", "/srv", "/srv/a", "/srv/secrets", "/work/repo/.Git", "/etc", "/work")
		unsound(r, target, "absolute", dir+among(r, "/x", "/y", "/.env", "/repo", "/.git", "/.GIT.", "/git~1", "/Secrets", "", "", "/$HOME", "/x/"))
		unsound(r, target, "resolved_parent", among(r, dir, dir, dir, dir, "/srv", "/work", "/etc", "/"))
		unsound(r, target, "classification", among(r, "none", "none", "public", "source", "secret", "other"))
		unsound(r, target, "bytes", among(r, 0, 1, 50, 90, -1))
		targets = append(targets, target)
	}
	unsound(r, files, "targets", targets)
	unsound(r, files, "effects", someOf(r, "read", "read", "create", "overwrite", "delete", "delete", "egress", "copy", "rename", "chmod", "hard_link", "execute"))
	return files
}

func someGit(r *rand.Rand) map[string]any {
	git, updates := map[string]any{}, []any{}
	for range among(r, 1, 1, 2) {
		update := map[string]any{}
		unsound(r, update, "ref", among(r, "refs/heads/x", "refs/heads/y", "refs/heads/x", "main", "refs/tags/main", "refs/heads/release/1", "refs/heads/stable"))
		unsound(r, update, "fast_forward", among(r, true, true, true, false))
		updates = append(updates, update)
	}
	unsound(r, git, "operation", among(r, append([]string{"status", "commit", "push_fast_forward", "create_branch"}, naiveGit...)...))
	unsound(r, git, "repository_id", "r")
	unsound(r, git, "worktree", among(r, "/work/repo", "/work/repo", "/srv", "/etc"))
	unsound(r, git, "branch", among(r, "x", "x", "main", "release/1", "HEAD", "a b"))
	unsound(r, git, "provider", among(r, "github", "github", "gitlab", "generic"))
	unsound(r, git, "remote_scheme", among(r, "https", "HTTPS", "ssh"))
	if r.Intn(3) > 0 {
		unsound(r, git, "ref_updates", updates)
	}
	return git
}

func someDatabase(r *rand.Rand) map[string]any {
	db := map[string]any{}
	unsound(r, db, "operations", someOf(r, append([]string{"select", "select", "select", "select", "insert", "execute_routine", "execute_routine", "create_routine", "create_table"}, naiveDatabase...)...))
	unsound(r, db, "statement_count", among(r, 1, 2, 1, 1, 0))
	unsound(r, db, "environment", among(r, "dev", "dev", "Production", "production "))
	unsound(r, db, "resources", someOf(r, "app.public.users", "app.public.users", "app.public.refresh", "app.public.refresh", "reports", "app.private.x"))
	unsound(r, db, "credential_capabilities", someOf(r, "read", "Read_Only", "select", "write"))
	return db
}

// bothVerdicts returns what the program and the naive evaluator say; false where the request is none.
func bothVerdicts(t testing.TB, program, policy *Compiled, line string) (machine, naive string, ok bool) {
	in, from, err := readIntent(line)
	if err != nil {
		return "", "", false
	}
	judge := naiveProfiles{p: policy.Policy, in: in, from: from}
	return firstRule(program.Program, bind(t, program.Program, in, from)), judge.verdict(), true
}

// TestProfilesNaive holds programs of profiles to the naive evaluator, and makes sure that every rule and code of the
// profiles is among what they say.
func TestProfilesNaive(t *testing.T) {
	r := rand.New(rand.NewSource(seed.Value(t)))
	seen := map[string]int{}
	unseen := func() []string {
		return slices.DeleteFunc(allVerdicts(), func(want string) bool { return seen[want] > 0 })
	}
	for n := 0; n < 100 || n < 4000 && len(unseen()) > 0; n++ {
		text := somePolicy(r)
		compiled, found := compileText(text)
		if compiled.Program == nil {
			t.Fatalf("%s\n%v", text, found)
		}
		for range 200 {
			line := governedLine(r)
			machine, naive, ok := bothVerdicts(t, compiled, compiled, line)
			if ok && machine != naive {
				t.Fatalf("%s\n%s\nthe machine says %q, the naive evaluator %q", text, line, machine, naive)
			}
			seen[machine]++
		}
	}
	for _, want := range unseen() {
		t.Errorf("nothing was %s", want)
	}
}

// allVerdicts returns what the schema says that the profiles' rules can answer.
func allVerdicts() []string {
	verdicts := []string{"allowed", "denied execution.boundary EXECUTION_BOUNDARY_REQUIRED", "denied tool_calls.allowed TOOL_CALL_NOT_ALLOWED"}
	for _, key := range slices.Concat(profiles.RepositorySection.Keys, profiles.FilesystemSection.Keys, profiles.GitSection.Keys, profiles.DatabaseSection.Keys) {
		for _, c := range append(slices.Clone(key.Codes), key.Code) {
			switch {
			case key.Rule == "":
			case c == errcode.HoldApproval:
				verdicts = append(verdicts, "pending "+key.Rule)
			case c == errcode.ImpactLimit && strings.HasSuffix(key.Rule, "_per_task") && !strings.Contains(key.Rule, "bytes"):
				// only the store can tell
			default:
				verdicts = append(verdicts, "denied "+key.Rule+" "+shortCode(string(c)))
			}
		}
	}
	return verdicts
}

// A faulty is a policy, and the program of one that lacks a line of it.
type faulty struct{ policy, fault *Compiled }

// withoutLines returns the policies that lack a line, by that line. There are two for most lines, since in each policy some
// lines hide others.
func withoutLines() map[string][]faulty {
	onlyForTheStore := []string{"max_destructive_effects_per_task", "max_ref_changes_per_task", "max_schema_changes_per_task"}
	bare := strings.Replace(fullProfiles, "allowed_operations: status", blockedLine+"\n#", 1)
	bare = strings.Replace(bare, "protect_sensitive_files: true\n", "", 1)
	all := map[string][]faulty{}
	for _, text := range []string{fullProfiles, bare} {
		policy, _ := compileText(text)
		for line := range strings.Lines(text) {
			name, _, isEntry := strings.Cut(line, ": ")
			fault, _ := compileText(strings.Replace(text, line, "", 1))
			if isEntry && name != "require_shim" && !slices.Contains(onlyForTheStore, name) && !strings.HasPrefix(name, "#") && fault.Program != nil {
				all[line] = append(all[line], faulty{policy, fault})
			}
		}
	}
	return all
}

// TestProfilesNaiveCatchesFaults is the canary of the test above: a program that lacks a line of the policy is found.
func TestProfilesNaiveCatchesFaults(t *testing.T) {
	r := rand.New(rand.NewSource(seed.Value(t)))
	all := withoutLines()
	if len(all) < 30 {
		t.Fatalf("only %d lines can be left out", len(all))
	}
	for _, line := range slices.Sorted(maps.Keys(all)) {
		caught := false
		for n := 0; n < 200_000 && !caught; n++ {
			one := all[line][n%len(all[line])]
			machine, naive, ok := bothVerdicts(t, one.fault, one.policy, governedLine(r))
			caught = ok && machine != naive
		}
		if !caught {
			t.Errorf("nobody misses the line %q", strings.TrimSpace(line))
		}
	}
}

// TestProfileGoldensNaive holds the golden files about profiles to the naive evaluator, as far as it goes.
func TestProfileGoldensNaive(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/profiles_*")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no golden files about profiles")
	}
	judged := 0
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var compiled *Compiled
		for block := range strings.SplitSeq(string(text), "\n\n") {
			input, _, _ := strings.Cut(block, "\n----")
			command, input, _ := strings.Cut(input, "\n")
			if strings.HasPrefix(command, "policy") {
				compiled, _ = compileText(input + "\n")
			}
			if command != "decide" || compiled.Policy.Custom != nil {
				continue
			}
			for line := range strings.SplitSeq(input, "\n") {
				if machine, naive, ok := bothVerdicts(t, compiled, compiled, line); ok && isToolLine(line) {
					judged++
					if machine != naive {
						t.Errorf("%s\nthe machine says %q, the naive evaluator %q", line, machine, naive)
					}
				}
			}
		}
	}
	if judged < 200 {
		t.Errorf("only %d intents of the golden files were judged", judged)
	}
}

// isToolLine reports whether a line of a golden file is about a tool.
func isToolLine(line string) bool {
	for _, other := range []string{"mcp.", "wallet.", "contract.", "model."} {
		if strings.Contains(line, fmt.Sprintf(`"action":"%s`, other)) {
			return false
		}
	}
	return true
}

// FuzzProfiles compiles any lines below the heading of each profile: no text panics, and what compiles has a program that
// is the same every time.
func FuzzProfiles(f *testing.F) {
	f.Add(fullProfiles)
	for _, info := range profileCodes {
		f.Add(info.Wrong)
	}
	for line := range strings.Lines(fullProfiles) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		for _, profile := range []string{"repository", "filesystem", "git", "database"} {
			src := grammar.NewSource("fuzz", []byte("version: 2.1.0\n## "+profile+"\n"+lines))
			one, found := compileLinted(src)
			if (one.Program == nil) != found.HasErrors() {
				t.Fatalf("a program and errors, or neither: %v", found)
			}
			if other, _ := compileLinted(src); one.Program != nil && other.Program.Hash() != one.Program.Hash() {
				t.Fatal("two programs of one text")
			}
		}
	})
}
