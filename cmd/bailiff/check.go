package main

import (
	"encoding/json"
	"fmt"
	"os"

	"bailiff/compiler"
	"bailiff/grammar"
)

type checkCommand struct {
	Format string   `enum:"text,json" default:"text" help:"text or json."`
	Files  []string `arg:"" name:"file" help:"The policies, signed or not."`
}

// checked is the report of one file.
type checked struct {
	File        string           `json:"file"`
	PolicyHash  string           `json:"policyHash,omitempty"`
	Diagnostics []grammar.Report `json:"diagnostics"`
}

// Run reports what is wrong with each policy. Warnings alone leave the exit code at 0.
func (c *checkCommand) Run(std streams) error {
	failed := false
	reports := []checked{}
	for _, name := range c.Files {
		text, err := os.ReadFile(name)
		if err != nil {
			return usage("%v", err)
		}
		src := grammar.NewSource(name, text)
		compiled, found := compiler.Compile(src)
		report := checked{File: name, Diagnostics: src.Reports(found)}
		if !found.HasErrors() {
			report.PolicyHash = compiled.Hash
		}
		failed = failed || found.HasErrors()
		reports = append(reports, report)
		if c.Format == "text" {
			if err := printCheck(std, src, found); err != nil {
				return err
			}
		}
	}
	if c.Format == "json" {
		encoder := json.NewEncoder(std.out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(reports); err != nil {
			return err
		}
	}
	if failed {
		return &exit{code: exitFailed}
	}
	return nil
}

// printCheck prints the findings of one file, and what they come to.
func printCheck(std streams, src *grammar.Source, found grammar.Diagnostics) error {
	if err := src.RenderAll(std.out, found); err != nil {
		return err
	}
	errors, warnings := 0, 0
	for _, d := range found {
		switch d.Severity {
		case grammar.Error:
			errors++
		case grammar.Warning:
			warnings++
		}
	}
	_, err := fmt.Fprintf(std.out, "%s: %s, %s\n", src.Name, count(errors, "error"), count(warnings, "warning"))
	return err
}

func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
