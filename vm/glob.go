package vm

import (
	"fmt"
	"strings"
)

// A GlobStyle says what `*` means in the patterns of a set. The numbers are part of the encoding.
type GlobStyle uint8

// The styles. A run may be empty.
const (
	Mailbox   GlobStyle = 1 + iota // any run of bytes without '@'
	Dotted                         // any run without '.', but at the end of a pattern any run at all
	Segmented                      // any run without '/'
	Unbounded                      // any run at all
	globStyleCount
)

var globStyleNames = [globStyleCount]string{Mailbox: "mailbox", Dotted: "dotted", Segmented: "segmented", Unbounded: "unbounded"}

// separators are what `*` does not mean, 0 for nothing.
var separators = [globStyleCount]byte{Mailbox: '@', Dotted: '.', Segmented: '/'}

// String returns the name that the assembler uses, or "" for what is no style.
func (s GlobStyle) String() string {
	if s >= globStyleCount {
		return ""
	}
	return globStyleNames[s]
}

// MaxStars is how many `*` a pattern may have: far more than a name of several parts needs.
const MaxStars = 16

// validateGlob accepts patterns that take few steps and have one spelling.
func validateGlob(e *Entry) error {
	if e.Fold {
		return fmt.Errorf("%.40q is a pattern: patterns compare bytes as they are, and nothing is folded", e.Text)
	}
	if n := strings.Count(e.Text, "*"); n > MaxStars {
		return fmt.Errorf("%.40q has %d stars: at most %d", e.Text, n, MaxStars)
	}
	return nil
}

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

// glob reports whether a pattern covers text.
func (c *constant) glob(text string) bool {
	if len(c.set) > 0 && c.in(text) {
		return true
	}
	for i := range c.globs {
		if g := &c.globs[i]; (g.tail == "" || mayEnd(text, g.tail)) && g.covers(text) {
			return true
		}
	}
	return false
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

// globCost returns what testing patterns takes at most, beside looking up those without a star: each byte is
// searched once for the parts between stars and once for the separator.
func (c *constant) globCost() (each, byByte int) {
	for i := range c.globs {
		each += 8 + 6*len(c.globs[i].middle)
	}
	return each, 2 * len(c.globs)
}
