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

// TestDelimiters: a here-document is read as it is written if its delimiter is quoted, and otherwise the shell expands it first.
func TestDelimiters(t *testing.T) {
	for delimiter, want := range map[string]error{"'E'": nil, `"E"`: nil, `\E`: nil, "$'E'": nil, "E": errText, "@(E)": errText} {
		end := strings.Trim(strings.TrimPrefix(delimiter, "$'"), `'"\`)
		checkRefusals(t, []refusal{{"shopt -s extglob\nbash <<" + delimiter + "\necho ${y:-;ls}\n" + end, want}})
	}
}
