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
	table.WriteString("| class | cases | over HTTP | in the library | by the oracle | encodings |\n|---|---|---|---|---|---|\n")
	total, all, encoded := 0, runs{}, map[string]int{}
	for _, c := range read(t) {
		each := c.encodings(t)
		cases := 0
		for name, n := range each {
			cases += n
			encoded[name] += n
		}
		where := c.runs(t)
		total, all = total+cases, runs{all.http + where.http, all.library + where.library, all.oracle + where.oracle}
		fmt.Fprintf(&table, "| [%s](#%s) | %d | %d | %d | %d | %d |\n", c.Name, c.Name, cases, where.http, where.library, where.oracle, len(each))
		c.describe(&text, each)
	}
	fmt.Fprintf(&table, "| all | %d | %d | %d | %d | %d |\n\n", total, all.http, all.library, all.oracle, len(encoded))
	table.WriteString("| encoding | what it is | cases |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(encoded)) {
		fmt.Fprintf(&table, "| %s | %s | %d |\n", name, strings.ReplaceAll(encodings[name], "|", `\|`), encoded[name])
	}
	page.Hold(t, "../../docs/attacks.md", "classes", by, table.String()+"\n"+strings.TrimSuffix(text.String(), "\n"))
}

// runs are how many cases run where.
type runs struct{ http, library, oracle int }

// runs counts where the cases of a class run, by the kinds of its groups.
func (c *class) runs(t *testing.T) (n runs) {
	for i := range c.Groups {
		g := &c.Groups[i]
		cases := c.cases(t, g)
		n.http += len(cases)
		if g.Kind != "" {
			if kinds[g.Kind].both != nil {
				n.library += len(cases)
			}
			continue
		}
		n.library += len(cases)
		l, err := newLibrary(g.Policy)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range cases {
			if _, judged := l.compare(g, &a); judged {
				n.oracle++
			}
		}
		l.close()
	}
	return n
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
