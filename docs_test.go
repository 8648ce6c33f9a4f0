package bailiff_test

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

	"go.yaml.in/yaml/v3"

	"bailiff/compiler"
	"bailiff/compiler/lint"
	"bailiff/fuzz/kit/blocks"
	"bailiff/grammar"
	"bailiff/runtime/intent"
	"bailiff/runtime/policies"
	"bailiff/runtime/policytest"
	"bailiff/vm/errcode"
)

// mistakes returns the findings on a policy of a document that are at least so severe, and whether it is formatted.
func mistakes(b blocks.Block, least grammar.Severity) (found []string) {
	src := grammar.NewSource(b.String(), []byte(b.Text))
	_, diagnostics := lint.Compile(src)
	for _, d := range diagnostics {
		if d.Severity <= least {
			found = append(found, src.Render(d))
		}
	}
	if formatted, _ := compiler.Format(src); len(found) == 0 && string(formatted) != b.Text {
		found = append(found, fmt.Sprintf("%s: the policy is not formatted:\n%s", b, formatted))
	}
	return found
}

// runTests runs the tests of a policy, and returns what fails.
func runTests(policyText, tests blocks.Block) (failed []string, ran int) {
	policy, err := policies.CompilePolicy(grammar.NewSource(policyText.String(), []byte(policyText.Text)))
	if err != nil {
		return []string{err.Error()}, 0
	}
	file, err := policytest.Parse("warranty.test.yaml", []byte(tests.Text))
	if err == nil {
		err = file.Check(policy)
	}
	if err != nil {
		return []string{tests.String() + ": " + err.Error()}, 0
	}
	for i := range file.Tests {
		result, err := file.Tests[i].Run(file.Name, policy, intent.Options{})
		if err != nil {
			return append(failed, err.Error()), ran
		}
		ran++
		if !result.OK {
			failed = append(failed, fmt.Sprintf("%s: %q, step %d: %s is expected, and it is %s %s", tests, result.Name, result.Step, result.Expected, result.Got, result.Problem))
		}
	}
	return failed, ran
}

// recipes returns the recipes: policies, each with its tests behind it.
func recipes(t *testing.T) (all [][2]blocks.Block) {
	t.Helper()
	found := blocks.Of(t, "docs/recipes.md")
	for i := 0; i+1 < len(found); i += 2 {
		if found[i].Language != "warranty" || found[i+1].Language != "yaml" || found[i].Heading != found[i+1].Heading {
			t.Fatalf("%s: a recipe is a policy and its tests", found[i])
		}
		all = append(all, [2]blocks.Block{found[i], found[i+1]})
	}
	return all
}

// TestRecipes holds the recipes to what they say: each policy has no finding, is formatted, and passes its tests, which have an
// intent that is allowed or held and one that is denied.
func TestRecipes(t *testing.T) {
	all := recipes(t)
	if len(all) < 20 {
		t.Errorf("%d recipes; the page says twenty", len(all))
	}
	for _, recipe := range all {
		for _, mistake := range mistakes(recipe[0], grammar.Warning) {
			t.Error(mistake)
		}
		failed, ran := runTests(recipe[0], recipe[1])
		for _, failure := range failed {
			t.Error(failure)
		}
		if text := recipe[1].Text; ran < 2 || !strings.Contains(text, "ALLOWED") && !strings.Contains(text, "PENDING") || !strings.Contains(text, "DENIED") {
			t.Errorf("%s: the tests of a recipe have an intent that passes and one that is denied", recipe[1])
		}
	}
}

// TestRecipesFail shows that a recipe which does not do what its tests say is found.
func TestRecipesFail(t *testing.T) {
	found := 0
	for _, recipe := range recipes(t) {
		policy, tests := recipe[0], recipe[1]
		for _, wrong := range [][2]string{{"ALLOWED", "DENIED"}, {"PENDING", "ALLOWED"}, {"status: DENIED", "status: ALLOWED"}} {
			changed := tests
			if changed.Text = strings.Replace(tests.Text, wrong[0], wrong[1], 1); changed.Text == tests.Text {
				continue
			}
			found++
			if failed, _ := runTests(policy, changed); len(failed) == 0 {
				t.Errorf("%s: nothing failed with %s instead of %s", tests, wrong[1], wrong[0])
			}
		}
		for _, wrong := range [][2]string{{"version: 2", "version: 9"}, {": ", ":  "}} {
			changed := policy
			changed.Text = strings.Replace(policy.Text, wrong[0], wrong[1], 1)
			if len(mistakes(changed, grammar.Warning)) == 0 {
				t.Errorf("%s: %q for %q is no mistake", policy, wrong[1], wrong[0])
			}
		}
	}
	if found < 40 {
		t.Errorf("%d faults were planted, want 40", found)
	}
}

// elsewhere are the blocks that tests of other packages hold to the product, by page and language.
var elsewhere = map[string]string{
	"api.md json":       "httpd/e2e: TestAPIPage makes them",
	"api.md http":       "httpd/e2e: TestAPIPage makes them",
	"tutorial.md sh":    "cmd/bailiff: TestTutorial runs them",
	"tutorial.md text":  "cmd/bailiff: TestTutorial looks for them",
	"recipes.md yaml":   "TestRecipes runs them",
	"clients.md go":     "httpd/client: TestPages compiles them",
	"verify.md go":      "httpd/client: TestPages compiles them",
	"clients.md ts":     "httpd/client/typescript: TestPages compiles them",
	"verify.md ts":      "httpd/client/typescript: TestPages compiles them",
	"clients.md python": "httpd/client/python: TestPages compiles them",
	"verify.md python":  "httpd/client/python: TestPages compiles them",
}

// pictures are blocks of text that nothing can run, by page and beginning.
var pictures = []string{
	"ARCHITECTURE.md text → tree",
	"clients.md POST /v1/authorize ",
	"specification.md offset  0  magic",
	"specification.md record     = kind key now field*",
	"mcp.md DENIED SVC_POLICY_VIOLATION_TOOL_CALL_NOT_ALLOWED (mcp.allowed_tools)",
}

// blockFaults returns the faults of a block. Each language has its check; a block that has none is a fault.
func blockFaults(b blocks.Block) (faults []string) {
	page := filepath.Base(b.Page)
	if elsewhere[page+" "+b.Language] != "" && b.Note == "" {
		return nil
	}
	fault := func(format string, arguments ...any) {
		faults = append(faults, fmt.Sprintf("%s: ", b)+fmt.Sprintf(format, arguments...))
	}
	switch b.Language {
	case "warranty":
		if strings.HasPrefix(b.Text, "## ") { // a section by itself
			b.Text = "version: 2.4.0\n\n## tool_calls\nallowed: bash\n\n" + b.Text
		}
		if page == "api.md" { // policies of tests, which are one line of everything
			if _, err := policies.CompilePolicy(grammar.NewSource(b.String(), []byte(b.Text))); err != nil {
				fault("%v", err)
			}
			return faults
		}
		for _, mistake := range mistakes(b, grammar.Error) {
			fault("%s", mistake)
		}
	case "json":
		if !json.Valid([]byte(b.Text)) {
			fault("not JSON")
		}
		if b.Note == "intent" {
			if _, err := intent.NewDecoder(intent.Options{}).Decode([]byte(b.Text)); err != nil {
				fault("%v", err)
			}
		}
	case "yaml": // of other products' configurations
		var parsed any
		if err := yaml.Unmarshal([]byte(b.Text), &parsed); err != nil {
			fault("%v", err)
		}
	case "sh": // cmd/bailiff: TestPages runs what one machine can, and TestDocuments looks for commands, flags and settings that do not exist
		check := exec.Command("bash", "-n")
		check.Stdin = strings.NewReader(b.Text)
		if output, err := check.CombinedOutput(); err != nil {
			fault("%s", output)
		}
	case "text":
		if !slices.ContainsFunc(pictures, func(begin string) bool { return strings.HasPrefix(page+" "+b.Text, begin) }) {
			fault("text that nothing is held to")
		}
	default:
		fault("no test knows the language %q", b.Language)
	}
	return faults
}

// generatedPages have no blocks of their own: tests make them from tables and compile every example.
var generatedPages = []string{"diagnostics.md", "policy-reference.md"}

// TestBlocks holds every block of code of the documents to its check.
func TestBlocks(t *testing.T) {
	for _, page := range blocks.Pages(t, ".") {
		if slices.Contains(generatedPages, filepath.Base(page)) {
			continue
		}
		for _, b := range blocks.Of(t, page) {
			for _, fault := range blockFaults(b) {
				t.Error(fault)
			}
		}
	}
	for _, wrong := range []blocks.Block{
		{Language: "json", Text: "{"}, {Page: "api.md", Language: "json", Note: "intent", Text: `{"framework": "custom"}`}, {Language: "sh", Text: "if true\n"}, {Language: "text", Text: "anything"}, {Language: "perl"}, {Language: "yaml", Text: "a: [b"},
		{Language: "warranty", Text: "version: 2.4.0\n\n## tool_cals\nallowed: bash\n"}, {Language: "warranty", Text: "## evm\nmax_transaction_eth: x\n"},
	} {
		if len(blockFaults(wrong)) == 0 {
			t.Errorf("nothing was found in %+v", wrong)
		}
	}
}

var (
	answerCode = regexp.MustCompile(`SVC_[A-Z_]+`)
	inCode     = regexp.MustCompile("`([^`]+)`")
)

// TestTroubleshooting holds the page to the product: the service says the messages that are quoted, and the codes exist.
// TestDocuments of cmd/bailiff holds settings and commands.
func TestTroubleshooting(t *testing.T) {
	content, err := os.ReadFile("docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := ""
	for _, pattern := range []string{"cmd/bailiff/*/*.go", "runtime/*/*.go", "runtime/*/*/*.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if text, err := os.ReadFile(path); err == nil && !strings.HasSuffix(path, "_test.go") {
				sources += string(text)
			}
		}
	}
	_, start, _ := strings.Cut(string(content), "## The service does not start\n")
	start, rest, found := strings.Cut(start, "\n## ")
	if !found {
		t.Fatal("the page has no part about the start")
	}
	said := 0
	for row := range strings.Lines(start) {
		cells := strings.Split(row, " | ")
		if len(cells) != 3 || strings.HasPrefix(row, "| It says") {
			continue
		}
		for _, message := range inCode.FindAllStringSubmatch(cells[0], -1) {
			said++
			if !strings.Contains(sources, message[1]) {
				t.Errorf("nothing says %q", message[1])
			}
		}
	}
	if said < 4 {
		t.Errorf("%d messages are quoted, want 4", said)
	}
	for row := range strings.Lines(rest) {
		cell, _, table := strings.Cut(strings.TrimPrefix(row, "|"), " | ")
		if !table {
			continue
		}
		for _, code := range answerCode.FindAllString(cell, -1) {
			if !slices.ContainsFunc(errcode.Table, func(info errcode.Info) bool { return string(info.Code) == code }) {
				t.Errorf("no answer has the code %s", code)
			}
		}
	}
}
