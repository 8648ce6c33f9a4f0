// Package hosts imitates the hosts of coding agents, to test the command "bailiff hook". Each fake host has a table of the real
// one's rules, read in that host's published package: what it does about a hook's output, exit code, death and silence.
//
// A fake host gives an event to a command, judges what comes back by its rules, and runs the call or not; a call that runs
// leaves a witness file. The tables of docs/hooks.md that say what each failure does on each host are made from that.
package hosts
