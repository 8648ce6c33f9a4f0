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
// # What is refused
//
// What can't be read is refused instead of guessed at: a text that is too long, nests too deep, holds a NUL or does
// not parse, and a command word that only the shell could tell: one with $, a back quote, a process substitution, a
// brace or a glob character outside quotes. (The words after it may hold such things: they stay as written.)
//
// A command word in this sense is the first word of a simple command, and also what the commands run that exist to run
// others, since $x and env $x run the same: the first word that is no option after
//
//	builtin command env exec nice nohup sudo time xargs
//	sh bash dash zsh ksh
//
// (after env and sudo also behind NAME=value, after the shells the text of -c or else the script), and every word after
// eval. They nest, and count with a directory in front. Their options up to that word must be plain too, with their
// values: nice -n $n runs a command of $n's choice where that holds a space. NAME="$value" may hold plain parameters
// and substitutions in double quotes. command -v and -V run nothing, so they may ask about anything.
//
// # What is not seen
//
// A list of blocked commands is a guard rail and no sandbox. Out of its sight are
//
//   - aliases, functions and programs that are named otherwise but do the same;
//   - expansions in arguments: rm -r{f,}, rm $(echo -rf), rm $flags;
//   - the program in a quoted text, beyond what the unquoted form shows: sh -c '$x -rf', env -S 'sh -c' "$x";
//   - what arrives on standard input (echo $x | sh, xargs -I X X -rf) or in a file (source, a script);
//   - other commands that run others: find -exec, ssh, timeout, trap, awk and any interpreter;
//   - what the program does once it runs.
//
// The parser's time grows with the square of some kinds of nesting, so the limits on length and on brackets are
// applied to the raw text before it starts.
package command
