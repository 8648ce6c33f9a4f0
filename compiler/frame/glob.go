package frame

import (
	"fmt"
	"strings"

	"bailiff/vm/form/fspath"
	"bailiff/vm/match"
)

// A GlobIndex holds patterns with stars, for asking which of them covers another pattern. It tells them apart by what
// is in front of their first star or behind their last, so that long lists of usual patterns are not compared each
// with each.
type GlobIndex struct {
	style    match.GlobStyle
	exact    map[string]bool
	byHead   map[string][]string
	byTail   map[string][]string
	headless []string // with a star at both ends
	heads    []int    // the lengths of the keys of byHead, and
	tails    []int    // those of byTail, each once
}

// NewGlobIndex returns the index of patterns.
func NewGlobIndex(style match.GlobStyle, patterns []string) *GlobIndex {
	index := &GlobIndex{style: style, exact: map[string]bool{}, byHead: map[string][]string{}, byTail: map[string][]string{}}
	for _, pattern := range patterns {
		first, last := strings.IndexByte(pattern, '*'), strings.LastIndexByte(pattern, '*')
		switch head := pattern[:max(first, 0)]; {
		case first < 0:
			index.exact[pattern] = true
		case head != "":
			index.byHead[head] = append(index.byHead[head], pattern)
		case last < len(pattern)-1:
			index.byTail[pattern[last+1:]] = append(index.byTail[pattern[last+1:]], pattern)
		default:
			index.headless = append(index.headless, pattern)
		}
	}
	index.heads, index.tails = lengths(index.byHead), lengths(index.byTail)
	return index
}

// lengths returns the lengths of a map's keys, each once.
func lengths(keys map[string][]string) (all []int) {
	seen := map[int]bool{}
	for key := range keys {
		if !seen[len(key)] {
			seen[len(key)] = true
			all = append(all, len(key))
		}
	}
	return all
}

// The stand-ins of what a star, and any server, may be: no pattern holds them, so that only a star can take them.
const (
	anyRun    = "\x01"
	anyServer = "\x02."
)

// Covers returns a pattern that covers all that the pattern in question covers; where that is exempt, another one.
func (g *GlobIndex) Covers(pattern string, exempt bool) (by string, ok bool) {
	if strings.IndexByte(pattern, '*') < 0 && !exempt && g.exact[pattern] {
		return pattern, true
	}
	probe := strings.ReplaceAll(pattern, "*", anyRun)
	try := func(candidates []string) bool {
		for _, by = range candidates {
			if (!exempt || by != pattern) && globMatch(g.style, by, probe) {
				return true
			}
		}
		return false
	}
	for _, n := range g.heads {
		if n <= len(probe) && try(g.byHead[probe[:n]]) {
			return by, true
		}
	}
	for _, n := range g.tails {
		if n <= len(probe) && try(g.byTail[probe[len(probe)-n:]]) {
			return by, true
		}
	}
	if try(g.headless) {
		return by, true
	}
	return "", false
}

// CoversTool is Covers for a pattern of MCP tools, which is matched as `<server>.<tool>` and as `<tool>`.
func (g *GlobIndex) CoversTool(pattern string) (by string, ok bool) {
	server, tool, dotted := strings.Cut(pattern, ".")
	if !dotted {
		if by, ok = g.Covers(pattern, false); ok {
			return by, true
		}
		return g.Covers(anyServer+pattern, false)
	}
	if by, ok = g.Covers(pattern, false); ok || server == "" || tool == "" {
		return by, ok
	}
	return g.Covers(tool, false)
}

// globMatch reports whether a pattern with stars covers all of a text, as the machine has it.
func globMatch(style match.GlobStyle, pattern, text string) bool {
	separator := map[match.GlobStyle]string{match.Mailbox: "@", match.Dotted: ".", match.Segmented: "/"}[style]
	crosses := func(run string) bool { return separator != "" && strings.Contains(run, separator) }
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if len(text) < len(parts[0])+len(parts[last]) || !strings.HasPrefix(text, parts[0]) || !strings.HasSuffix(text, parts[last]) {
		return false
	}
	text = text[len(parts[0]) : len(text)-len(parts[last])]
	for _, part := range parts[1:last] {
		at := strings.Index(text, part)
		if at < 0 || crosses(text[:at]) {
			return false
		}
		text = text[at+len(part):]
	}
	return style == match.Dotted && parts[last] == "" || !crosses(text)
}

// BlockedPath reads an entry of a list of blocked paths.
func BlockedPath(text string) ([]string, error) {
	if strings.Count(text, "*") > match.MaxStars {
		return nil, fmt.Errorf("a blocked path has at most %d stars: write the directory above", match.MaxStars)
	}
	return fspath.ParseEntry(text)
}
