package pathname

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// homes are the places where home directories lie, as patterns.
var homes = []string{"/root", "/home/*", "/users/*", "/c:/users/*"}

// ParseEntry returns the patterns that an entry of a list of blocked paths stands for; a path is blocked where one
// of them matches. In an entry "*" is one whole segment.
//
//   - /etc            the path and all below it
//   - ~/x             x in a home directory: ~/x, /root/x, /home/*/x, /Users/*/x and C:/Users/*/x
//   - .env, a/b       these segments, one after the other, anywhere
//   - C:/Windows      the path on that drive, and /Windows, which may be on it; C:/ is that drive alone
//   - /home/alice/x   also ~/x, since the home directory may be that one
//   - /               every path, a relative one too: wherever it starts from is below the root
func ParseEntry(text string) (patterns []string, err error) {
	clean, suspicious := Clean(text)
	if err := checkEntry(text, clean, suspicious); err != nil {
		return nil, err
	}
	switch {
	case clean == "/":
		return []string{clean, floating + "*"}, nil
	case clean[0] == '~':
		return homePatterns(clean), nil
	case clean[0] == '/':
		return absolutePatterns(clean), nil
	}
	return []string{floating + clean}, nil
}

// homePatterns returns the patterns for a clean path that starts at a home directory.
func homePatterns(clean string) []string {
	patterns := []string{clean}
	for _, home := range homes {
		patterns = append(patterns, home+clean[len("~"):])
	}
	return patterns
}

// absolutePatterns returns the patterns for an absolute clean path.
func absolutePatterns(clean string) []string {
	patterns := []string{clean}
	drive, rest, found := strings.Cut(clean[1:], "/")
	if found && isDrive(drive) {
		patterns = append(patterns, "/"+rest)
	}
	for _, pattern := range slices.Clone(patterns) {
		for _, home := range homes {
			if below, ok := underHome(pattern, home); ok {
				patterns = append(patterns, "~"+below)
			}
		}
	}
	slices.Sort(patterns[1:])
	return slices.Compact(patterns)
}

// underHome reports whether pattern may lie in, or hold, the directory that home describes, and the part of pattern
// below it, with its leading "/".
func underHome(pattern, home string) (below string, ok bool) {
	for {
		want, patternRest, patternMore := strings.Cut(pattern, "/")
		have, homeRest, homeMore := strings.Cut(home, "/")
		if want != have && want != "*" && have != "*" {
			return "", false
		}
		if !homeMore {
			return pattern[len(want):], true
		}
		if !patternMore {
			return "", true
		}
		pattern, home = patternRest, homeRest
	}
}

// checkEntry says what is wrong with an entry, if anything is.
func checkEntry(text, clean string, suspicious bool) error {
	switch {
	case text == "":
		return errors.New("a blocked path is empty")
	case suspicious:
		return fmt.Errorf("blocked path %q: write a plain path; "+
			"..-paths, ~user, $, %%VAR%%, c:x, file:, short names and control characters are denied wherever a path is blocked", text)
	case clean == ".":
		return fmt.Errorf("blocked path %q names no segment: write / to block every path", text)
	}
	stars := 0
	for segment := range strings.SplitSeq(strings.TrimPrefix(clean, "/"), "/") {
		if segment == "*" {
			stars++
		} else if strings.Contains(segment, "*") {
			return fmt.Errorf("blocked path %q: * stands for one whole segment; a part of a name can't be left open", text)
		}
	}
	if clean[0] != '/' && stars == strings.Count(clean, "/")+1 {
		return fmt.Errorf("blocked path %q matches every path: write / to say so", text)
	}
	return nil
}
