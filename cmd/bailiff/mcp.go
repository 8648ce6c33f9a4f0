package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"bailiff/grammar"
	"bailiff/httpd/mcpproxy"
)

type mcpCommand struct {
	Pins   mcpPinsCommand   `cmd:"" help:"List the tools of a server that are pinned, and which have changed."`
	Accept mcpAcceptCommand `cmd:"" help:"Show how a tool has changed, and accept it."`
}

// pinFlags name a server and its file of pins.
type pinFlags struct {
	Server string `required:"" help:"The server, as mcp-proxy was told." placeholder:"NAME"`
	Pins   string `help:"File of the pinned tools, where mcp-proxy was given one." placeholder:"FILE"`
}

func (f *pinFlags) open() (*mcpproxy.Pins, error) {
	server, err := mcpproxy.CheckServerName(f.Server)
	if err != nil {
		return nil, usage("--server: %v", err)
	}
	return openPins(server, f.Pins)
}

type mcpPinsCommand struct {
	pinFlags
}

// Run lists the pins, those that changed first.
func (c *mcpPinsCommand) Run(std streams) error {
	pins, err := c.open()
	if err != nil {
		return err
	}
	tools := pins.Tools()
	names := make([]string, 0, len(tools))
	for name := range tools {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if changed := tools[b].Changed != nil; changed != (tools[a].Changed != nil) {
			if changed {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	table := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for _, name := range names {
		state := "accepted"
		if tools[name].Changed != nil {
			state = "CHANGED"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", state, grammar.Visible(name), tools[name].SHA256)
	}
	return table.Flush()
}

type mcpAcceptCommand struct {
	pinFlags
	SHA256 string `name:"sha256" help:"The hash of the definition to accept, as this command shows it." placeholder:"HASH"`
	Tool   string `arg:"" help:"The tool."`
}

// Run shows the change or, where the hash is given, accepts exactly that one.
func (c *mcpAcceptCommand) Run(std streams) error {
	pins, err := c.open()
	if err != nil {
		return err
	}
	pin, known := pins.Tools()[c.Tool]
	switch {
	case !known:
		return usage("the tool %q is not pinned; `bailiff mcp pins --server %s` lists those that are", c.Tool, c.Server)
	case pin.Changed == nil:
		return usage("the tool %q has not changed", c.Tool)
	case c.SHA256 == "":
		fmt.Fprintf(std.out, "accepted:\n%s\nshown now:\n%s\n", indented(pin.Definition), indented(pin.Changed.Definition))
		return &exit{code: exitFailed, plain: true, message: "nothing was accepted; to accept what is shown now: bailiff mcp accept --server " + c.Server + " --sha256 " + pin.Changed.SHA256 + " " + quoted(c.Tool)}
	}
	if err := pins.Accept(c.Tool, c.SHA256); err != nil {
		return fail("%v", err)
	}
	fmt.Fprintf(std.out, "accepted %s\n", grammar.Visible(c.Tool))
	return nil
}

// indented is a definition for people, without what would steer a terminal.
func indented(definition json.RawMessage) string {
	var text bytes.Buffer
	if err := json.Indent(&text, definition, "  ", "  "); err != nil {
		return grammar.Visible(string(definition))
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
