package command

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// input reads the here-documents and here-strings that a shell is given.
func (w *walker) input(redirs []*syntax.Redirect, read func(text string)) {
	for _, redir := range redirs {
		switch redir.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			w.document(redir, read)
		case syntax.WordHdoc:
			if !isPlain(redir.Word.Parts, false) {
				w.refuse(errText, redir.Word)
				return
			}
			read(w.text(redir.Word.Parts, false))
		}
	}
}

// takers are the commands that may take a part of their input and leave the rest, where that part can be chosen. Of those
// that take all there is, or run other programs' texts, a shell finds nothing more to read.
var takers = map[string]bool{
	"read": true, "mapfile": true, "readarray": true, "dd": true, "head": true, "tail": true, "sed": true,
	"awk": true, "mawk": true, "nawk": true, "grep": true, "egrep": true, "fgrep": true, "sudo": true, "openssl": true, "gpg": true,
	"python": true, "python2": true, "python3": true, "perl": true, "ruby": true, "node": true, "php": true, "lua": true, "tclsh": true,
	"bc": true, "dc": true, "ed": true, "ex": true, "vi": true, "vim": true, "line": true, "od": true, "xxd": true, "hexdump": true, "hd": true,
	"cmp": true, "split": true, "csplit": true, "cpio": true, "tar": true,
}

// takesInput reports whether a program is one of takers, under its name or with the g that GNU's programs have where the
// system's own have the name: gsed, ghead.
func takesInput(program string) bool {
	gnu, found := strings.CutPrefix(program, "g")
	return takers[program] || found && takers[gnu]
}

// feed reads a script that a shell takes from its standard input. Its commands have the same input: what they take of it the
// shell does not see, and it goes on wherever they stop, within quotes too. So what follows the first line, which the shell
// has read by then, may only have what means the same from everywhere.
func (r *reader) feed(text string) {
	fed, takes := r.fed, r.takes
	r.fed, r.takes = true, false
	r.evaluated(text)
	_, rest, _ := strings.Cut(text, "\n")
	if rest = strings.TrimSpace(rest); r.takes && rest != "" && (r.lists || strings.Trim(rest, letters+"./:=@%+,-;&| \t\n") != "") {
		r.fail(fmt.Errorf("%w: its commands may take parts of the script itself; give it behind -c", errInput))
	}
	r.fed, r.takes = fed, takes
}

// exchange reads the redirections of an exec: a shell that takes its commands from its standard input goes on with what that is
// then, where exec has no command, or a mistake in its options.
func (w *walker) exchange(redirs []*syntax.Redirect) {
	for _, redir := range redirs {
		number := ""
		if redir.N != nil {
			number = redir.N.Value
		}
		file := w.text(redir.Word.Parts, false)
		written := isPlain(redir.Word.Parts, false)
		ok := false
		switch redir.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			if ok = number == "" || number == "0"; ok {
				w.input([]*syntax.Redirect{redir}, w.feed)
			}
		case syntax.RdrIn:
			ok = written && (file == "/dev/null" || number != "" && strings.Trim(number, "123456789") == "" && !isInput(file))
		case syntax.DplOut:
			ok = written && number != "0" && slices.Contains([]string{"1", "2", "-"}, file)
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			ok = number != "0"
		}
		if !ok {
			w.refuse(errInput, redir)
			return
		}
	}
}
