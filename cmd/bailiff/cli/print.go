package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
)

// OrPrint prints a value as JSON unless there is an error.
func OrPrint(w io.Writer, value any, err error) error {
	if err != nil {
		return err
	}
	return PrintJSON(w, value)
}

// PrintJSON prints a value as indented JSON. What an agent chose is in it as it is, but for what would steer the terminal, or
// show the text in another order: that is escaped, which is the same JSON.
func PrintJSON(w io.Writer, value any) error {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := io.WriteString(w, escapeUnseen(text.String()))
	return err
}

// escapeUnseen escapes the characters of a JSON text that show as nothing or as something else: in JSON they can only are
// in strings. Below U+0020 the encoder has escaped them, other than the line ends between values.
func escapeUnseen(text string) string {
	unseen := func(r rune) bool { return r >= 0x7f && !unicode.IsGraphic(r) }
	if !strings.ContainsFunc(text, unseen) {
		return text
	}
	var escaped strings.Builder
	for _, r := range text {
		if !unseen(r) {
			escaped.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&escaped, `\u%04x`, unit)
		}
	}
	return escaped.String()
}

// SeenWriter escapes what is written to it, a JSON text with every write.
type SeenWriter struct{ io.Writer }

// Write implements io.Writer.
func (w SeenWriter) Write(text []byte) (int, error) {
	_, err := io.WriteString(w.Writer, escapeUnseen(string(text)))
	return len(text), err
}

// PrintTable prints a heading and a line for each row, in columns.
func PrintTable[T any](w io.Writer, heading string, rows []T, line func(T) string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, heading)
	for _, row := range rows {
		fmt.Fprintln(table, strings.Map(OneLine, line(row)))
	}
	return table.Flush()
}

// OneLine keeps what an agent chose from steering the terminal, or from showing its text in another order.
func OneLine(r rune) rune {
	if r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 || unicode.Is(unicode.Cf, r) {
		return '?'
	}
	return r
}

// KeepLines is OneLine for a text of several lines.
func KeepLines(r rune) rune {
	if r == '\n' {
		return r
	}
	return OneLine(r)
}

// plainWord is what a shell takes as one word without quotes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

// ShellWord returns a text as a shell reads it as one word.
func ShellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
