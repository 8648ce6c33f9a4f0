package grammar

import (
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// The leaves of the tree are one token each, and know where it stands. Keys and values are rows of leaves, and read by
// hand, too: they are most of a policy, and productions take three times as long for them.

// Parse takes a name. It is participle's interface, as are the other Parse methods of leaves.
func (s *Segment) Parse(tokens *lexer.PeekingLexer) error {
	t, err := take(tokens, tokenName)
	if err != nil {
		return err
	}
	s.Text, s.Span = t.Value, spanOf(t)
	return nil
}

// Parse takes a scope.
func (s *Scope) Parse(tokens *lexer.PeekingLexer) error {
	t, err := take(tokens, tokenScope)
	if err != nil {
		return err
	}
	s.Span = spanOf(t)
	s.Pattern.Text = strings.TrimSuffix(strings.TrimPrefix(t.Value, scopeOpen), "]")
	s.Pattern.Span = Span{s.Span.Start + len(scopeOpen), s.Span.End - len("]")}
	return nil
}

// Parse takes a key: Segment ( Dot Segment )* [ Scope ( Dot Segment )* ] Word*.
func (k *Key) Parse(tokens *lexer.PeekingLexer) (err error) {
	if k.Segments, err = takeSegments(tokens); err != nil {
		return err
	}
	if tokens.Peek().Type == tokenScope {
		k.Scope = new(Scope)
		if err := k.Scope.Parse(tokens); err != nil {
			return err
		}
		if tokens.Peek().Type == tokenDot {
			tokens.Next()
			if k.Path, err = takeSegments(tokens); err != nil {
				return err
			}
		}
	}
	for tokens.Peek().Type == tokenWord {
		var w Word
		if err := w.Parse(tokens); err != nil {
			return err
		}
		k.Words = append(k.Words, w)
	}
	return nil
}

// takeSegments takes segments between dots.
func takeSegments(tokens *lexer.PeekingLexer) (segments []Segment, err error) {
	for {
		var s Segment
		if err := s.Parse(tokens); err != nil {
			return nil, err
		}
		segments = append(segments, s)
		if tokens.Peek().Type != tokenDot {
			return segments, nil
		}
		tokens.Next()
	}
}

// Parse takes items between commas.
func (v *Value) Parse(tokens *lexer.PeekingLexer) error {
	for {
		var i Item
		if err := i.Parse(tokens); err != nil {
			return err
		}
		v.Items = append(v.Items, i)
		if tokens.Peek().Type != tokenComma {
			return nil
		}
		tokens.Next()
	}
}

// Parse takes a word.
func (w *Word) Parse(tokens *lexer.PeekingLexer) error {
	t, err := take(tokens, tokenWord)
	if err != nil {
		return err
	}
	w.Text, w.Span = t.Value, spanOf(t)
	return nil
}

// Parse takes an item.
func (i *Item) Parse(tokens *lexer.PeekingLexer) error {
	t, err := take(tokens, tokenItem, tokenQuoted)
	if err != nil {
		return err
	}
	i.Text, i.Raw, i.Span, i.Quoted = t.Value, t.Value, spanOf(t), t.Type == tokenQuoted
	if i.Quoted {
		i.Text = i.Text[1 : len(i.Text)-1]
	}
	return nil
}

// take returns the next token if it is of one of the kinds.
func take(tokens *lexer.PeekingLexer, kinds ...lexer.TokenType) (*lexer.Token, error) {
	if !slices.Contains(kinds, tokens.Peek().Type) {
		return nil, participle.NextMatch
	}
	return tokens.Next(), nil
}

func spanOf(t *lexer.Token) Span {
	return Span{t.Pos.Offset, t.Pos.Offset + len(t.Value)}
}
