// Package reviewed reads lists of what somebody has looked at, each entry with the reason why it may stay as it is.
package reviewed

import (
	"fmt"
	"strings"
)

// Read reads a list: lines of names, and below them an indented reason, which is that of each of them. Lines that begin with # are remarks.
// It refuses names without a reason, a reason without names, and a name that is there twice; file is what its errors call the list.
func Read(file, text string) (reasons map[string]string, err error) {
	reasons = map[string]string{}
	var names []string
	reason := ""
	finish := func() error {
		if (len(names) > 0) != (reason != "") {
			return fmt.Errorf("%s has names without a reason, or a reason without names: %q, %q", file, names, reason)
		}
		for _, name := range names {
			if reasons[name] != "" {
				return fmt.Errorf("%s has twice: %s", file, name)
			}
			reasons[name] = reason
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
	return reasons, finish()
}
