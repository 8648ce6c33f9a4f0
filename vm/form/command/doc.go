// Package command reads shell commands far enough to look for blocked ones in them.
//
// A blocked command is sought as a substring, without regard to case, in several forms of the text, because a shell
// runs the same thing for many spellings of it:
//
//   - raw: the command as received;
//   - collapsed: each run of white space (that of Unicode) is one space;
//   - unquoted: shell quoting removed, then collapsed. This works on the text alone and so removes every quote
//     and every backslash, also those in other quotes: rm and -rf are found inside sh -c 'r\m "-rf" /' too.
//     $'…' is decoded and stripped again, $"…" loses its dollar, a backslash and the line end after it vanish. A text that
//     contains $' is also searched without the decoding, since a $' in other quotes begins nothing;
//   - tight: the same without the white space around | || & && ; ( ) < > >> <<<, for entries such as "| sh";
//   - commands: for each simple command that the bash parser finds, its words, unquoted as a shell would, joined
//     by one space. Redirections and leading assignments are left out. Commands inside substitutions, back
//     quotes, subshells, functions, conditions, pipes, process substitutions and here-documents count.
//
// # Texts that the shell evaluates
//
// These are read as commands of their own, with all of their forms: what follows -c of shells, eval, trap and alias; the
// text of env -S, of mapfile, compgen and complete -C, and of bind -x; the arguments of watch, ssh and parallel; the values
// given to PS4, PROMPT_COMMAND and BASH_ENV, and to ENV, PS0, PS1 and PS2 where the text also starts a shell;
// here-documents and here-strings of a shell, source or "."; and the text in $(…) or back quotes inside quotes, which
// bash runs where it evaluates the text as arithmetic, as a name or as a prompt.
//
// # What is refused
//
// What can't be read is refused instead of guessed at: a text that is empty or too long, nests too deep, holds a NUL or a
// carriage return or does not parse; a comment whose line ends in a backslash or that does not follow white space; let,
// coproc and time -- with more than bare words; an evaluated text that is not written out; a shell, source or "." that
// reads its input, a pipe or a process substitution; and a command word that only the shell could tell: one with $, a back
// quote, a process substitution, a brace or a glob character outside quotes. (The words after it may hold such things:
// they stay as written.)
//
// A command word in this sense is the first word of a simple command, and also what the commands run that exist to run
// others, since $x and env $x run the same: the first word that is no option or operand after
//
//	builtin command env exec nice nohup sudo time xargs timeout setsid doas su busybox chroot watch parallel flock script
//	ssh sh bash rbash dash ash zsh ksh mksh csh tcsh fish
//
// after find's -exec, -execdir, -ok and -okdir, and after jobs -x (after env and sudo also behind NAME=value), and every
// word after eval. They nest, and count with a directory in front. Their options up to that word must be plain too, with
// their values: nice -n $n runs a command of $n's choice where that holds a space. NAME="$value" may hold plain parameters
// and substitutions in double quotes. command -v and -V run nothing, so they may ask about anything.
//
// Refused as well is what would evaluate a value that only the shell knows: bash runs a substitution that it finds in the
// value of a variable in arithmetic, in subscripts, ${!x}, ${x@P}, test -v and names that read, printf -v and declare take.
// Such a value may be put together or printed by the text itself. It is known if every assignment to it in the text is
// literal, arithmetic, or the output of a command that prints a number (wc, nproc, grep -c, id -u, date +%s). So are
// history expansion, set -k, hash -p and BASH_CMDS with a name that is not written out, BASH_ALIASES, and exported functions.
//
// A script that a shell takes from its standard input shares that input with its commands: bytes that one of them takes, the
// shell does not see, and it continues after them, perhaps within a quoted text. Where a command is known to take part of the
// input, as read and dd do, the lines after the first may contain only what means the same from every byte on. An exec that gives
// such a shell another input is read, or refused.
//
// A here-document ends where bash and the parser agree that it does: its delimiter is a plain word, quoted as a whole or not at all; it begins
// no line but the ends of documents, nor does a line that a backslash joins; and no backquotes are around it.
//
// # What is not seen
//
// A list of blocked commands is a guard rail and not a sandbox. It does not see
//
//   - programs that are named otherwise but do the same;
//   - expansions in arguments: rm -r{f,}, rm $(echo -rf), rm $flags;
//   - scripts on disk, also those that the text itself writes, and what it sources from a file;
//   - other interpreters and programs that run others: awk, python, make, git aliases, an editor's commands;
//   - values and functions that the shell's environment brings along;
//   - what the program does once it runs.
//
// Package fuzz/bash compares what is accepted with what a real bash runs.
//
// The parser's time grows with the square of some kinds of nesting, so the limits on length and on brackets are
// applied to the raw text before it starts, and texts within texts have a common budget.
package command
