package form

import (
	"regexp/syntax"
	"slices"
	"strings"

	"bailiff/vm/form/evmaddr"
	"bailiff/vm/form/httpurl"
)

// Where says which part of a value a rule's text is compared with.
type Where uint8

// The places of a rule's text in a value.
const (
	Whole Where = iota
	Start
	End
	Inside
)

// Rule puts the text of a rule into the form of its field, so that it compares with normal values. A whole text that has
// no normal form stays as it is: no normal value is equal to it.
func (f Form) Rule(text string, where Where) string {
	if where == Whole {
		normal, ok := f.Normal(text)
		if !ok {
			return f.Fold(text)
		}
		return normal
	}
	switch {
	case f == Hex:
		return partOfHex(lower(text), where)
	case f.Caseless():
		return f.Fold(text)
	}
	switch f {
	case URL:
		text = partOfURL(text)
	case Escapes:
		text = httpurl.NormalPart(text)
	case Path:
		text = partOfPath(text, where)
	}
	return evmaddr.FoldLiterals(text)
}

// partOfHex leaves out the 0x of a part: what is inside call data has none.
func partOfHex(text string, where Where) string {
	digits, marked := strings.CutPrefix(text, "0x")
	switch {
	case digits == "": // any call data
		return "0x"
	case where != Start:
		return digits
	case marked || text == "0":
		return text
	}
	return "0x" + text
}

// partOfURL normalises a part of a web address; where it is the beginning, its host too, as far as it reaches. A part that
// has a scheme is the beginning.
func partOfURL(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if scheme = lower(scheme); !found || scheme != "http" && scheme != "https" {
		return httpurl.NormalPart(text)
	}
	slash := strings.IndexAny(rest, "/?#")
	if slash < 0 {
		return lower(text)
	}
	authority, path := scheme+"://"+lower(rest[:slash]), rest[slash:]
	if parsed, err := httpurl.Parse(authority); err == nil {
		authority = strings.TrimSuffix(parsed.Normal(), "/")
	}
	return authority + httpurl.NormalPart(path)
}

// partOfPath drops what normal paths do not have. The borders of a part stay, since the value may go on there.
func partOfPath(text string, where Where) string {
	text = strings.ReplaceAll(text, `\`, "/")
	for {
		shorter := strings.ReplaceAll(strings.ReplaceAll(text, "//", "/"), "/./", "/")
		if where == Start && len(shorter) > len("./") {
			shorter = strings.TrimPrefix(shorter, "./")
		}
		if shorter == text {
			return text
		}
		text = shorter
	}
}

// Pattern puts the pattern of a rule into the form of its field.
func (f Form) Pattern(text string) string {
	if f.Caseless() {
		return "(?i)" + text
	}
	return evmaddr.FoldLiterals(text)
}

// capitals are the digits whose case an address literal loses.
const capitals = "ABCDEF"

// literalCase reports whether a text has a capital that can be in an address literal of a value.
func literalCase(text string, where Where) bool {
	switch where {
	case Whole:
		return false
	case Start: // a literal in it begins in it
		literal := strings.Index(text, "0x")
		return literal >= 0 && strings.ContainsAny(text[literal:], capitals)
	}
	return strings.ContainsAny(text, capitals)
}

// PatternRespelled is Respelled for a pattern.
func (f Form) PatternRespelled(text string) bool {
	switch f {
	case Lower, Address, Hex:
		return false
	case Text:
		tree, err := syntax.Parse(f.Pattern(text), syntax.Perl)
		return err != nil || tellsCase(tree)
	}
	return true
}

// tellsCase reports whether a pattern takes a capital of hexadecimal digits somewhere where it does not take the small one.
func tellsCase(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpLiteral:
		return tree.Flags&syntax.FoldCase == 0 && strings.ContainsAny(string(tree.Rune), capitals)
	case syntax.OpCharClass:
		for _, capital := range capitals {
			if inClass(tree.Rune, capital) && !inClass(tree.Rune, capital+'a'-'A') {
				return true
			}
		}
	}
	return slices.ContainsFunc(tree.Sub, tellsCase)
}

// inClass reports whether a class, as pairs of first and last runes, has a rune.
func inClass(pairs []rune, r rune) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] <= r && r <= pairs[i+1] {
			return true
		}
	}
	return false
}

// Respelled reports whether a text as sent can compare with a rule's text, as written, where its normal form does not
// compare with the text that Rule returns. Only then a denial has to read the text as sent besides.
func (f Form) Respelled(text string, where Where) bool {
	switch f {
	case Lower, Address, Hex:
		return false
	case Token:
		return where != Whole // an address that a rule pins is no text alone
	case Amount, Unit:
		return true
	case Text:
		return literalCase(text, where)
	}
	if where == Whole {
		_, ok := f.Normal(text)
		return !ok
	}
	return true
}
