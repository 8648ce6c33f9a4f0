package vm

import (
	"slices"
	"strings"
)

// A pathSet is loaded path patterns.
type pathSet struct {
	root     bool      // `/`: every absolute path
	anchored []string  // without a star, from the start of the path
	floating []string  // without a star and without `**/`, from any segment
	first    [256]bool // the bytes that floating ones begin with
	starred  []starred
}

// A starred is a pattern with a segment `*`, and what stands before its first star.
type starred struct{ head, text string }

// newPathSet sorts patterns by how they are compared.
func newPathSet(set []entry) *pathSet {
	s := &pathSet{}
	for i := range set {
		text := set[i].text
		rest, floats := strings.CutPrefix(text, floating)
		switch {
		case text == "/":
			s.root = true
		case slices.Contains(strings.Split(rest, "/"), "*"):
			head, _, _ := strings.Cut(text, "*") // that of `**/` is empty
			s.starred = append(s.starred, starred{head, text})
		case floats:
			s.floating = append(s.floating, rest)
			s.first[rest[0]] = true
		default:
			s.anchored = append(s.anchored, text)
		}
	}
	return s
}

// covers reports whether a pattern covers the cleaned path.
func (s *pathSet) covers(path string) bool {
	if s.root && path != "" && path[0] == '/' || coveredBy(s.anchored, path) || len(s.floating) > 0 && s.coversInside(path) {
		return true
	}
	for _, p := range s.starred {
		if len(path) >= len(p.head) && path[:len(p.head)] == p.head && coversPath(p.text, path) {
			return true
		}
	}
	return false
}

// coversInside reports whether a floating pattern covers path from one of its segments.
func (s *pathSet) coversInside(path string) bool {
	for at := range len(path) {
		if (at == 0 || path[at-1] == '/') && s.first[path[at]] && coveredBy(s.floating, path[at:]) {
			return true
		}
	}
	return false
}

// coveredBy reports whether a pattern without a star is path, or ends in it at a slash. Where it would have to end, and
// the byte before, tell most patterns apart from a path without a call.
func coveredBy(patterns []string, path string) bool {
	for _, p := range patterns {
		n := len(p)
		if n <= len(path) && (n == len(path) || path[n] == '/') && path[n-1] == p[n-1] && path[:n] == p {
			return true
		}
	}
	return false
}

// floating stands in front of a pattern that may start at any segment.
const floating = "**/"

// coversPath reports whether path is what pattern, which is not `/`, names or, at a slash, below it.
func coversPath(pattern, path string) bool {
	rest, floats := strings.CutPrefix(pattern, floating)
	if !floats {
		return coversFrom(pattern, path)
	}
	for {
		if coversFrom(rest, path) {
			return true
		}
		slash := strings.IndexByte(path, '/')
		if slash < 0 {
			return false
		}
		path = path[slash+1:]
	}
}

// coversFrom compares segment by segment from the start.
func coversFrom(pattern, path string) bool {
	for {
		want, patternRest, more := strings.Cut(pattern, "/")
		have, pathRest, deeper := strings.Cut(path, "/")
		if want != have && (want != "*" || have == "") {
			return false
		}
		if !more {
			return true
		}
		if !deeper {
			return false
		}
		pattern, path = patternRest, pathRest
	}
}
