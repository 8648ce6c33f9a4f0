package pathname

import "strings"

// floating starts a pattern whose segments may stand anywhere in a path.
const floating = "**/"

// Match reports whether pattern, one that [ParseEntry] returned, covers clean, a path that [Clean] returned: the file
// or directory itself and all below it. It allocates nothing.
func Match(pattern, clean string) bool {
	if segments, ok := strings.CutPrefix(pattern, floating); ok {
		return matchAnywhere(segments, clean)
	}
	if pattern == "/" {
		return strings.HasPrefix(clean, "/")
	}
	return matchPrefix(pattern, clean)
}

// matchAnywhere reports whether the segments of pattern occur in a row in clean.
func matchAnywhere(pattern, clean string) bool {
	for {
		if matchPrefix(pattern, clean) {
			return true
		}
		_, rest, more := strings.Cut(clean, "/")
		if !more {
			return false
		}
		clean = rest
	}
}

// matchPrefix reports whether clean starts with the segments of pattern, one by one. The segment before a leading
// "/" is empty in both.
func matchPrefix(pattern, clean string) bool {
	for {
		want, patternRest, wantMore := strings.Cut(pattern, "/")
		have, cleanRest, haveMore := strings.Cut(clean, "/")
		if want != have && (want != "*" || have == "") {
			return false
		}
		if !wantMore {
			return true
		}
		if !haveMore {
			return false
		}
		pattern, clean = patternRest, cleanRest
	}
}
