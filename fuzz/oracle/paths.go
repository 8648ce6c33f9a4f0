package oracle

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"bailiff/grammar"
)

// A pathName is a path that can be judged, cleaned and folded. A drive is the first segment of an absolute path, as in
// "/c:/windows"; a home directory is "~", the first segment of a path that is not absolute.
type pathName struct {
	absolute bool
	segments []string
}

func (p pathName) home() bool  { return !p.absolute && len(p.segments) > 0 && p.segments[0] == "~" }
func (p pathName) drive() bool { return len(p.segments) > 0 && drivePattern.MatchString(p.segments[0]) }

// anyName stands for a segment that may be any name. No path holds a NUL.
const anyName = "\x00"

var (
	variablePattern  = regexp.MustCompile(`%[^/]*%`)
	drivePattern     = regexp.MustCompile(`^[a-z]:$`)
	anchorPattern    = regexp.MustCompile(`^[a-z]:.|:$`) // `c:x` and `file:`
	shortNamePattern = regexp.MustCompile(`^([^.]+)~([0-9]+)(\.[^.]{0,3})?$`)
	ignoredPattern   = regexp.MustCompile(`[\x{200c}-\x{200f}\x{202a}-\x{202e}\x{206a}-\x{206f}\x{feff}]`)
)

// readPath brings a path into its normal form (decisions, section 2, "Matching", `file_write.blocked_paths`; choices,
// "Hosts, paths, commands"): "no percent-decoding; `\` counts as `/`; the path is cleaned lexically", "without regard
// to case". It reports false for what is refused as unreadable.
func readPath(text string) (pathName, bool) {
	text = strings.ReplaceAll(text, `\`, "/")
	if text == "" || strings.Contains(text, "$") || variablePattern.MatchString(text) ||
		strings.ContainsFunc(text, unicode.IsControl) || device(text) {
		return pathName{}, false
	}
	p := pathName{absolute: strings.HasPrefix(text, "/")}
	for _, segment := range strings.Split(text, "/") {
		ok := true
		switch {
		case segment == "" || segment == ".":
		case segment == "..":
			ok = p.up()
		case len(p.segments) == 0:
			ok = p.first(segment)
		default:
			ok = p.add(segment)
		}
		if !ok {
			return p, false
		}
	}
	return p, !(p.absolute && device("/"+strings.Join(p.segments, "/")))
}

// device: "a path that begins with `//?`, `//./` or `/??/`" (choices).
func device(text string) bool {
	return strings.HasPrefix(text, "//?") || strings.HasPrefix(text, "//./") || strings.HasPrefix(text, "/??/")
}

// up goes to the folder above. Refused are "a relative path that still starts with `..`" and "`..` above a home
// directory or a drive".
func (p *pathName) up() bool {
	switch len(p.segments) {
	case 0:
		return p.absolute
	case 1:
		if p.home() || p.drive() {
			return false
		}
	}
	p.segments = p.segments[:len(p.segments)-1]
	return true
}

// first takes the first segment, which may be a drive or a home directory. "`~user`", "`c:x`" and "`file:`" are
// refused; behind a `/` a tilde is a character.
func (p *pathName) first(segment string) bool {
	name := folded(segment)
	switch {
	case drivePattern.MatchString(name):
		p.absolute = true
	case name == "~" && !p.absolute:
	case strings.HasPrefix(name, "~") && !p.absolute, anchorPattern.MatchString(name):
		return false
	default:
		return p.add(segment)
	}
	p.segments = []string{name}
	return true
}

// add takes a segment: "with NTFS streams and trailing dots and spaces cut"; refused are "8.3 short names", and "a
// segment of which the cutting leaves nothing".
func (p *pathName) add(segment string) bool {
	name := cut(folded(segment))
	if name == "" || shortName(name) || shortName(cut(segment)) {
		return false
	}
	p.segments = append(p.segments, name)
	return true
}

func cut(segment string) string {
	segment, _, _ = strings.Cut(segment, ":")
	return strings.TrimRight(segment, ". ")
}

// shortName: "8.3 short names": up to eight characters that end in `~` and digits, and up to three behind a dot.
func shortName(name string) bool {
	found := shortNamePattern.FindStringSubmatch(name)
	return found != nil && utf8.RuneCountInString(found[1]+"~"+found[2]) <= 8
}

// folded: "Unicode case folding and normal form C", without what HFS+ ignores, as canonical caseless matching
// (Unicode, 3.13) has it. The Cherokee letters are the ones whose small forms fold to the capital ones.
func folded(segment string) string {
	ascii := true
	for i := range len(segment) {
		ascii = ascii && segment[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(segment)
	}
	segment = cases.Fold().String(norm.NFD.String(ignoredPattern.ReplaceAllString(segment, "")))
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cherokee, r) {
			return unicode.ToUpper(r)
		}
		return r
	}, segment))
}

// places returns where a path may lie: "`~/x` also covers `/root/x`, `/home/*/x`, `/Users/*/x`, `C:/Users/*/x`".
func (p pathName) places() []pathName {
	if !p.home() {
		return []pathName{p}
	}
	below := func(names ...string) pathName {
		return pathName{true, append(names, p.segments[1:]...)}
	}
	return []pathName{p, below("root"), below("home", anyName), below("users", anyName), below("c:", "users", anyName)}
}

// A pathEntry is one entry of a list of blocked paths. In an entry a `*` "matches any characters within a segment".
type pathEntry struct {
	anywhere []string // the segments of an entry "without a leading `/` or `~`", which "matches its segments anywhere"
	below    []pathName
	all      bool // `/`, which covers every path, "a relative one too" (choices)
}

func readPathEntries(list []string) ([]pathEntry, error) {
	var all []pathEntry
	for _, entry := range list {
		p, ok := readPath(entry)
		if !ok {
			return nil, fmt.Errorf("oracle: the blocked path %q cannot be read", entry)
		}
		all = append(all, newPathEntry(p))
	}
	return all, nil
}

func newPathEntry(p pathName) pathEntry {
	switch {
	case p.home():
		return pathEntry{below: p.places()}
	case !p.absolute:
		return pathEntry{anywhere: p.segments}
	case p.drive() && len(p.segments) > 1: // "`C:/Windows` in a block list covers `/windows`" (choices)
		return pathEntry{below: []pathName{p, {true, p.segments[1:]}}}
	}
	return pathEntry{below: []pathName{p}, all: len(p.segments) == 0}
}

func (p *Policy) readFilePaths(*grammar.File) (err error) {
	if p.filePaths, err = readPathEntries(p.tools.list("file_write.blocked_paths")); err != nil {
		return err
	}
	if p.unreadable, err = readPathEntries(p.tools.list("file_read.blocked_paths")); err != nil {
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
		if len(p.segments) == 0 && !p.absolute { // the directory itself, whose name is a dot
			return holdsSegments([]string{"."}, e.anywhere)
		}
		return holdsSegments(p.segments, e.anywhere)
	}
	for _, above := range e.below {
		for _, place := range p.places() {
			if above.absolute == place.absolute && begins(place.segments, above.segments) {
				return true
			}
		}
	}
	return e.all
}

// begins: "a prefix matches at segment borders".
func begins(segments, prefix []string) bool {
	if len(prefix) > len(segments) {
		return false
	}
	for i, name := range prefix {
		if !nameMatches(name, segments[i]) {
			return false
		}
	}
	return true
}

// nameMatches reports whether a segment of an entry, with its `*`, covers a name.
func nameMatches(pattern, name string) bool {
	if pattern == anyName || name == anyName {
		return true
	}
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`).MatchString(name)
}

// relative reports whether what a path begins with, once it is clean, is neither a root nor a home directory or a drive.
func relative(text string) bool {
	var before []string
	for i, segment := range strings.Split(strings.ReplaceAll(text, `\`, "/"), "/") {
		last := len(before) - 1
		switch name := folded(segment); {
		case i == 0 && segment == "":
			return false
		case segment == "" || segment == ".":
		case segment == ".." && last >= 0 && before[last] != "..":
			before = before[:last]
		case last < 0 && (strings.HasPrefix(name, "~") || drivePattern.MatchString(name) || anchorPattern.MatchString(name)):
			return false
		default:
			before = append(before, segment)
		}
	}
	return true
}

// above reports whether a path is a directory above what an entry "with a leading `/` or `~`" names.
func (e pathEntry) above(p pathName) bool {
	for _, entry := range e.below {
		for _, place := range p.places() {
			if entry.absolute == place.absolute && len(place.segments) < len(entry.segments) &&
				begins(place.segments, entry.segments[:len(place.segments)]) {
				return true
			}
		}
	}
	return false
}

// holdsSegments reports whether part stands in segments, one name after the other.
func holdsSegments(segments, part []string) bool {
	for i := range segments {
		if begins(segments[i:], part) {
			return true
		}
	}
	return false
}

// An exactly is a path with its case: what it starts from (`/`, `~` or `.`), and the names behind that.
type exactly struct {
	start    string
	segments []string
}

// exactPath reads a path for lists that allow. "No path, `..`, `~user`, `$VAR`, `%VAR%` are denied", and what block lists refuse as
// unreadable; besides, what may be a home directory or a drive behind `./`, and a `\` without a drive in front (choices).
func exactPath(text string) (p exactly, ok bool) {
	_, readable := readPath(text)
	withDrive := !strings.HasPrefix(text, "/") && len(text) > 1 && drivePattern.MatchString(strings.ToLower(text[:2]))
	if !readable || strings.Contains(text, `\`) && !withDrive {
		return p, false
	}
	p.start = "."
	for i, segment := range strings.Split(strings.ReplaceAll(text, `\`, "/"), "/") {
		name := folded(segment)
		first := len(p.segments) == 0
		switch {
		case segment == "..":
			return p, false
		case i == 0 && segment == "" || i == 0 && withDrive:
			p.start = "/"
			if withDrive {
				p.segments = []string{name}
			}
		case i == 0 && segment == "~":
			p.start = "~"
		case segment == "" || segment == ".":
		case first && p.start == "." && (strings.HasPrefix(name, "~") || drivePattern.MatchString(name)):
			return p, false
		case first && p.start == "/" && drivePattern.MatchString(name):
			p.segments = []string{name}
		default:
			p.segments = append(p.segments, segment)
		}
	}
	return p, true
}

// beginsExactly reports whether segments begin with others, in which a `*` is no pattern.
func beginsExactly(segments, prefix []string) bool {
	return len(prefix) <= len(segments) && strings.Join(segments[:len(prefix)], "/") == strings.Join(prefix, "/")
}

// starless returns names of a directory, each of which stands for any: they have been compared.
func starless(names []string) []string {
	var all []string
	for range names {
		all = append(all, anyName)
	}
	return all
}
