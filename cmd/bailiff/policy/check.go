package policy

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/policy/report"
	"bailiff/compiler/lint"
	"bailiff/grammar"
)

type checkCommand struct {
	Format string   `enum:"text,json,sarif,github" default:"text" help:"text, json, sarif (SARIF 2.1.0) or github (annotations of GitHub Actions)."`
	Color  string   `enum:"auto,always,never" default:"auto" help:"Colour in text: auto (on a terminal, unless NO_COLOR is set), always or never."`
	Fix    bool     `help:"First mend, in the files themselves, what keeps them from compiling, where lines, headings and keys are only written wrong. Other fixes are printed."`
	Unsafe bool     `name:"fix-unsafe" help:"Make the other fixes as well: they guess the intention, and may change decisions. Review the changes."`
	Key    string   `help:"With --fix or --fix-unsafe: sign signed files anew with the operator's private key." placeholder:"FILE"`
	Deny   bool     `name:"deny-warnings" help:"Exit with 1 where there are warnings, too."`
	Files  []string `arg:"" name:"path" help:"The policies, signed or not: files, folders (the policies in and below them), patterns such as 'policies/**/*.md', or - for standard input."`
}

// checked is the report of one file.
type checked struct {
	File        string           `json:"file"`
	PolicyHash  string           `json:"policyHash,omitempty"`
	Diagnostics []grammar.Report `json:"diagnostics"`

	source *grammar.Source
	Found  grammar.Diagnostics
}

// Run reports what is wrong with each policy. Warnings alone leave the exit code at 0, unless they are denied.
func (c *checkCommand) Run(std cli.Streams) error {
	mender, err := c.mender(std)
	if err != nil {
		return err
	}
	worst := cli.ExitDone
	var search policySearch
	for _, path := range c.Files {
		worst = max(worst, cli.Conclude(std, search.add(path)))
	}
	if skipped := search.skippedLine(); skipped != "" {
		fmt.Fprintln(std.Err, skipped)
	}
	reports, denied := []checked{}, false
	for _, name := range search.found {
		src, err := cli.ReadPolicy(std, name)
		if err == nil {
			src, err = mender.mend(src)
		}
		worst = max(worst, cli.Conclude(std, err))
		if src == nil {
			continue
		}
		checked := CheckPolicy(src)
		if checked.Found.HasErrors() {
			worst = max(worst, cli.ExitFailed)
		}
		denied = denied || c.Deny && slices.ContainsFunc(checked.Found, isWarning)
		reports = append(reports, checked)
	}
	if err := c.print(std, reports); err != nil {
		return err
	}
	if denied && worst == cli.ExitDone {
		return cli.Fail("there are warnings, and --deny-warnings denies them")
	}
	return cli.ExitWith(worst)
}

func isWarning(d grammar.Diagnostic) bool { return d.Severity == grammar.Warning }

// CheckPolicy compiles a policy with all its warnings.
func CheckPolicy(src *grammar.Source) checked {
	compiled, found := lint.Compile(src)
	report := checked{File: src.Name, Diagnostics: src.Reports(found), source: src, Found: found}
	if !found.HasErrors() {
		report.PolicyHash = compiled.Hash
	}
	return report
}

// print prints the reports in the form that was asked for.
func (c *checkCommand) print(std cli.Streams, reports []checked) error {
	files := make([]report.File, len(reports))
	for i, r := range reports {
		files[i] = report.File{Source: r.source, Found: r.Found}
	}
	switch c.Format {
	case "json":
		return cli.PrintJSON(std.Out, reports)
	case "sarif":
		return report.SARIF(std.Out, files, codeTable())
	case "github":
		return report.GitHub(std.Out, files)
	}
	return printChecks(std.Out, files, cli.StyleFor(c.Color, std.Out))
}

// printChecks prints the findings of each file and what they come to, and at the end where to read more.
func printChecks(w io.Writer, files []report.File, style grammar.Style) error {
	var codes []grammar.Code
	for _, file := range files {
		if err := printCheck(w, file, style); err != nil {
			return err
		}
		for _, d := range file.Found {
			if !slices.Contains(codes, d.Code) {
				codes = append(codes, d.Code)
			}
		}
	}
	return explainHint(w, codes)
}

func printCheck(w io.Writer, file report.File, style grammar.Style) error {
	if err := file.Source.RenderAllStyled(w, file.Found, style); err != nil {
		return err
	}
	faults, warnings := 0, 0
	for _, d := range file.Found {
		switch d.Severity {
		case grammar.Error:
			faults++
		case grammar.Warning:
			warnings++
		}
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s\n", file.Source.Name, Count(faults, "error"), Count(warnings, "warning"))
	return err
}

// Count returns a number with a noun, in the plural where it is not 1.
func Count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// mostExplained is how many codes the line at the end of a report names.
const mostExplained = 5

// explainHint prints the command that explains the codes of a report.
func explainHint(w io.Writer, codes []grammar.Code) error {
	if len(codes) == 0 {
		return nil
	}
	var names []string
	for _, code := range codes[:min(len(codes), mostExplained)] {
		names = append(names, string(code))
	}
	_, err := fmt.Fprintf(w, "help: run bailiff explain-code %s\n", strings.Join(names, " "))
	return err
}
