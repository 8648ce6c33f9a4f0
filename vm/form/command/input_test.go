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

// TestDocumentEnds: a here-document is refused where bash may end it at another line than the parser.
func TestDocumentEnds(t *testing.T) {
	for _, plain := range []string{
		"cat <<E\nx\nE", "cat <<E\nx\nE\ncat <<E\ny\nE", "cat <<A <<B\nA\nB", "git commit -m \"$(cat <<'EOF'\nfix: x\n\nEOF\n)\"", "cat <<-E\n\tx\n\tE", "cat <<E\nx \\\ny\nE", "cat <<E\nx\\\\\nE",
		"echo `cat <<<x`", "echo $(cat <<<x)", "echo $((1<<2))", "cat <(cat <<'E'\nx\nE\n)", "cat <<'E F'\nx\nE F", "cat <<E\n$(cat <<F\nx\nF\n)\nE",
	} {
		checkRefusals(t, []refusal{{plain, nil}})
	}
	for _, unclear := range []string{
		"cat <<E\nEx\nE", "cat <<EOF\nEO\\\nF\nEOF", "cat <<E\n\\\nx\nE", "cat <<E\n\t\\\nx\nE", "x=$(cat <<'E'\nx\nE)\nr$@m\nE\n)", "cat <(cat <<E\nE)\nr$@m\nE\n)", "cat <<E\n\tE\nE", "cat <<E\nE\nE x", "cat <<E\nE\n: '\nE'",
		"echo `cat <<'E'\n`\nr$@m\nE`", "echo `cat <<E\nx\nE\n`", "echo `echo \\\\; cat <<E\nx\nE\n`", "echo $(cat <<E)\nx\nE", "cat <(cat <<E)\nx\nE", "cat <<E \\\n-u\nE\nE", "cat <<E <<F\nE\nF\nF",
	} {
		checkRefusals(t, []refusal{{unclear, errDelimiter}})
	}
}
