package hook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/page"
	"bailiff/vm/slot"
)

// TestDocs holds the tables of docs/hooks.md to those that the adapter works by.
func TestDocs(t *testing.T) {
	for name, table := range map[string]string{"hosts": hostTable(), "tools": toolTable()} {
		page.Hold(t, "../../docs/hooks.md", name, "go test ./runtime/hook -run TestDocs -rewrite", table)
	}
}

// hostTable is the table of hosts.
func hostTable() string {
	var b strings.Builder
	b.WriteString("| host | `--adapter` | newest seen | events to register | host's deadline | fail-closed switch | what it cannot close | tools without an event | to do by hand |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, h := range Hosts {
		var events []string
		for _, form := range h.Forms[:h.Register] {
			events = append(events, "`"+cmp.Or(form.Event, "preToolUse")+"`")
		}
		deadline, closed := fmt.Sprintf("%d s", cmp.Or(h.Waits, h.Timeout)/time.Second), "none"
		switch {
		case h.TimeoutField == "":
			deadline += ", cannot be set"
		case h.TimeoutUnit == time.Millisecond:
			deadline += ", `" + h.TimeoutField + "` in ms"
		default:
			deadline += ", `" + h.TimeoutField + "` in s"
		}
		if h.FailClosed != "" {
			closed = "`\"" + h.FailClosed + "\": " + h.FailClosedValue + "`"
		}
		if h.FailClosedSince != "" {
			closed += " since " + h.FailClosedSince
		}
		row := []string{h.Title, "`" + h.Name + "`", cmp.Or(h.Seen, "documentation"), strings.Join(events, ", "), deadline, closed, h.Open, h.NoEvent, cmp.Or(h.Todo, "–")}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}

// toolTable is the table of tools: what each action means, host by host.
func toolTable() string {
	var b strings.Builder
	b.WriteString("| action | kind |")
	for _, h := range slices.Concat(Hosts, plugins) {
		b.WriteString(" " + h.Title + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(Hosts)+len(plugins)) + "\n")
	for kind := KindShell; kind <= KindResource; kind++ {
		action := "`" + kind.Action() + "`"
		if kind == KindWeb {
			action = "`" + slot.HTTPAction + "` with an explicit method, else `" + slot.WebFetchAction + "`"
		}
		b.WriteString("| " + action + " | " + kind.String() + " |")
		for _, h := range slices.Concat(Hosts, plugins) {
			var names []string
			for _, tool := range Tools {
				if tool.Host == h.Name && tool.Kind == kind {
					names = append(names, "`"+tool.Name+"`")
				}
			}
			b.WriteString(" " + cmp.Or(strings.Join(names, ", "), "–") + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}
