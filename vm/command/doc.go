// Package command reads shell commands far enough to look for blocked ones in them.
//
// A blocked command is sought as a substring, with regard to case, in several forms of the text, because a shell
// runs the same thing for many spellings of it:
//
//   - raw: the command as received;
//   - collapsed: each run of white space (that of Unicode) is one space;
//   - unquoted: shell quoting removed, then collapsed. This works on the text alone and so removes every quote
//     and every backslash, also those in other quotes: rm and -rf are found inside sh -c 'r\m "-rf" /' too.
//     $'…' is decoded, $"…" loses its dollar, a backslash and the line end after it vanish;
//   - commands: for each simple command that the bash parser finds, its words, unquoted as a shell would, joined
//     by one space. Redirections and leading assignments are left out. Commands inside substitutions, back
//     quotes, subshells, functions, conditions, pipes, process substitutions and here-documents count.
//
// A list of blocked commands is a guard rail and no sandbox: what a child process does is out of sight. What can't
// be read is refused instead of guessed at: a text that is too long, nests too deep, holds a NUL or does not
// parse, and a command word that only the shell could tell: one with $, a back quote, a process substitution, a
// brace or a glob character outside quotes. (The words after it may hold such things: they stay as written.)
//
// The parser's time grows with the square of some kinds of nesting, so the limits on length and on brackets are
// applied to the raw text before it starts.
package command
