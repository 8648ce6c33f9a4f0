package main

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed reviewed.txt
var reviewedText string

// reviewed reads the list of mutants that no test can kill, with the reason of each: lines of names, and below them an indented
// reason, which is that of each of them.
func reviewed(text string) (map[string]string, error) {
	all := map[string]string{}
	var names []string
	reason := ""
	finish := func() error {
		if (len(names) > 0) != (reason != "") {
			return fmt.Errorf("reviewed.txt: names without a reason, or a reason without names: %q, %q", names, reason)
		}
		for _, name := range names {
			if all[name] != "" {
				return fmt.Errorf("reviewed.txt has twice: %s", name)
			}
			all[name] = reason
		}
		names, reason = nil, ""
		return nil
	}
	for line := range strings.Lines(text) {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			reason = strings.TrimSpace(reason + " " + trimmed)
		default:
			if reason != "" {
				if err := finish(); err != nil {
					return nil, err
				}
			}
			names = append(names, trimmed)
		}
	}
	return all, finish()
}
