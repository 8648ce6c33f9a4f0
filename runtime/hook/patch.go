package hook

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// directives begin the lines of a patch that name a path.
var directives = []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"}

// silent are the other lines that begin with "***".
var silent = []string{"*** Begin Patch", "*** End Patch", "*** End of File"}

// loose are the beginnings, without blanks and in lower case, of lines that some reader takes for a directive.
var loose = []string{"***add", "***update", "***delete", "***move", "***rename", "***copy"}

// patchPaths returns the paths that a patch in the format of apply_patch adds, updates, deletes and moves to, each once. Its
// readers differ in where a line ends and in what they trim, so that a line of context that looks like a directive counts as
// one, too: that names a path too many, and never one too few. A line that begins with "***" and is none of the format is an
// error, and so is a directive that is spelled in another way.
func patchPaths(text string) (paths []string, err error) {
	for line := range strings.FieldsFuncSeq(text, endsLine) {
		trimmed := strings.TrimFunc(line, invisible)
		path, names := cutDirective(trimmed)
		switch {
		case names && path == "":
			return nil, errors.New("a line of the patch names no path")
		case names && !slices.Contains(paths, path):
			if paths = append(paths, path); len(paths) > maxPaths {
				return nil, tooMany(len(paths))
			}
		case !names && (strings.HasPrefix(line, "***") || isLoose(trimmed)) && !slices.Contains(silent, trimmed):
			return nil, fmt.Errorf("the patch has a line that is not known: %.40q", trimmed)
		}
	}
	if len(paths) == 0 {
		return nil, errors.New("the patch names no path")
	}
	return paths, nil
}

// endsLine reports whether any reader of patches ends a line with a character: Python's splitlines knows the most.
func endsLine(r rune) bool {
	return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}

// invisible reports whether any reader of patches may trim a character.
func invisible(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }

// isLoose reports whether a line would be a directive to a reader that does not mind blanks and case.
func isLoose(line string) bool {
	if !strings.HasPrefix(line, "***") {
		return false
	}
	bare := strings.ToLower(strings.Join(strings.FieldsFunc(line, invisible), ""))
	return slices.ContainsFunc(loose, func(start string) bool { return strings.HasPrefix(bare, start) })
}

// cutDirective returns the path that a line names.
func cutDirective(line string) (path string, names bool) {
	for _, directive := range directives {
		if rest, ok := strings.CutPrefix(line, directive); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}
