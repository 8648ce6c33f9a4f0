// Command bailiff is the deterministic firewall in front of what AI agents do: it signs, checks and compiles
// policies for their authors, and serves decisions to agents.
//
// This package has only the command line. Subcommands are in the packages below it, by their users: authors of policies (policy),
// clients and operators of a running service (client), self-hosters (serve, settings, doctor, backup), coding agents (hook), and
// testers (conform, bench). Package cli has what all of them share.
package main

import (
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"bailiff/cmd/bailiff/backup"
	"bailiff/cmd/bailiff/bench"
	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	"bailiff/cmd/bailiff/conform"
	"bailiff/cmd/bailiff/doctor"
	"bailiff/cmd/bailiff/hook"
	"bailiff/cmd/bailiff/policy"
	"bailiff/cmd/bailiff/serve"
	"bailiff/cmd/bailiff/store"
	"bailiff/runtime/hook/setup"
)

// command is the whole command line. Its doc texts are the help.
type command struct {
	Policy     policy.Commands       `embed:""`
	Serve      serve.Commands        `embed:""`
	Doctor     doctor.Commands       `embed:""`
	Client     client.Commands       `embed:""`
	Backup     backup.Commands       `embed:""`
	Hook       hook.Commands         `embed:""`
	Bench      bench.Commands        `embed:""`
	Store      store.Commands        `embed:""`
	Conform    conform.Commands      `embed:""`
	Completion cli.CompletionCommand `cmd:"" help:"Print what bash, zsh or fish needs to complete command lines."`
	Complete   cli.CompleteCommand   `cmd:"" hidden:"" help:"Answer what completion has shells ask."`
	Version    cli.VersionCommand    `cmd:"" help:"Print the version, the commit, and the versions of Go and of the engine."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print what the command version prints, and exit."`
}

func main() {
	os.Exit(run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// run parses the arguments, runs the subcommand and returns the exit code.
func run(arguments []string, std cli.Streams) int {
	return cli.RunLine(grammarFor(arguments), kong.Vars{
		"starters": strings.Join(policy.StarterNames(), ","), "hosts": strings.Join(setup.Names(), ", "), "version": cli.ThisBuild().String(),
	}, arguments, std)
}

// grammarFor returns the command line that arguments are read by: the whole one, but for an event of a hook. An agent waits
// for that before each of its calls, and making the whole one takes longer than the decision.
func grammarFor(arguments []string) any {
	if len(arguments) > 0 && arguments[0] == "hook" && !slices.ContainsFunc(arguments, needsWhole) {
		return &struct {
			Hook hook.Answer `cmd:""`
		}{}
	}
	return &command{}
}

// needsWhole reports whether an argument behind "hook" may be one of its subcommands, or asks for help.
func needsWhole(argument string) bool {
	switch argument {
	case "install", "uninstall", "status", "doctor", "log", "canary", "answer", "--help", "-h":
		return true
	}
	return false
}
