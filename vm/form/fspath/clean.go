package fspath

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Why a path cannot be resolved to a single file, worded to follow a colon or a "because".
const (
	whyEmpty     = "it is empty"
	whyBytes     = "it holds control characters or invalid UTF-8"
	whyDevice    = "it is a device name"
	whyVariable  = "it holds a variable"
	whyUp        = "it leaves its folder by .."
	whyHomeUp    = "it leaves its home directory or drive by .."
	whyUser      = "it is in the home directory of a named user"
	whyAnchor    = "it starts with a scheme, or with a drive that no / follows"
	whyNoName    = "it has a name of nothing but dots and spaces"
	whyShortName = "it has a short name of Windows"
)

// Clean returns raw in its canonical form, and whether it is suspicious: whether the file that it means
// can't be told from the text. The form of a suspicious path is a best effort, fit for messages.
func Clean(raw string) (clean string, suspicious bool) {
	clean, why := examine(raw)
	return clean, why != ""
}

// Explain says in a few words why [Clean] finds raw suspicious ("it holds a variable"), and "" where it does not. Of
// several reasons it gives one. It repeats nothing of the path.
func Explain(raw string) (why string) {
	_, why = examine(raw)
	return why
}

// IsAbsolute reports whether raw starts at a root: with "/", with "\", or with a drive and one of them.
func IsAbsolute(raw string) bool {
	if len(raw) > 2 && raw[1] == ':' && isDrive(strings.ToLower(raw[:2])) {
		raw = raw[2:]
	}
	return strings.HasPrefix(raw, "/") || strings.HasPrefix(raw, `\`)
}

// Join returns raw behind directory, an absolute path, where raw is relative to it. A path whose clean form starts at a
// root, a home directory or a drive, or with a scheme, is not: "./~/x" is "~/x" with a directory as without.
func Join(directory, raw string) string {
	clean, _ := Clean(raw)
	first, _, _ := strings.Cut(clean, "/")
	if raw == "" || first == "" || first[0] == '~' || strings.HasSuffix(first, ":") || len(first) > 2 && isDrive(first[:2]) {
		return raw
	}
	return strings.TrimRight(directory, `/\`) + "/" + raw
}

// examine returns the clean form of raw and the reason why it is suspicious, or "".
func examine(raw string) (clean, why string) {
	path := strings.ReplaceAll(raw, `\`, "/")
	c := cleaner{
		absolute: strings.HasPrefix(path, "/"),
		segments: make([]string, 0, 16),
	}
	switch {
	case raw == "":
		c.suspect(whyEmpty)
	case hasStrangeBytes(raw):
		c.suspect(whyBytes)
	case isDevice(path):
		c.suspect(whyDevice)
	case strings.Contains(path, "$"):
		c.suspect(whyVariable)
	}
	for segment := range strings.SplitSeq(path, "/") {
		c.add(segment)
	}
	if clean = c.join(); isDevice(clean) { // cleaning can lay a device name bare
		c.suspect(whyDevice)
	}
	return clean, c.why
}

// A cleaner gathers the segments of a path that remain.
type cleaner struct {
	absolute bool
	segments []string
	why      string // the first reason for suspicion, or ""
}

// suspect makes the path suspicious.
func (c *cleaner) suspect(why string) {
	if c.why == "" {
		c.why = why
	}
}

// add takes the next segment. What "." and ".." are is decided before folding: a segment that becomes one of them by
// losing characters is a name of its own on most systems.
func (c *cleaner) add(raw string) {
	switch raw {
	case "", ".":
		return
	case "..":
		c.up()
		return
	}
	segment := fold(raw)
	if len(c.segments) == 0 && c.anchor(segment) {
		return
	}
	name := trimName(segment)
	switch {
	case name == "":
		c.suspect(whyNoName)
	case isShortName(name), isShortName(trimName(raw)): // folding makes some names longer, and some shorter
		c.suspect(whyShortName)
	case hasVariable(segment):
		c.suspect(whyVariable)
	}
	switch {
	case name != "":
		c.segments = append(c.segments, name)
	case strings.Trim(segment, ".") != "" || len(segment) > len(".."):
		c.segments = append(c.segments, segment)
	default:
		c.segments = append(c.segments, raw)
	}
}

// anchor takes a first segment that says what the path is relative to: a home directory or a drive. It reports
// whether segment was one.
func (c *cleaner) anchor(segment string) bool {
	switch {
	case isDrive(segment):
		c.absolute = true
	case strings.HasPrefix(segment, "~") && !c.absolute:
		if segment != "~" {
			c.suspect(whyUser)
		}
	case len(segment) > 2 && isDrive(segment[:2]), strings.HasSuffix(segment, ":"):
		// c:x is relative to the drive's own directory, and file: is a scheme. Behind a "/" clients differ on both.
		c.suspect(whyAnchor)
	default:
		return false
	}
	c.segments = append(c.segments, segment)
	return true
}

// up takes back the last segment for a "..".
func (c *cleaner) up() {
	last := len(c.segments) - 1
	switch {
	case last < 0 && c.absolute:
	case last < 0 || c.segments[last] == "..":
		c.segments = append(c.segments, "..")
		c.suspect(whyUp)
	case last == 0 && (isDrive(c.segments[0]) || c.segments[0][0] == '~' && !c.absolute):
		c.suspect(whyHomeUp)
	default:
		c.segments = c.segments[:last]
	}
}

// join returns the clean path.
func (c *cleaner) join() string {
	path := strings.Join(c.segments, "/")
	switch {
	case c.absolute:
		return "/" + path
	case path == "":
		return "."
	}
	return path
}

// trimName removes what NTFS ignores: a stream name, and dots and spaces at the end. It returns "" where nothing is
// left.
func trimName(segment string) string {
	if colon := strings.IndexByte(segment, ':'); colon >= 0 {
		segment = segment[:colon]
	}
	return strings.TrimRight(segment, ". ")
}

// isDrive reports whether a folded segment is a drive letter and a colon.
func isDrive(segment string) bool {
	return len(segment) == 2 && segment[1] == ':' && 'a' <= segment[0] && segment[0] <= 'z'
}

// hasVariable reports whether a segment may hold %VAR%: two percent signs.
func hasVariable(segment string) bool { return strings.Count(segment, "%") > 1 }

// isDevice reports whether path leads into the device name space of Windows, where other rules hold.
func isDevice(path string) bool {
	return strings.HasPrefix(path, "//?") || strings.HasPrefix(path, "//./") || strings.HasPrefix(path, "/??/")
}

// isShortName reports whether a segment has the form that Windows gives to its second, short names: "~" and digits at
// the end of up to eight characters, and an extension of up to three. Such a name is another name of an unknown file.
func isShortName(segment string) bool {
	base, extension, _ := strings.Cut(segment, ".")
	tilde := strings.LastIndexByte(base, '~')
	if tilde < 1 || tilde == len(base)-1 || strings.Trim(base[tilde+1:], "0123456789") != "" {
		return false
	}
	return utf8.RuneCountInString(base) <= 8 && utf8.RuneCountInString(extension) <= 3 && !strings.Contains(extension, ".")
}

// hasStrangeBytes reports whether text holds control characters or invalid UTF-8.
func hasStrangeBytes(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl)
}

// fold returns text as case-insensitive file systems compare it.
func fold(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	text = norm.NFD.String(strings.Map(dropIgnored, text))
	return norm.NFC.String(strings.Map(foldCherokee, cases.Fold().String(text)))
}

// foldCherokee folds the one script whose small letters fold to capitals; package cases swaps the two instead.
func foldCherokee(r rune) rune {
	if unicode.Is(unicode.Cherokee, r) {
		return unicode.ToUpper(r)
	}
	return r
}

// dropIgnored removes the characters that HFS+ leaves out of comparisons.
func dropIgnored(r rune) rune {
	switch {
	case 0x200c <= r && r <= 0x200f, 0x202a <= r && r <= 0x202e, 0x206a <= r && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}

// isASCII reports whether text holds ASCII only.
func isASCII(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
