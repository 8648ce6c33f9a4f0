package setup

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocs holds the table of settings in docs/hooks.md to the table of hosts.
func TestDocs(t *testing.T) {
	const page, begin, end = "../../../docs/hooks.md", "TestDocs -rewrite -->\n", "<!-- /settings -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "<!-- settings: ")
	line, rest, _ := strings.Cut(rest, begin)
	_, tail, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no table of settings", page)
	}
	want := head + "<!-- settings: " + line + begin + settingsTable() + end + tail
	if want == string(text) {
		return
	}
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("the table of settings in %s is not that of the hosts; run this test with -rewrite", page)
}

func settingsTable() string {
	var table strings.Builder
	table.WriteString("\n| host | `--user` | `--project` | `--managed` |\n|---|---|---|---|\n")
	for _, host := range Hosts() {
		fmt.Fprintf(&table, "| %s", host.Title)
		for _, scope := range []Scope{User, Project, Managed} {
			path := host.Path(scope, "~", "", func(string) string { return "" })
			fmt.Fprintf(&table, " | `%s`", cmp.Or(path, "–"))
		}
		table.WriteString(" |\n")
	}
	return strings.ReplaceAll(table.String(), "`–`", "–") + "\n"
}
