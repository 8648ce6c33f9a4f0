package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/settings"
	"bailiff/httpd/mcpproxy"
	"bailiff/runtime/clock"
)

type mcpProxyCommand struct {
	ApiFlags
	Server              string   `required:"" help:"What policies call the server: the part after mcp. of its actions." placeholder:"NAME"`
	HTTP                string   `name:"http" help:"Address of a server that speaks streamable HTTP; the proxy listens on --listen then." placeholder:"URL"`
	Listen              string   `default:"127.0.0.1:8790" help:"Loopback address and port to listen on, with --http (${default})." placeholder:"ADDR"`
	AgentID             string   `name:"agent-id" default:"agent" help:"The agent (${default})."`
	Framework           string   `default:"mcp-proxy" help:"The framework (${default})."`
	TaskID              string   `name:"task-id" env:"SVC_TASK_ID" help:"The task, where the policy limits tasks (default: this run of the proxy)." placeholder:"ID"`
	FailMode            string   `name:"fail-mode" default:"closed" enum:"open,closed" help:"What becomes of calls that the service cannot be asked about: closed refuses them, open lets them through (${default})."`
	AllowServerRequests bool     `name:"allow-server-requests" help:"Let the server ask the client: sampling, elicitation, roots."`
	HideDenied          bool     `name:"hide-denied" help:"Leave out of the list of tools what the policy denies."`
	Command             []string `arg:"" optional:"" help:"After --: the command that starts a server which speaks over its standard streams."`
}

// Help says what a client has to be told.
func (c *mcpProxyCommand) Help() string {
	return `In the client's configuration put the proxy in the place of the server's command:

  bailiff mcp-proxy --server files -- npx @modelcontextprotocol/server-filesystem /work

The policy decides on each call as mcp.NAME.TOOL. Standard output belongs to the protocol; what the proxy and the server
have to say goes to standard error. The server gets the environment without the variables whose name begins with SVC_.`
}

// Run serves until the client or the server ends, or a signal comes.
func (c *mcpProxyCommand) Run(std cli.Streams) error {
	if (c.HTTP == "") == (len(c.Command) == 0) {
		return cli.Usage("give either --http URL or -- and the server's command")
	}
	if c.HTTP == "" && c.APIKeyFile == "-" {
		return cli.Usage("--api-key-file - reads standard input, which belongs to the client; name a file, or set SVC_API_KEY")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	guard, err := c.guard(ctx, std)
	if err != nil {
		return err
	}
	if c.HTTP != "" {
		return c.listen(ctx, std, guard)
	}
	command := exec.Command(c.Command[0], c.Command[1:]...) //nolint:gosec,noctx // the operator's own command; it is ended by the protocol's rules
	command.Stderr, command.Env = std.Err, withoutSettings(os.Environ())
	if err := mcpproxy.ServeStdio(ctx, guard, command, std.In, std.Out); err != nil && ctx.Err() == nil {
		return cli.Fail("%v", err)
	}
	return nil
}

// withoutSettings is an environment without the service's variables: the key is not the server's business.
func withoutSettings(environ []string) (kept []string) {
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "SVC_") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// guard wires what judges. Its rules are kept valid until ctx ends.
func (c *mcpProxyCommand) guard(ctx context.Context, std cli.Streams) (*mcpproxy.Guard, error) {
	server, err := mcpproxy.CheckServerName(c.Server)
	if err != nil {
		return nil, cli.Usage("--server: %v", err)
	}
	service, err := c.Client(std)
	if err != nil {
		return nil, err
	}
	key, err := c.Key(std)
	if err != nil {
		return nil, err
	}
	clock := clock.System()
	logger := log.New(std.Err, "bailiff: mcp-proxy "+server+": ", log.LstdFlags)
	rules := mcpproxy.NewSignedRules(service.api, clock)
	go rules.Keep(ctx)
	return &mcpproxy.Guard{
		Server: server, TaskID: cmp.Or(c.TaskID, "mcp-"+rand.Text()), Principal: key, Now: clock, Rules: rules,
		Pins:                mcpproxy.NewPins(mcpproxy.ServicePins(service.api, server), clock),
		Decide:              mcpproxy.Ask(service.api, c.Framework, c.AgentID),
		FailOpen:            c.FailMode == "open",
		AllowServerRequests: c.AllowServerRequests,
		HideDenied:          c.HideDenied,
		Log:                 func(format string, arguments ...any) { logger.Print(cli.Plainf(format, arguments...)) },
	}, nil
}

// readHeaderTimeout bounds how long a client takes for its headers.
const readHeaderTimeout = 10 * time.Second

// listen serves streamable HTTP on a loopback address.
func (c *mcpProxyCommand) listen(ctx context.Context, std cli.Streams, guard *mcpproxy.Guard) error {
	upstream, err := url.Parse(c.HTTP)
	if err != nil {
		return cli.Usage("--http: %v", err)
	}
	handler, err := mcpproxy.NewHandler(guard, upstream)
	if err != nil {
		return cli.Usage("--http: %v", err)
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil || !settings.Loopback(host) {
		return cli.Usage("--listen is %q; expected: a loopback address and a port, such as 127.0.0.1:8790", c.Listen)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return cli.Fail("%v", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout, MaxHeaderBytes: 64 << 10, ErrorLog: log.New(std.Err, "bailiff: ", 0)}
	fmt.Fprintf(std.Err, "bailiff: clients find %s at http://%s%s\n", guard.Server, listener.Addr(), handler.Path())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err = <-ended:
		return cli.Fail("%v", err)
	case <-ctx.Done():
		if err := server.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			return cli.Fail("%v", err)
		}
		return nil
	}
}
