package intent

import (
	"strings"

	"bailiff/vm"
	"bailiff/vm/weburl"
)

// checkWeb reads the URL, compares what was sent beside it, and holds the two web actions to their form.
func (in *Intent) checkWeb() *Error {
	if in.Has(URL) {
		if err := in.readURL(); err != nil {
			return err
		}
	}
	switch {
	case in.action == "web_fetch" && in.Has(Method):
		return invalid("intent.method", "web_fetch has no method; leave it out, or use the action http")
	case in.action == "http" && !in.Has(URL):
		return invalid("intent.url", "is missing; the action http needs url and method")
	case in.action == "http" && !in.Has(Method):
		return invalid("intent.method", "is missing; the action http needs url and method")
	}
	return nil
}

// readURL takes the URL apart. Its host, path and query are derived from it alone: what the request carries
// beside it may only repeat them.
func (in *Intent) readURL() *Error {
	url, err := weburl.Parse(in.Text(URL))
	if err != nil {
		return invalid("intent.url", printable(err.Error(), maxMessage/2))
	}
	in.url = url
	if in.Has(Host) {
		if host, err := weburl.Host(in.Text(Host)); err != nil || host != url.Host {
			return differs(Host, in.Text(Host), url.Host)
		}
	}
	if in.Has(Path) && in.Text(Path) != url.Path {
		return differs(Path, in.Text(Path), url.Path)
	}
	if in.Has(Query) && in.Text(Query) != url.Query {
		return differs(Query, in.Text(Query), url.Query)
	}
	return nil
}

func differs(f Field, got, want string) *Error {
	return invalid("intent."+table[f].Name, quote(got)+" differs from that of url, "+quote(want)+"; leave it out")
}

// The members of metadata that name the parts of an MCP action.
const (
	serverID   = "serverId"
	toolName   = "toolName"
	modelUsage = "model_usage"
)

// mcpPrefix begins every MCP action.
const mcpPrefix = "mcp."

// checkMCP takes an MCP action apart, and compares what metadata says about it.
func (in *Intent) checkMCP() *Error {
	rest, ok := strings.CutPrefix(in.action, mcpPrefix)
	if !ok {
		return nil
	}
	server, tool, ok := strings.Cut(rest, ".")
	if !ok || server == "" || tool == "" {
		return invalid(in.fieldPath(Action), quote(in.Text(Action))+" must have the form mcp.<server>.<tool>")
	}
	in.server, in.tool = server, tool
	if err := in.agrees(serverID, server); err != nil {
		return err
	}
	return in.agrees(toolName, tool)
}

// agrees makes sure that a member of metadata, where it is sent, is what the action says, without regard to case.
func (in *Intent) agrees(name, want string) *Error {
	i := in.member(in.at[Metadata], name)
	if i == 0 {
		return nil
	}
	if n := &in.nodes[i]; n.kind != vm.String || !equalFoldASCII(n.text, want) {
		return invalid("intent.metadata."+name, "differs from the action, which says "+quote(want)+"; leave it out")
	}
	return nil
}

// equalFoldASCII compares without regard to the case of ASCII letters only: strings.EqualFold would take the
// Kelvin sign for a k.
func equalFoldASCII(text, lower string) bool {
	if len(text) != len(lower) {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if isUpper(c) {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
