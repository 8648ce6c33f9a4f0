package report

import (
	"fmt"
	"io"
	"strings"

	"bailiff/grammar"
)

// GitHub writes each finding as a workflow command, from which GitHub Actions makes an annotation:
//
//	::error file=warranty.md,line=4,col=1,endLine=4,endColumn=6,title=E2001::section `tool_calls` has no key `allow`
//
// Where a finding spans several lines the columns are left out, because GitHub takes them on one line only.
func GitHub(w io.Writer, files []File) error {
	for _, file := range files {
		for _, d := range file.Found {
			if _, err := io.WriteString(w, workflowCommand(file, d)); err != nil {
				return err
			}
		}
	}
	return nil
}

func workflowCommand(file File, d grammar.Diagnostic) string {
	r := file.Source.Report(d)
	columns, endColumn := fmt.Sprintf(",col=%d", r.Column), fmt.Sprintf(",endColumn=%d", r.EndColumn)
	if r.EndLine != r.Line {
		columns, endColumn = "", ""
	}
	return fmt.Sprintf("::%s file=%s,line=%d%s,endLine=%d%s,title=%s::%s\n", commandName(d.Severity),
		escapeProperty(file.Source.Name), r.Line, columns, r.EndLine, endColumn, escapeProperty(string(d.Code)), escapeData(message(d)))
}

func commandName(severity grammar.Severity) string {
	if severity == grammar.Note {
		return "notice"
	}
	return severity.String()
}

// escapeData and escapeProperty escape what would end a message or a property of a workflow command; GitHub's toolkit
// escapes the same.
var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func escapeData(text string) string     { return dataEscapes.Replace(text) }
func escapeProperty(text string) string { return propertyEscapes.Replace(text) }
