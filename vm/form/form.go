package form

import (
	"strings"

	"bailiff/vm/amount"
	"bailiff/vm/form/email"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/form/httpurl"
)

// A Form says which texts of a field are one value.
type Form uint8

// The forms. Text is the zero value: a text is its own form, but for the case of address literals in it.
const (
	Text    Form = iota
	Lower        // the text in lower case: an action, a part of an MCP action
	Address      // an address in lower case
	Hex          // 0x and hexadecimal digits, in lower case
	Token        // a symbol in lower case: that of the rule which pins the contract, where one does
	Amount       // the shortest decimal in human units
	Decimal      // the same, whatever unit amounts are sent in
	Unit         // of an amount, which needs none in its normal form
	Mailbox      // the bare address of a recipient, in lower case
	Host         // a canonical host
	URL          // a normal web address
	Escapes      // a path or query with the escapes of a normal web address
	Path         // a path of a tool, with `/` and without empty and `.` segments
	formCount
)

var formNames = [formCount]string{
	Text: "text", Lower: "lower", Address: "address", Hex: "hex", Token: "token", Amount: "amount", Decimal: "decimal", Unit: "unit",
	Mailbox: "mailbox", Host: "host",
	URL: "url", Escapes: "escapes", Path: "path",
}

// String returns the name of the form.
func (f Form) String() string { return formNames[f] }

// Forms returns all forms.
func Forms() []Form {
	all := make([]Form, formCount)
	for i := range all {
		all[i] = Form(i)
	}
	return all
}

// Caseless reports whether the normal forms have no case, so that parts of them are compared without it.
func (f Form) Caseless() bool {
	switch f {
	case Lower, Address, Hex, Token, Mailbox, Host:
		return true
	}
	return false
}

// Fold returns text in lower case where the form has no case, as the form has it, and else text itself.
func (f Form) Fold(text string) string {
	switch {
	case f == Mailbox || f == Host: // which have letters outside of ASCII
		return strings.ToLower(text)
	case f.Caseless():
		return lower(text)
	}
	return text
}

// Normal returns the one text of a value, and false where the text has no normal form. It returns text itself, without
// allocating, where that is normal already. Of a Token it is the name in lower case, of an Amount a decimal in the unit of
// the text.
func (f Form) Normal(text string) (normal string, ok bool) {
	switch f {
	case Lower, Hex, Token:
		return lower(text), true
	case Address:
		return normalAddress(text)
	case Amount, Decimal:
		return ShortDecimal(text)
	case Mailbox:
		return normalMailbox(text)
	case Host:
		return normalHost(text)
	case URL:
		return normalURL(text)
	case Escapes:
		return evmaddr.FoldLiterals(httpurl.URL{Path: text}.NormalPath()), true
	case Path:
		return normalPath(text)
	}
	return evmaddr.FoldLiterals(text), true
}

// normalAddress looks at no checksum: a request with a wrong one is refused before, and a rule is held to it elsewhere.
func normalAddress(text string) (string, bool) {
	if !evmaddr.IsLiteral(text) {
		return text, false
	}
	return lower(text), true
}

func normalURL(text string) (string, bool) {
	parsed, err := httpurl.Parse(text)
	if err != nil {
		return text, false
	}
	return evmaddr.FoldLiterals(parsed.Normal()), true
}

// normalMailbox puts a domain outside of ASCII into the ASCII form by which mail finds it: the same domain has many
// spellings.
func normalMailbox(text string) (string, bool) {
	bare, ok := email.Parse(text)
	if !ok {
		return text, false
	}
	local, domain, _ := strings.Cut(bare, "@")
	if isASCII(domain) {
		return bare, true
	}
	host, ok := normalHost(domain)
	if !ok {
		return text, false
	}
	return local + "@" + host, true
}

func normalHost(text string) (string, bool) {
	host, err := httpurl.Host(text)
	if err != nil {
		return text, false
	}
	return host, true
}

// normalPath drops what says nothing of a path. One that keeps a `..` names no file that the text alone tells.
func normalPath(text string) (string, bool) {
	if !hasIdleSegment(text) {
		return evmaddr.FoldLiterals(text), true
	}
	rest := strings.ReplaceAll(text, `\`, "/")
	normal := make([]byte, 0, len(rest))
	if rest[0] == '/' {
		normal = append(normal, '/')
	}
	for segment := range strings.SplitSeq(rest, "/") {
		switch segment {
		case "", ".":
			continue
		case "..":
			return text, false
		}
		if n := len(normal); n > 0 && normal[n-1] != '/' {
			normal = append(normal, '/')
		}
		normal = append(normal, segment...)
	}
	return evmaddr.FoldLiterals(string(normal)), true
}

// hasIdleSegment reports whether a path has a backslash, or a segment that is empty, `.` or `..`.
func hasIdleSegment(path string) bool {
	start := 0
	for i := 0; i <= len(path); i++ {
		if i < len(path) && path[i] == '\\' {
			return true
		}
		if i < len(path) && path[i] != '/' {
			continue
		}
		switch path[start:i] {
		case "":
			if i > 0 || len(path) == 0 {
				return len(path) > 1
			}
		case ".", "..":
			return true
		}
		start = i + 1
	}
	return false
}

// ShortDecimal returns the shortest form of a decimal in human units: without zeros in front, and without zeros after the
// point that say nothing.
func ShortDecimal(text string) (string, bool) {
	if !isDecimal(text) {
		return text, false
	}
	if point := strings.IndexByte(text, '.'); point >= 0 {
		text = strings.TrimRight(text, "0")
		text = strings.TrimSuffix(text, ".")
	}
	for len(text) > 1 && text[0] == '0' && text[1] != '.' {
		text = text[1:]
	}
	return text, true
}

// isDecimal reports whether text is digits, or digits, a point and digits, of the length that amounts may have.
func isDecimal(text string) bool {
	whole, fraction, pointed := strings.Cut(text, ".")
	return len(text) <= amount.MaxText && isDigits(whole) && (!pointed || isDigits(fraction))
}

func isDigits(text string) bool {
	for i := range len(text) {
		if text[i]-'0' > 9 {
			return false
		}
	}
	return text != ""
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// lower returns text with its ASCII letters in lower case.
func lower(text string) string {
	for i := range len(text) {
		if text[i]-'A' <= 'Z'-'A' {
			return lowered(text)
		}
	}
	return text
}

func lowered(text string) string {
	small := []byte(text)
	for i, c := range small {
		if c-'A' <= 'Z'-'A' {
			small[i] = c + 'a' - 'A'
		}
	}
	return string(small)
}
