package hook

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxEvent is the largest event in bytes. Contents of files count, though they are not sent on.
const MaxEvent = 8 << 20

// An Event is what a host asks before it calls a tool.
type Event struct {
	Host *Host
	Name string // of the event, such as PreToolUse
	Tool Tool   // with the name that the host gives it
	// Server and ServerTool are the parts of an MCP tool's name.
	Server, ServerTool string
	Cwd                string
	CallID             string // the host's id of this call; empty where it has none
	Session            string // the first of session_id, conversation_id, run_id and turn_id that is there
	Agent, AgentType   string // of a subagent
	Transcript         string // a path that the host names; nothing here opens it

	input object
}

// errUnknown says that an event is of no host that is known.
var errUnknown = errors.New("the event is of no host that is known; name it with --adapter")

// mark is the byte-order mark of UTF-8, which some hosts put in front.
var mark = []byte("\xef\xbb\xbf")

// Read reads an event of the host that the adapter names; for "auto", of the host that it recognises. An error says what is
// wrong with it. The event is returned with an error too, as far as its host is known, so that the error can be answered in
// the host's format.
func Read(adapter string, text []byte) (Event, error) {
	e := Event{Host: Find(adapter)}
	if e.Host == nil && adapter != Auto {
		return e, fmt.Errorf("the adapter %q is not known; known are %s", adapter, strings.Join(Adapters(), ", "))
	}
	if len(text) > MaxEvent {
		return e, fmt.Errorf("the event has more than %d MiB", MaxEvent>>20)
	}
	members, err := readObject(bytes.TrimPrefix(text, mark))
	if err != nil {
		return e, fmt.Errorf("the event cannot be read: %w", err)
	}
	if e.Host == nil {
		if e.Host = recognise(members); e.Host == nil {
			return e, errUnknown
		}
	}
	if err := e.read(members); err != nil {
		return e, fmt.Errorf("the event cannot be judged: %w", err)
	}
	return e, nil
}

// recognise returns the host of an event, nil where it is not known.
func recognise(members object) *Host {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return members.get(name) != nil })
	}
	name, err := members.text("hook_event_name")
	switch {
	case err != nil:
		return nil
	case has("agent_action_name"):
		return Find(Windsurf)
	case name == "BeforeTool":
		return Find(Gemini)
	case name == "pre_tool_call":
		return Find(Hermes)
	case name == "tool.execute.before":
		return Find(OpenCode)
	case name == "before_tool_call":
		return Find(OpenClaw)
	case name == "preToolUse" || name == "beforeShellExecution" || name == "beforeMCPExecution":
		return Find(Cursor)
	case name == "" && has("toolName"):
		return Find(Copilot)
	case name != "PreToolUse":
		return nil
	case has("turn_id"):
		return Find(Codex)
	case has("timestamp") && !has("permission_mode", "tool_use_id"):
		return Find(Copilot)
	}
	return Find(ClaudeCode)
}

// read fills the event from its members.
func (e *Event) read(members object) error {
	var err error
	set := func(into *string, names ...string) {
		if err == nil {
			*into, err = members.first(names...)
		}
	}
	set(&e.Name, "hook_event_name", "agent_action_name")
	set(&e.Cwd, "cwd")
	set(&e.CallID, "tool_use_id", "toolUseId", "tool_call_id", "toolCallId")
	set(&e.Session, "session_id", "sessionId", "conversation_id", "conversationId", "trajectory_id", "run_id", "runId", "turn_id", "turnId")
	set(&e.Agent, "agent_id", "agentId")
	set(&e.AgentType, "agent_type", "agentType")
	set(&e.Transcript, "transcript_path")
	if err != nil {
		return err
	}
	form := e.form()
	if form == nil {
		return fmt.Errorf("%.64q is not an event of %s that asks before a tool runs", e.Name, e.Host.Title)
	}
	if err := e.readExtra(members); err != nil {
		return err
	}
	return e.readTool(form, members)
}

// form returns the form of the event, nil where the host has none of that name.
func (e *Event) form() *Form {
	for i := range e.Host.Forms {
		if e.Host.Forms[i].Event == e.Name {
			return &e.Host.Forms[i]
		}
	}
	return nil
}

// readExtra reads what Hermes puts into an object of its own.
func (e *Event) readExtra(members object) error {
	extra := members.get("extra")
	if e.Host.Name != Hermes || extra == nil {
		return nil
	}
	inner, err := members.object("extra")
	if err == nil && e.CallID == "" {
		e.CallID, err = inner.first("tool_call_id")
	}
	return err
}

// readTool finds the tool and its input.
func (e *Event) readTool(form *Form, members object) (err error) {
	name := e.Name
	if form.Tool != "" {
		if name, err = members.text(form.Tool); err != nil {
			return err
		}
		if name == "" {
			return errors.New(form.Tool + ", the name of the tool, is missing")
		}
	}
	e.Tool, e.input = e.Host.tool(name), members
	if form.Input != "" {
		if e.input, err = e.readInput(form, members); err != nil {
			return err
		}
	}
	if e.Cwd == "" && form.Tool == "" {
		if e.Cwd, err = e.input.text("cwd"); err != nil {
			return err
		}
	}
	return e.readServer(members)
}

// readInput returns the input of the tool. That of a patch may be its text alone.
func (e *Event) readInput(form *Form, members object) (object, error) {
	text, plain := textOf(members.get(form.Input))
	if plain && e.Tool.Kind == KindPatch && !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return object{{e.Tool.From, members.get(form.Input)}}, nil
	}
	return members.object(form.Input)
}

// readServer finds the MCP server and its tool, where the tool is one.
func (e *Event) readServer(members object) (err error) {
	switch {
	case e.Host.Name == Windsurf && e.Tool.Kind == KindMCP:
		return e.nameServer(e.input, "mcp_server_name", "mcp_tool_name", "mcp_tool_arguments")
	case e.Host.Name == Cursor && e.Tool.Kind == KindMCP:
		return e.readCursorServer(members)
	case e.Host.Name == Cursor && strings.HasPrefix(e.Tool.Name, "MCP:"):
		e.Tool.Kind = KindMCP
		e.Server, e.ServerTool = Cursor, strings.TrimPrefix(e.Tool.Name, "MCP:")
	case e.Host.Name == Gemini && members.get("mcp_context") != nil:
		context, err := members.object("mcp_context")
		if err != nil {
			return err
		}
		e.Tool.Kind = KindMCP
		return e.nameServer(context, "server_name", "tool_name", "")
	case e.Host.Name == Gemini && strings.HasPrefix(e.Tool.Name, "mcp_"):
		return errors.New("the name of an MCP tool alone does not say which server it is of, and mcp_context is missing")
	case strings.HasPrefix(e.Tool.Name, "mcp__"):
		return e.splitServer(members)
	}
	return nil
}

// nameServer takes server, tool and arguments from members of an object. Without a name for the arguments the input stays.
func (e *Event) nameServer(from object, server, tool, arguments string) (err error) {
	if e.Server, err = from.text(server); err != nil {
		return err
	}
	if e.ServerTool, err = from.text(tool); err != nil {
		return err
	}
	if e.Server == "" || e.ServerTool == "" {
		return fmt.Errorf("%s or %s is missing", server, tool)
	}
	e.Server = plainServer(e.Server)
	if arguments != "" {
		e.input, err = from.object(arguments)
	}
	return err
}

// readCursorServer names a server of Cursor, whose events only say how it is reached: by the host of its URL, or by the
// digest of its command.
func (e *Event) readCursorServer(members object) (err error) {
	if e.ServerTool, err = members.text("tool_name"); err != nil {
		return err
	}
	address, err := members.text("url")
	if err != nil {
		return err
	}
	command, err := members.text("command")
	if err != nil {
		return err
	}
	switch {
	case e.ServerTool == "":
		return errors.New("tool_name is missing")
	case address != "":
		_, rest, _ := strings.Cut(address, "://")
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		e.Server = plainServer(rest[strings.LastIndexByte(rest[:end], '@')+1 : end])
	case command != "":
		e.Server = "command-" + digest([]byte(command))[:16]
	}
	if e.Server == "" {
		return errors.New("neither url nor command says which MCP server it is")
	}
	e.input, err = members.object("tool_input")
	return err
}

// splitServer takes server and tool from a name mcp__<server>__<tool>. Where it can be split in several places, the event
// has to name the server.
func (e *Event) splitServer(members object) error {
	rest := strings.TrimPrefix(e.Tool.Name, "mcp__")
	e.Tool.Kind = KindMCP
	named, err := members.object("mcp_server")
	if err != nil {
		return err
	}
	server, err := named.text("name")
	if err != nil {
		return err
	}
	if server != "" {
		e.Server = plainServer(server)
		var fits bool
		if e.ServerTool, fits = strings.CutPrefix(rest, e.Server+"__"); !fits || e.ServerTool == "" {
			return errors.New("the name of the tool is not one of the server that mcp_server names")
		}
		return nil
	}
	var split bool
	e.Server, e.ServerTool, split = strings.Cut(rest, "__")
	if !split || e.Server == "" || e.ServerTool == "" {
		return errors.New("the name of the MCP tool has no server or no tool")
	}
	if strings.Contains(e.ServerTool, "__") {
		return errors.New("the name of the MCP tool does not say where the name of its server ends; rename the server or the tool so that only one place has two underscores")
	}
	return nil
}

// plainServer is the name of a server as hosts put it into the names of its tools: what is no letter, digit, "-" or "_" of
// ASCII is "_". So it has no dot.
func plainServer(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && isID(byte(r)) {
			return r
		}
		return '_'
	}, name)
}

// Weight is how much memory reading an event of so many bytes takes at most, with the request that it becomes.
func Weight(bytes int) int { return 32<<10 + 48*bytes }
