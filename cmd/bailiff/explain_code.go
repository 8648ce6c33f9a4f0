package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"bailiff/cmd/bailiff/report"
	"bailiff/compiler"
	"bailiff/grammar"
)

type explainCodeCommand struct {
	Codes []string `arg:"" optional:"" name:"code" help:"A code, such as E2001, in any case; without one all are listed."`
}

// Run prints the page of each code, or the list of all codes.
func (c *explainCodeCommand) Run(std streams) error {
	table := codeTable()
	if len(c.Codes) == 0 {
		return listCodes(std.out, table)
	}
	for i, name := range c.Codes {
		info, err := findCode(table, name)
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(std.out)
		}
		if _, err := io.WriteString(std.out, report.Page(info)); err != nil {
			return err
		}
	}
	return nil
}

// codeTable returns the codes of all diagnostics, with what mends them: errors, then warnings, then notes, each in order.
func codeTable() []grammar.CodeInfo {
	table := slices.Concat(grammar.Codes(), compiler.Codes())
	for i := range table {
		table[i].Explanation += aboutFixes(table[i].Code)
	}
	slices.SortStableFunc(table, func(a, b grammar.CodeInfo) int {
		if a.Severity() != b.Severity() {
			return int(a.Severity() - b.Severity())
		}
		return strings.Compare(string(a.Code), string(b.Code))
	})
	return table
}

func listCodes(w io.Writer, table []grammar.CodeInfo) error {
	for _, info := range table {
		if _, err := fmt.Fprintf(w, "%s  %s\n", info.Code, info.Title); err != nil {
			return err
		}
	}
	return nil
}

// findCode returns the row of a code, or a usage error that names the nearest one.
func findCode(table []grammar.CodeInfo, name string) (grammar.CodeInfo, error) {
	var names []string
	for _, info := range table {
		if strings.EqualFold(string(info.Code), name) {
			return info, nil
		}
		names = append(names, string(info.Code))
	}
	if near := grammar.Closest(name, names); near != "" {
		return grammar.CodeInfo{}, usage("there is no code %s; did you mean %s?", grammar.Visible(name), near)
	}
	return grammar.CodeInfo{}, usage("there is no code %s; bailiff explain-code lists all", grammar.Visible(name))
}
