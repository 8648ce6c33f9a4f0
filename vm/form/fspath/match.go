package fspath

import "strings"

// floating starts a pattern whose segments may be anywhere in a path.
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
		if want != have && !matchSegment(want, have) {
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

// matchSegment reports whether have is what a segment of a pattern names.
func matchSegment(want, have string) bool {
	part, rest, starred := strings.Cut(want, "*")
	switch {
	case !starred:
		return want == have
	case want == "*":
		return have != ""
	case !strings.HasPrefix(have, part):
		return false
	}
	for have = have[len(part):]; ; {
		part, rest, starred = strings.Cut(rest, "*")
		if !starred {
			return strings.HasSuffix(have, part)
		}
		at := strings.Index(have, part)
		if at < 0 {
			return false
		}
		have = have[at+len(part):]
	}
}
