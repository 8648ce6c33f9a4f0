package cli

import (
	"io"
	"os"

	"bailiff/grammar"

	"golang.org/x/term"
)

// StyleFor returns how text is set off on a stream: in colour if that is always wanted or, for "auto", on a terminal
// where neither NO_COLOR (no-color.org) nor TERM says otherwise.
func StyleFor(choice string, w io.Writer) grammar.Style {
	file, isFile := w.(*os.File)
	wanted := isFile && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if choice == "always" || choice == "auto" && wanted {
		return grammar.Colour
	}
	return grammar.Style{}
}
