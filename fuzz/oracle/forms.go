package oracle

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A form says how the texts of one field compare: "One value, one form" (decisions, section 2, "Matching").
type form struct {
	// caseless: "Where a form has no case, a part of it is compared without case, and a pattern is compiled with (?i)."
	caseless bool
	// normal returns the normal form of a text of the request, and false where it has none.
	normal func(text string) (string, bool)
	// rule returns the text of a rule that stands for a whole value in that form, part that of one that is sought in it.
	// front says that the part is the beginning of the value.
	rule func(text string) string
	part func(text string, front bool) string
	// also are what denials read besides.
	also func(text string) []string
}

// plain is every other text: "An address literal in any other text: lower case. All else is its own form."
var plain = form{
	normal: func(text string) (string, bool) { return lowerLiterals(text), true },
	rule:   lowerLiterals,
	part:   func(text string, _ bool) string { return lowerLiterals(text) },
	also:   func(string) []string { return nil },
}

// caselessForm is the form of what means the same in any case.
func caselessForm(fold func(string) string) form {
	f := plain
	f.caseless = true
	f.normal = func(text string) (string, bool) { return fold(text), true }
	f.rule = fold
	f.part = func(text string, _ bool) string { return fold(text) }
	return f
}

// formOf returns the form of what a rule's path names.
func (j *judgement) formOf(path string) form {
	path = onePath(path)
	if _, ok := j.mcpPart(path); ok {
		return caselessForm(asciiLower)
	}
	switch path {
	case "action", "targetAddress", "userOpHash":
		return caselessForm(asciiLower)
	case "calldata":
		return calldataForm
	case "token":
		return j.tokenForm()
	case "amount":
		return amountForm(j.normalAmount)
	case "amount_unit":
		return j.unitForm()
	case "maxFee":
		return amountForm(func(text string) (string, bool) { return shortest(decimal(text, etherDigits))(etherDigits) })
	case "to":
		return j.recipientForm()
	case "url":
		return urlForm
	case "host":
		return hostForm
	case "query": // "`path` and `query` beside" a URL
		if _, ok := j.url(); ok {
			return withEscapes
		}
		return plain
	case "cwd": // "`cwd` has the normal form of `path`" (choices)
		return toolPathForm
	case "path", "paths":
		if _, ok := j.url(); ok {
			return urlPathForm
		}
		return toolPathForm
	}
	return plain
}

// literal finds what may be an address in a text.
var literal = regexp.MustCompile(`0x[0-9a-fA-F]{40}`)

// literals finds the addresses in a text: "`0x`, 40 hex digits, no hex digit beside it".
func literals(text string) (spans [][]int) {
	for _, span := range literal.FindAllStringIndex(text, -1) {
		if (span[0] == 0 || !isHex(text[span[0]-1])) && (span[1] == len(text) || !isHex(text[span[1]])) {
			spans = append(spans, span)
		}
	}
	return spans
}

// lowerLiterals writes the address literals of a text in lower case.
func lowerLiterals(text string) string {
	folded, end := "", 0
	for _, span := range literals(text) {
		folded += text[end:span[0]] + strings.ToLower(text[span[0]:span[1]])
		end = span[1]
	}
	return folded + text[end:]
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

// calldataForm: "lower-case hex"; "the `0x` of call data is left out of parts that are sought in it", so that a part is
// found wherever its digits stand.
var calldataForm = func() form {
	f := caselessForm(asciiLower)
	f.part = func(text string, front bool) string {
		digits := strings.TrimPrefix(asciiLower(text), "0x")
		if front || digits == "" { // "`0x` alone is sought as it is" (choices)
			return "0x" + digits
		}
		return digits
	}
	return f
}()

// tokenForm: "`token`: the symbol, in lower case, of the rule that it matches by symbol or pinned address." "An address
// that a rule pins is, in a rule about `token`, that symbol for grants"; contractNamed has the other half.
func (j *judgement) tokenForm() form {
	f := caselessForm(asciiLower)
	f.normal = func(text string) (string, bool) {
		if t := j.tokenNamed(text); t != nil {
			return asciiLower(t.symbol), true
		}
		return asciiLower(text), true
	}
	f.rule = func(text string) string {
		for _, t := range j.p.tokens {
			if t.pinsAnywhere(text) {
				return asciiLower(t.symbol)
			}
		}
		return asciiLower(text)
	}
	return f
}

// contractNamed reports whether a text of a denial about `token` is an address that a rule pins, and whether the intent
// is about that contract, "whichever name the token was sent by": "and that contract for denials".
func (j *judgement) contractNamed(text string) (pinned, same bool) {
	address, named := asciiLower(text), j.tokenNamed(j.text("token"))
	for i := range j.p.tokens {
		if t := &j.p.tokens[i]; t.pinsAnywhere(text) {
			pinned = true
			same = same || named == t && asciiLower(j.text("targetAddress")) == address
		}
	}
	return pinned, same
}

// amountForm: "for rules the shortest decimal in human units".
func amountForm(normal func(string) (string, bool)) form {
	f := plain
	f.normal = normal
	f.rule = func(text string) string {
		whole, fraction, _ := strings.Cut(text, ".")
		if !allDigits(whole) || !allDigits(fraction+"0") {
			return text
		}
		return trimmedDecimal(whole, fraction)
	}
	return f
}

func trimmedDecimal(whole, fraction string) string {
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// recipientForm: "`to`: an address on EVM intents; on `email.send` the bare address in lower case, IDNA, NFC; otherwise
// its text."
func (j *judgement) recipientForm() form {
	switch {
	case j.kind == evmIntent:
		return plain // "a `to` that is not an address, such as an ENS name, is compared as its text" (choices)
	case j.action == "email.send":
		f := caselessForm(foldedMail)
		f.normal = readRecipient
		f.rule = func(text string) string {
			if address, ok := readRecipient(text); ok {
				return address
			}
			return domainInASCIIOr(foldedMail(text))
		}
		return f
	}
	return plain
}

func foldedMail(text string) string { return norm.NFC.String(strings.ToLower(text)) }

// toolPathForm: "`\` is `/`, empty and `.` segments dropped, a leading `/` kept"; "a path that keeps `..`" has no
// normal form. A part keeps the separators at its ends, which say where a name begins and ends.
var toolPathForm = form{
	normal: func(text string) (string, bool) {
		cleaned, climbs := cleanSegments(text)
		return lowerLiterals(cleaned), !climbs
	},
	rule: func(text string) string {
		cleaned, _ := cleanSegments(text)
		return lowerLiterals(cleaned)
	},
	part: func(text string, front bool) string {
		text = strings.ReplaceAll(text, `\`, "/")
		for text != collapseOnce(text) {
			text = collapseOnce(text)
		}
		if front {
			text = strings.TrimPrefix(text, "./")
		}
		return lowerLiterals(text)
	},
	also: func(string) []string { return nil },
}

func collapseOnce(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "/./", "/"), "//", "/")
}

// cleanSegments drops the empty and `.` segments of a path, and reports whether it has a `..`.
func cleanSegments(text string) (cleaned string, climbs bool) {
	text = strings.ReplaceAll(text, `\`, "/")
	var kept []string
	for _, segment := range strings.Split(text, "/") {
		climbs = climbs || segment == ".."
		if segment != "" && segment != "." {
			kept = append(kept, segment)
		}
	}
	cleaned = strings.Join(kept, "/")
	if strings.HasPrefix(text, "/") {
		cleaned = "/" + cleaned
	}
	return cleaned, climbs
}

// The forms of a URL and its parts.
var (
	hostForm = func() form {
		f := caselessForm(asciiLower)
		f.normal = func(text string) (string, bool) {
			host := canonicalHost(text)
			return host, host != ""
		}
		f.rule = func(text string) string {
			if host := canonicalHost(text); host != "" {
				return host
			}
			return asciiLower(text)
		}
		return f
	}()
	withEscapes = form{
		normal: func(text string) (string, bool) { return lowerLiterals(normalEscapes(text)), true },
		rule:   func(text string) string { return lowerLiterals(normalEscapes(text)) },
		part:   func(text string, _ bool) string { return lowerLiterals(escapesOfPart(text)) },
		also:   func(string) []string { return nil },
	}
	// urlPathForm: "Denials also read the path decoded once and with runs of `/` collapsed."
	urlPathForm = func() form {
		f := withEscapes
		f.also = func(text string) []string { return []string{decodedPath(text)} }
		return f
	}()
	urlForm = form{
		normal: func(text string) (string, bool) {
			whole, ok := normalURL(text)
			return lowerLiterals(whole), ok
		},
		rule: func(text string) string {
			if whole, ok := normalURL(text); ok {
				return lowerLiterals(whole)
			}
			return lowerLiterals(text)
		},
		part: func(text string, _ bool) string { return lowerLiterals(escapesOfPart(lowerOrigin(text))) },
		also: func(text string) []string { return decodedURL(text) },
	}
)
