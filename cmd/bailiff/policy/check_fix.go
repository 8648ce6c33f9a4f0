package policy

import (
	"bytes"
	"fmt"
	"slices"

	"bailiff/cmd/bailiff/cli"
	"bailiff/compiler/lint"
	"bailiff/grammar"
)

// maxRounds bounds how often fixes are looked for: one may bring another to light, but not for ever.
const maxRounds = 20

// mender makes the fixes of check --fix and --fix-unsafe; a nil one makes none.
type mender struct {
	*resigner
	makes whichFixes
}

func (c *checkCommand) mender(std cli.Streams) (*mender, error) {
	switch {
	case !c.Fix && !c.Unsafe && c.Key != "":
		return nil, cli.Usage("--key goes with --fix or --fix-unsafe")
	case !c.Fix && !c.Unsafe:
		return nil, nil
	}
	makes := isSafe
	if c.Unsafe {
		makes = isFix
	}
	signer, err := newResigner(std, c.Key)
	return &mender{signer, makes}, err
}

// mend makes its fixes of a policy in the file, round by round until there is none left, says which others there are,
// and returns what the file then holds, errors or not.
func (m *mender) mend(src *grammar.Source) (*grammar.Source, error) {
	if m == nil {
		return src, nil
	}
	if src.Name == "-" {
		return src, cli.Usage("--fix works on files: standard input can't be changed")
	}
	var made []string // said once the file holds them
	mended, _ := mendAll(src, m.makes, func(at *grammar.Source, d grammar.Diagnostic) { made = append(made, fixedLine(at, d)) })
	if !bytes.Equal(mended.Text, src.Text) {
		var err error
		if mended, err = m.replace(src, mended); err != nil {
			return src, err
		}
	}
	for _, line := range made {
		fmt.Fprintln(m.std.Err, line)
	}
	m.suggest(mended)
	return mended, nil
}

// mendAll makes the fixes that makes wants until there is none left, and tells say of each; done is false where
// maxRounds were not enough.
func mendAll(src *grammar.Source, makes whichFixes, say func(*grammar.Source, grammar.Diagnostic)) (mended *grammar.Source, done bool) {
	for range maxRounds {
		_, found := lint.Compile(src)
		found = slices.DeleteFunc(found, func(d grammar.Diagnostic) bool { return !makes(src, d) })
		text, made := src.Mend(found)
		if len(made) == 0 {
			return src, true
		}
		for _, d := range made {
			say(src, d)
		}
		src = grammar.NewSource(src.Name, text)
	}
	return src, false
}

// fixedLine says what a fix changed.
func fixedLine(src *grammar.Source, d grammar.Diagnostic) string {
	at := src.Position(d.Fix.Span.Start)
	return fmt.Sprintf("%s:%d:%d: fixed %s: `%s` became `%s`", src.Name, at.Line, at.Column, d.Code,
		oneLineOf(src.Slice(d.Fix.Span)), oneLineOf(d.Fix.Replacement))
}

// suggest says on the error stream which fixes of a policy were not made.
func (m *mender) suggest(src *grammar.Source) {
	_, found := lint.Compile(src)
	_, left := src.Mend(slices.DeleteFunc(found, func(d grammar.Diagnostic) bool { return m.makes(src, d) }))
	for _, d := range left {
		at := src.Position(d.Fix.Span.Start)
		fmt.Fprintf(m.std.Err, "%s:%d:%d: not fixed %s: `%s` would become `%s`\n", src.Name, at.Line, at.Column, d.Code,
			oneLineOf(src.Slice(d.Fix.Span)), oneLineOf(d.Fix.Replacement))
	}
	if len(left) > 0 {
		fmt.Fprintf(m.std.Err, "bailiff: %s: %s left, because fixing may change decisions: edit the lines yourself, or run --fix-unsafe and review its changes\n", src.Name, Count(len(left), "finding"))
	}
}

// replace writes the mended policy in place of what the file held.
func (m *mender) replace(src, mended *grammar.Source) (*grammar.Source, error) {
	text, err := m.signed(src, mended)
	if err == nil {
		err = cli.ReplaceFile(src.Name, text)
	}
	if err != nil {
		return src, err
	}
	return grammar.NewSource(src.Name, text), nil
}

// signed returns the text of the mended policy with what is left of, or comes after, the old signature.
func (m *mender) signed(src, mended *grammar.Source) ([]byte, error) {
	before, _ := grammar.Split(src)
	after, _ := grammar.Split(mended)
	if !before.Signed || bytes.Equal(before.Body, after.Body) {
		return mended.Text, nil
	}
	body, lost := grammar.Unsigned(mended)
	if lost.HasErrors() { // a block that holds more than a signature is kept for its author to see to
		fmt.Fprintf(m.std.Err, "bailiff: %s: its bytes changed, so a signature that it had no longer holds\n", src.Name)
		return mended.Text, nil
	}
	return m.successor(src, body)
}

// oneLineOf returns a piece of a policy so that it can be shown within a line.
func oneLineOf(text string) string {
	const most = 200
	line := string(bytes.ReplaceAll([]byte(grammar.Visible(text)), []byte("\n"), []byte("␊")))
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}
