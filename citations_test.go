package bailiff_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A comment cites the specification by paragraph, as in (specification, authorize.6), or by the title of a section, as in
// (specification, "Gateways").
var (
	specificationCitation = regexp.MustCompile(`\(specification,\s+(?://\s+)?(?:"([^"\n]+)"|([a-z0-9-]+\.[0-9]+)|([^)]{1,40}))`)
	numberedParagraph     = regexp.MustCompile(`(?m)^([0-9]+)\. `)
)

// specificationNames returns the titles of the sections of a page, in lower case, and its numbered paragraphs.
func specificationNames(page string) (titles, paragraphs []string) {
	starts := heading.FindAllStringSubmatchIndex(page, -1)
	for i, at := range starts {
		title, end := strings.ToLower(page[at[2]:at[3]]), len(page)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		titles = append(titles, title)
		for _, number := range numberedParagraph.FindAllStringSubmatch(page[at[1]:end], -1) {
			paragraphs = append(paragraphs, strings.ReplaceAll(title, " ", "-")+"."+number[1])
		}
	}
	return titles, paragraphs
}

// wrongSpecificationCitations returns the citations in text that name neither a title nor a paragraph, and how many there are in all.
func wrongSpecificationCitations(titles, paragraphs []string, text string) (faults []string, all int) {
	for _, found := range specificationCitation.FindAllStringSubmatch(text, -1) {
		all++
		title, paragraph, other := strings.ToLower(found[1]), found[2], found[3]
		switch {
		case title != "" && slices.Contains(titles, title), paragraph != "" && slices.Contains(paragraphs, paragraph):
		case other != "":
			faults = append(faults, fmt.Sprintf("cite a paragraph, as in (specification, authorize.6), in place of %q", other))
		default:
			faults = append(faults, specification+" does not have "+title+paragraph)
		}
	}
	return faults, all
}

// TestSpecificationIsCited follows the comments that cite docs/specification.md.
func TestSpecificationIsCited(t *testing.T) {
	content, err := os.ReadFile(specification)
	if err != nil {
		t.Fatal(err)
	}
	titles, paragraphs := specificationNames(string(content))
	cited := 0
	for _, s := range sources(t, ".") {
		if s.path == "citations_test.go" || s.path == "specification_test.go" {
			continue // which plant citations, and headings
		}
		faults, all := wrongSpecificationCitations(titles, paragraphs, s.text)
		cited += all
		for _, fault := range faults {
			t.Errorf("%s: %s", s.path, fault)
		}
	}
	if cited < 40 {
		t.Errorf("found %d citations; mend how this test reads them", cited)
	}
	const planted = "(specification, here.1) (specification,\n// here.2) (specification, \"Here\") (specification, \"There\") (specification, Here 1) (specification, \"Here\" 2)"
	titles, paragraphs = specificationNames("## Here\n1. x\n")
	if faults, all := wrongSpecificationCitations(titles, paragraphs, planted); len(faults) != 3 || all != 6 {
		t.Errorf("of %d planted citations %q were found wrong, want 3 of 6", all, faults)
	}
}
