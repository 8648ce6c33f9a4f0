package conform

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	"bailiff/fuzz/conform"
	"bailiff/fuzz/conform/falsify"
	"bailiff/fuzz/conform/vectors"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
)

// Commands are the commands of testers. Their doc texts are the help.
type Commands struct {
	Conform conformCommand `cmd:"" help:"Test any implementation of the specification over HTTP."`
}

type conformCommand struct {
	Run    runCommand    `cmd:"" default:"withargs" help:"Send generated policies and requests to a service, and hold every answer to the oracle."`
	Verify verifyCommand `cmd:"" help:"Check a signed report, and run a part of it again."`
	Export exportCommand `cmd:"" help:"Write vectors: policies, requests, and the decisions that are expected of them."`
	Shim   shimCommand   `cmd:"" help:"Make the key of a trusted shim, and the file by which a service trusts it."`
}

// serviceFlags say which service is under test, and where keys come from.
type serviceFlags struct {
	URL         string `name:"url" help:"Address of the service." placeholder:"URL"`
	Workers     int    `help:"How many policies are tried at once." default:"8" placeholder:"N"`
	Admin       string `help:"Make API keys by the admin socket of a service that runs here." placeholder:"SOCKET"`
	KeyFile     string `name:"key-file" help:"File of fresh API keys, one a line; shim after one says that it is a trusted shim's." placeholder:"FILE"`
	OperatorKey string `name:"operator-key" help:"File of the operator's private key, for a service that is self-hosted." placeholder:"FILE"`
	ShimKey     string `name:"shim-key" help:"File of the trusted shim's private key that conform shim has made." placeholder:"FILE"`
}

type runCommand struct {
	serviceFlags
	Seed          int64         `help:"Seed of the first policy; 0: a random one, which the report names." placeholder:"N"`
	Cases         int           `help:"How many requests to hold to the oracle." default:"10000" placeholder:"N"`
	Level         []string      `help:"Levels: Core, Limits, Holds, Attestation, Gateway, Client." enum:"Core,Limits,Holds,Attestation,Gateway,Client" default:"Core,Limits,Holds,Attestation" placeholder:"LEVEL,..."`
	Upstream      string        `help:"Listen here as the node of chain 1, for the level Gateway." placeholder:"HOST:PORT"`
	Client        string        `help:"Command line of a hook adapter for Claude Code, for the level Client." placeholder:"COMMAND"`
	Format        string        `help:"Form of the report: text, json, junit." enum:"text,json,junit" default:"text" placeholder:"FORM"`
	Output        string        `short:"o" help:"Write the report to a file." placeholder:"FILE"`
	Report        string        `help:"Write a signed report to a file, for conform verify. Each policy takes fresh keys." placeholder:"FILE"`
	Key           string        `help:"File of the private key that signs it, as bailiff keygen makes one." placeholder:"FILE"`
	AgainstMutant string        `name:"against-mutant" help:"Falsify answers, to see that the kit notices: the name of a mutant, or all." placeholder:"NAME"`
	Timeout       time.Duration `help:"Give up after this time; 0: never." placeholder:"DURATION"`
	cli.ProgressFlag
}

// Help says what the command does.
func (c *runCommand) Help() string {
	return `Each policy is generated, signed and deployed under API keys that the command is given (--key-file), makes (--admin), or registers
at a hosted service. Use keys and a service that are for nothing else. The answers are held to an oracle that shares no rule with the
service. A divergence is made small and printed as a script of curl. Rate limits are named and waited for; a self-hosted service has
none unless they are set (SVC_RATE_LIMIT_KEY=0, SVC_RATE_LIMIT_IP=0, SVC_RATE_LIMIT_MANAGE=0, SVC_RATE_LIMIT_HOLDS=0 and
SVC_RATE_LIMIT_DEPLOY=0 lift them).
Exit code 1 says that an answer differs, that a mutant was not found, or that the service could not be tested. Exit code 5 says that nothing
differs, but that not all that was asked for was run: --timeout or an interrupt (Ctrl-C) has ended the run, keys were used up, or a level
has no case. The report says what.`
}

// Run tests.
func (c *runCommand) Run(std cli.Streams) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	signer, err := c.signer()
	if err != nil {
		return err
	}
	faults, err := c.faults(config.Seed)
	if err != nil {
		return err
	}
	for _, file := range []string{c.Output, c.Report} {
		if err := writable(file); err != nil {
			return err
		}
	}
	ctx, stop := untilInterrupted()
	defer stop()
	if c.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		ctx = limited
	}
	config.Blocks = signer != nil
	progress := c.Start(std, "conform")
	config.Progress = func(cases int) { progress.Reached("%d of %d cases", cases, c.Cases*max(len(faults), 1)) }
	if len(faults) > 0 {
		trials, err := conform.Try(ctx, *config, faults)
		return c.conclude(std, trials, trials.Missed(), err)
	}
	report, err := conform.Run(ctx, *config)
	if signer != nil && err == nil && report.Stopped == "" {
		if err := c.sign(signer, report); err != nil {
			return err
		}
	}
	return c.conclude(std, report, len(report.Divergences) > 0, err)
}

// untilInterrupted returns a context that an interrupt ends. A second interrupt ends the process.
func untilInterrupted() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// An outcome is what a run is reported by.
type outcome interface {
	Text(io.Writer) error
	JSON(io.Writer) error
	JUnit(io.Writer) error
	Missing() []string
	Ran() bool
}

// conclude writes an outcome, and returns the exit that it comes to. The problem is what kept the kit from testing on.
func (c *runCommand) conclude(std cli.Streams, o outcome, failed bool, problem error) error {
	if problem == nil || o.Ran() {
		if err := c.write(std, o); err != nil {
			return err
		}
	}
	switch {
	case problem != nil:
		return cli.Fail("%v", problem)
	case failed:
		return cli.ExitWith(cli.ExitFailed)
	case len(o.Missing()) > 0:
		return cli.ExitWith(cli.ExitUnfinished)
	}
	return nil
}

// maxWorkers bounds --workers: each is a policy in force at once, and two API keys.
const maxWorkers = 1000

// check refuses flags that ask for nothing, or that nothing reads.
func (c *runCommand) check() error {
	gateway, client := slices.Contains(c.Level, string(conform.Gateway)), slices.Contains(c.Level, string(conform.Client))
	switch {
	case c.Cases < 1:
		return cli.Usage("--cases is %d; write a number above 0", c.Cases)
	case c.Timeout < 0:
		return cli.Usage("--timeout is %s; write a duration above 0, or leave it out", c.Timeout)
	case gateway && c.Upstream == "":
		return cli.Usage("--level Gateway needs --upstream HOST:PORT, where the service under test looks for its node of chain 1 (SVC_RPC_URL_1)")
	case !gateway && c.Upstream != "":
		return cli.Usage("--upstream is for the level Gateway; add it to --level")
	case client && len(strings.Fields(c.Client)) == 0:
		return cli.Usage("--level Client needs --client COMMAND, the command line of a hook adapter")
	case !client && c.Client != "":
		return cli.Usage("--client is for the level Client; add it to --level")
	case c.AgainstMutant != "" && (c.Report != "" || client):
		return cli.Usage("--against-mutant falsifies a service's answers; leave out %s", map[bool]string{true: "the level Client", false: "--report"}[client])
	}
	return nil
}

func (c *runCommand) config() (*conform.Config, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	onlyClient := !slices.ContainsFunc(c.Level, func(level string) bool { return level != string(conform.Client) })
	config, err := c.serviceFlags.config(!onlyClient)
	if err != nil {
		return nil, err
	}
	config.Seed, config.Cases, config.Upstream, config.Client, config.Flags = c.Seed, c.Cases, c.Upstream, strings.Fields(c.Client), c.flags()
	if config.Seed == 0 {
		var seed [4]byte
		_, _ = rand.Read(seed[:]) // never fails
		config.Seed = int64(seed[0])<<24 | int64(seed[1])<<16 | int64(seed[2])<<8 | int64(seed[3])
	}
	for _, level := range c.Level {
		config.Levels = append(config.Levels, conform.Level(level))
	}
	return config, nil
}

var errNoURL = cli.Usage("give the address of a service: --url http://127.0.0.1:8787")

// config is the part of a configuration that is about the service.
func (c *serviceFlags) config(needed bool) (config *conform.Config, err error) {
	config = &conform.Config{URL: strings.TrimSuffix(c.URL, "/"), Workers: c.Workers}
	switch {
	case c.URL == "" && needed:
		return nil, errNoURL
	case c.URL != "" && !isAddress(c.URL):
		return nil, cli.Usage("--url is %q; write http:// or https:// and a host, such as http://127.0.0.1:8787", c.URL)
	case c.Workers < 1 || c.Workers > maxWorkers:
		return nil, cli.Usage("--workers is %d; write a number from 1 to %d", c.Workers, maxWorkers)
	}
	if config.Keys, err = c.keys(); err != nil {
		return nil, err
	}
	config.Given = c.KeyFile != ""
	if c.OperatorKey != "" {
		if config.Operator, err = readKey(c.OperatorKey); err != nil {
			return nil, err
		}
	}
	if c.ShimKey != "" {
		private, err := readKey(c.ShimKey)
		if err != nil {
			return nil, err
		}
		config.Shim = conform.NewShim(private)
	}
	return config, nil
}

// isAddress reports whether a text is the address of a service: a scheme, a host, and perhaps a path below which the service is.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && !strings.ContainsAny(text, "?#")
}

// flags are those that a run needs to be repeated, beside its address, seed and level.
func (c *runCommand) flags() (flags []string) {
	for _, each := range [][2]string{
		{"--admin", c.Admin}, {"--key-file", c.KeyFile}, {"--operator-key", c.OperatorKey}, {"--shim-key", c.ShimKey},
		{"--upstream", c.Upstream}, {"--client", c.Client},
	} {
		if each[1] != "" {
			flags = append(flags, each[0]+"="+each[1])
		}
	}
	return flags
}

func readKey(path string) (ed25519.PrivateKey, error) {
	private, err := attest.ReadOperatorKey(path)
	var unread *fs.PathError
	switch {
	case errors.As(err, &unread):
		return nil, cli.Unreadable(err)
	case err != nil:
		return nil, cli.Usage("%s: %v", path, err)
	}
	return private, nil
}

// scopes are what the kit needs.
var scopes = []string{"authorize", "warranty:deploy"}

// keys says where API keys come from.
func (c *serviceFlags) keys() (conform.KeySource, error) {
	switch {
	case c.Admin != "" && c.KeyFile != "":
		return nil, cli.Usage("give --admin or --key-file, not both")
	case c.KeyFile != "":
		return givenKeys(c.KeyFile)
	case c.Admin == "":
		return conform.RegisteredKeys(c.URL), nil
	}
	admin := client.DialAdmin(c.Admin)
	if admin == nil {
		return nil, cli.Usage("no service answers on the admin socket %s; give the path that SVC_ADMIN_LISTEN has", c.Admin)
	}
	return func(ctx context.Context, shim bool) (string, error) {
		view, err := admin.CreateKey(ctx, accounts.NewKey{Email: "conform@localhost.localdomain", Scopes: scopes, Plan: "enterprise", Shim: shim})
		return view.APIKey, err
	}, nil
}

// maxKeyFile bounds a file of keys.
const maxKeyFile = 16 << 20

func givenKeys(path string) (conform.KeySource, error) {
	text, err := cli.ReadFile(path, maxKeyFile)
	if err != nil {
		return nil, cli.Unreadable(err)
	}
	var agents, shims []string
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 0:
		case len(words) == 1:
			agents = append(agents, words[0])
		case len(words) == 2 && words[1] == "shim":
			shims = append(shims, words[0])
		default:
			return nil, cli.Usage("%s: a line is an API key, or an API key and the word shim", path)
		}
	}
	return conform.GivenKeys(agents, shims), nil
}

// writable refuses a file that could not be written after a run of hours. "" is none.
func writable(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return cli.Usage("%s is a folder; name a file", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".conform-*")
	if err == nil {
		err = errors.Join(file.Close(), os.Remove(file.Name()))
	}
	if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
		return nil // a device or a pipe
	}
	return cli.Unwritable(path, err)
}

// write writes an outcome where it is wanted.
func (c *runCommand) write(std cli.Streams, o outcome) error {
	form := map[string]func(io.Writer) error{"text": o.Text, "json": o.JSON, "junit": o.JUnit}[c.Format]
	if c.Output == "" {
		return form(std.Out)
	}
	var b bytes.Buffer
	if err := form(&b); err != nil {
		return err
	}
	return cli.WriteFile(c.Output, b.Bytes())
}

// drawnMutants is how many mutants a seed draws, beside those that have a name of their own.
const drawnMutants = 10

// faults are the mutants that are asked for: the drawn ones of a seed, and those that have a name of their own.
func (c *runCommand) faults(seed int64) (faults []conform.Fault, err error) {
	if c.AgainstMutant == "" {
		return nil, nil
	}
	var names []string
	for _, mutant := range append(falsify.Drawn(seed, drawnMutants), falsify.Named()...) {
		names = append(names, mutant.Name)
		if c.AgainstMutant == "all" || c.AgainstMutant == mutant.Name {
			faults = append(faults, conform.Fault{Name: mutant.Name, What: mutant.What, Front: falsify.Front(mutant)})
		}
	}
	if len(faults) == 0 {
		return nil, cli.Usage("no mutant is called %s; with --seed %d there are %s; all tries each", c.AgainstMutant, seed, strings.Join(names, ", "))
	}
	return faults, nil
}

type shimCommand struct {
	Dir string `arg:"" help:"Folder for shim.key and shims.json." type:"path" placeholder:"DIR"`
}

// Help says what the files are for.
func (c *shimCommand) Help() string {
	return `Policies with resource profiles are deployed with the consent of a trusted shim. This makes one for the kit: shim.key for
--shim-key, and shims.json, which the service under test is given as SVC_TRUSTED_SHIMS. No other service should trust it.`
}

// Run makes the files.
func (c *shimCommand) Run(std cli.Streams) error {
	private, err := attest.GenerateOperatorKey(rand.Reader)
	if err != nil {
		return err
	}
	key, trust := filepath.Join(c.Dir, "shim.key"), filepath.Join(c.Dir, "shims.json")
	err = errors.Join(os.MkdirAll(c.Dir, 0o700), attest.WriteOperatorKey(key, private))
	if err == nil {
		err = cli.WriteFile(trust, conform.NewShim(private).Trust())
	}
	if err != nil {
		return cli.Unwritable(c.Dir, err)
	}
	fmt.Fprintf(std.Out, "%s\nSVC_TRUSTED_SHIMS=%s\n", key, trust)
	return nil
}

type exportCommand struct {
	Dir string `arg:"" help:"Folder for the files." type:"path" placeholder:"DIR"`
}

// Help says what the files are.
func (c *exportCommand) Help() string {
	return `Writes policies and requests with the decisions that are expected of them, in the layout of Wycheproof, with JSON schemas and a
runner in Python. The same build writes the same bytes.`
}

// Run writes the files.
func (c *exportCommand) Run(std cli.Streams) error {
	files, err := vectors.Export()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return cli.Unwritable(c.Dir, err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(c.Dir, name)
		if err := cli.WriteFile(path, files[name]); err != nil {
			return cli.Unwritable(path, err)
		}
	}
	fmt.Fprintf(std.Out, "%d tests in %s\n", vectors.Tests, c.Dir)
	return nil
}
