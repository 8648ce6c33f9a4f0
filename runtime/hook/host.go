package hook

import (
	"slices"
	"time"
)

// The names of hosts, as --adapter takes them.
const (
	ClaudeCode = "claude-code"
	Codex      = "codex"
	Gemini     = "gemini"
	Cursor     = "cursor"
	Copilot    = "copilot"
	Windsurf   = "windsurf"
	Hermes     = "hermes"
	OpenCode   = "opencode"
	OpenClaw   = "openclaw"
)

// Auto is the adapter that recognises the host by its event.
const Auto = "auto"

// A Host is a coding agent whose hooks are understood.
type Host struct {
	Name  string // as --adapter takes it
	Title string // as people call it
	Seen  string // the newest version that the row was written for; empty where only documentation was seen
	// Forms are the events that ask before a tool runs. Install registers the first ones, as many as Register says: they
	// cover what the others do, and a call that fires two events would be asked for twice.
	Forms    []Form
	Register int

	Transcript bool // usage of the model can be read from the transcript that the event names

	// Timeout is how long the host is taken to wait for a hook where --host-timeout does not say it: install has it wait so long.
	// Waits is what the host does where its settings do not say, where that is longer; 0 where it is Timeout. TimeoutField is the member of an entry that sets
	// it, in units of TimeoutUnit; empty where the host has none.
	Timeout      time.Duration
	Waits        time.Duration
	TimeoutField string
	TimeoutUnit  time.Duration

	// FailClosed is the member of an entry that makes the host deny when the hook itself fails, and FailClosedValue its value
	// in JSON. Both are empty where the host has no such switch.
	FailClosed, FailClosedValue string
	// FailClosedSince is the first version that obeys FailClosed; earlier ones ignore it. Empty where all known ones do.
	FailClosedSince string
	// Open says when a call runs although the hook was to deny it and failed, with the switch set.
	Open string
	// NoEvent says which tools run without an event.
	NoEvent string
	// Todo says what a person has to do after the installation; empty for nothing.
	Todo string

	answer answerer
}

// A Form is one kind of event: how it is recognised, and where its tool and the tool's input are.
type Form struct {
	Event string // the value of the member that names the event; empty where the event has none
	// Tool and Input are the members with the tool's name and its input. Without Tool the event means the tool; without
	// Input the members of the event are the input.
	Tool, Input string
}

// Hosts are the hosts, in the order of the documentation.
var Hosts = []Host{
	{
		Name: ClaudeCode, Title: "Claude Code", Seen: "2.1.330", Transcript: true,
		Forms: []Form{{"PreToolUse", "tool_name", "tool_input"}}, Register: 1,
		Timeout: 60 * time.Second, Waits: 600 * time.Second, TimeoutField: "timeout", TimeoutUnit: time.Second,
		FailClosed: "onFailure", FailClosedValue: `"block"`, FailClosedSince: "2.1.295",
		Open:    "Versions before 2.1.295 ignore `onFailure` without a word, and so do asynchronous hooks.",
		NoEvent: "What a command does once it runs; slash commands that the user types.",
		answer:  answerer{deny: denyClaude, open: openMessage},
	},
	{
		Name: Codex, Title: "Codex CLI", Seen: "0.169", Transcript: true,
		Forms: []Form{{"PreToolUse", "tool_name", "tool_input"}}, Register: 1,
		Timeout: 60 * time.Second, Waits: 600 * time.Second, TimeoutField: "timeout", TimeoutUnit: time.Second, // by its own hooks/list
		Open:    "There is no switch: if the hook takes too long, the call runs. For one that is killed install adds `|| exit 2`.",
		NoEvent: "Every tool but the shell, `apply_patch` and MCP tools: web search, plans, images, further agents.",
		Todo:    "Start Codex, open /hooks, and trust the hook: until then it is skipped, and again after each change of its entry.",
		answer:  answerer{deny: denyClaude},
	},
	{
		Name: Gemini, Title: "Gemini CLI", Seen: "0.61",
		Forms: []Form{{"BeforeTool", "tool_name", "tool_input"}}, Register: 1,
		Timeout: 60 * time.Second, TimeoutField: "timeout", TimeoutUnit: time.Millisecond,
		Open:    "There is no switch: if the hook takes too long, the call runs. For one that is killed install adds `|| exit 2`. Folders that are not trusted skip hooks.",
		NoEvent: "What a command does once it runs.",
		Todo:    "Trust the folder in which Gemini CLI works: it skips the hooks of folders that are not trusted.",
		answer:  answerer{allow: `{}`, deny: denyDecision("deny"), open: openMessage},
	},
	{
		Name: Cursor, Title: "Cursor", Seen: "3.18",
		Forms: []Form{
			{"preToolUse", "tool_name", "tool_input"},
			{"beforeShellExecution", "", ""},
			{"beforeMCPExecution", "", ""},
		}, Register: 1,
		Timeout: 30 * time.Second, TimeoutField: "timeout", TimeoutUnit: time.Second,
		FailClosed: "failClosed", FailClosedValue: "true",
		Open:    "Nothing that is known; without `failClosed` the call runs when the hook fails.",
		NoEvent: "What a command does once it runs; completions in the editor.",
		answer:  answerer{allow: `{"permission":"allow"}`, deny: denyCursor},
	},
	{
		Name: Copilot, Title: "GitHub Copilot CLI", Seen: "1.0.102",
		Forms: []Form{
			{"", "toolName", "toolArgs"},
			{"PreToolUse", "tool_name", "tool_input"},
		}, Register: 1,
		Timeout: 30 * time.Second, TimeoutField: "timeoutSec", TimeoutUnit: time.Second,
		Open:    "There is no switch: if the hook takes too long, the call runs. A crash denies.",
		NoEvent: "What a command does once it runs.",
		Todo:    "Trust the folder, for hooks in its `.github/hooks`: they are not loaded before.",
		answer:  answerer{deny: denyCopilot},
	},
	{
		Name: Windsurf, Title: "Windsurf",
		Forms: []Form{
			{"pre_run_command", "", "tool_info"},
			{"pre_write_code", "", "tool_info"},
			{"pre_read_code", "", "tool_info"},
			{"pre_mcp_tool_use", "", "tool_info"},
		}, Register: 4,
		Timeout: 30 * time.Second,
		Open:    "There is no switch: only exit code 2 denies, so if the hook takes too long, the call runs. For one that is killed install adds `|| exit 2`.",
		NoEvent: "Web search and web pages; every tool that is not a command, a change or a reading of a file, or an MCP tool.",
		answer:  answerer{byExit: true},
	},
	{
		Name: Hermes, Title: "Hermes",
		Forms: []Form{{"pre_tool_call", "tool_name", "tool_input"}}, Register: 1,
		Timeout: 60 * time.Second, TimeoutField: "timeout", TimeoutUnit: time.Second,
		FailClosed: "fail_closed", FailClosedValue: "true",
		Open:    "Nothing that is known; without `fail_closed` the call runs when the hook fails.",
		NoEvent: "What a command does once it runs.",
		Todo:    "Consent to the hook when Hermes asks at its first use.",
		answer:  answerer{allow: `{}`, deny: denyDecision("block")},
	},
}

// plugins are the hosts that have no hooks, but plugins: those of cmd/bailiff/hook/plugins write the event and read the
// answer, and let a call run on nothing but {}.
var plugins = []Host{
	{
		Name: OpenCode, Title: "OpenCode", Seen: "1.18", Forms: []Form{{"tool.execute.before", "tool_name", "tool_input"}}, Register: 1,
		Timeout: 60 * time.Second, answer: answerer{allow: `{}`, deny: denyDecision("deny")},
		Open:    "There is no switch: OpenCode runs on without a plugin that it cannot load, and with `--pure` it loads none.",
		NoEvent: "What a command does once it runs; commands that the user types.",
	},
	{
		Name: OpenClaw, Title: "OpenClaw", Seen: "2026.9", Forms: []Form{{"before_tool_call", "tool_name", "tool_input"}}, Register: 1,
		Timeout: 60 * time.Second, answer: answerer{allow: `{}`, deny: denyDecision("deny")},
		Open:    "There is no switch: OpenClaw runs on without a plugin that it cannot load.",
		NoEvent: "What a command does once it runs; commands that the user types; calls of other agents' harnesses that have no event.",
	},
}

// Find returns the host of that name, nil where there is none.
func Find(name string) *Host {
	for _, hosts := range [][]Host{Hosts, plugins} {
		for i := range hosts {
			if hosts[i].Name == name {
				return &hosts[i]
			}
		}
	}
	return nil
}

// Adapters are the names that --adapter takes: those of hosts with plugins, too.
func Adapters() []string {
	names := []string{Auto}
	for _, h := range slices.Concat(Hosts, plugins) {
		names = append(names, h.Name)
	}
	return names
}

// Deadline is how long the adapter may take where the host waits for so long: it has to answer, and not be killed.
func Deadline(timeout time.Duration) time.Duration { return timeout * 6 / 10 }
