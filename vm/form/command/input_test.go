package command

import (
	"strings"
	"testing"
)

// TestSharedInput: a program that takes a part of the script that it is in decides where the shell goes on.
func TestSharedInput(t *testing.T) {
	checkRefusals(t, []refusal{
		{"bash <<'E'\nhead -c 6\necho 'rm -rf /'\nE", errInput},
		{"bash <<'E'\nghead -c 6\necho 'rm -rf /'\nE", errInput},
		{"bash <<'E'\n/opt/bin/gdd bs=6 count=1\necho 'rm -rf /'\nE", errInput},
		{"bash <<'E'\nGSplit -b 6\necho 'rm -rf /'\nE", errInput},
		{"bash <<'E'\ng\necho 'rm -rf /'\nE", nil},
		{"bash <<'E'\ngit status\necho 'rm -rf /'\nE", nil},
		{"bash <<'E'\nghead -c 6\necho rm\nE", nil},
	})
}

// TestDelimiters: a here-document is read as it is written if its delimiter is quoted, and otherwise the shell expands it first. Delimiters that
// bash and the parser read differently are refused: one of them would read as a command what the other takes for the document.
func TestDelimiters(t *testing.T) {
	for delimiter, want := range map[string]error{"'E'": nil, `"E"`: nil, `\E`: nil, "'E F'": nil, "E": errText, "E-1": errText} {
		checkRefusals(t, []refusal{{"bash <<" + delimiter + "\necho ${y:-;ls}\n" + strings.Trim(delimiter, `'"\`) + "\n", want}})
	}
	for delimiter, end := range map[string]string{
		"$'E'": "E", `$"E"`: "E", "E'F'": "EF", "'E''F'": "EF", "''E": "E", `E\F`: "EF", `\\E`: `\E`, "''": "", `'E\'`: `E\`, "E*": "E*", " -E": "-E", "'-E'": "-E", ".E": ".E", "E:": "E:", "E[F]": "E[F]", "~E": "~E", "'E`'": "E`", "E@(x)": "E",
	} {
		checkRefusals(t, []refusal{{"shopt -s extglob\ncat <<" + delimiter + "\nx\n" + end + "\n", errDelimiter}})
	}
	for _, hidden := range []string{ // by what the parser takes for the document
		"cat <<\"a\\\"b\"\nhi\na\"b\nr$@m -rf /x\na\\\"b\n", "cat <<$'a\\x41'\nhi\naA\nr$@m -rf /x\na\\x41\n", "shopt -s extglob\ncat <<E@(x)\nhi\nE@(x)\nr$@m -rf /x\nE\n",
		"shopt -s extglob\ncat <<@(E)\nhi\n@(E)\nr$@m -rf /x\n\n", "bash <<'E'F\n# c \\\nr$@m -rf /x\nEF\n", "cat <<'F'E\nx \\\nFE\nr$@m -rf /x\nFE\n", "cat <<-'F'E\nx \\\nFE\nr$@m -rf /x\nFE\n",
	} {
		checkRefusals(t, []refusal{{hidden, errDelimiter}})
	}
}
