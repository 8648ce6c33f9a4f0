package response

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A span is a range of bytes of a text.
type span struct{ from, to int }

// A detector finds what looks like one thing. Its expression is of RE2, so that the time is linear in the text.
type detector struct {
	name    string
	class   Class
	needs   []string // in lower case: what matches has one of these, as the expression takes 30 times as long as looking for them; nil: no such text
	pattern *regexp.Regexp
	group   int                    // of the expression, that is the finding; 0: all of it
	holds   func(text string) bool // of the finding; nil: always
}

// detectors are what the ruleset sof-response-rules-v1 means here: docs/choices.md lists them.
var detectors = []detector{
	{name: "private key", class: Secret, needs: []string{"private key"}, pattern: regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)`)},
	{name: "access key of a service", class: Secret, needs: []string{"akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "_live_", "aiza", "npm_", "sk-", "sk_svc_"}, pattern: regexp.MustCompile(`\b(?:(?:AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{36,}|glpat-[0-9A-Za-z_-]{20,}|xox[abeprs]-[0-9A-Za-z-]{10,}|(?:sk|rk)_live_[0-9A-Za-z]{16,}|AIza[0-9A-Za-z_-]{35}|npm_[0-9A-Za-z]{36}|sk-[0-9A-Za-z_-]{20,}|sk_svc_[0-9A-Za-z_]{16,})`)},
	{name: "JSON web token", class: Secret, needs: []string{".eyj"}, pattern: regexp.MustCompile(`\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{16,}`)},
	{name: "assigned secret", class: Secret, needs: []string{"passw", "secret", "api", "token"}, pattern: regexp.MustCompile(`(?i)(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret)["']?[ \t]{0,4}[:=][ \t]{0,4}["']?([^\s"',;<>{}()\[\]]{8,})`), group: 1, holds: isRandom},
	{name: "password in a URL", class: Secret, needs: []string{"://"}, pattern: regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@]+:([^\s/@\[][^\s/@]*)@`), group: 1},

	{name: "e-mail address", class: PII, needs: []string{"@"}, pattern: regexp.MustCompile(`[0-9A-Za-z._%+-]+@(?:[0-9A-Za-z-]+\.)+[A-Za-z]{2,}`)},
	{name: "payment card", class: PII, pattern: regexp.MustCompile(`\b[0-9](?:[ -]?[0-9]){12,18}\b`), holds: isCard},
	{name: "US social security number", class: PII, needs: []string{"-"}, pattern: regexp.MustCompile(`\b[0-8][0-9]{2}-[0-9]{2}-[0-9]{4}\b`), holds: isSocial},
	{name: "IBAN", class: PII, pattern: regexp.MustCompile(`\b[A-Z]{2}[0-9]{2}(?: ?[0-9A-Z]){11,30}\b`), holds: isIBAN},
	{name: "telephone number", class: PII, needs: []string{"+"}, pattern: regexp.MustCompile(`\+[1-9](?:[ ().-]{0,2}[0-9]){7,14}\b`)},

	{name: "URL that is not what it looks like", class: MaliciousURL, needs: []string{"://"}, pattern: regexp.MustCompile(`(?i)\b(?:https?|ftp|wss?)://[^\s"'<>\x60\\]+`), holds: isMalicious},
	{name: "URL that runs code", class: MaliciousURL, needs: []string{"script:", "data:"}, pattern: regexp.MustCompile(`(?i)\b(?:javascript:|vbscript:|data:(?:text/html|application/xhtml\+xml|text/javascript|application/javascript))[^\s"'<>]*`)},

	{name: "order to disregard instructions", class: PromptInjection, needs: []string{"ignore", "disregard", "forget", "override", "bypass"}, pattern: regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|the|your|my|of|these|those|previous|prior|above|earlier|preceding|existing|system|safety|original)\s+){1,6}(?:instructions?|prompts?|rules?|guidelines?|directives?|messages?|context)\b`)},
	{name: "order to hide from the user", class: PromptInjection, needs: []string{"not", "don't", "never"}, pattern: regexp.MustCompile(`(?i)\b(?:do\s+not|don't|never)\s+(?:tell|inform|mention|reveal|show|alert|notify)\s+(?:this\s+to\s+|it\s+to\s+)?(?:the\s+)?(?:user|human|operator)\b`)},
	{name: "new role", class: PromptInjection, needs: []string{"you", "instruction", "prompt"}, pattern: regexp.MustCompile(`(?i)\b(?:you\s+are\s+now\b|from\s+now\s+on,?\s+you\b|new\s+(?:system\s+)?instructions?\s*:|reveal\s+(?:your\s+|the\s+)?system\s+prompt)`)},
	{name: "mark of a chat template", class: PromptInjection, needs: []string{"<", "["}, pattern: regexp.MustCompile(`(?i)<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|start_header_id|eot_id)\|>|\[/?INST\]|<</?SYS>>|</?(?:system|important)>`)},
	{name: "invisible text", class: PromptInjection, needs: []string{"\xf3\xa0", "\xe2\x80", "\xe2\x81"}, pattern: regexp.MustCompile(`[\x{E0000}-\x{E007F}\x{202A}-\x{202E}\x{2066}-\x{2069}]+`)},
}

// find returns the findings of a class in a text, in order and without overlaps.
func find(class Class, text string) []span {
	var all []span
	folded := fold(text)
	for i := range detectors {
		d := &detectors[i]
		if d.class != class || !d.possible(folded) {
			continue
		}
		for _, at := range d.pattern.FindAllStringSubmatchIndex(text, -1) {
			s := span{at[2*d.group], at[2*d.group+1]}
			if d.holds == nil || d.holds(text[s.from:s.to]) {
				all = append(all, s)
			}
		}
	}
	return merge(all)
}

// fold returns a text in lower case, with the one letter that expressions take for an s though it is a lower-case letter of its own.
func fold(text string) string { return strings.ReplaceAll(strings.ToLower(text), "ſ", "s") }

// possible reports whether a folded text has what matches of the detector have.
func (d *detector) possible(folded string) bool {
	return d.needs == nil || slices.ContainsFunc(d.needs, func(need string) bool { return strings.Contains(folded, need) })
}

// merge sorts spans, and joins those that touch.
func merge(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return a.from - b.from })
	kept := all[:0]
	for _, s := range all {
		if n := len(kept); n > 0 && s.from <= kept[n-1].to {
			kept[n-1].to = max(kept[n-1].to, s.to)
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

// isRandom leaves out the words that documentation has after "password:": a secret has a digit, or 20 characters.
func isRandom(text string) bool { return len(text) >= 20 || strings.ContainsAny(text, "0123456789") }

// digitsOf returns the digits of a text.
func digitsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

// isCard reports whether the digits of a text are the number of a payment card: 13 to 19, of an issuer's range, with the check
// digit of ISO/IEC 7812-1.
func isCard(text string) bool {
	digits := digitsOf(text)
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0 && strings.ContainsRune("23456", rune(digits[0]))
}

// isSocial leaves out the numbers that are never given.
func isSocial(text string) bool {
	return !strings.HasPrefix(text, "000") && !strings.HasPrefix(text, "666") && text[4:6] != "00" && text[7:] != "0000"
}

// isIBAN reports whether a text has the check digits of ISO 13616.
func isIBAN(text string) bool {
	text = strings.ReplaceAll(text, " ", "")
	rest := 0
	for _, c := range text[4:] + text[:4] {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
			continue
		}
		rest = (rest*10 + int(c-'0')) % 97
	}
	return rest == 1
}

// runnable are the endings of files that run when they are opened.
var runnable = []string{".exe", ".scr", ".msi", ".bat", ".cmd", ".com", ".pif", ".ps1", ".vbs", ".hta", ".jar", ".apk", ".dmg", ".pkg", ".lnk", ".iso"}

// isMalicious reports whether a URL has what serves deceit: a name before the host, a host that is a number or not plain ASCII, or
// a file that runs when it is opened. What no reader could follow counts, too.
func isMalicious(text string) bool {
	u, err := url.Parse(strings.TrimRight(text, ".,;:!?)]}"))
	if err != nil || u.Host == "" {
		return true
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err = netip.ParseAddr(host)
	numeric := err == nil || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
	odd := strings.ContainsFunc(host, func(r rune) bool { return r > '~' || r == '%' }) || strings.Contains("."+host, ".xn--")
	path := strings.ToLower(u.Path)
	return u.User != nil || numeric || odd || slices.ContainsFunc(runnable, func(end string) bool { return strings.HasSuffix(path, end) })
}
