package gateway

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The page for authors of clients lists the reads that there are, no more and no less.
func TestDocumentedMethods(t *testing.T) {
	text, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "\n## Methods\n")
	if !found {
		t.Fatal("docs/clients.md has no section Methods")
	}
	for e, heading := range []string{"Reads on `/rpc`:", "Reads on `/bundler`:"} {
		_, rest, _ := strings.Cut(list, heading)
		paragraph, _, _ := strings.Cut(rest, ".\n")
		var listed, want []string
		for _, name := range strings.Split(paragraph, ",") {
			listed = append(listed, strings.Trim(strings.TrimSpace(name), "`"))
		}
		for _, m := range Endpoint(e).Methods() {
			if !m.Write {
				want = append(want, m.Name)
			}
		}
		slices.Sort(want)
		if !slices.Equal(listed, want) {
			t.Errorf("%s\n%s, and the table has\n%s", heading, listed, want)
		}
	}
}
