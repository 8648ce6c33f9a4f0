package attacks

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/kit/page"
)

// TestPage holds docs/attacks.md to the corpus.
func TestPage(t *testing.T) {
	const by = "go test ./fuzz/attacks -run TestPage -rewrite"
	var table, text strings.Builder
	table.WriteString("| class | cases | encodings |\n|---|---|---|\n")
	total, encoded := 0, map[string]int{}
	for _, c := range read(t) {
		each := c.encodings(t)
		cases := 0
		for name, n := range each {
			cases += n
			encoded[name] += n
		}
		total += cases
		fmt.Fprintf(&table, "| [%s](#%s) | %d | %d |\n", c.Name, c.Name, cases, len(each))
		c.describe(&text, each)
	}
	fmt.Fprintf(&table, "| all | %d | %d |\n\n", total, len(encoded))
	table.WriteString("| encoding | what it is | cases |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(encoded)) {
		fmt.Fprintf(&table, "| %s | %s | %d |\n", name, strings.ReplaceAll(encodings[name], "|", `\|`), encoded[name])
	}
	page.Hold(t, "../../docs/attacks.md", "classes", by, table.String()+"\n"+strings.TrimSuffix(text.String(), "\n"))
}

// encodings counts the cases of a class by encoding.
func (c *class) encodings(t *testing.T) map[string]int {
	counts := map[string]int{}
	for i := range c.Groups {
		for _, a := range c.cases(t, &c.Groups[i]) {
			counts[a.encoding]++
		}
	}
	return counts
}

func (c *class) describe(b *strings.Builder, each map[string]int) {
	fmt.Fprintf(b, "## %s\n\n%s\n\n", c.Name, c.Attacks)
	var cells []string
	for _, name := range slices.Sorted(maps.Keys(each)) {
		cells = append(cells, fmt.Sprintf("%s %d", name, each[name]))
	}
	fmt.Fprintf(b, "Cases: %s.\n\n", strings.Join(cells, ", "))
	if len(c.Here) == 0 {
		b.WriteString("Found here: nothing yet.\n\n")
	} else {
		b.WriteString("Found here:\n\n")
		for _, each := range c.Here {
			fmt.Fprintf(b, "- %s\n", each)
		}
		b.WriteString("\n")
	}
	if len(c.Elsewhere) == 0 {
		b.WriteString("Found elsewhere: nothing with a source that we know of.\n\n")
		return
	}
	b.WriteString("Found elsewhere:\n\n")
	for _, each := range c.Elsewhere {
		at := each.At
		if strings.HasPrefix(at, "CVE-") {
			at = "[" + at + "](https://nvd.nist.gov/vuln/detail/" + at + ")"
		}
		fmt.Fprintf(b, "- %s: %s\n", each.Fault, at)
	}
	b.WriteString("\n")
}
