package main

import (
	"errors"
	"fmt"

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
	var unread error
	reports := []checked{}
	for _, name := range c.Files {
		src, err := readPolicy(std, name)
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
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
		if err := printJSON(std.out, reports); err != nil {
			return err
		}
	}
	switch {
	case unread != nil:
		return usage("%v", unread)
	case failed:
		return &exit{code: exitFailed}
	}
	return nil
}

// printCheck prints the findings of one file, and what they come to.
func printCheck(std streams, src *grammar.Source, found grammar.Diagnostics) error {
	if err := src.RenderAll(std.out, found); err != nil {
		return err
	}
	faults, warnings := 0, 0
	for _, d := range found {
		switch d.Severity {
		case grammar.Error:
			faults++
		case grammar.Warning:
			warnings++
		}
	}
	_, err := fmt.Fprintf(std.out, "%s: %s, %s\n", src.Name, count(faults, "error"), count(warnings, "warning"))
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
