package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/grammar"
	"bailiff/httpd/mcpproxy"
	"bailiff/runtime/policies"
)

type mcpCommand struct {
	Pins   mcpPinsCommand   `cmd:"" help:"List the tools that are pinned, and which have changed."`
	Accept mcpAcceptCommand `cmd:"" help:"Show how a tool has changed, and accept it."`
	Forget mcpForgetCommand `cmd:"" help:"Give up pins: what the servers list next is pinned."`
}

// Help says whose pins the subcommands work on.
func (c *mcpCommand) Help() string {
	return "Works on the service that runs on SVC_DATA_DIR (default: data) or, where none does, on the data there. An API key cannot accept a definition that has changed."
}

// pinFlags name a key and a server.
type pinFlags struct {
	Key    string `help:"The API key's id, where several keys have pinned the server." placeholder:"ID"`
	Server string `required:"" help:"The server, as mcp-proxy was told." placeholder:"NAME"`
}

// query is what the flags name.
func (f *pinFlags) query() (policies.PinQuery, error) {
	server, err := mcpproxy.CheckServerName(f.Server)
	if err != nil {
		return policies.PinQuery{}, cli.Usage("--server: %v", err)
	}
	return policies.PinQuery{KeyID: f.Key, Server: server}, nil
}

// one returns the pins that a query names, of one key, and the query with that key.
func (f *pinFlags) one(ctx context.Context, a Admin, tool string) ([]policies.KeyPinView, policies.PinQuery, error) {
	query, err := f.query()
	if err != nil {
		return nil, query, err
	}
	query.Tool = tool
	pins, err := a.AllPins(ctx, query)
	if err != nil {
		return nil, query, err
	}
	var keys []string
	for i := range pins {
		if !slices.Contains(keys, pins[i].KeyID) {
			keys = append(keys, pins[i].KeyID)
		}
	}
	switch {
	case len(keys) > 1:
		return nil, query, cli.Usage("%d API keys have pinned that; name one with --key: %s", len(keys), strings.Join(keys, ", "))
	case len(keys) == 0 && tool != "":
		return nil, query, cli.Usage("the tool %q is not pinned; `bailiff mcp pins --server %s` lists those that are", tool, f.Server)
	case len(keys) == 0:
		return nil, query, cli.Usage("no tool of the server %q is pinned; `bailiff mcp pins` lists all that are", f.Server)
	}
	query.KeyID = keys[0]
	return pins, query, nil
}

type mcpPinsCommand struct {
	Key    string `help:"Only those of this API key, by its id." placeholder:"ID"`
	Server string `help:"Only those of this server, as mcp-proxy was told." placeholder:"NAME"`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Run lists the pins, those that changed first.
func (c *mcpPinsCommand) Run(std cli.Streams) error {
	query := policies.PinQuery{KeyID: c.Key}
	if c.Server != "" {
		var err error
		if query, err = (&pinFlags{c.Key, c.Server}).query(); err != nil {
			return err
		}
	}
	return WithAdmin(std, MustExist, func(ctx context.Context, a Admin) error {
		pins, err := a.AllPins(ctx, query)
		if err != nil || c.JSON {
			return cli.OrPrint(std.Out, pins, err)
		}
		rank := func(p policies.KeyPinView) int {
			if p.Changed != nil {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(pins, func(a, b policies.KeyPinView) int { return cmp.Compare(rank(a), rank(b)) })
		return cli.PrintTable(std.Out, "STATE\tSERVER\tTOOL\tSHA256\tACCEPTED\tKEY", pins, func(p policies.KeyPinView) string {
			state := "accepted"
			if p.Changed != nil {
				state = "CHANGED"
			}
			return strings.Join([]string{state, p.Server, grammar.Visible(p.Name), p.SHA256, p.AcceptedAt.Format(time.RFC3339), p.KeyID}, "\t")
		})
	})
}

type mcpAcceptCommand struct {
	pinFlags
	SHA256 string `name:"sha256" help:"The hash of the definition to accept, as this command shows it; the accepted one's dismisses the change." placeholder:"HASH"`
	Tool   string `arg:"" help:"The tool."`
}

// Run shows the change or, where the hash is given, accepts exactly that one.
func (c *mcpAcceptCommand) Run(std cli.Streams) error {
	return WithAdmin(std, Changes, func(ctx context.Context, a Admin) error {
		pins, query, err := c.one(ctx, a, c.Tool)
		if err != nil {
			return err
		}
		pin := &pins[0]
		switch {
		case c.SHA256 == "" && pin.Changed == nil:
			return cli.Usage("the tool %q has not changed", c.Tool)
		case c.SHA256 == "":
			fmt.Fprintf(std.Out, "accepted:\n%s\nshown since %s:\n%s\n", indented(pin.Definition), pin.Changed.SeenAt.Format(time.RFC3339), indented(pin.ChangedDefinition))
			return &cli.Exit{Code: cli.ExitFailed, Plain: true, Message: "nothing was accepted; to accept the definition that is shown: bailiff mcp accept --key " + pin.KeyID + " --server " + c.Server + " --sha256 " + pin.Changed.SHA256 + " " + quoted(c.Tool)}
		case c.SHA256 != pin.SHA256 && (pin.Changed == nil || c.SHA256 != pin.Changed.SHA256):
			return cli.Fail("the tool %q has another definition by now; look at it once more: bailiff mcp accept --server %s %s", c.Tool, c.Server, quoted(c.Tool))
		}
		if _, err := a.AcceptTool(ctx, policies.PinChoice{PinQuery: query, SHA256: c.SHA256}); err != nil {
			return err
		}
		fmt.Fprintf(std.Out, "accepted %s\n", grammar.Visible(c.Tool))
		return nil
	})
}

type mcpForgetCommand struct {
	pinFlags
	Tool string `arg:"" optional:"" help:"The tool; all of the server's without it."`
}

// Run gives the pins up.
func (c *mcpForgetCommand) Run(std cli.Streams) error {
	return WithAdmin(std, Changes, func(ctx context.Context, a Admin) error {
		pins, query, err := c.one(ctx, a, c.Tool)
		if err != nil {
			return err
		}
		if _, err := a.ForgetTools(ctx, policies.PinChoice{PinQuery: query}); err != nil {
			return err
		}
		for i := range pins {
			fmt.Fprintf(std.Out, "forgot %s\n", grammar.Visible(pins[i].Name))
		}
		return nil
	})
}

// indented is a definition for people, without what would steer a terminal.
func indented(definition string) string {
	var text bytes.Buffer
	if err := json.Indent(&text, []byte(definition), "  ", "  "); err != nil {
		return grammar.Visible(definition)
	}
	lines := strings.Split(text.String(), "\n")
	for i := range lines {
		lines[i] = grammar.Visible(lines[i])
	}
	return "  " + strings.Join(lines, "\n")
}

// quoted is a word for a shell.
func quoted(word string) string {
	return "'" + strings.ReplaceAll(grammar.Visible(word), "'", `'\''`) + "'"
}
