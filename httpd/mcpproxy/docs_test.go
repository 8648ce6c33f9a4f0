package mcpproxy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bailiff/fuzz/kit/page"
)

const path = "../../docs/mcp.md"

// tables are the page's tables by the name in their marker.
func tables() map[string]string {
	all := map[string]string{}
	for _, kind := range []string{"client requests", "client notifications", "server requests", "server notifications"} {
		text := "| method | what happens | why |\n|---|---|---|\n"
		for _, row := range methodTable(kind) {
			text += fmt.Sprintf("| `%s` | %s | %s |\n", row[0], row[1], row[2])
		}
		all[kind] = text
	}
	text := "| code | when | what to do |\n|---|---|---|\n"
	for _, row := range codes {
		text += fmt.Sprintf("| `%s` | %s | %s |\n", row.Code, row.When, row.Do)
	}
	all["codes"] = text
	return all
}

// withTables is the page with every table as the code has it.
func withTables(text string) (string, error) {
	for name, table := range tables() {
		begin := "<!-- " + name + " -->\n"
		before, rest, found := strings.Cut(text, begin)
		_, after, ended := strings.Cut(rest, "<!-- end -->\n")
		if !found || !ended {
			return "", fmt.Errorf("the page has no place for the table %q", name)
		}
		text = before + begin + table + "<!-- end -->\n" + after
	}
	return text, nil
}

// TestPage holds docs/mcp.md to the tables in the code: go test ./httpd/mcpproxy -run TestPage -rewrite.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := withTables(string(text))
	if err != nil {
		t.Fatal(err)
	}
	page.Whole(t, path, "go test ./httpd/mcpproxy -run TestPage -rewrite", want)
	if changed, _ := withTables(strings.Replace(want, "judged as `mcp.<server>.resources.read`", "passes", 1)); changed != want {
		t.Error("a planted change of the page is not found")
	}
}

// TestCodes holds the table of codes to what the package can say.
func TestCodes(t *testing.T) {
	text, err := os.ReadFile("refusal.go")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, row := range codes {
		if known[string(row.Code)] || row.When == "" || row.Do == "" {
			t.Errorf("%s comes twice, or has an empty column", row.Code)
		}
		known[string(row.Code)] = true
	}
	declared := strings.Count(string(text), `Code = "MCP_`)
	if declared != len(known) || declared == 0 {
		t.Errorf("%d codes are declared, and the table has %d", declared, len(known))
	}
}
