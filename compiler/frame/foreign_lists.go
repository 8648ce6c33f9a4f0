package frame

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm/form/command"
)

// A listForm is a way in which other formats write lists, which a policy reads as part of its items.
type listForm struct {
	// soft and hard are the codes of the finding: hard in a list that blocks, and in one that has errors because of it.
	soft, hard grammar.Code

	// in reports whether the form counts in the lists of a key, and find returns what is written in it.
	in   func(*Key) bool
	find func(*Key, *grammar.Value) (listFault, bool)
}

// listForms are the foreign forms in the order in which they are looked for; a part of a list is reported once.
var listForms = []listForm{
	{codes.CurlyQuotes, codes.CurlyQuotes, IsListKey, findCurlyQuotes},
	{codes.ActionPrefix, codes.ClientName, isToolKey, findClientNames},
	{codes.ChainID, codes.ChainID, isChainKey, findChainIDs},
	{codes.ListBrackets, codes.ListMarks, dividesMarks, findPermissions},
	{codes.ListBrackets, codes.ListMarks, isEscaping, findEscapes},
	{codes.NotDivided, codes.ListQuoted, dividesQuotes, findWholeQuotes},
	{codes.ListBrackets, codes.ListMarks, dividesMarks, findMarks},
	{codes.ListBrackets, codes.ListMarks, dividesBraces, findBraces},
	{codes.ListBrackets, codes.ListMarks, IsListKey, findPatterns},
	{codes.NegatedItem, codes.NegatedItem, IsListKey, findNegations},
	{codes.NotDivided, codes.ListSeparator, dividesSigns, findDivided(splitAtSigns)},
	{codes.NotDivided, codes.ListSeparator, dividesBlanks, findDivided(splitAtBlanks)},
	{codes.NotDivided, codes.NotDivided, dividesConjunctions, findDivided(splitAtConjunctions)},
}

func isToolKey(row *Key) bool     { return row.Type == TypeTools }
func isChainKey(row *Key) bool    { return row.Type == TypeChains }
func dividesQuotes(row *Key) bool { return !isFree(row) && row.Type != TypeMethods }
func dividesMarks(row *Key) bool  { return row.Type != TypeMethods }
func dividesBraces(row *Key) bool { return row.Blocks }
func dividesSigns(row *Key) bool  { return !isFree(row) && row.Type != TypeMethods }

// findWholeQuotes finds a list that is one quoted item with commas in it.
func findWholeQuotes(_ *Key, value *grammar.Value) (listFault, bool) {
	if !value.Quoted || !strings.Contains(value.Text, ",") {
		return listFault{}, false
	}
	return listFault{span: value.Span, message: "quotes around the whole list make it one item, commas and all",
		hint: "put quotes around single items only, or none", replacement: joined(strings.Split(value.Text, ","))}, true
}

// marks are the pairs that other formats put around lists and items.
var marks = []string{"[]", "{}", "``"}

// findMarks finds brackets, braces and backquotes around the list or around items.
func findMarks(row *Key, value *grammar.Value) (listFault, bool) {
	fault := listFault{message: "brackets, braces and backquotes around a list or an item are part of the text", hint: "leave them out", unlessQuoted: true}
	items := value.Items
	first, last := items[0], items[len(items)-1]
	for _, pair := range marks {
		alone := func(item grammar.Item) bool { return inMarks(item, pair) && !isLiteralIPv6(row, item.Text) }
		marked := slices.ContainsFunc(items, alone)
		whole := len(items) > 1 && !first.Quoted && !last.Quoted && first.Text != "" && last.Text != "" &&
			first.Text[0] == pair[0] && last.Text[len(last.Text)-1] == pair[1] && !(inMarks(first, pair) && inMarks(last, pair))
		if !marked && !whole {
			continue
		}
		texts := make([]string, len(items))
		for i, item := range items {
			texts[i] = item.Raw
			switch {
			case alone(item):
				texts[i] = strings.TrimSpace(item.Text[1 : len(item.Text)-1])
			case whole && i == 0:
				texts[i] = strings.TrimSpace(item.Text[1:])
			case whole && i == len(items)-1:
				texts[i] = strings.TrimSpace(item.Text[:len(item.Text)-1])
			}
		}
		fault.span, fault.replacement = value.Span, joined(texts)
		if !whole {
			fault.span, fault.replacement = partOf(items, texts, alone)
		}
		return fault, true
	}
	return listFault{}, false
}

func inMarks(item grammar.Item, pair string) bool {
	text := item.Text
	return !item.Quoted && len(text) > 1 && text[0] == pair[0] && text[len(text)-1] == pair[1]
}

// isLiteralIPv6 reports whether brackets belong to an address in a list of hosts.
func isLiteralIPv6(row *Key, text string) bool {
	at, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return row.Type == TypeHosts && err == nil && at.Is6()
}

// findBraces finds alternatives of a shell, `/etc/{passwd,shadow}`, which the comma inside divides.
func findBraces(_ *Key, value *grammar.Value) (listFault, bool) {
	for i, opening := range value.Items {
		start, inner, opens := strings.Cut(opening.Text, "{")
		if opening.Quoted || !opens || strings.Contains(inner, "}") {
			continue
		}
		for j := i + 1; j < len(value.Items) && !value.Items[j].Quoted; j++ {
			inside, end, closes := strings.Cut(value.Items[j].Text, "}")
			if !closes {
				continue
			}
			var texts []string
			for k := i; k <= j; k++ {
				part := value.Items[k].Text
				switch k {
				case i:
					part = inner
				case j:
					part = inside
				}
				texts = append(texts, start+part+end)
			}
			return listFault{span: opening.Span.To(value.Items[j].Span), message: "a comma divides a list inside braces too",
				hint: "write every item out", replacement: joined(texts), unlessQuoted: true}, true
		}
	}
	return listFault{}, false
}

// findDivided returns what finds items that a function divides into several.
func findDivided(divide func(*Key, string) []string) func(*Key, *grammar.Value) (listFault, bool) {
	return func(row *Key, value *grammar.Value) (listFault, bool) {
		divided := func(item grammar.Item) bool { return !item.Quoted && joined(divide(row, item.Text)) != item.Text }
		if !slices.ContainsFunc(value.Items, divided) {
			return listFault{}, false
		}
		texts := make([]string, len(value.Items))
		for i, item := range value.Items {
			texts[i] = item.Raw
			if divided(item) {
				texts[i] = joined(divide(row, item.Text))
			}
		}
		span, replacement := partOf(value.Items, texts, divided)
		return listFault{span: span, message: notDivided(value, span), hint: "write commas", replacement: replacement, unlessQuoted: true}, true
	}
}

func notDivided(value *grammar.Value, span grammar.Span) string {
	return "only commas divide a list: `" + Shorten(value.Raw[span.Start-value.Span.Start:span.End-value.Span.Start]) + "` is not divided"
}

// splitAtSigns divides an item at semicolons and bars that have words on both sides. It returns the item itself if there are
// none, and if it is a command that begins with an operator or pipes into a shell, which is meant as written.
func splitAtSigns(row *Key, text string) []string {
	if text == "" || row.Commands && (strings.ContainsRune("|<>&;", rune(text[0])) || pipesIntoShell(text)) {
		return []string{text}
	}
	var parts []string
	start := 0
	for i, r := range text {
		if (r == ';' || r == '|') && hasWord(text[:i]) && hasWord(text[i+1:]) {
			parts = append(parts, strings.Trim(text[start:i], ";| \t"))
			start = i + 1
		}
	}
	if len(parts) == 0 {
		return []string{text}
	}
	return withoutEmpty(append(parts, strings.Trim(text[start:], ";| \t")))
}

// pipesIntoShell reports whether the text behind a bar starts a shell, directly or through a runner such as `sudo`.
func pipesIntoShell(text string) bool {
	for _, stage := range strings.Split(text, "|")[1:] {
		for _, word := range strings.Fields(stage) {
			if name := word[strings.LastIndexByte(word, '/')+1:]; command.IsShell(name) {
				return true
			} else if !command.IsRunner(name) && !strings.HasPrefix(word, "-") {
				break
			}
		}
	}
	return false
}

// pathStart is where another path begins within an item.
var pathStart = regexp.MustCompile(`(?i)[ \t]+(?:(?:and|or|&|\+)[ \t]+)?([/~.])`)

// splitAtBlanks divides an item at its white space, where each part looks like an item of the list: one that begins like a
// path where another path begins.
func splitAtBlanks(row *Key, text string) []string {
	if row.Type == TypePaths {
		if text == "" || !strings.ContainsRune("/~.", rune(text[0])) {
			return []string{text}
		}
		return strings.Split(pathStart.ReplaceAllString(text, "\n$1"), "\n")
	}
	words := slices.DeleteFunc(strings.Fields(text), func(word string) bool {
		return isConjunction(word) || !hasWord(word) && !strings.Contains(word, "*")
	})
	if len(words) == 0 || slices.ContainsFunc(words, func(word string) bool { return !looksLikeItem(row, word) }) {
		return []string{text}
	}
	return words
}

// looksLikeItem reports whether a word could be an item of the list by itself.
func looksLikeItem(row *Key, word string) bool {
	switch row.Type {
	case TypeHosts:
		return strings.ContainsAny(word, ".:")
	case TypeRecipients:
		return strings.Contains(word, "@") && !strings.ContainsAny(word, "<>")
	case TypeAddresses:
		return strings.Contains(word, "0x")
	case TypeChains:
		return strings.Trim(word, "0123456789") == ""
	case TypeWords:
		return slices.ContainsFunc(row.Values, func(value string) bool { return strings.EqualFold(value, word) })
	}
	return true
}

// ForeignList reports the foreign forms in which the list of a key is written, in place of what was found since before
// about the same part of it: that follows from the form. It is an error in a list that blocks, and where there was one.
func (c *Checker) ForeignList(row *Key, value *grammar.Value, before int) {
	if !IsListKey(row) {
		return
	}
	var faults grammar.Diagnostics
	for _, form := range listForms {
		if !form.in(row) {
			continue
		}
		fault, found := form.find(row, value)
		about := func(d grammar.Diagnostic) bool { return d.Span.Overlaps(fault.span) }
		if !found || slices.ContainsFunc(faults, about) {
			continue
		}
		code, failed := form.soft, slices.ContainsFunc(c.Found[before:], func(d grammar.Diagnostic) bool { return d.Severity == grammar.Error && about(d) })
		if row.Blocks || failed {
			code = form.hard
		}
		if failed && code.Severity() != grammar.Error { // a list that lacks what was refused must not be used
			code = codes.ListMarks
		}
		d := fault.diagnostic(code, row)
		if !failed { // what had an error before was never in force
			d = Deferring(d, c.deferred)
		}
		faults = append(faults, d)
		c.Found = append(c.Found[:before], slices.DeleteFunc(c.Found[before:], about)...)
	}
	c.Found = append(c.Found, faults...)
	for _, d := range faults {
		c.Foreign = append(c.Foreign, d.Span)
	}
}

// commandsByName are commands that policies block by their names alone.
var commandsByName = strings.Fields(`apt apt-get at awk base64 bash brew cat chmod chown chgrp cp crontab curl dd docker env eval exec fdisk
	find ftp gcc git go halt iptables kill killall kubectl ln ls make mkfs mkdir mount mv nc ncat netcat nmap node npm npx
	passwd perl pip pip3 pkill poweroff printenv ps python python3 reboot rm rmdir rsync ruby scp sed sftp sh shred shutdown
	socat ssh su sudo systemctl tar tee telnet touch truncate ufw umount unlink useradd userdel usermod visudo wget xargs zsh`)

// LintCommandWords warns of an item of three bare words that are all commands: they were probably meant as three items.
func (c *Checker) LintCommandWords(item grammar.Item) {
	words := strings.Fields(item.Text)
	isName := func(word string) bool { return slices.Contains(commandsByName, strings.ToLower(word)) }
	if item.Quoted || len(words) < 3 || slices.ContainsFunc(words, func(word string) bool { return !isName(word) }) {
		return
	}
	meant := strings.Join(words, ", ")
	c.Add(grammar.At(codes.CommandWords, item.Span, "only commas divide a list: this is one item, and each word of it is a command").
		WithHint("write `%s`; if one command is meant, put it between quotes", Shorten(meant)).WithFix(item.Span, meant))
}
