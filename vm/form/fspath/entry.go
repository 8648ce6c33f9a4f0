package fspath

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bailiff/vm/match"
)

// floating starts a pattern whose segments may be anywhere in a path.
const floating = "**/"

// homes are the places where home directories lie, as patterns.
var homes = []string{"/root", "/home/*", "/users/*", "/c:/users/*"}

// ParseEntry returns the patterns that an entry of a list of blocked paths means, for match.CoversPath; a path is blocked where
// one of them covers it. In an entry "*" means any characters within a segment, and alone for one whole segment.
//
//   - /etc            the path and all below it
//   - ~/x             x in a home directory: ~/x, /root/x, /home/*/x, /Users/*/x and C:/Users/*/x
//   - .env, a/b       these segments, one after the other, anywhere
//   - .env*           every segment that begins so, anywhere
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
		if have != "*" && !match.CoversPath(want, have) {
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
	whole := 0
	for segment := range strings.SplitSeq(strings.TrimPrefix(clean, "/"), "/") {
		if strings.Contains(segment, "**") {
			return fmt.Errorf("blocked path %q: * matches any characters within a segment, and ** no more than that: "+
				"write one *; an entry without a leading / or ~ matches anywhere already", text)
		}
		if segment == "*" {
			whole++
		}
	}
	if clean[0] != '/' && whole == strings.Count(clean, "/")+1 {
		return fmt.Errorf("blocked path %q matches every path: write / to say so", text)
	}
	return nil
}

// Above returns the directories above what patterns of [ParseEntry] match, each once: who deletes or renames one of them
// takes what is blocked along. Where a segment of them has a star, it is a star within a segment. "/" is none of them,
// and what may be anywhere has none that is known.
func Above(patterns []string) (directories []string) {
	seen := map[string]bool{}
	for _, pattern := range patterns {
		if pattern[0] != '/' {
			continue
		}
		for end := strings.LastIndexByte(pattern, '/'); end > 0; end = strings.LastIndexByte(pattern[:end], '/') {
			if directory := pattern[:end]; !seen[directory] {
				seen[directory] = true
				directories = append(directories, directory)
			}
		}
	}
	return directories
}
