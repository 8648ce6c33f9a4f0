package hosts

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// denials are a hook's denials in the forms that hosts read.
const (
	claudeDenial  = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`
	geminiDenial  = `{"decision":"deny","reason":"no"}`
	cursorDenial  = `{"permission":"deny","user_message":"no","agent_message":"no"}`
	copilotDenial = `{"permissionDecision":"deny","permissionDecisionReason":"no"}`
	hermesDenial  = `{"decision":"block","reason":"no"}`
)

// behaviour is one way in which a hook can end.
type behaviour struct {
	name   string
	result Result
}

// behaviours are the ways in which hooks end, those of healthy ones included.
func behaviours() []behaviour {
	all := []behaviour{
		{"exit 0, silent", Result{}},
		{"exit 0, text", Result{Stdout: []byte("denied")}},
		{"exit 0, text on stderr", Result{Stderr: []byte("denied")}},
		{"exit 0, {}", Result{Stdout: []byte("{}")}},
		{"exit 0, []", Result{Stdout: []byte("[]")}},
		{"exit 0, two empty objects", Result{Stdout: []byte("{}\n{}")}},
		{"exit 0, cut JSON", Result{Stdout: []byte(claudeDenial[:60])}},
		{"exit 0, broken JSON", Result{Stdout: []byte(`{"decision":deny}`)}},
		{"exit 0, an unknown decision", Result{Stdout: []byte(`{"decision":"nope"}`)}},
		{"exit 0, continue false", Result{Stdout: []byte(`{"continue":false,"stopReason":"no"}`)}},
		{"exit 1, silent", Result{Exit: 1}},
		{"exit 1, text on stderr", Result{Exit: 1, Stderr: []byte("failed")}},
		{"exit 2, silent", Result{Exit: 2}},
		{"exit 2, text on stderr", Result{Exit: 2, Stderr: []byte("denied")}},
		{"exit 2, {}", Result{Exit: 2, Stdout: []byte("{}"), Stderr: []byte("denied")}},
		{"exit 3, text on stderr", Result{Exit: 3, Stderr: []byte("failed")}},
		{"exit 127, text on stderr", Result{Exit: 127, Stderr: []byte("not found")}},
		{"killed", Result{Exit: -1}},
		{"killed, text on stderr", Result{Exit: -1, Stderr: []byte("fatal error")}},
		{"no answer", Result{Exit: -1, TimedOut: true}},
		{"not started", Result{Exit: -1, NotStarted: true}},
		{"event not read, denial: Claude's", Result{Stdout: []byte(claudeDenial), Unread: true}},
	}
	forms := []struct{ name, output string }{
		{"Claude's", claudeDenial}, {"Gemini's", geminiDenial}, {"Cursor's", cursorDenial}, {"Copilot's", copilotDenial}, {"block and reason", hermesDenial},
		{"Claude's, no reason", strings.Replace(claudeDenial, `"no"`, `""`, 1)},
		{"Claude's, unknown key", strings.Replace(claudeDenial, `{"hook`, `{"failOpen":false,"hook`, 1)},
		{"Claude's, continue false", strings.Replace(claudeDenial, `{"hook`, `{"continue":false,"hook`, 1)},
		{"Claude's, suppressOutput", strings.Replace(claudeDenial, `{"hook`, `{"suppressOutput":true,"hook`, 1)},
		{"Claude's, no event", strings.Replace(claudeDenial, `"hookEventName":"PreToolUse",`, "", 1)},
		{"Claude's, after a byte-order mark", "\uFEFF" + claudeDenial},
		{"Claude's, twice", claudeDenial + "\n" + claudeDenial},
		{"Gemini's, as a string", fmt.Sprintf("%q", geminiDenial)},
	}
	for _, form := range forms {
		all = append(all, behaviour{"denial: " + form.name, Result{Stdout: []byte(form.output)}})
	}
	for _, end := range []behaviour{{"exit 1", Result{Exit: 1}}, {"exit 2", Result{Exit: 2}}, {"killed", Result{Exit: -1}}, {"no answer", Result{Exit: -1, TimedOut: true}}} {
		for _, form := range forms[:5] {
			end.result.Stdout = []byte(form.output)
			all = append(all, behaviour{"denial: " + form.name + ", then " + end.name, end.result})
		}
	}
	return all
}

// verdicts is what a host does after every behaviour, without and with its fail-closed setting.
func verdicts(h Host) (lines []string) {
	words := map[bool]string{true: "runs", false: "stops"}
	all := behaviours()
	if h.HTTP {
		all = answered()
	}
	for _, b := range all {
		rule, open := h.Judge(b.result, false)
		_, closed := h.Judge(b.result, true)
		verdict := words[open]
		if open != closed {
			verdict += ", stops where closed"
		}
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", b.name, verdict, rule.Name))
	}
	return lines
}

// answered are the ways in which HTTP hooks end: without an answer, with a status, and with a body.
func answered() []behaviour {
	all := []behaviour{{"no answer", Result{TimedOut: true}}, {"no connection", Result{NotStarted: true}}}
	for _, status := range []int{200, 204, 302, 401, 429, 503} {
		all = append(all, behaviour{fmt.Sprintf("status %d, empty", status), Result{Status: status}})
	}
	for _, b := range behaviours() {
		if strings.HasPrefix(b.name, "exit 0") || strings.HasPrefix(b.name, "denial") && !strings.Contains(b.name, "then") {
			b.name, b.result.Status = "status 200: "+strings.TrimPrefix(b.name, "exit 0, "), 200
			all = append(all, b)
		}
	}
	return append(all, behaviour{"status 503, denial", Result{Status: 503, Stdout: []byte(claudeDenial)}})
}

// key is the name of a host in testdata/rules.txt.
func key(h Host) string {
	if h.HTTP {
		return h.Name + "-http"
	}
	return h.Name
}

// TestRules shows what each host makes of each way in which a hook can end.
func TestRules(t *testing.T) {
	datadriven.RunTest(t, "testdata/rules.txt", func(t *testing.T, d *datadriven.TestData) string {
		for _, h := range Columns {
			if key(h) == d.Cmd {
				return strings.Join(verdicts(h), "\n") + "\n"
			}
		}
		t.Fatalf("no host %s", d.Cmd)
		return ""
	})
	text, err := os.ReadFile("testdata/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range Columns {
		if !strings.Contains(string(text), "\n"+key(h)+"\n") {
			t.Errorf("testdata/rules.txt leaves out %s", h.Name)
		}
	}
}

// TestRulesMatter is the canary of the rules: a host with any one rule inverted answers some behaviour differently, so that
// no rule is dead and each is seen in testdata/rules.txt.
func TestRulesMatter(t *testing.T) {
	inverse := map[Effect]Effect{Runs: Stops, Stops: Runs, Fails: Runs}
	for _, h := range Columns {
		want := verdicts(h)
		for i, rule := range h.Rules {
			other := h
			other.Rules = slices.Clone(h.Rules)
			other.Rules[i].Then = inverse[rule.Then]
			if slices.Equal(verdicts(other), want) {
				t.Errorf("%s: the inverse of the rule %q shows nowhere", h.Name, rule.Name)
			}
		}
		if last := h.Rules[len(h.Rules)-1]; !last.When(Result{}) || !last.When(Result{Exit: -1, TimedOut: true, Stdout: []byte("x")}) {
			t.Errorf("%s: the last rule does not match everything", h.Name)
		}
	}
}

// TestSwitches: only a host with a fail-closed setting has rules that it changes, and a host with one has some.
func TestSwitches(t *testing.T) {
	for _, h := range Columns {
		fails := slices.ContainsFunc(h.Rules, func(r Rule) bool { return r.Then == Fails })
		if fails != (h.Switch != "") {
			t.Errorf("%s: switch %q, and a rule that it changes: %v", h.Name, h.Switch, fails)
		}
	}
}
