package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/alecthomas/kong"
)

// Exit codes. They are part of the interface: scripts branch on them.
const (
	ExitDone    = 0
	ExitFailed  = 1 // what was asked for was not reached: a compile error, a bad signature, a failed start
	ExitUsage   = 2 // the command line or the request given to it can't be read
	ExitDenied  = 3 // eval: DENIED
	ExitPending = 4 // eval: PENDING

	ExitUnfinished = 5 // conform: nothing differs, and not all that was asked for was run
)

// Streams are what a subcommand reads from and writes to.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Exit is an error that carries its exit code. An empty message means that everything was said already.
type Exit struct {
	Code    int
	Message string
	Plain   bool // the message is printed as it is, without the command's name

	missing bool // a file was not there
}

// Is reports whether the exit is one for a file that was not there, which some commands do without.
func (e *Exit) Is(target error) bool { return e.missing && target == fs.ErrNotExist }

// Error returns the message.
func (e *Exit) Error() string { return e.Message }

// Fail returns an exit with ExitFailed, which says errors in plain words.
func Fail(format string, arguments ...any) error {
	return &Exit{Code: ExitFailed, Message: Plainf(format, arguments...)}
}

// Usage returns an exit with ExitUsage, which says errors in plain words.
func Usage(format string, arguments ...any) error {
	return &Exit{Code: ExitUsage, Message: Plainf(format, arguments...)}
}

// ExitWith returns the exit of a command that said everything already, nil for ExitDone.
func ExitWith(code int) error {
	if code == ExitDone {
		return nil
	}
	return &Exit{Code: code}
}

// RunLine parses arguments by a command line, whose fields are commands, runs the one that they name, and returns its exit code.
func RunLine(line any, vars kong.Vars, arguments []string, std Streams) int {
	std.In = &onceInput{Reader: std.In}
	finished := -1
	parser, err := kong.New(line,
		kong.Name("bailiff"),
		kong.Description("A deterministic firewall in front of what AI agents do."),
		kong.Writers(std.Out, std.Err),
		kong.Exit(func(code int) { finished = code }),
		vars,
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return Conclude(std, err)
	}
	if len(arguments) == 0 {
		arguments = []string{"--help"}
	}
	parsed, err := parser.Parse(arguments)
	if finished >= 0 {
		return finished // --help was printed
	}
	if err != nil {
		return Conclude(std, Usage("%v; see %s --help", err, helpedBy(err)))
	}
	return Conclude(std, parsed.Run(std))
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

// Conclude prints an error and returns its exit code.
func Conclude(std Streams, err error) int {
	if err == nil {
		return ExitDone
	}
	coded := &Exit{Code: ExitFailed, Message: Plain(err)}
	errors.As(err, &coded)
	switch {
	case coded.Plain:
		fmt.Fprintln(std.Err, coded.Message)
	case coded.Message != "":
		fmt.Fprintln(std.Err, "bailiff:", coded.Message)
	}
	return coded.Code
}
