package match

import "strings"

// A GlobStyle says what `*` means in the patterns of a set. The numbers are part of the encoding.
type GlobStyle uint8

// The styles. A run may be empty.
const (
	Mailbox        GlobStyle = 1 + iota // any run of bytes without '@'
	Dotted                              // any run without '.', but at the end of a pattern any run at all
	Segmented                           // any run without '/'
	Unbounded                           // any run at all
	GlobStyleCount                      // how many numbers there are below, from 0
)

// GlobStyleNames are the names that the assembler uses; that of 0 is empty.
var GlobStyleNames = [GlobStyleCount]string{Mailbox: "mailbox", Dotted: "dotted", Segmented: "segmented", Unbounded: "unbounded"}

// separators are what `*` does not mean, 0 for nothing.
var separators = [GlobStyleCount]byte{Mailbox: '@', Dotted: '.', Segmented: '/'}

// String returns the name that the assembler uses, or "" for what is no style.
func (s GlobStyle) String() string {
	if s >= GlobStyleCount {
		return ""
	}
	return GlobStyleNames[s]
}

// CoversGlob reports whether a pattern covers all of text.
func CoversGlob(style GlobStyle, pattern, text string) bool {
	globs, _ := newGlobs(style, []Entry{{Text: pattern}})
	return text == pattern || len(globs) > 0 && globs[0].covers(text)
}

// MaxStars is how many `*` a pattern may have: far more than a name of several parts needs.
const MaxStars = 16

// A glob is a loaded pattern that has a star.
type glob struct {
	head, tail string   // before the first star and behind the last
	middle     []string // between two stars; none is empty
	separator  byte     // 0 where there is none
	open       bool     // the last star means any run at all
}

// newGlobs returns the patterns that have a star, loaded, and the others.
func newGlobs(style GlobStyle, patterns []Entry) (globs []glob, plain []Entry) {
	for _, e := range patterns {
		parts := strings.Split(e.Text, "*")
		last := len(parts) - 1
		if last == 0 {
			plain = append(plain, e)
			continue
		}
		g := glob{head: parts[0], tail: parts[last], separator: separators[style]}
		g.open = style == Unbounded || style == Dotted && g.tail == ""
		for _, part := range parts[1:last] {
			if part != "" {
				g.middle = append(g.middle, part)
			}
		}
		globs = append(globs, g)
	}
	return globs, plain
}

// covers reports whether the pattern covers all of text. It takes the text between two stars where it comes
// first. A later place can't do better: if there is one within the reach of the star before, no separator lies
// between the two, so that the star behind reaches as far from the first.
func (g *glob) covers(text string) bool {
	end := len(text) - len(g.tail)
	if end < len(g.head) || text[end:] != g.tail || g.head != "" && text[:len(g.head)] != g.head {
		return false
	}
	text = text[len(g.head):end]
	for _, part := range g.middle {
		at := strings.Index(text, part)
		if at < 0 || g.separator != 0 && strings.IndexByte(text[:at], g.separator) >= 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return g.open || strings.IndexByte(text, g.separator) < 0
}
