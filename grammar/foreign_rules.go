package grammar

import (
	"fmt"
	"regexp"
	"strings"
)

// indented takes entries that do not start at the start of their line.
func (s *scanner) indented(l line) (lines []line, d Diagnostic, meant string, known bool) {
	isOne := func(at line) bool {
		return at.at > at.start && s.nameEnd(at.at, at.end) > at.at && s.numberEnd(at.at, at.end) == 0 &&
			(strings.Contains(s.rest(at), ":") || strings.HasPrefix(s.rest(at), denyIf))
	}
	if !isOne(l) {
		return nil, d, "", false
	}
	lines = s.while(l, isOne)
	var texts []string
	for _, at := range lines {
		texts = append(texts, s.rest(at))
	}
	d = At(CodeIndentedEntry, Span{l.start, l.end}, "an entry begins at the start of its line").
		WithHint("remove the white space before it; only lines such as `\"8453\": a, b` are indented")
	if len(lines) > 1 {
		d = d.WithHint("remove the white space before it and the lines below it; only lines such as `\"8453\": a, b` are indented")
	}
	return lines, d, strings.Join(texts, "\n"), true
}

// keyPlaceholder is a key with a part that the reference leaves to the author.
var keyPlaceholder = regexp.MustCompile(`^[a-z_]+(?:\.[A-Za-z0-9_-]+)*[.\[ =a-z]*<([A-Za-z][A-Za-z _-]*)>[^:]*:`)

// placeholders are such parts, and what may be there.
var placeholders = map[string]string{"sym": "USDC", "symbol": "USDC", "method": "GET", "name": "deploys", "path": "metadata.environment", "pattern": "bash"}

// placeholderKeys takes entries that were copied from the reference with a placeholder in their key.
func (s *scanner) placeholderKeys(l line) (lines []line, d Diagnostic, meant string, known bool) {
	match := keyPlaceholder.FindStringSubmatch(s.rest(l))
	if match == nil || l.at > l.start {
		return nil, d, "", false
	}
	mark := "<" + match[1] + ">"
	lines = s.while(l, func(next line) bool { return next.at == next.start && strings.Contains(s.rest(next), mark) })
	d = At(CodeBadKey, Span{l.at + strings.Index(s.rest(l), mark), l.at + strings.Index(s.rest(l), mark) + len(mark)},
		"`%s` is a placeholder, not a value", mark)
	instead := placeholders[strings.ToLower(match[1])]
	if instead == "" {
		return lines, d.WithHint("write the intended value in its place"), "", false
	}
	return lines, d.WithHint("write the intended value in its place, in each of these lines, such as `%s`", strings.ReplaceAll(s.rest(l), mark, instead)), "", false
}

// The beginnings of rules in other languages: Cedar, Rego and the statements of IAM.
var (
	cedarRule = regexp.MustCompile(`^(?:permit|forbid)[ \t]*\(`)
	regoRule  = regexp.MustCompile(`^(?:package[ \t]+[a-z]|import[ \t]+(?:rego|data|input)\b|default[ \t]+[a-z_]+[ \t]*:?=|(?:allow|deny|violation|warn)\b(?:\[.*\])?(?:[ \t]+contains[ \t].*)?(?:[ \t]+if)?[ \t]*\{|(?:allow|deny)[ \t]+:?=)`)
	iamLine   = regexp.MustCompile(`^["']?(?:Effect|Action|NotAction|Resource|Principal|Condition|Sid|Statement)["']?[ \t]*:(.*)$`)
	testOf    = regexp.MustCompile(`(?:input|context|resource)\.((?:metadata\.)?[A-Za-z_.]+)[ \t]*==[ \t]*"([^"]+)"`)
	commandOf = regexp.MustCompile(`(?:command[ \t]+like[ \t]+|contains\([a-z.]*command,[ \t]*)"\*?([^"*]+)\*?"`)
)

// otherRules takes rules of another language. What they mean is for their author to say: there is no fix.
func (s *scanner) otherRules(l line) (lines []line, d Diagnostic, meant string, known bool) {
	language, text := "", s.rest(l)
	switch {
	case l.at > l.start:
	case cedarRule.MatchString(text):
		language = "Cedar"
		ended := strings.HasSuffix(text, ";")
		lines = s.while(l, func(next line) bool {
			if ended || strings.HasPrefix(s.rest(next), "##") {
				return false
			}
			ended = strings.HasSuffix(s.rest(next), ";")
			return true
		})
	case regoRule.MatchString(text):
		language = "Rego"
		open := strings.Count(text, "{") - strings.Count(text, "}")
		lines = s.while(l, func(next line) bool {
			if open <= 0 && !regoRule.MatchString(s.rest(next)) || strings.HasPrefix(s.rest(next), "##") {
				return false
			}
			open += strings.Count(s.rest(next), "{") - strings.Count(s.rest(next), "}")
			return true
		})
	case iamLine.MatchString(text):
		language = "IAM"
		lines = s.while(l, func(next line) bool { return iamLine.MatchString(s.rest(next)) })
	}
	if language == "" || language == "IAM" && len(lines) < 2 {
		return nil, d, "", false
	}
	d = At(CodeForeignForm, Span{l.at, l.end}, "this is a rule of another language (%s); a rule is one line, `key: value`", language)
	return lines, d.WithHint("what no list grants is denied; to deny more, write %s", s.likely(lines)), "", false
}

// likely returns the rule of a policy that comes near to lines of another language.
func (s *scanner) likely(lines []line) string {
	text := s.text[lines[0].start:lines[len(lines)-1].end]
	if match := commandOf.FindStringSubmatch(text); match != nil {
		return fmt.Sprintf("the text in the list of blocked commands: `bash.blocked_commands: %s`", match[1])
	}
	if match := testOf.FindStringSubmatch(text); match != nil {
		return fmt.Sprintf("`deny_if.%s equals %s`", match[1], match[2])
	}
	for _, at := range lines {
		if match := iamLine.FindStringSubmatch(s.rest(at)); match != nil && strings.Contains(s.rest(at), "Action") {
			return fmt.Sprintf("a rule `deny_if.<path> <operator> <value>`: `deny_if.action equals %s`", strings.Trim(match[1], " \t\"',[]"))
		}
	}
	return "`deny_if.metadata.environment equals production` in `## custom`"
}

// flow is an entry whose list is in brackets, as in YAML and JSON.
var flow = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_.$/+@-]*)[ \t]*:[ \t]*(\[.*\])$`)

// refusedFlow reports an entry that was refused because its list is in brackets, with quotes inside.
func (s *scanner) refusedFlow(l line) (d Diagnostic, is bool) {
	match := flow.FindStringSubmatch(s.rest(l))
	if match == nil || l.at > l.start {
		return d, false
	}
	w := writer{}
	w.list(match[1], []string{match[2]})
	value := Span{l.end - len(match[2]), l.end}
	return At(CodeForeignForm, value, "a list has no brackets around it").WithHint("write `%s`", w.String()).
		WithFix(Span{l.start, l.end}, w.String()), true
}
