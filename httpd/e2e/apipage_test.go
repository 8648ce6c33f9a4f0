package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/kit/page"
	"bailiff/vm/errcode"
)

// apiPage is the page whose examples by code are made here, behind the line generatedBelow.
const (
	apiPage        = "../../docs/api.md"
	generatedBelow = "<!-- The rest of this page is made by `go test ./httpd/e2e -run TestAPIPage -rewrite`. -->\n"
)

// TestAPIPage holds docs/api.md to an example for each error code: of decisions those that TestEveryDecisionCode sends to a
// running service, of all others the first of the recorded sessions, which TestGolden replays.
func TestAPIPage(t *testing.T) {
	content, err := os.ReadFile(apiPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(content), generatedBelow)
	if !found {
		t.Fatalf("%s has no line %q", apiPage, generatedBelow)
	}
	page.Whole(t, apiPage, "go test ./httpd/e2e -run TestAPIPage -rewrite", head+generatedBelow+examplesByCode(t))
}

func examplesByCode(t *testing.T) string {
	t.Helper()
	text, shown := new(strings.Builder), map[string]bool{}
	fmt.Fprintf(text, "\n## Answers by code\n\nEach example is one that the project's tests send. A decision is shown with the `intent` alone; the policies that decide are below.\n")
	recorded := recordedAnswers(t)
	for _, info := range errcode.Table {
		policy, request := decidedAs(t, info.Code)
		answer := recorded[string(info.Code)]
		fmt.Fprintf(text, "\n### `%s`\n\n%s\n", info.Code, info.Meaning)
		switch {
		case request != "":
			shown[policy] = true
			fmt.Fprintf(text, "\nUnder the policy [%s](#policy-%s):\n\n```json\n%s\n```\n", policy, policy, request)
		case answer != "":
			fmt.Fprintf(text, "\n```http\n%s```\n", answer)
		default:
			fmt.Fprintf(text, "\nIt depends on the state of the key or of the service: see [error codes](error-codes.md).\n")
		}
	}
	for _, w := range worlds {
		if shown[w.name] {
			fmt.Fprintf(text, "\n### Policy `%s`\n\n```warranty\n%s```\n", w.name, w.policy)
		}
	}
	return text.String()
}

// decidedAs returns the first intent of the worlds that is decided with a code, and its policy's name.
func decidedAs(t *testing.T, code errcode.Code) (policy, request string) {
	t.Helper()
	for _, w := range worlds {
		for line := range strings.Lines(strings.TrimSpace(w.intents)) {
			request, short, _ := strings.Cut(strings.TrimSpace(line), " =>")
			if fullCode(t, strings.TrimSpace(short)) != code || code == "" {
				continue
			}
			if at := strings.IndexByte(request, '{'); at >= 0 {
				return w.name, request[at:]
			}
		}
	}
	return "", ""
}

var recordedCode = regexp.MustCompile(`"error_code":"(SVC_[A-Z_]+)"`)

// recordedAnswers returns for each code the first recorded request that has it as its answer, with status and body.
func recordedAnswers(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../testdata/sessions/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	slices.Sort(files)
	answers := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\nrequest\n")[1:] {
			request, answer, _ := strings.Cut(part, "\n----\n")
			answer, _, _ = strings.Cut(strings.TrimPrefix(answer, "----\n"), "\n\n")
			if match := recordedCode.FindStringSubmatch(answer); match != nil && answers[match[1]] == "" && len(request) < 1000 {
				answers[match[1]] = shownExchange(request, answer)
			}
		}
	}
	return answers
}

// shownExchange is a request with the status and the body of its answer.
func shownExchange(request, answer string) string {
	status, rest, _ := strings.Cut(answer, "\n")
	body := ""
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") {
			body = line
		}
	}
	return strings.TrimSpace(request) + "\n\n→ " + status + "\n" + strings.TrimSpace(body) + "\n"
}
