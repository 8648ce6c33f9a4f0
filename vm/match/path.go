package match

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"unsafe"
)

// A pathSet is loaded path patterns.
type pathSet struct {
	root     bool     // `/`: every absolute path
	anchored prefixes // without a star, from the start of the path
	floating prefixes // without a star and without `**/`, from any segment
	starred  []starred
}

// prefixes are patterns without a star. Few of them share their first two bytes with a path: bit i%64 of a byte is
// for pattern i and for all those 64 further on.
type prefixes struct {
	patterns      []string
	first, second [256]uint64
	pairs         uint64 // by pairBit; all bits where a pattern has one byte
}

// add adds a pattern. What follows a pattern of one byte may be anything.
func (p *prefixes) add(pattern string) {
	bit := uint64(1) << (len(p.patterns) % 64)
	p.patterns = append(p.patterns, pattern)
	p.first[pattern[0]] |= bit
	if len(pattern) > 1 {
		p.second[pattern[1]] |= bit
		p.pairs |= pairBit(pattern)
		return
	}
	p.pairs = math.MaxUint64
	for i := range p.second {
		p.second[i] |= bit
	}
}

// pairBit means the first two bytes of a path.
func pairBit(path string) uint64 { return 1 << ((path[0]*7 + path[1]) & 63) }

// mayCover tells most paths that cover does not hold for, without a call.
func (p *prefixes) mayCover(path string) bool { return len(path) < 2 || p.pairs&pairBit(path) != 0 }

// cover reports whether a pattern is path, or ends in it at a slash. Its first two bytes, and where it would have to end, tell most
// patterns apart from a path without a call.
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
			if n <= len(path) && (n == len(path) || path[n] == '/') && path[:n] == pattern {
				return true
			}
		}
	}
	return false
}

// A starred is patterns with a star that share the text before the first one.
type starred struct {
	head  string
	texts []string
}

// precedes reports whether path starts with what the patterns share.
func (s *starred) precedes(path string) bool {
	n := len(s.head)
	return n == 0 || len(path) >= n && path[n-1] == s.head[n-1] && path[:n] == s.head
}

// addStarred adds a pattern with a star.
func (s *pathSet) addStarred(text string) {
	head, _, _ := strings.Cut(text, "*") // that of `**/` is empty
	i := slices.IndexFunc(s.starred, func(have starred) bool { return have.head == head })
	if i < 0 {
		i = len(s.starred)
		s.starred = append(s.starred, starred{head: head})
	}
	s.starred[i].texts = append(s.starred[i].texts, text)
}

// newPathSet sorts patterns by how they are compared.
func newPathSet(set []entry) *pathSet {
	s := &pathSet{}
	for i := range set {
		text := set[i].text
		rest, floats := strings.CutPrefix(text, floating)
		switch {
		case text == "/":
			s.root = true
		case strings.Contains(rest, "*"):
			s.addStarred(text)
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
	if s.root && path != "" && path[0] == '/' || s.anchored.mayCover(path) && s.anchored.cover(path) || len(s.floating.patterns) > 0 && s.coversInside(path) {
		return true
	}
	for i := range s.starred {
		if p := &s.starred[i]; p.precedes(path) && slices.ContainsFunc(p.texts, func(text string) bool { return CoversPath(text, path) }) {
			return true
		}
	}
	return false
}

// coversInside reports whether a floating pattern covers path from one of its segments.
func (s *pathSet) coversInside(path string) bool {
	if s.floating.mayCover(path) && s.floating.cover(path) {
		return true
	}
	rest := path
	for ; len(rest) >= 8; rest = rest[8:] {
		for slashes := slashBits(eightBytes(rest)); slashes != 0; slashes &= slashes - 1 {
			if behind := rest[bits.TrailingZeros64(slashes)/8+1:]; s.floating.mayCover(behind) && s.floating.cover(behind) {
				return true
			}
		}
	}
	for i := range len(rest) {
		if rest[i] == '/' && s.floating.cover(rest[i+1:]) {
			return true
		}
	}
	return false
}

// slashBits returns the highest bit of each byte of a word that is a slash, and no other bit.
func slashBits(word uint64) uint64 {
	const each, low = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	word ^= '/' * each
	return ^(word&low + low | word | low)
}

// floating is in front of a pattern that may start at any segment.
const floating = "**/"

// CoversPath reports whether path is what pattern names or, at a slash, below it.
func CoversPath(pattern, path string) bool {
	if pattern == "/" {
		return strings.HasPrefix(path, "/")
	}
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
		if want != have && !coversSegment(want, have) {
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

// coversSegment reports whether a segment is what pattern names: `*` means any characters, and alone for at least
// one. It takes the text between two stars where it comes first, as a later place leaves less behind it.
func coversSegment(pattern, segment string) bool {
	part, rest, starred := strings.Cut(pattern, "*")
	switch {
	case !starred:
		return pattern == segment
	case pattern == "*":
		return segment != ""
	case !strings.HasPrefix(segment, part):
		return false
	}
	for segment = segment[len(part):]; ; {
		part, rest, starred = strings.Cut(rest, "*")
		if !starred {
			return strings.HasSuffix(segment, part)
		}
		at := strings.Index(segment, part)
		if at < 0 {
			return false
		}
		segment = segment[at+len(part):]
	}
}

// cost returns what testing path patterns takes at most. Of the patterns without a star only those are compared that
// share their first bytes with the path, or with one of its segments; of those with one, only those whose head it has.
func (s *pathSet) cost() (each, byByte int) {
	floating, heads := 0, 0
	if s != nil {
		floating = s.floating.alike()
		each = 4 + 4*s.anchored.alike()
		for i := range s.starred {
			p := &s.starred[i]
			if each += 2; p.head == "" { // any segment may begin it
				floating += 4 * len(p.texts)
				each += 32 * len(p.texts)
			} else {
				heads = max(heads, len(p.texts))
			}
		}
	}
	return each + 8*heads, 2 + 2*floating + 2*heads
}

// alike returns how many patterns share their first two bytes at most.
func (p *prefixes) alike() (most int) {
	groups := map[string]int{}
	for _, pattern := range p.patterns {
		head := pattern[:min(2, len(pattern))]
		groups[head]++
		most = max(most, groups[head])
	}
	return most + len(p.patterns)/64 // which share a bit
}

// memory returns the bytes of a set of paths.
func (s *pathSet) memory() int {
	if s == nil {
		return 0
	}
	bytes := int(unsafe.Sizeof(*s)) + SliceBytes(s.anchored.patterns) + SliceBytes(s.floating.patterns) + SliceBytes(s.starred)
	for i := range s.starred {
		bytes += SliceBytes(s.starred[i].texts)
	}
	return bytes
}
