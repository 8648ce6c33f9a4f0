// Package blocks reads the code blocks of documents, so that tests can compile them, run them, or send them as requests.
package blocks

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A Block is a part of a document between two lines of three backquotes.
type Block struct {
	Page, Heading string
	Line          int
	Language      string // the first word behind the opening backquotes
	Note          string // the words behind the language
	Text          string
}

// String returns the place of a block.
func (b Block) String() string { return fmt.Sprintf("%s:%d", filepath.Base(b.Page), b.Line) }

var (
	fence    = regexp.MustCompile("^( *)```(?:([a-z]+)(?: (.+))?)?$")
	indented = regexp.MustCompile(`^ {4,}\S`)
	listed   = regexp.MustCompile(`^ *([-*]|[0-9]+\.) `)
)

// Parse returns the blocks of a document. A block that has no language or no end is an error; so is code that is indented
// instead.
func Parse(page, content string) (all []Block, err error) {
	var open *Block
	heading, margin, free, inList := "", "", true, false
	for i, line := range strings.Split(content, "\n") {
		match := fence.FindStringSubmatch(line)
		switch {
		case open == nil && match != nil && match[2] == "":
			return nil, fmt.Errorf("%s:%d: a block without a language", page, i+1)
		case open == nil && match != nil:
			open, margin = &Block{Page: page, Heading: heading, Line: i + 1, Language: match[2], Note: match[3]}, match[1]
		case open != nil && match != nil:
			all, open = append(all, *open), nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, margin) + "\n"
		case strings.HasPrefix(line, "#"):
			heading, inList = strings.TrimLeft(line, "# "), false
		case free && indented.MatchString(line) && !inList:
			return nil, fmt.Errorf("%s:%d: a block without backquotes", page, i+1)
		default:
			inList = listed.MatchString(line) || inList && (line == "" || strings.HasPrefix(line, " "))
		}
		free = strings.TrimSpace(line) == ""
	}
	if open != nil {
		return nil, fmt.Errorf("%s is not closed", open)
	}
	return all, nil
}

// Of returns the blocks of a document.
func Of(t testing.TB, page string) []Block {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Parse(page, string(content))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Pages returns the paths of the documents that people write, from the root of the project.
func Pages(t testing.TB, root string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md"} {
		found = append(found, filepath.Join(root, name))
	}
	return found
}
