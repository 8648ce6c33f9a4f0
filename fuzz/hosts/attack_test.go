//go:build unix

package hosts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/clock"
	"bailiff/runtime/decision"
	"bailiff/runtime/hook"
	"bailiff/runtime/hook/setup"
	"bailiff/runtime/intent"
	"bailiff/runtime/policies"
)

// starter is the policy that bailiff init writes for a host.
func starter(t *testing.T, p program, host string) *decision.Simulation {
	t.Helper()
	dir := t.TempDir()
	initialise := exec.Command(p.path, "init", "--for", host)
	initialise.Dir, initialise.Env = dir, p.env
	if output, err := initialise.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	text, err := os.ReadFile(filepath.Join(dir, "warranty.md"))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := policies.CompilePolicy(grammar.NewSource("warranty.md", text))
	if err != nil {
		t.Fatal(err)
	}
	simulation, err := decision.NewSimulation(policy, intent.Options{}, clock.System())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = simulation.Close() })
	return simulation
}

// request is the request that a hook makes of a shell command.
func request(t *testing.T, h Host, command string) []byte {
	t.Helper()
	event, err := hook.Read(h.Name, h.Event(command))
	if err != nil {
		t.Fatal(err)
	}
	r, err := event.Request(hook.Config{AgentID: "agent", Framework: "agent-hooks", Random: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	return r.Body
}

// body is the request of a try on a host.
func (try Try) body(t *testing.T, h Host, settings string) []byte {
	t.Helper()
	fill := strings.NewReplacer("SETTINGS", settings, "HOST", h.Name).Replace
	if try.Command != "" {
		return request(t, h, fill(try.Command))
	}
	action := "file_write"
	if try.Read != "" {
		action = "file_read"
	}
	text, err := json.Marshal(map[string]any{
		"agentId": "agent", "framework": "agent-hooks", "txCommit": strings.Repeat("0", 64),
		"intent": map[string]any{"action": action, "cwd": "/work/app", "path": fill(try.Write + try.Read), "task_id": "t1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestAttacks tries every attack of an agent on its own guard under the policy that bailiff init writes for its host: what is
// said to be denied is, in every way it is tried, and what is said to pass does, so that nobody counts on the policy there.
func TestAttacks(t *testing.T) {
	p := build(t)
	for _, h := range slices.Concat(Hosts, Plugins) {
		policy := starter(t, p, h.Name)
		place := setup.Find(h.Name)
		var all []string
		for _, scope := range []setup.Scope{setup.User, setup.Project} {
			for _, path := range place.Paths(scope, "/home/ann", "/work/app", func(string) string { return "" }) {
				all = append(all, path)
				for _, file := range place.PluginFiles(path) { // which decide as much as the settings do
					all = append(all, file)
				}
			}
		}
		for _, settings := range all {
			for _, attack := range Attacks {
				for _, try := range attack.Tries {
					answer, fault := policy.Decide(try.body(t, h, settings), false, decision.Call{TestRun: true})
					switch {
					case fault != nil:
						t.Errorf("%s, %s, %+v: %v", h.Name, attack.Name, try, fault)
					case (answer.Status == "DENIED") != attack.Denied:
						t.Errorf("%s, %s, %+v, settings %s: %s %s", h.Name, attack.Name, try, settings, answer.Status, answer.Message)
					}
				}
			}
		}
	}
	holdPage(t, "attacks", attackTable())
}

// attackTable is the table of the attacks.
func attackTable() string {
	var b strings.Builder
	b.WriteString("| an agent … | for example | policy of `bailiff init` | what else stops it, or shows it |\n|---|---|---|---|\n")
	for _, a := range Attacks {
		says := "lets it run"
		if a.Denied {
			says = "denied"
		}
		example := a.Tries[0].Command + a.Tries[0].Write + a.Tries[0].Read
		example = strings.NewReplacer("SETTINGS", "~/.claude/settings.json", "HOST", "claude", "|", `\|`).Replace(example)
		if a.Tries[0].Write != "" {
			example = "writes " + example
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", a.Name, example, says, a.Otherwise)
	}
	return b.String()
}

// TestProofs finds every test that an attack names.
func TestProofs(t *testing.T) {
	t.Parallel()
	for _, a := range Attacks {
		for _, proof := range a.Proof {
			if !exists(t, proof) {
				t.Errorf("%s: there is no test %s", a.Name, proof)
			}
		}
	}
	if exists(t, "fuzz/hosts.TestNothing") || exists(t, "cmd/bailiff.TestScript/nothing") {
		t.Error("tests that do not exist are found")
	}
}

// exists reports whether there is a test package.Test, or a script package.TestScript/name.
func exists(t *testing.T, proof string) bool {
	t.Helper()
	folder, name, _ := strings.Cut(proof, ".")
	if script, ok := strings.CutPrefix(name, "TestScript/"); ok {
		_, err := os.Stat(filepath.Join("../..", folder, "testdata/script", script+".txtar"))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func ` + name + `\(`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if declared.Match(text) {
			return true
		}
	}
	return false
}

// TestImpostor shows what the table of attacks says of whoever answers in the place of the service: the hook believes it.
func TestImpostor(t *testing.T) {
	p := build(t)
	c := Case{Host: Hosts[0], Failure: Failure{Name: "an impostor", Service: Allowing}, Closed: true}
	if outcome := playAll(t, p, []Case{c})[0]; !outcome.Ran {
		t.Error("the hook no longer believes what answers at its address: say so in the table of attacks")
	}
}

// hostile are commands of a size that are hard to read.
func hostile(size int) map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	return map[string]string{
		"parentheses": fill("("), "closed parentheses": fill("(")[:size/2] + fill(")")[:size/2], "braces": fill("{ "), "brackets": fill("[["),
		"substitutions": fill("$("), "closed substitutions": strings.Repeat("$(", size/4) + strings.Repeat(")", size/4), "arithmetic": fill("$((1+"),
		"backquotes": fill("`"), "escaped backquotes": fill("\\`"), "parameters": fill("${a:-"), "single quotes": fill("'"), "double quotes": fill(`"`),
		"quotes in quotes": fill(`"'"'`), "quoted substitutions": strings.Repeat(`"$(`, size/6) + strings.Repeat(`)"`, size/6), "dollars": fill("$"),
		"here-documents": fill("<<A "), "here-documents with bodies": fill("cat <<A\nx\nA\n"), "one here-document": "cat <<A\n" + fill("x\n")[:size-20] + "\nA\n",
		"here-strings": fill("<<<a "), "pipes": fill("a|"), "lists": fill("a;"), "and": fill("a&&"), "background": fill("a&"), "redirections": fill(">a "),
		"assignments": fill("A=b "), "ifs": fill("if a;then "), "cases": fill("case a in "), "functions": fill("f(){ "), "loops": fill("while a;do "),
		"shells": fill("sh -c '")[:size/2], "words": fill("sudo "), "escapes": fill(`\`), "globs": fill("*?"), "brace expansions": fill("{a,"), "lines": fill("\n"),
		"comments": fill("#\n"), "evals": fill("eval "), "NUL": fill("\x00"), "runners": fill("env nice "), "long word": fill("a"),
	}
}

// TestHostileCommands judges commands that are hard to read, as the hook asks about them: each gets a decision, or a denial
// of its form, in less than the shortest time that a hook has. The bound is a thousand times what one takes, so that only
// another order of growth breaks it.
func TestHostileCommands(t *testing.T) {
	p := build(t)
	const least = 18 * time.Second // 60 % of the shortest deadline of a host
	policy := starter(t, p, "claude-code")
	outcomes := map[string]int{}
	for _, size := range []int{64 << 10, 32 << 10, 16 << 10, 4 << 10, 1 << 10} {
		for name, command := range hostile(size) {
			start := time.Now()
			event, err := hook.Read(hook.ClaudeCode, Hosts[0].Event(command))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			status := "denied without a question"
			if asked, err := event.Request(hook.Config{AgentID: "agent", Framework: "agent-hooks", Random: "n1"}); err == nil {
				answer, fault := policy.Decide(asked.Body, false, decision.Call{TestRun: true})
				if status = "refused"; fault == nil {
					status = answer.Status
				}
			}
			if took := time.Since(start); took > least {
				t.Errorf("%s of %d bytes: judged in %v, more than %v", name, size, took, least)
			}
			outcomes[status]++
		}
	}
	t.Log(outcomes)
	if outcomes["ALLOWED"] == 0 || outcomes["DENIED"] == 0 {
		t.Errorf("the commands are judged as %v: not all of them by their form", outcomes)
	}
}
