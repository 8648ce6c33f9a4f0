// Package hosts plays the hosts of coding agents against the command "bailiff hook": each host is a table of its own
// rules, read in its package, for what it makes of a hook's output, exit code, death and silence.
//
// A fake host gives an event to a command, judges what comes back by its rules, and runs the call or not; a call that runs
// leaves a witness file. From that come the tables of docs/hooks.md that say what each failure does on each host.
package hosts
