package vm

import (
	"math/bits"
	"slices"
	"strings"
)

// A pathSet is loaded path patterns.
type pathSet struct {
	root     bool     // `/`: every absolute path
	anchored prefixes // without a star, from the start of the path
	floating prefixes // without a star and without `**/`, from any segment
	starred  []starred
}

// prefixes are patterns without a star. Few of them share their first two bytes with a path: bit i%64 of a byte stands
// for pattern i and for all those 64 further on.
type prefixes struct {
	patterns      []string
	first, second [256]uint64
}

// add adds a pattern. What follows a pattern of one byte may be anything.
func (p *prefixes) add(pattern string) {
	bit := uint64(1) << (len(p.patterns) % 64)
	p.patterns = append(p.patterns, pattern)
	p.first[pattern[0]] |= bit
	if len(pattern) > 1 {
		p.second[pattern[1]] |= bit
		return
	}
	for i := range p.second {
		p.second[i] |= bit
	}
}

// cover reports whether a pattern is path, or ends in it at a slash. Where it would have to end, and the byte before,
// tell most patterns apart from a path without a call.
func (p *prefixes) cover(path string) bool {
	if path == "" {
		return false
	}
	may := p.first[path[0]]
	if len(path) > 1 {
		may &= p.second[path[1]]
	}
	for ; may != 0; may &= may - 1 {
		for i := bits.TrailingZeros64(may); i < len(p.patterns); i += 64 {
			pattern := p.patterns[i]
			n := len(pattern)
			if n <= len(path) && (n == len(path) || path[n] == '/') && path[n-1] == pattern[n-1] && path[:n] == pattern {
				return true
			}
		}
	}
	return false
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
			s.floating.add(rest)
		default:
			s.anchored.add(text)
		}
	}
	return s
}

// covers reports whether a pattern covers the cleaned path.
func (s *pathSet) covers(path string) bool {
	if s.root && path != "" && path[0] == '/' || s.anchored.cover(path) || len(s.floating.patterns) > 0 && s.coversInside(path) {
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
		if (at == 0 || path[at-1] == '/') && s.floating.first[path[at]] != 0 && s.floating.cover(path[at:]) {
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
