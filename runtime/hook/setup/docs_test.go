package setup

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"bailiff/fuzz/kit/page"
)

// TestDocs holds the table of settings in docs/hooks.md to the table of hosts.
func TestDocs(t *testing.T) {
	page.Hold(t, "../../../docs/hooks.md", "settings", "go test ./runtime/hook/setup -run TestDocs -rewrite", settingsTable())
}

// settingsTable is the table of the hosts' settings.
func settingsTable() string {
	var table strings.Builder
	table.WriteString("| host | `--user` | `--project` | `--managed` |\n|---|---|---|---|\n")
	for _, host := range allHosts() {
		fmt.Fprintf(&table, "| %s", host.Title)
		for _, scope := range []Scope{User, Project, Managed} {
			path := host.Path(scope, "~", "", func(string) string { return "" })
			fmt.Fprintf(&table, " | `%s`", cmp.Or(path, "–"))
		}
		table.WriteString(" |\n")
	}
	return strings.ReplaceAll(table.String(), "`–`", "–")
}
