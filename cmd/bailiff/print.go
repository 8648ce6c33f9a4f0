package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// orPrint prints a value as JSON unless there is an error.
func orPrint(w io.Writer, value any, err error) error {
	if err != nil {
		return err
	}
	return printJSON(w, value)
}

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printTable prints a heading and a line for each row, in columns.
func printTable[T any](w io.Writer, heading string, rows []T, line func(T) string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, heading)
	for _, row := range rows {
		fmt.Fprintln(table, strings.Map(oneLine, line(row)))
	}
	return table.Flush()
}

// oneLine keeps what an agent chose from steering the terminal, or from showing its text in another order.
func oneLine(r rune) rune {
	if r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 || unicode.Is(unicode.Cf, r) {
		return '?'
	}
	return r
}
