package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

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

// Ask asks a question on a stream, and reports whether the next line of the input says yes.
func Ask(std Streams, on io.Writer, question string) bool {
	fmt.Fprint(on, question+" [y/N] ")
	answer, _ := bufio.NewReader(std.In).ReadString('\n') // no line is no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
