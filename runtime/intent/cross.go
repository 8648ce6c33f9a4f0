package intent

import (
	"strings"

	"bailiff/vm"
	"bailiff/vm/form/httpurl"
	"bailiff/vm/slot"
)

// checkWeb reads the URL, compares what was sent beside it, and holds the two web actions to their form.
func (in *Intent) checkWeb() {
	if in.Has(slot.URL) {
		in.readURL()
	}
	switch {
	case in.action == "web_fetch" && in.Has(slot.Method):
		in.fault(slot.Method, invalid("intent.method", "web_fetch has no method; leave it out, or use the action http"))
	case in.action == "http":
		for _, f := range [...]slot.Field{slot.URL, slot.Method} {
			if !in.Has(f) && !in.faulty(f) {
				in.fault(f, invalid(in.path(f, slot.Inside), "is missing; the action http needs url and method"))
			}
		}
	}
}

// readURL takes the URL apart. Its host, path and query are derived from it alone: what the request carries
// beside it may only repeat them.
func (in *Intent) readURL() {
	url, err := httpurl.Parse(in.Text(slot.URL))
	if err != nil {
		in.fault(slot.URL, invalid("intent.url", printable(err.Error(), maxMessage/2)))
		return
	}
	if url.HasDotSegment() {
		in.fault(slot.URL, invalid("intent.url", "has a path with the segment . or .., plain or encoded, which clients resolve before they send it; write the path that is meant"))
		return
	}
	in.url = url
	if in.Has(slot.Host) {
		if host, err := httpurl.Host(in.Text(slot.Host)); err != nil || host != url.Host {
			in.fault(slot.Host, differs(slot.Host, in.Text(slot.Host), url.Host))
		}
	}
	beside := httpurl.URL{Path: in.Text(slot.Path), Query: in.Text(slot.Query)}
	if in.Has(slot.Path) && beside.NormalPath() != url.NormalPath() {
		in.fault(slot.Path, differs(slot.Path, beside.Path, url.Path))
	}
	if in.Has(slot.Query) && beside.NormalQuery() != url.NormalQuery() {
		in.fault(slot.Query, differs(slot.Query, beside.Query, url.Query))
	}
}

func differs(f slot.Field, got, want string) *Error {
	return invalid("intent."+f.String(), quote(got)+" differs from that of url, "+quote(want)+"; leave it out")
}

// modelUsage is the member of metadata that says what a task has used of models.
const modelUsage = "model_usage"

// checkMCP takes an MCP action apart, and compares what metadata says about it.
func (in *Intent) checkMCP() {
	rest, ok := strings.CutPrefix(in.action, slot.MCPPrefix)
	if !ok || in.faulty(slot.Action) {
		return
	}
	server, tool, ok := strings.Cut(rest, ".")
	if !ok || server == "" || tool == "" {
		in.fault(slot.Action, invalid(in.fieldPath(slot.Action), quote(in.Text(slot.Action))+" must have the form mcp.<server>.<tool>"))
		return
	}
	in.server, in.tool = server, tool
	in.agrees(slot.ServerID, server)
	in.agrees(slot.ToolName, tool)
}

// agrees makes sure that a member of metadata, where it is sent, is what the action says, without regard to case.
func (in *Intent) agrees(name, want string) {
	i := in.member(in.at[slot.Metadata], name)
	if i == 0 {
		return
	}
	if n := &in.nodes[i]; n.kind != vm.String || !equalFoldASCII(n.text, want) {
		in.fault(slot.NoField, invalid("intent.metadata."+name, "differs from the action, which says "+quote(want)+"; leave it out"))
	}
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
