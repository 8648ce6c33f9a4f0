package oracle

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"bailiff/grammar"
)

// A root says where a path begins.
type root int

const (
	relative root = iota
	absolute
	drive
	home
)

// A pathName is a path that can be judged, cleaned and folded.
type pathName struct {
	root     root
	drive    string // "c:"
	segments []string
}

// anyUser stands for a segment that may be any user's name. No path holds a NUL.
const anyUser = "\x00"

var (
	variablePattern  = regexp.MustCompile(`%[^/]*%`)
	drivePattern     = regexp.MustCompile(`^[A-Za-z]:`)
	shortNamePattern = regexp.MustCompile(`^[^.~]{1,6}~[0-9]{1,6}(\.[^.]{0,3})?$`)
)

// readPath brings a path into its normal form (decisions, section 2, "Matching", `file_write.blocked_paths`; choices,
// "Hosts, paths, commands"): "no percent-decoding; `\` counts as `/`; the path is cleaned lexically", "without regard
// to case". It reports false for what is refused as unreadable.
func readPath(text string) (pathName, bool) {
	text = strings.ReplaceAll(text, `\`, "/")
	if text == "" || strings.Contains(text, "$") || variablePattern.MatchString(text) ||
		strings.ContainsFunc(text, unicode.IsControl) ||
		strings.HasPrefix(text, "//?/") || strings.HasPrefix(text, "//./") || strings.HasPrefix(strings.ToLower(text), "file:") {
		return pathName{}, false
	}
	p, rest, ok := cutRoot(text)
	if !ok {
		return p, false
	}
	for _, segment := range strings.Split(rest, "/") {
		switch segment {
		case "", ".":
			continue
		case "..":
			if len(p.segments) > 0 {
				p.segments = p.segments[:len(p.segments)-1]
			} else if p.root == relative || p.root == home {
				return p, false // "a relative path that still starts with `..`"; nobody knows what is above a home
			}
			continue
		}
		clean, ok := readSegment(segment)
		if !ok {
			return p, false
		}
		p.segments = append(p.segments, clean)
	}
	return p, true
}

// cutRoot reads how a path begins: "`~user`" and "`c:x`" are refused.
func cutRoot(text string) (p pathName, rest string, ok bool) {
	switch {
	case drivePattern.MatchString(text):
		p.root, p.drive, rest = drive, strings.ToLower(text[:2]), text[2:]
		return p, rest, strings.HasPrefix(rest, "/")
	case strings.HasPrefix(text, "/"):
		p.root = absolute
		return p, text, true
	case text == "~" || strings.HasPrefix(text, "~/"):
		p.root = home
		return p, text[1:], true
	}
	return p, text, !strings.HasPrefix(text, "~")
}

// readSegment: "Unicode case folding and normal form C, with NTFS streams and trailing dots and spaces cut"; refused
// are "8.3 short names, segments of dots or blanks alone".
func readSegment(segment string) (string, bool) {
	segment, _, _ = strings.Cut(segment, ":")
	segment = strings.TrimRight(segment, ". ")
	if strings.TrimFunc(segment, func(r rune) bool { return r == '.' || unicode.IsSpace(r) }) == "" || shortNamePattern.MatchString(segment) {
		return "", false
	}
	return folded(segment), true
}

func folded(segment string) string {
	for i := 0; i < len(segment); i++ {
		if segment[i] >= 0x80 {
			return norm.NFC.String(cases.Fold().String(norm.NFC.String(segment)))
		}
	}
	return strings.ToLower(segment)
}

// places returns where a path may lie: "`~/x` also covers `/root/x`, `/home/*/x`, `/Users/*/x`, `C:/Users/*/x`".
func (p pathName) places() []pathName {
	if p.root != home {
		return []pathName{p}
	}
	below := func(root root, drive string, names ...string) pathName {
		return pathName{root, drive, append(names, p.segments...)}
	}
	return []pathName{
		below(absolute, "", "root"), below(absolute, "", "home", anyUser), below(absolute, "", "users", anyUser),
		below(drive, "c:", "users", anyUser),
	}
}

// A pathEntry is one entry of a list of blocked paths.
type pathEntry struct {
	anywhere []string // the segments of an entry "without a leading `/` or `~`", which "matches its segments anywhere"
	below    []pathName
}

func readPathEntries(list []string) ([]pathEntry, error) {
	var all []pathEntry
	for _, entry := range list {
		p, ok := readPath(entry)
		switch {
		case !ok:
			return nil, fmt.Errorf("oracle: the blocked path %q cannot be read", entry)
		case p.root == relative:
			all = append(all, pathEntry{anywhere: p.segments})
		default:
			all = append(all, pathEntry{below: p.places()})
		}
	}
	return all, nil
}

func (p *Policy) readPaths(*grammar.File) (err error) {
	if p.filePaths, err = readPathEntries(p.tools.list("file_write.blocked_paths")); err != nil {
		return err
	}
	p.targetPaths, err = readPathEntries(p.filesystem.list("blocked_paths"))
	return err
}

// pathBlocked reports whether an entry covers the path, or nobody can tell which file it names.
func pathBlocked(entries []pathEntry, text string) bool {
	p, readable := readPath(text)
	if !readable {
		return true
	}
	for _, entry := range entries {
		if entry.covers(p) {
			return true
		}
	}
	return false
}

func (e pathEntry) covers(p pathName) bool {
	if e.anywhere != nil {
		return holdsSegments(p.segments, e.anywhere)
	}
	for _, above := range e.below {
		for _, place := range p.places() {
			if above.covers(place) {
				return true
			}
		}
	}
	return false
}

// covers: "a prefix matches at segment borders". "`C:/Windows` in a block list covers `/windows`" (choices), and
// `/windows` covers `C:/Windows`; two drives differ. Only `/` itself covers a relative path.
func (p pathName) covers(other pathName) bool {
	switch {
	case other.root == relative:
		return p.root == absolute && len(p.segments) == 0
	case p.root == drive && other.root == drive && p.drive != other.drive, len(p.segments) > len(other.segments):
		return false
	}
	for i, name := range p.segments {
		if name != other.segments[i] && name != anyUser && other.segments[i] != anyUser {
			return false
		}
	}
	return true
}

// holdsSegments reports whether part stands in segments, one name after the other.
func holdsSegments(segments, part []string) bool {
	for i := 0; i+len(part) <= len(segments); i++ {
		if strings.Join(segments[i:i+len(part)], "/") == strings.Join(part, "/") {
			return true
		}
	}
	return false
}
