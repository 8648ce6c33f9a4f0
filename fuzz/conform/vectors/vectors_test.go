package vectors

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/compiler"
	"bailiff/fuzz/oracle"
	"bailiff/grammar"
	"bailiff/runtime/decision"
	"bailiff/runtime/intent"
	"bailiff/runtime/policies"
	"bailiff/vm/errcode"
)

var rewrite = flag.Bool("rewrite", false, "write the vectors anew")

// folder is where the vectors are.
var folder = filepath.Join("..", "..", "..", "docs", "vectors", "conformance")

// mostBytes is how large the vectors may grow.
const mostBytes = 5 << 20

// TestDrift holds the files to those that are exported.
func TestDrift(t *testing.T) {
	files, err := Export()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for name, text := range files {
		total += len(text)
		path := filepath.Join(folder, name)
		if *rewrite {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, text) {
			t.Errorf("%s differs from the export (%v); write it by: bailiff conform export docs/vectors/conformance", path, err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if files[entry.Name()] == nil {
			t.Errorf("%s is exported no more", entry.Name())
		}
	}
	if total > mostBytes {
		t.Errorf("the vectors have %d bytes, more than %d", total, mostBytes)
	}
}

// read reads the files.
func read(t *testing.T) (all []*File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*_test.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("there are no vectors in %s (%v)", folder, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file := new(File)
		if err := json.Unmarshal(text, file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, file)
	}
	return all
}

// TestNotes holds that the links of notes lead to headings of the specification, and that every rule of a test is in the notes of
// its flags.
func TestNotes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "specification.md"))
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if title, is := strings.CutPrefix(line, "## "); is {
			headings[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(title)), " ", "-")] = true
		}
	}
	for _, file := range read(t) {
		for flag, note := range file.Notes {
			for _, link := range note.Links {
				if page, heading, _ := strings.Cut(link, "#"); page != "specification.md" || !headings[heading] {
					t.Errorf("%s, %s: %s leads to no heading", file.Algorithm, flag, link)
				}
			}
		}
		for _, group := range file.Groups {
			for _, test := range group.Tests {
				for _, flag := range test.Flags {
					if rule := test.Trace[len(test.Trace)-1].Expect.Rule; rule != "" && !slices.Contains(file.Notes[flag].Rules, rule) {
						t.Errorf("%s, test %d: the note of %s lacks %s", file.Algorithm, test.ID, flag, rule)
					}
				}
			}
		}
	}
}

// unseen are keys that no decision depends on, with the reason.
var unseen = map[string]string{
	"deployment": "where and when a policy may be deployed", "window_days": "reserved", "window_hours": "reserved", "timezone": "reserved",
	"response.": "the results of tools, which no decision reads",
}

// failures of codes that no verdict has.
var notHere = map[errcode.Code]string{errcode.LimitStore: "the store has failed"}

// TestCoverage holds that every key, operator, code of a decision and law is in some test.
func TestCoverage(t *testing.T) {
	seen, tests := map[string]bool{}, 0
	for _, file := range read(t) {
		for _, group := range file.Groups {
			for _, test := range group.Tests {
				tests++
				for _, flag := range test.Flags {
					seen["law "+flag] = true
				}
				for _, step := range test.Trace {
					if step.Expect != nil {
						seen[step.Expect.Code] = true
					}
				}
			}
			parsed, _ := grammar.Parse(grammar.NewSource("policy", []byte(group.Policy)))
			for _, section := range parsed.Sections {
				for _, entry := range section.Entries {
					for _, form := range forms(general(entry.Key.Text)) {
						seen["key "+section.Name+"."+form] = true
					}
				}
			}
		}
	}
	if tests != Tests {
		t.Errorf("there are %d tests, not %d", tests, Tests)
	}
	for law := range laws {
		if !seen["law "+law] {
			t.Errorf("no test is of the law %s", law)
		}
	}
	for _, row := range errcode.Table {
		if row.Class != errcode.Failure && notHere[row.Code] == "" && !seen[string(row.Code)] {
			t.Errorf("no test is answered with %s", row.Code)
		}
	}
	for _, operator := range operators {
		for _, kind := range []string{"deny_if", "allow_only"} {
			if !seen["key custom.operator "+kind+" "+operator] && (kind == "deny_if" || operator != "not_equals") {
				t.Errorf("no test has a policy with %s %s", kind, operator)
			}
		}
	}
	for _, key := range compiler.Schema() {
		excused := key.Reserved
		for part := range unseen {
			excused = excused || strings.Contains(key.Section+"."+key.Name, part)
		}
		if !excused && !seen["key "+key.Section+"."+key.Name] {
			t.Errorf("no test has a policy with %s.%s", key.Section, key.Name)
		}
	}
}

// operators are those of custom rules.
var operators = []string{"equals", "not_equals", "contains", "starts_with", "prefix", "ends_with", "matches"}

// forms are a key itself and, of one with an operator, the names that the compiler's table has for it.
func forms(key string) []string {
	bare, operator, found := strings.Cut(key, " ")
	if !found {
		return []string{key}
	}
	return []string{key, bare, bare + " <operator>", "operator " + strings.TrimSuffix(bare, ".<path>") + " " + operator}
}

// TestHold holds the service, in memory and with a clock of its own, to every test.
func TestHold(t *testing.T) {
	differ := 0
	for _, file := range read(t) {
		for _, group := range file.Groups {
			policy, err := policies.CompilePolicy(grammar.NewSource("policy", []byte(group.Policy)))
			if err != nil || policy.Hash != group.PolicyHash {
				t.Fatalf("%s, tests from %d: the policy does not compile to %s: %v", file.Algorithm, group.Tests[0].ID, group.PolicyHash, err)
			}
			for i := range group.Tests {
				if problem := play(t, policy, &group.Tests[i]); problem != "" {
					if differ++; differ < 10 {
						t.Errorf("%s, test %d: %s\n%s", file.Algorithm, group.Tests[i].ID, problem, group.Policy)
					}
				}
			}
		}
	}
}

// TestHoldNotices plants a fault: an expectation that is another is found.
func TestHoldNotices(t *testing.T) {
	policy, err := policies.CompilePolicy(grammar.NewSource("policy", []byte("version: 2.4.0\n## tool_calls\nallowed: deploy\n")))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"framework":"x","agentId":"a","txCommit":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","intent":{"action":"deploy"}}`
	if play(t, policy, &Test{Trace: []Step{{Body: body, Expect: &Expect{Status: oracle.Denied}}}}) == "" {
		t.Error("an expectation that is another is not noticed")
	}
	if problem := play(t, policy, &Test{Trace: []Step{{Body: body, Expect: &Expect{Status: oracle.Allowed}}}}); problem != "" {
		t.Error(problem)
	}
}

// play returns what a service answers otherwise than a test expects.
func play(t *testing.T, policy *policies.Policy, test *Test) string {
	now, _ := time.Parse(time.RFC3339, Start)
	simulation, err := decision.NewSimulation(policy, intent.Options{}, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = simulation.Close() }()
	hold := ""
	for _, step := range test.Trace {
		if step.At != "" {
			if now, err = time.Parse(time.RFC3339, step.At); err != nil {
				t.Fatal(err)
			}
		}
		if step.Resolve != "" {
			if err := simulation.Resolve(hold, step.Resolve == oracle.Allowed); err != nil {
				return err.Error()
			}
			continue
		}
		got := Expect{Status: oracle.Denied}
		answer, failure := simulation.Decide([]byte(step.Body), step.Shim, decision.Call{TestRun: step.TestRun})
		if failure != nil {
			got.Code = string(failure.Code)
		} else {
			got.Status, got.Code, got.Rule = answer.Status, string(answer.Code), answer.Rule
			if answer.HoldID != "" {
				hold = answer.HoldID
			}
		}
		if got.Status != step.Expect.Status || got.Code != step.Expect.Code || got.Rule != step.Expect.Rule {
			return strings.Join([]string{got.Status, got.Code, got.Rule, "is answered; expected", step.Expect.Status, step.Expect.Code, step.Expect.Rule, "\n", step.Body}, " ")
		}
	}
	return ""
}
