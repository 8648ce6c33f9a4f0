package frame

import (
	"regexp"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/grammar"
)

// placeholder is what documents write for a part that the author chooses.
var placeholder = regexp.MustCompile(`^(?:<[^<>@|&;]*[A-Za-z][^<>@|&;]*>|\$?\{\{[^{}]*\}\}|…|\.\.\.|(?:[0-9]+:)?0[xX][0-9a-fA-F]*(?:…|\.\.\.).*|.*…)$`)

// variable is what a shell or a template replaces by a value. Free texts may be one, and paths say so themselves.
var variable = regexp.MustCompile(`^\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})$`)

// comment is what other formats write behind a value.
var comment = regexp.MustCompile(`[ \t]+(//.*|/\*.*\*/)$`)

// ForeignValue reports a value that cannot be meant as written: a placeholder, or one with a comment behind it. It reports
// whether the value can be read nevertheless, as in a text that is in force.
func (c *Checker) ForeignValue(row *Key, entry *grammar.Entry) (ok bool) {
	before := len(c.Found)
	if row.Type != TypeJSON {
		c.foreignPart(row, entry.Key.Span.Start, entry.Value)
	}
	for _, line := range entry.Block {
		c.foreignPart(row, line.Span.Start, line.Value)
	}
	return !c.Found[before:].HasErrors()
}

// foreignPart reports a comment behind a value, or else its placeholders. The line starts at an offset.
func (c *Checker) foreignPart(row *Key, start int, value *grammar.Value) {
	if value == nil {
		return
	}
	for _, item := range value.Items {
		at := comment.FindStringSubmatchIndex(item.Text)
		if item.Quoted || at == nil {
			continue
		}
		span := grammar.Span{Start: item.Span.Start + at[2], End: value.Span.End}
		text := c.File.Source.Slice(span)
		line := c.File.Source.Slice(grammar.Span{Start: start, End: item.Span.Start + at[0]})
		note := "# " + strings.TrimSpace(strings.Trim(text, "/*"))
		c.Add(grammar.At(codes.SlashComment, span, "a comment is a line of its own that begins with `#`: this text is part of the value").
			WithHint("move it above this line: `%s`; if it is part of the value, put the value between quotes", Shorten(note)).
			WithFix(grammar.Span{Start: start, End: value.Span.End}, note+"\n"+line))
		return
	}
	for _, item := range value.Items {
		isVariable := row.Section != "custom" && row.Type != TypeTexts && row.Type != TypePaths && variable.MatchString(item.Text)
		if !item.Quoted && (isVariable || placeholder.MatchString(item.Text)) {
			d := grammar.At(codes.Placeholder, item.Span, "`%s` is a placeholder, not a value", Shorten(item.Text)).
				WithHint("write the value itself; if the text is meant, put it between quotes")
			if strings.Contains(strings.ToLower(item.Text), "0x") {
				d.Message = "`" + Shorten(item.Text) + "` is a shortened address"
				d = d.WithHint("write the whole address, 0x and all 40 hexadecimal digits")
			}
			c.Add(d)
		}
	}
}

// LintText warns of a deny_string that looks like a list or has marks around it: the whole value is one text, which is
// searched for as written.
func (c *Checker) LintText(value *grammar.Value) {
	text := value.Text
	var marks string
	switch {
	case value.Quoted || text == "":
		return
	case len(text) > 1 && text[0] == '`' && text[len(text)-1] == '`':
		marks = "the backquotes are"
	case len(text) > 1 && (text[0] == '[' && text[len(text)-1] == ']' || text[0] == '{' && text[len(text)-1] == '}'):
		marks = "the brackets are"
	case strings.Contains(text, ";"):
		marks = "`;` is"
	case strings.Contains(text, "|"):
		marks = "`|` is"
	default:
		return
	}
	c.Add(grammar.At(codes.TextMarks, value.Span, "the whole value is one text, and %s part of it", marks).
		WithHint("write a line for each text, without marks; to search for the value as written, put it between quotes"))
}
