package vectors

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/compiler"
	"bailiff/fuzz/kit/page"
	"bailiff/fuzz/laws"
	"bailiff/fuzz/oracle"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/runtime/decision"
	"bailiff/runtime/intent"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
	"bailiff/vm/errcode"
)

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
	total, rewrite := 0, flag.Lookup("rewrite").Value.String() == "true" // the flag of package page
	for name, text := range files {
		total += len(text)
		path := filepath.Join(folder, name)
		if rewrite {
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

// TestPage holds docs/conform.md to how many tests run over HTTP.
func TestPage(t *testing.T) {
	var of Share
	for _, file := range read(t) {
		of.Add(file)
	}
	table := "| Tests | Over HTTP |\n|---|---|\n" + fmt.Sprintf("| %d | run |\n| %d | run where Python has the package `cryptography`: the operator decides a hold, "+
		"or a trusted shim consents to the policy |\n| %d | not run: a step is at another time |\n", of.Plain, of.Signed, of.Timed)
	page.Hold(t, filepath.Join("..", "..", "..", "docs", "conform.md"), "runs", "go test ./fuzz/conform/vectors -rewrite", table)
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
	for _, problem := range unshown(laws.Table, seen) {
		t.Error(problem)
	}
	if another := append(slices.Clone(laws.Table), laws.Law{Name: "Another"}); len(unshown(another, seen)) != 1 {
		t.Error("a law that no test shows is not noticed")
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

// notShown are the laws that no test can show, with the reason.
var notShown = map[string]string{
	"CompilesTheSame": "it is about the bytes of this compiler's programs, which no answer has",
	"AnyText":         "it is about texts that mostly are not policies, and then decide nothing",
	"AnyProgram":      "it is about programs of this machine, which the specification does not have",
}

// unshown returns the laws of a table that no test shows though none is excepted, and names that are not those of laws.
func unshown(table []laws.Law, seen map[string]bool) (problems []string) {
	known := map[string]bool{}
	for _, law := range table {
		known[law.Name] = true
		if excepted := notShown[law.Name] != ""; seen["law "+law.Name] == excepted {
			problems = append(problems, fmt.Sprintf("of the law %s there is a test: %t; an exception: %t", law.Name, excepted, excepted))
		}
	}
	for _, names := range []iter.Seq[string]{maps.Keys(lawful), maps.Keys(notShown)} {
		for name := range names {
			if !known[name] {
				problems = append(problems, "there is no law "+name)
			}
		}
	}
	return problems
}

// TestShown holds the tests of two laws to what these say: a denied part denies, and another spelling has the same hash.
func TestShown(t *testing.T) {
	for _, file := range read(t) {
		for _, group := range file.Groups {
			for _, test := range group.Tests {
				first, last := test.Trace[0].Expect, test.Trace[len(test.Trace)-1].Expect
				if slices.Contains(test.Flags, "DeniedParts") && last.Rule != "custom.deny_string" {
					t.Errorf("test %d: a denied part is %+v", test.ID, *last)
				}
				if slices.Contains(test.Flags, "ClaimsOfSpellings") && (first.Hash == "" || first.Hash != last.Hash || last.Status != oracle.Allowed) {
					t.Errorf("test %d: %+v, and in another spelling %+v", test.ID, *first, *last)
				}
			}
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

// TestHold holds the service, in memory and with a clock of its own, to every test, and the signatures to the groups' keys.
func TestHold(t *testing.T) {
	signer, differ := newSigner(t), 0
	for _, file := range read(t) {
		for _, group := range file.Groups {
			if err := signed(group); err != nil {
				t.Errorf("%s, tests from %d: %v", file.Algorithm, group.Tests[0].ID, err)
			}
			policy, err := policies.CompilePolicy(grammar.NewSource("policy", []byte(group.Policy)))
			if err != nil || policy.Hash != group.PolicyHash {
				t.Fatalf("%s, tests from %d: the policy does not compile to %s: %v", file.Algorithm, group.Tests[0].ID, group.PolicyHash, err)
			}
			for i := range group.Tests {
				if problem := play(t, policy, signer, &group.Tests[i]); problem != "" {
					if differ++; differ < 10 {
						t.Errorf("%s, test %d: %s\n%s", file.Algorithm, group.Tests[i].ID, problem, group.Policy)
					}
				}
			}
		}
	}
}

// signed verifies the signature of a group by its key.
func signed(group *Group) error {
	key, err := attest.ParseOperatorKey(group.PublicKey)
	if err != nil {
		return err
	}
	signature, err := base64.RawURLEncoding.DecodeString(group.Signature)
	if err != nil {
		return err
	}
	return attest.VerifyPolicy(key, []byte(group.Policy), signature)
}

// TestHoldNotices plants faults: each part of an expectation that is another is found, and so is another key of a group.
func TestHoldNotices(t *testing.T) {
	policy, err := policies.CompilePolicy(grammar.NewSource("policy", []byte("version: 2.4.0\n## tool_calls\nallowed: deploy, run\nrequire_approval: run\n")))
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"framework":"x","agentId":"a","txCommit":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","intent":{"action":"%s"}}`
	signer := newSigner(t)
	for action, right := range map[string]Expect{
		"deploy": {200, "ALLOWED", "", "", "HASH"},
		"run":    {202, "PENDING", "SVC_POLICY_HOLD_APPROVAL_REQUIRED", "tool_calls.require_approval", "HASH"},
		"other":  {403, "DENIED", "SVC_POLICY_VIOLATION_TOOL_CALL_NOT_ALLOWED", "tool_calls.allowed", ""},
		"":       {400, "DENIED", "SVC_VALIDATION_ERROR_SCHEMA", "", ""},
	} {
		text := fmt.Sprintf(body, action)
		if in, err := intent.NewDecoder(intent.Options{}).Decode([]byte(text)); err == nil && right.Hash != "" {
			right.Hash = fmt.Sprintf("%x", in.Hash(nil))
		}
		expecting := func(e Expect) string {
			return play(t, policy, signer, &Test{Trace: []Step{{Body: text, Expect: &e}}})
		}
		if problem := expecting(right); problem != "" {
			t.Error(problem)
		}
		for _, change := range []func(*Expect){
			func(e *Expect) { e.HTTP++ }, func(e *Expect) { e.Status += "x" }, func(e *Expect) { e.Code += "x" },
			func(e *Expect) { e.Rule += "x" }, func(e *Expect) { e.Hash += "0" },
		} {
			other := right
			if change(&other); expecting(other) == "" {
				t.Errorf("%+v is not noticed where %+v is right", other, right)
			}
		}
	}
	group := *read(t)[0].Groups[0]
	group.PublicKey = attest.FormatOperatorKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey))
	if signed(&group) == nil {
		t.Error("another key of a group is not noticed")
	}
}

func newSigner(t *testing.T) *attest.Signer {
	t.Helper()
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// play returns what a service answers otherwise than a test expects.
func play(t *testing.T, policy *policies.Policy, signer *attest.Signer, test *Test) string {
	now, _ := time.Parse(time.RFC3339, Start)
	service, err := laws.Serve(policy, signer, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	var hold *ledger.Hold // that was opened last
	for _, step := range test.Trace {
		if step.At != "" {
			if now, err = time.Parse(time.RFC3339, step.At); err != nil {
				t.Fatal(err)
			}
		}
		if step.Resolve != "" {
			if fault := service.Resolve(hold, step.Resolve == oracle.Allowed); fault != nil {
				return fault.Error()
			}
			continue
		}
		got, opened, err := answer(service, &step)
		if err != nil {
			return err.Error()
		}
		if opened != nil {
			hold = opened
		}
		if got != *step.Expect {
			return fmt.Sprintf("%+v is answered; expected %+v\n%s", got, *step.Expect, step.Body)
		}
	}
	return ""
}

// answer returns what a service answers to a step, and the hold that the answer names. The hash is that of the attestation's claims, or of
// the hold.
func answer(service *laws.Service, step *Step) (got Expect, hold *ledger.Hold, err error) {
	answer, fault := service.Ask([]byte(step.Body), step.Shim, decision.Call{TestRun: step.TestRun, Unsigned: true})
	if fault != nil {
		return Expect{HTTP: cmp.Or(fault.HTTP, errcode.Lookup(fault.Code).HTTP), Status: oracle.Denied, Code: string(fault.Code)}, nil, nil
	}
	got = Expect{HTTP: answer.HTTP, Status: answer.Status, Code: string(answer.Code), Rule: answer.Rule}
	if answer.Claims != nil {
		claims, err := attest.ParseClaims(answer.Claims)
		if err != nil {
			return got, nil, err
		}
		got.Hash = claims.IntentHash
	}
	if answer.HoldID != "" {
		if hold, fault = service.Hold(step.Shim, answer.HoldID); fault != nil {
			return got, nil, fault
		}
		got.Hash = fmt.Sprintf("%x", hold.IntentHash)
	}
	return got, hold, nil
}
