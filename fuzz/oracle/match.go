package oracle

import (
	"regexp"
	"strings"
)

// addressLiteral finds what may be an address in a rule: "`0x` + 40 hex digits". One more hexadecimal digit makes it
// something else.
var addressLiteral = regexp.MustCompile(`0x[0-9a-fA-F]{40}`)

// addressSpans returns where the address literals of a rule's text stand.
func addressSpans(rule string) [][]int {
	var spans [][]int
	for _, span := range addressLiteral.FindAllStringIndex(rule, -1) {
		if span[1] == len(rule) || !strings.ContainsRune("0123456789abcdefABCDEF", rune(rule[span[1]])) {
			spans = append(spans, span)
		}
	}
	return spans
}

// A needle is a text of a rule that is sought in texts of a request: case-sensitive, but "an address literal in any
// rule, `deny_string` included, matches without regard to case" (decisions, section 2, "Matching").
type needle struct {
	text                  string
	whole, part, from, to *regexp.Regexp // set where the text holds an address literal
}

func newNeedle(rule string) needle {
	n := needle{text: rule}
	spans := addressSpans(rule)
	if len(spans) == 0 {
		return n
	}
	quoted, end := "", 0
	for _, span := range spans {
		quoted += regexp.QuoteMeta(rule[end:span[0]]) + "(?i:" + rule[span[0]:span[1]] + ")"
		end = span[1]
	}
	quoted += regexp.QuoteMeta(rule[end:])
	n.whole = regexp.MustCompile(`\A` + quoted + `\z`)
	n.part = regexp.MustCompile(quoted)
	n.from = regexp.MustCompile(`\A` + quoted)
	n.to = regexp.MustCompile(quoted + `\z`)
	return n
}

func (n needle) equals(s string) bool {
	if n.whole != nil {
		return n.whole.MatchString(s)
	}
	return s == n.text
}

func (n needle) containedIn(s string) bool {
	if n.part != nil { // the first condition is only there to be fast
		return strings.Contains(asciiLower(s), asciiLower(n.text)) && n.part.MatchString(s)
	}
	return strings.Contains(s, n.text)
}

func (n needle) begins(s string) bool {
	if n.from != nil {
		return n.from.MatchString(s)
	}
	return strings.HasPrefix(s, n.text)
}

func (n needle) ends(s string) bool {
	if n.to != nil {
		return n.to.MatchString(s)
	}
	return strings.HasSuffix(s, n.text)
}

// needles prepares a list.
func needles(rules []string) []needle {
	var all []needle
	for _, rule := range rules {
		all = append(all, newNeedle(rule))
	}
	return all
}

// foldAddresses makes the address literals in the text of an RE2 pattern match in any case. One with a quantifier
// behind it is no literal but a beginning of many.
func foldAddresses(pattern string) string {
	if strings.Contains(pattern, `\Q`) {
		return pattern
	}
	folded, end := "", 0
	for _, span := range addressSpans(pattern) {
		if strings.HasPrefix(pattern[span[1]:], "{") || strings.IndexAny(pattern[span[1]:], "*+?") == 0 {
			continue
		}
		folded += pattern[end:span[0]] + "(?i:" + pattern[span[0]:span[1]] + ")"
		end = span[1]
	}
	return folded + pattern[end:]
}

// maxSubject is the longest value that a pattern is matched on: "on values of up to 4 KiB (longer: denied)".
const maxSubject = 4 << 10

// anyPart compiles a pattern for denying, where any part may match.
func anyPart(pattern string) (*regexp.Regexp, error) { return regexp.Compile(foldAddresses(pattern)) }

// wholeValue compiles a pattern for allowing, where "the whole value must match".
func wholeValue(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err // so that no `)` of its own ends the group below
	}
	return regexp.Compile(`\A(?:` + foldAddresses(pattern) + `)\z`)
}

// globOf compiles a pattern whose `*` stands for any characters, but "crosses no dot unless it is last".
func globOf(pattern string) *regexp.Regexp {
	rest, open := strings.CutSuffix(pattern, "*")
	parts := strings.Split(rest, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	expression := `(?s)\A` + strings.Join(parts, `[^.]*`)
	if open {
		expression += `.*`
	}
	return regexp.MustCompile(expression + `\z`)
}

func globs(list []string) []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, pattern := range list {
		all = append(all, globOf(pattern))
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
