package frame

import (
	"regexp"
	"slices"
	"strings"

	"bailiff/grammar"
)

// slashed is a regular expression as Perl, JavaScript and sed write it.
var slashed = regexp.MustCompile(`^/(.*[\\^$*+?()\[\]{}|].*)/[gimsuxy]*$`)

// alternatives of a regular expression, and what else only such a one has.
var (
	alternation = regexp.MustCompile(`^(.*?)\((?:\?:)?([^()]*\|[^()]*)\)(.*)$`)
	optional    = regexp.MustCompile(`\((?:\?:)?[^()]*\)[?*]`)
	patternSign = regexp.MustCompile(`^\^|^\(\?i\)|\$$|\\[.wWdDsSb]|\)[?*+]|\.\+`)
	anyPath     = regexp.MustCompile(`^\^|\.\*\\\.|\.\+`)
)

// isPattern reports whether an item of a list is a regular expression, which no list has.
func isPattern(row *Key, item grammar.Item) bool {
	text := item.Text
	match := alternation.FindStringSubmatch(text)
	switch {
	case item.Quoted || row.Type == TypeMethods || row.Type == TypeAddresses || isFree(row):
		return false
	case match != nil && hasWord(match[2]):
		return true
	case row.Type == TypePaths:
		return anyPath.MatchString(text)
	case slashed.MatchString(text):
		return row.Type != TypeRoots
	case row.Type == TypeTexts || row.Type == TypeRoots || row.Type == TypeResources:
		return false
	case row.Type == TypeTools || row.Type == TypePatterns || row.Type == TypeActions:
		return patternSign.MatchString(text)
	}
	return patternSign.MatchString(text) || strings.Contains(text, ".*") && (row.Blocks || row.Type != TypeNames)
}

// findPatterns finds regular expressions.
func findPatterns(row *Key, value *grammar.Value) (listFault, bool) {
	is := func(item grammar.Item) bool { return isPattern(row, item) }
	if !slices.ContainsFunc(value.Items, is) {
		return listFault{}, false
	}
	fault := listFault{message: "an item is a plain text and no regular expression: its signs would be part of it", hint: "write the text itself", unlessQuoted: true}
	if row.Blocks && row.Type == TypeTexts {
		fault.message = "a blocked command is a plain text, sought anywhere in a command, and no regular expression"
	}
	wrong := func(item grammar.Item) bool {
		return is(item) || row.Type == TypePaths && !item.Quoted && strings.HasSuffix(item.Text, "/.*")
	}
	texts, known := make([]string, len(value.Items)), true
	for i, item := range value.Items {
		texts[i] = item.Raw
		if wrong(item) {
			plain, ok := plainTexts(row, item.Text)
			texts[i], known = joined(plain), known && ok
		}
	}
	span, replacement := partOf(value.Items, texts, wrong)
	fault.span, fault.replacement = span, replacement
	if !known {
		fault.hint, fault.replacement = "write a part of the text itself", ""
		if len(texts) > 0 && replacement != "" {
			fault.hint += ", such as `" + Shorten(replacement) + "`"
		}
	}
	return fault, true
}

// plainTexts returns the items that block what a regular expression was meant to. It reports whether they are surely those;
// otherwise they are the part in front of its first sign.
func plainTexts(row *Key, pattern string) (texts []string, ok bool) {
	if match := slashed.FindStringSubmatch(pattern); match != nil && row.Type != TypePaths {
		pattern = match[1]
	}
	pattern = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(pattern, "(?i)"), "^"), "$")
	pattern = optional.ReplaceAllString(pattern, "")
	ok = true
	alternatives := strings.Split(pattern, "|")
	if match := alternation.FindStringSubmatch(pattern); match != nil {
		alternatives = strings.Split(match[2], "|")
		for i, one := range alternatives {
			alternatives[i] = match[1] + one + match[3]
		}
	}
	for _, one := range alternatives {
		plain, sure := plainText1(row, one)
		texts, ok = append(texts, plain), ok && sure
	}
	if !ok && row.Type == TypeTexts && len(texts) > 1 {
		texts = slices.Compact(texts)
	}
	return texts, ok && !slices.Contains(texts, "")
}

// regexpWords are the parts of a regular expression that mean one text, or for any.
var regexpWords = strings.NewReplacer(`\s+`, " ", `\s*`, " ", `\s`, " ", `\b`, "", `\.`, ".", `\-`, "-", `\/`, "/", `\@`, "@", `.*?`, "*", ".*", "*", ".+", "*")

// plainText1 is plainTexts for a pattern without alternatives.
func plainText1(row *Key, pattern string) (plain string, ok bool) {
	if row.Type == TypePaths {
		pattern = strings.TrimSuffix(pattern, "/.*")
	}
	plain = regexpWords.Replace(pattern)
	signs := `\^$+?()[]{}|,`
	switch row.Type {
	case TypeHosts:
		plain = strings.TrimLeft(plain, "*")
		if rest, below := strings.CutPrefix(plain, "."); below {
			plain = map[bool]string{true: rest, false: "*." + rest}[row.Blocks]
		}
		signs += "*"
	case TypeTexts:
		plain = strings.Trim(plain, "*")
		signs += "*"
	case TypeWords, TypeNames, TypeActions, TypeChains:
		signs += "*"
	}
	plain = strings.TrimSpace(plain)
	at := strings.IndexAny(plain, signs)
	if at < 0 {
		return plain, plain != ""
	}
	return strings.TrimRight(plain[:at], " ."), false
}

// clientName is how clients name an MCP tool.
var clientName = regexp.MustCompile(`^mcp__([A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*)__([A-Za-z0-9_*-]+)$`)

// findClientNames finds tools in the form in which clients name them.
func findClientNames(_ *Key, value *grammar.Value) (listFault, bool) {
	is := func(item grammar.Item) bool { return clientName.MatchString(item.Text) }
	if !slices.ContainsFunc(value.Items, is) {
		return listFault{}, false
	}
	texts := make([]string, len(value.Items))
	for i, item := range value.Items {
		texts[i] = item.Raw
		if match := clientName.FindStringSubmatch(item.Text); match != nil {
			texts[i] = match[1] + "." + match[2]
		}
	}
	fault := listFault{message: "`mcp__server__tool` is how clients name a tool; in a policy it is `server.tool`", hint: "write"}
	fault.span, fault.replacement = partOf(value.Items, texts, is)
	return fault, true
}

// findChainIDs finds chain ids in the hexadecimal form of JSON-RPC.
func findChainIDs(_ *Key, value *grammar.Value) (listFault, bool) {
	texts := make([]string, len(value.Items))
	is := func(item grammar.Item) bool { return decimalID(item.Text) != "" }
	if !slices.ContainsFunc(value.Items, is) {
		return listFault{}, false
	}
	for i, item := range value.Items {
		if texts[i] = decimalID(item.Text); texts[i] == "" {
			texts[i] = item.Raw
		}
	}
	fault := listFault{message: "chain ids are decimal numbers here, and these are hexadecimal", hint: "write"}
	fault.span, fault.replacement = partOf(value.Items, texts, is)
	return fault, true
}

// findCurlyQuotes finds items between the quotes of word processors. The text between two of them may have commas.
func findCurlyQuotes(_ *Key, value *grammar.Value) (listFault, bool) {
	var parts []string
	from, to := -1, 0
	for i := 0; i < len(value.Items); i++ {
		first := value.Items[i]
		if first.Quoted || !OpensCurly(first.Text) && !ClosesCurly(first.Text) {
			parts = append(parts, first.Raw)
			continue
		}
		if from < 0 {
			from, parts = i, nil
		}
		if !ClosesCurly(first.Text) {
			i = closingItem(value.Items, i)
		}
		to = i
		inner := value.Raw[first.Span.Start-value.Span.Start : value.Items[i].Span.End-value.Span.Start]
		inner = strings.Trim(inner, curlyQuotes)
		quote := `"`
		if strings.Contains(inner, quote) {
			quote = "'"
		}
		if inner == "" || strings.ContainsAny(inner, quote+curlyQuotes) {
			return listFault{span: first.Span.To(value.Items[i].Span), message: curlyMessage, hint: curlyHint}, true
		}
		parts = append(parts, quote+inner+quote)
	}
	if from < 0 {
		return listFault{}, false
	}
	parts = parts[:len(parts)-(len(value.Items)-1-to)]
	return listFault{span: value.Items[from].Span.To(value.Items[to].Span), message: curlyMessage, hint: curlyHint, replacement: joined(parts)}, true
}
