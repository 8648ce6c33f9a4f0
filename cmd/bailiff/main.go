// Command bailiff is the deterministic firewall in front of what AI agents do: it signs, checks and compiles
// policies for their authors, and serves decisions to agents.
//
// Subcommands have files of their own, those that belong together one for both; this one holds what they share: the
// streams they talk to, and how an error becomes an exit code.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"bailiff/runtime/hook/setup"
)

// Exit codes. They are part of the interface: scripts branch on them.
const (
	exitDone    = 0
	exitFailed  = 1 // what was asked for was not reached: a compile error, a bad signature, a failed start
	exitUsage   = 2 // the command line or the request given to it can't be read
	exitDenied  = 3 // eval: DENIED
	exitPending = 4 // eval: PENDING
)

// command is the whole command line. Its doc texts are the help.
type command struct {
	Init       initCommand        `cmd:"" help:"Write a policy to start from, with its tests."`
	Keygen     keygenCommand      `cmd:"" help:"Make an operator key pair."`
	Sign       signCommand        `cmd:"" help:"Sign a policy with the operator's key."`
	Verify     verifyCommand      `cmd:"" help:"Verify a policy's signature."`
	Check      checkCommand       `cmd:"" help:"Report everything that is wrong with policies, and mend it."`
	Fmt        fmtCommand         `cmd:"" help:"Lay policies out in the one canonical way."`
	Explain    explainCodeCommand `cmd:"" name:"explain-code" help:"Explain the code of a finding or of an answer, and what to do about it."`
	Compile    compileCommand     `cmd:"" help:"Compile a policy to a program."`
	Disasm     disasmCommand      `cmd:"" help:"List the program of a policy, or of a compiled program."`
	Eval       evalCommand        `cmd:"" help:"Decide an intent without a service."`
	Test       testCommand        `cmd:"" help:"Run the tests that stand beside policies."`
	Serve      serveCommand       `cmd:"" help:"Run the service."`
	Quickstart quickstartCommand  `cmd:"" help:"Make what is missing for a first run, then serve."`
	Doctor     doctorCommand      `cmd:"" help:"Say what is wrong with how a service is set up."`
	Keys       keysCommand        `cmd:"" help:"Create, list, change and revoke API keys."`
	Usage      usageCommand       `cmd:"" help:"Print a month's governed actions per key, and what they would be billed."`
	Deploy     deployCommand      `cmd:"" help:"Bind a signed policy to an API key."`
	Holds      holdsCommand       `cmd:"" help:"List, show, approve and deny holds."`
	Webhooks   webhooksCommand    `cmd:"" help:"Register webhooks, and receive their deliveries."`
	Clock      clockCommand       `cmd:"" help:"Confirm the clock of a service that doubts it."`
	Events     eventsCommand      `cmd:"" help:"Print the events of an API key, or verify the whole record."`
	Console    consoleCommand     `cmd:"" help:"Open the console of all keys, which the service that runs here has."`
	Limits     limitsCommand      `cmd:"" help:"Print what is used and left of each limit of an API key."`
	Send       sendCommand        `cmd:"" help:"Authorize a signed transaction and submit it."`
	Attest     attestCommand      `cmd:"" help:"Work with attestations."`
	Hook       hookCommand        `cmd:"" help:"Stand between a coding agent and its tools."`
	MCPProxy   mcpProxyCommand    `cmd:"" name:"mcp-proxy" help:"Stand between an MCP client and a server, and let through what the policy allows."`
	Version    versionCommand     `cmd:"" help:"Print the version, the commit, and the versions of Go and of the engine."`
	MCP        mcpCommand         `cmd:"" name:"mcp" help:"Look at the tools that mcp-proxy has pinned, and accept those that changed."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print what the command version prints, and exit."`
}

// streams are what a subcommand reads from and writes to.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exit is an error that carries its exit code. An empty message means that everything was said already.
type exit struct {
	code    int
	message string
	plain   bool // the message is printed as it is, without the command's name
}

// Error returns the message.
func (e *exit) Error() string { return e.message }

// fail returns an exit with exitFailed, usage one with exitUsage. Both say errors in plain words.
func fail(format string, arguments ...any) error {
	return &exit{code: exitFailed, message: plainf(format, arguments...)}
}

func usage(format string, arguments ...any) error {
	return &exit{code: exitUsage, message: plainf(format, arguments...)}
}

// exitWith returns the exit of a command that said everything already, nil for exitDone.
func exitWith(code int) error {
	if code == exitDone {
		return nil
	}
	return &exit{code: code}
}

func main() {
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run parses the arguments, runs the subcommand and returns the exit code.
func run(arguments []string, std streams) int {
	std.in = &onceInput{Reader: std.in}
	finished := -1
	parser, err := kong.New(grammarFor(arguments),
		kong.Name("bailiff"),
		kong.Description("A deterministic firewall in front of what AI agents do."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(code int) { finished = code }),
		kong.Vars{"starters": strings.Join(starterNames(), ","), "hosts": strings.Join(setup.Names(), ", "), "version": thisBuild().String()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return conclude(std, err)
	}
	if len(arguments) == 0 {
		arguments = []string{"--help"}
	}
	parsed, err := parser.Parse(arguments)
	if finished >= 0 {
		return finished // --help was printed
	}
	if err != nil {
		return conclude(std, usage("%v; see %s --help", err, helpedBy(err)))
	}
	return conclude(std, parsed.Run(std))
}

// helpedBy returns the command whose help shows what a command line that could not be read got wrong.
func helpedBy(err error) string {
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		if command := parse.Context.Selected(); command != nil && !command.Hidden {
			return command.FullPath()
		}
	}
	return "bailiff"
}

// grammarFor returns the command line that arguments are read by: the whole one, but for an event of a hook. An agent waits
// for that before each of its calls, and making the whole one takes longer than the decision.
func grammarFor(arguments []string) any {
	if len(arguments) > 0 && arguments[0] == "hook" && !slices.ContainsFunc(arguments, needsWhole) {
		return &struct {
			Hook hookAnswer `cmd:""`
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

// conclude prints an error and returns its exit code.
func conclude(std streams, err error) int {
	if err == nil {
		return exitDone
	}
	coded := &exit{code: exitFailed, message: plain(err)}
	errors.As(err, &coded)
	switch {
	case coded.plain:
		fmt.Fprintln(std.err, coded.message)
	case coded.message != "":
		fmt.Fprintln(std.err, "bailiff:", coded.message)
	}
	return coded.code
}
