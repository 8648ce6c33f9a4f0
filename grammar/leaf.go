package grammar

import (
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The leaves of the tree are one token each, and know where it is. Keys and values are rows of leaves, and read by
// hand, too: they are most of a policy, and productions take some times as long for them. Each Parse method is
// participle's interface.

// Parse takes a key: Name [ Scope [ Name ] ] Word*.
func (k *Key) Parse(tokens *lexer.PeekingLexer) error {
	name, err := take(tokens, tokenName)
	if err != nil {
		return err
	}
	k.Segments = segments(name)
	if tokens.Peek().Type == tokenScope {
		k.Scope = scope(tokens.Next())
		if tokens.Peek().Type == tokenName {
			k.Path = segments(tokens.Next())
		}
	}
	for tokens.Peek().Type == tokenWord {
		t := tokens.Next()
		k.Words = append(k.Words, Word{t.Value, spanOf(t)})
	}
	return nil
}

// Parse takes a name of one segment: that of a section, or of a line of a block.
func (s *Segment) Parse(tokens *lexer.PeekingLexer) error {
	name, err := take(tokens, tokenName)
	if err != nil {
		return err
	}
	s.Text, s.Span = name.Value, spanOf(name)
	return nil
}

// segments divides a dotted name.
func segments(t *lexer.Token) []Segment {
	row := make([]Segment, 0, 1+strings.Count(t.Value, "."))
	at := t.Pos.Offset
	for text := range strings.SplitSeq(t.Value, ".") {
		row = append(row, Segment{text, Span{at, at + len(text)}})
		at += len(text) + len(".")
	}
	return row
}

func scope(t *lexer.Token) *Scope {
	span := spanOf(t)
	return &Scope{Span: span, Pattern: Segment{
		Text: strings.TrimSuffix(strings.TrimPrefix(t.Value, scopeOpen), "]"),
		Span: Span{span.Start + len(scopeOpen), span.End - len("]")},
	}}
}

// Parse takes the items of a value, at least one.
func (v *Value) Parse(tokens *lexer.PeekingLexer) error {
	first := tokens.RawCursor()
	for kind := tokens.Peek().Type; kind == tokenItem || kind == tokenQuoted; kind = tokens.Peek().Type {
		tokens.Next()
	}
	row := tokens.Range(first, tokens.RawCursor())
	if len(row) == 0 {
		return participle.NextMatch
	}
	v.Items = make([]Item, len(row))
	for i := range row {
		v.Items[i] = item(&row[i])
	}
	return nil
}

func item(t *lexer.Token) Item {
	i := Item{Text: t.Value, Raw: t.Value, Span: spanOf(t), Quoted: t.Type == tokenQuoted}
	if i.Quoted {
		i.Text = i.Text[1 : len(i.Text)-1]
	}
	return i
}

// take returns the next token if it is of a kind.
func take(tokens *lexer.PeekingLexer, kind lexer.TokenType) (*lexer.Token, error) {
	if tokens.Peek().Type != kind {
		return nil, participle.NextMatch
	}
	return tokens.Next(), nil
}

func spanOf(t *lexer.Token) Span {
	return Span{t.Pos.Offset, t.Pos.Offset + len(t.Value)}
}
