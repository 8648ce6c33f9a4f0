package grammar

import (
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// What productions say of a section and its lines is read by hand: that is all of a policy but its first lines, and
// productions take some times as long for it.

// Parse takes a section: Heading Name EOL ( Entry | BlockLine )*. It is participle's interface, as are the other Parse
// methods.
func (s *Section) Parse(tokens *lexer.PeekingLexer) error {
	if tokens.Peek().Type != tokenHeading {
		return participle.NextMatch
	}
	tokens.Next()
	name, err := take(tokens, tokenName)
	if err != nil {
		return err
	}
	s.Heading = Segment{name.Value, spanOf(name)}
	_, err = take(tokens, tokenEOL)
	for err == nil {
		switch tokens.Peek().Type {
		case tokenName:
			entry := new(Entry)
			s.Entries, err = append(s.Entries, entry), entry.Parse(tokens)
		case tokenIndent:
			line := new(BlockLine)
			s.Strays, err = append(s.Strays, line), line.Parse(tokens)
		default:
			return nil
		}
	}
	return err
}

// Parse takes an entry: Key Colon ( Value EOL | EOL BlockLine* ).
func (e *Entry) Parse(tokens *lexer.PeekingLexer) error {
	if tokens.Peek().Type != tokenName {
		return participle.NextMatch
	}
	e.Key = takeKey(tokens)
	if _, err := take(tokens, tokenColon); err != nil {
		return err
	}
	e.Value = takeValue(tokens)
	if _, err := take(tokens, tokenEOL); err != nil {
		return err
	}
	for e.Value == nil && tokens.Peek().Type == tokenIndent {
		line := new(BlockLine)
		if err := line.Parse(tokens); err != nil {
			return err
		}
		e.Block = append(e.Block, line)
	}
	return nil
}

// Parse takes a block line: Indent Segment Colon [ Value ] EOL.
func (b *BlockLine) Parse(tokens *lexer.PeekingLexer) error {
	if tokens.Peek().Type != tokenIndent {
		return participle.NextMatch
	}
	tokens.Next()
	name, err := take(tokens, tokenName)
	if err != nil {
		return err
	}
	b.Key = Segment{name.Value, spanOf(name)}
	if _, err := take(tokens, tokenColon); err != nil {
		return err
	}
	b.Value = takeValue(tokens)
	_, err = take(tokens, tokenEOL)
	return err
}

// takeKey takes a key, whose first token is there: Name [ Scope [ Name ] ] Word*.
func takeKey(tokens *lexer.PeekingLexer) *Key {
	k := &Key{Segments: segments(tokens.Next())}
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
	return k
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

// takeValue takes the items of a value; nil where none stands here.
func takeValue(tokens *lexer.PeekingLexer) *Value {
	first := tokens.RawCursor()
	for kind := tokens.Peek().Type; kind == tokenItem || kind == tokenQuoted; kind = tokens.Peek().Type {
		tokens.Next()
	}
	row := tokens.Range(first, tokens.RawCursor())
	if len(row) == 0 {
		return nil
	}
	v := &Value{Items: make([]Item, len(row))}
	for i := range row {
		v.Items[i] = item(&row[i])
	}
	return v
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
	if t := tokens.Peek(); t.Type != kind {
		return nil, &participle.UnexpectedTokenError{Unexpected: *t}
	}
	return tokens.Next(), nil
}

func spanOf(t *lexer.Token) Span {
	return Span{t.Pos.Offset, t.Pos.Offset + len(t.Value)}
}
