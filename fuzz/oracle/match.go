package oracle

import (
	"regexp"
	"strings"
)

// maxSubject is the longest value that a pattern is matched on: "on values of up to 4 KiB (longer: denied)".
const maxSubject = 4 << 10

// A pattern is an RE2 pattern of a rule, once for texts with case and once, "with `(?i)`", for forms that have none.
// "In other patterns the address literals of the text are folded before it is parsed."
type pattern struct{ exact, caseless *regexp.Regexp }

func (p pattern) in(f form) *regexp.Regexp {
	if f.caseless {
		return p.caseless
	}
	return p.exact
}

// anyPart compiles a pattern for denying, where any part may match.
func anyPart(text string) (pattern, error) { return compilePattern(text, "", "") }

// wholeValue compiles a pattern for allowing, where "the whole value must match".
func wholeValue(text string) (pattern, error) { return compilePattern(text, `\A(?:`, `)\z`) }

func compilePattern(text, front, back string) (p pattern, err error) {
	if _, err = regexp.Compile(text); err != nil {
		return p, err // so that no `)` of its own ends the group
	}
	if p.exact, err = regexp.Compile(front + lowerLiterals(text) + back); err != nil {
		return p, err
	}
	p.caseless, err = regexp.Compile("(?i)" + front + text + back)
	return p, err
}

// globOf compiles a pattern whose `*` stands for any characters, but "does not cross a dot unless it is last".
func globOf(pattern string) *regexp.Regexp { return globAcross(pattern, `[^.]*`) }

// openGlobOf compiles one of `blocked_tools` and `require_approval`, where `*` crosses dots.
func openGlobOf(pattern string) *regexp.Regexp { return globAcross(pattern, `.*`) }

func globAcross(pattern, between string) *regexp.Regexp {
	rest, open := strings.CutSuffix(pattern, "*")
	parts := strings.Split(rest, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	expression := `(?s)\A` + strings.Join(parts, between)
	if open {
		expression += `.*`
	}
	return regexp.MustCompile(expression + `\z`)
}

func globs(list []string, compile func(string) *regexp.Regexp) []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, pattern := range list {
		all = append(all, compile(pattern))
	}
	return all
}

func anyMatches(patterns []*regexp.Regexp, s string) bool {
	for _, pattern := range patterns {
		if pattern.MatchString(s) {
			return true
		}
	}
	return false
}
