package report

import (
	"encoding/json"
	"io"
	"unicode/utf8"

	"bailiff/grammar"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

// SARIF writes the findings as one run of a SARIF 2.1.0 log, indented, with a rule for each code of the table that
// occurs, and a fix wherever a finding has one. Files without findings are among its artifacts.
func SARIF(w io.Writer, files []File, codes []grammar.CodeInfo) error {
	log := sarif.NewReport()
	log.AddRun(newRun(files, codes))
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(log)
}

func newRun(files []File, codes []grammar.CodeInfo) *sarif.Run {
	driver := sarif.NewToolComponent().WithName("bailiff")
	run := sarif.NewRun().WithTool(sarif.NewTool().WithDriver(driver)).WithColumnKind("unicodeCodePoints")
	occurs := map[grammar.Code]bool{}
	for _, file := range files {
		run.AddDistinctArtifact(file.uri())
		for _, d := range file.Found {
			occurs[d.Code] = true
		}
	}
	index := map[grammar.Code]int{}
	for _, info := range codes {
		if occurs[info.Code] {
			index[info.Code] = len(index)
			driver.AddRule(newRule(info))
		}
	}
	for _, file := range files {
		for _, d := range file.Found {
			result := newResult(file, d)
			if i, ok := index[d.Code]; ok {
				result.WithRuleIndex(i)
			}
			run.AddResult(result)
		}
	}
	return run
}

func newRule(info grammar.CodeInfo) *sarif.ReportingDescriptor {
	level := sarif.NewReportingConfiguration().WithLevel(info.Severity().String())
	return sarif.NewRule(string(info.Code)).WithDescription(info.Title).
		WithFullDescription(text(info.Explanation)).
		WithHelp(text(info.Explanation).WithMarkdown(Markdown(info))).
		WithDefaultConfiguration(level)
}

func text(words string) *sarif.MultiformatMessageString {
	return sarif.NewMultiformatMessageString().WithText(words)
}

func newResult(file File, d grammar.Diagnostic) *sarif.Result {
	place := sarif.NewPhysicalLocation().
		WithArtifactLocation(sarif.NewSimpleArtifactLocation(file.uri())).
		WithRegion(region(file.Source, d.Span))
	result := sarif.NewRuleResult(string(d.Code)).WithLevel(d.Severity.String()).
		WithMessage(sarif.NewTextMessage(message(d))).
		AddLocation(sarif.NewLocationWithPhysicalLocation(place))
	if d.Fix != nil && utf8.ValidString(d.Fix.Replacement) { // JSON can't carry another
		result.WithFixes([]*sarif.Fix{newFix(file, d)})
	}
	return result
}

func newFix(file File, d grammar.Diagnostic) *sarif.Fix {
	replacement := sarif.NewReplacement().WithDeletedRegion(region(file.Source, d.Fix.Span)).
		WithInsertedContent(sarif.NewArtifactContent().WithText(d.Fix.Replacement))
	change := sarif.NewArtifactChange().WithArtifactLocation(sarif.NewSimpleArtifactLocation(file.uri())).
		WithReplacements([]*sarif.Replacement{replacement})
	return sarif.NewFix().WithDescription(sarif.NewTextMessage(message(d))).WithArtifactChanges([]*sarif.ArtifactChange{change})
}

// region returns a span as lines and columns from 1; its end is the column after the last character.
func region(src *grammar.Source, span grammar.Span) *sarif.Region {
	start, end := src.Position(span.Start), src.Position(max(span.Start, span.End))
	return sarif.NewRegion().WithStartLine(start.Line).WithStartColumn(start.Column).WithEndLine(end.Line).WithEndColumn(end.Column)
}
