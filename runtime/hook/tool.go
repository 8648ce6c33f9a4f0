package hook

import (
	"strings"

	"bailiff/vm/slot"
)

// A Kind says how the input of a tool becomes an intent.
type Kind uint8

// The kinds of tools.
const (
	KindOther    Kind = iota // by its canonical name, with all of its input as arguments
	KindShell                // action bash: a command
	KindPatch                // action file_write: the paths that a patch names
	KindWrite                // action file_write: writes, edits, notebooks and deletions
	KindRead                 // action file_read
	KindSearch               // action file_read of a folder, and of what a pattern names in it
	KindWeb                  // action http with an explicit method, otherwise web_fetch
	KindMCP                  // action mcp.<server>.<tool>
	KindResource             // action mcp.<server>.resources.read
)

var kindNames = [...]string{"other", "shell", "patch", "write", "read", "search", "web", "MCP", "MCP resource"}

// String names the kind.
func (k Kind) String() string { return kindNames[k] }

// kindActions are the actions of tools by their kinds.
var kindActions = [...]string{
	KindOther: "", KindShell: slot.BashAction, KindPatch: slot.WriteAction, KindWrite: slot.WriteAction, KindRead: slot.ReadAction, KindSearch: slot.ReadAction,
	KindWeb: slot.WebFetchAction, KindMCP: slot.MCPPrefix + "<server>.<tool>", KindResource: slot.MCPPrefix + "<server>.resources.read",
}

// Action returns the action that tools of the kind have: with "<server>" and "<tool>" in it where these are the call's; of
// KindWeb the one without a method; empty where it is the tool's name.
func (k Kind) Action() string { return kindActions[k] }

// A Tool is a tool of a host.
type Tool struct {
	Host string
	Name string
	Kind Kind
	// From is the member of the input with the command of a Shell, or the text of a Patch.
	From string
	// Maybe is set where a Shell tool also has calls without a command, which are of kind Other.
	Maybe bool
}

// Tools are the tools that are not of kind Other, and not MCP tools by the form of their names.
var Tools = []Tool{
	{ClaudeCode, "Bash", KindShell, "command", false},
	{ClaudeCode, "PowerShell", KindShell, "command", false},
	{ClaudeCode, "Monitor", KindShell, "command", true},
	{ClaudeCode, "Write", KindWrite, "", false},
	{ClaudeCode, "Edit", KindWrite, "", false},
	{ClaudeCode, "MultiEdit", KindWrite, "", false},
	{ClaudeCode, "NotebookEdit", KindWrite, "", false},
	{ClaudeCode, "Read", KindRead, "", false},
	{ClaudeCode, "NotebookRead", KindRead, "", false},
	{ClaudeCode, "SendUserFile", KindRead, "", false},
	{ClaudeCode, "LSP", KindRead, "", false},
	{ClaudeCode, "LS", KindSearch, "", false},
	{ClaudeCode, "Glob", KindSearch, "", false},
	{ClaudeCode, "Grep", KindSearch, "", false},
	{ClaudeCode, "WebFetch", KindWeb, "", false},
	{ClaudeCode, "ReadMcpResourceTool", KindResource, "", false},
	{ClaudeCode, "ReadMcpResource", KindResource, "", false},
	{ClaudeCode, "ReadMcpResourceDirTool", KindResource, "", false},
	{ClaudeCode, "ReadMcpResourceDir", KindResource, "", false},

	{Codex, "Bash", KindShell, "command", false},
	{Codex, "shell", KindShell, "command", false},
	{Codex, "local_shell", KindShell, "command", false},
	{Codex, "exec_command", KindShell, "cmd", false},
	{Codex, "write_stdin", KindShell, "chars", true},
	{Codex, "apply_patch", KindPatch, "command", false},
	{Codex, "read_mcp_resource", KindResource, "", false},

	{Gemini, "run_shell_command", KindShell, "command", false},
	{Gemini, "write_file", KindWrite, "", false},
	{Gemini, "replace", KindWrite, "", false},
	{Gemini, "read_file", KindRead, "", false},
	{Gemini, "read_many_files", KindSearch, "", false},
	{Gemini, "list_directory", KindSearch, "", false},
	{Gemini, "glob", KindSearch, "", false},
	{Gemini, "grep_search", KindSearch, "", false},
	{Gemini, "search_file_content", KindSearch, "", false},
	{Gemini, "web_fetch", KindWeb, "", false},

	{Cursor, "beforeShellExecution", KindShell, "command", false},
	{Cursor, "beforeMCPExecution", KindMCP, "", false},
	{Cursor, "Shell", KindShell, "command", false},
	{Cursor, "Write", KindWrite, "", false},
	{Cursor, "Edit", KindWrite, "", false},
	{Cursor, "StrReplace", KindWrite, "", false},
	{Cursor, "EditNotebook", KindWrite, "", false},
	{Cursor, "Delete", KindWrite, "", false},
	{Cursor, "Read", KindRead, "", false},
	{Cursor, "LS", KindSearch, "", false},
	{Cursor, "Glob", KindSearch, "", false},
	{Cursor, "Grep", KindSearch, "", false},
	{Cursor, "WebFetch", KindWeb, "", false},

	{Copilot, "bash", KindShell, "command", false},
	{Copilot, "powershell", KindShell, "command", false},
	{Copilot, "write_bash", KindShell, "input", false},
	{Copilot, "write_powershell", KindShell, "input", false},
	{Copilot, "create", KindWrite, "", false},
	{Copilot, "edit", KindWrite, "", false},
	{Copilot, "str_replace", KindWrite, "", false},
	{Copilot, "insert", KindWrite, "", false},
	{Copilot, "str_replace_editor", KindWrite, "", false},
	{Copilot, "apply_patch", KindPatch, "input", false},
	{Copilot, "view", KindRead, "", false},
	{Copilot, "glob", KindSearch, "", false},
	{Copilot, "grep", KindSearch, "", false},
	{Copilot, "rg", KindSearch, "", false},
	{Copilot, "web_fetch", KindWeb, "", false},
	{Copilot, "Bash", KindShell, "command", false},
	{Copilot, "Write", KindWrite, "", false},
	{Copilot, "Edit", KindWrite, "", false},
	{Copilot, "MultiEdit", KindWrite, "", false},
	{Copilot, "NotebookEdit", KindWrite, "", false},
	{Copilot, "Read", KindRead, "", false},
	{Copilot, "Glob", KindSearch, "", false},
	{Copilot, "Grep", KindSearch, "", false},
	{Copilot, "WebFetch", KindWeb, "", false},

	{Windsurf, "pre_run_command", KindShell, "command_line", false},
	{Windsurf, "pre_write_code", KindWrite, "", false},
	{Windsurf, "pre_read_code", KindRead, "", false},
	{Windsurf, "pre_mcp_tool_use", KindMCP, "", false},

	{Hermes, "terminal", KindShell, "command", false},
	{Hermes, "write_file", KindWrite, "", false},
	{Hermes, "patch", KindPatch, "patch", true},
	{Hermes, "read_file", KindRead, "", false},
	{Hermes, "search_files", KindSearch, "", false},
	{Hermes, "web_extract", KindWeb, "", false},
	{Hermes, "browser_navigate", KindWeb, "", false},

	{OpenCode, "bash", KindShell, "command", false},
	{OpenCode, "write", KindWrite, "", false},
	{OpenCode, "edit", KindWrite, "", false},
	{OpenCode, "multiedit", KindWrite, "", false},
	{OpenCode, "patch", KindPatch, "patchText", false},
	{OpenCode, "apply_patch", KindPatch, "patchText", false},
	{OpenCode, "read", KindRead, "", false},
	{OpenCode, "lsp", KindRead, "", false},
	{OpenCode, "list", KindSearch, "", false},
	{OpenCode, "glob", KindSearch, "", false},
	{OpenCode, "grep", KindSearch, "", false},
	{OpenCode, "webfetch", KindWeb, "", false},
	{OpenCode, "read_mcp_resource", KindResource, "", false},

	{OpenClaw, "exec", KindShell, "command", false},
	{OpenClaw, "bash", KindShell, "command", false},
	{OpenClaw, "write", KindWrite, "", false},
	{OpenClaw, "edit", KindWrite, "", false},
	{OpenClaw, "apply_patch", KindPatch, "input", false},
	{OpenClaw, "read", KindRead, "", false},
	{OpenClaw, "web_fetch", KindWeb, "", false},
}

// tool returns the row of a host's tool; for one that has none, a row of kind Other.
func (h *Host) tool(name string) Tool {
	for _, tool := range Tools {
		if tool.Host == h.Name && tool.Name == name {
			return tool
		}
	}
	return Tool{Host: h.Name, Name: name}
}

// reserved are the actions that rules know more about than their name. A tool that the table does not know never gets one.
var reserved = map[string]bool{slot.BashAction: true, slot.WriteAction: true, slot.ReadAction: true, slot.HTTPAction: true, slot.WebFetchAction: true, "mcp": true}

// canonicalName is the action of a tool of kind Other: in lower case, with "_" between the words of CamelCase and in place of
// what is neither a letter nor a digit. It never has a dot, so that it is no action of another section; a name that rules
// know as another kind of tool has "tool_" in front. It reports false for a name without letters and digits, and for one
// that has others than ASCII.
func canonicalName(name string) (action string, ok bool) {
	var b strings.Builder
	word := false // the last character was a lower-case letter or a digit
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 0x7f || c < ' ':
			return "", false
		case 'A' <= c && c <= 'Z':
			if word {
				b.WriteByte('_')
			}
			b.WriteByte(c + 'a' - 'A')
			word = i+1 < len(name) && 'A' <= name[i+1] && name[i+1] <= 'Z' && i+2 < len(name) && 'a' <= name[i+2] && name[i+2] <= 'z'
			continue
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			b.WriteByte(c)
			word = true
			continue
		default:
			b.WriteByte('_')
		}
		word = false
	}
	action = b.String()
	if reserved[action] {
		action = "tool_" + action
	}
	return action, strings.Trim(action, "_") != "" && slot.IsAction(action)
}
