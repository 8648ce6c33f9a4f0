package grammar

import (
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// Parse reads a policy, signed or not. It returns every error and warning of the text, sorted and capped,
// and the tree of what could be read, never nil: lines with errors are left out of it. Only a tree that
// came without errors says what the policy says. Time and memory are linear in the text, and nothing is
// parsed that exceeds a bound.
//
// The signature block is framed (see Split) but not verified, and is no part of the tree.
func Parse(src *Source) (*File, Diagnostics) {
	framed, found := Split(src)
	empty := &File{Source: src, Framed: framed}
	if len(src.Text) > MaxBytes {
		return empty, found
	}
	if d, wide := checkEncoding(src.Text); wide {
		return empty, append(found, d)
	}
	found = append(found, checkText(src.Text)...)
	if lines := checkLines(src.Text); lines.HasErrors() {
		return empty, append(found, lines...).Sorted()
	}

	scan := scanner{text: string(framed.Body)}
	if strings.HasPrefix(scan.text, byteOrderMark) {
		scan.next = len(byteOrderMark) // an error already; the first line is read as it was meant
	}
	file, err := produce(&scan)
	if err != nil {
		return empty, append(found, unexpected(err)).Sorted()
	}
	file.Source, file.Framed, file.Comments = src, framed, scan.comments
	file.finish(scan.text)
	found = append(found, scan.found.list...)
	found = append(found, file.check(scan.versionRefused)...)
	return file, withoutSeen(found).Sorted()
}

// produce runs the productions of ast.go over the tokens. The scanner makes only such sequences as the
// productions take, so an error is a defect; it is returned, and the policy refused.
func produce(tokens lexer.Lexer) (*File, error) {
	peeking, err := lexer.Upgrade(tokens)
	if err != nil {
		return nil, err
	}
	return parser().ParseFromLexer(peeking)
}

func unexpected(err error) Diagnostic {
	at := 0
	if located := participle.Error(nil); errors.As(err, &located) {
		at = located.Position().Offset
	}
	return At(CodeUnexpected, Span{at, at}, "the grammar does not take this text: %v", err)
}

// parser builds the productions, once.
var parser = sync.OnceValue(func() *participle.Parser[File] {
	return participle.MustBuild[File](
		participle.Lexer(definition{}),
		participle.UseLookahead(1),
	)
})

// definition names the tokens for participle. The tokens themselves come from the scanner.
type definition struct{}

// Symbols implements lexer.Definition.
func (definition) Symbols() map[string]lexer.TokenType { return symbols }

// Lex implements lexer.Definition.
func (definition) Lex(_ string, text io.Reader) (lexer.Lexer, error) {
	all, err := io.ReadAll(text)
	if err != nil {
		return nil, err
	}
	return &scanner{text: string(all)}, nil
}
