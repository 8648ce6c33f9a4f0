// Package report prints the findings about policies in the forms that other programs take: SARIF 2.1.0 and the workflow
// commands of GitHub Actions. The form for people is package grammar's.
//
// It promises that nothing a policy holds can break out of the form it is printed in, and that columns are counted in
// Unicode code points, as everywhere in Bailiff.
package report

import (
	"net/url"
	"path/filepath"

	"bailiff/grammar"
)

// File is one policy and what was found out about it.
type File struct {
	Source *grammar.Source
	Found  grammar.Diagnostics
}

// uri returns the name of a policy as a URI reference, relative where the name is.
func (f File) uri() string {
	if f.Source.Name == "-" {
		return "stdin"
	}
	return (&url.URL{Path: filepath.ToSlash(f.Source.Name)}).String()
}

// message returns what a diagnostic says: what is wrong and, on a second line, what to do.
func message(d grammar.Diagnostic) string {
	if d.Hint == "" {
		return grammar.Visible(d.Message)
	}
	return grammar.Visible(d.Message) + "\n" + grammar.Visible("help: "+d.Hint)
}
