package setup

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"bailiff/runtime/hook"
)

// Scope says whose settings are edited.
type Scope string

// The scopes: the user's own settings, those of the folder that the agent works in, and the host's root-owned ones.
const (
	User    Scope = "user"
	Project Scope = "project"
	Managed Scope = "managed"
)

// Scopes are all scopes, the strongest first.
var Scopes = []Scope{Managed, User, Project}

// form is the language of a settings file.
type form int

const (
	jsonForm  form = iota
	jsoncForm      // JSON that may have comments and trailing commas
	json5Form      // JSON5, of which what jsoncForm has is edited
	yamlForm
)

// Host is a host with what installing has to know of it.
type Host struct {
	*hook.Host
	Events []string // the names under which hooks are listed
	HTTP   bool     // has HTTP hooks that can be made to fail closed
	// VersionOf is the command that prints the host's version; empty where none is needed.
	VersionOf []string

	form    form
	home    string      // environment variable of the folder that means the first part of the user's place
	user    string      // below the home folder
	project string      // below the project's folder; empty where there is none
	managed string      // absolute; empty where there is none
	fresh   string      // the member of a new file; empty for none
	file    string      // environment variable of the user's settings file itself
	variant string      // another name of the settings file, which the host reads after the first one
	plugin  *pluginForm // of a host that has plugins in place of hooks
	grouped bool        // entries are in groups with a matcher
	matcher string      // of the group; empty for none
	write   func(entry map[string]any, o Options)
	off     []offSwitch
	other   string   // TOML file beside the settings, in which hooks may be, too
	also    []string // further files that may switch hooks off: below the home folder with ~/, else below the project's
}

// Timed reports whether an entry can say how long the host waits for it.
func (h *Host) Timed() bool { return h.TimeoutField != "" }

// Switch is what has the host stop a call whose hook fails, as it is in the settings. Where the host has no switch it is what
// has the shell deny when the hook is killed.
func (h *Host) Switch() string {
	switch {
	case h.plugin != nil:
		return "a plugin that denies when its hook fails"
	case h.FailClosed == "":
		return strings.TrimSpace(fallback)
	}
	return h.FailClosed + ": " + h.FailClosedValue
}

// offSwitch is a setting by which a user switches hooks off: one that has this value, or a list with it.
type offSwitch struct {
	path  string
	value any
	lacks bool // the setting is a list of allowed values, and this is not on it
}

// allHosts returns the table of hosts, in the order of runtime/hook: those with hooks, then those with plugins.
func allHosts() []Host {
	var hosts []Host
	for _, name := range hook.Adapters()[1:] { // without hook.Auto
		host := places[name]
		host.Host = hook.Find(name)
		for _, form := range host.Forms[:host.Register] {
			host.Events = append(host.Events, cmp.Or(form.Event, unnamedEvent))
		}
		hosts = append(hosts, host)
	}
	return hosts
}

// unnamedEvent is what settings call an event that does not name itself.
const unnamedEvent = "preToolUse"

// Find returns the host of a name, nil where there is none.
func Find(name string) *Host {
	for _, host := range allHosts() {
		if host.Name == name {
			return &host
		}
	}
	return nil
}

// Names returns the names of the hosts.
func Names() (names []string) {
	for _, host := range allHosts() {
		names = append(names, host.Name)
	}
	return names
}

// Path returns the settings file of a scope, empty where the host has none. Lookup reads the environment.
func (h *Host) Path(scope Scope, home, project string, lookup func(string) string) string {
	switch {
	case scope == Managed:
		return h.managed
	case scope == Project && h.project != "":
		return filepath.Join(project, h.project)
	case scope != User:
		return ""
	}
	if h.file != "" {
		if file := lookup(h.file); file != "" {
			return belowHome(file, home)
		}
	}
	if h.home != "" {
		if folder := lookup(h.home); folder != "" {
			_, below, _ := strings.Cut(h.user, "/")
			return filepath.Join(belowHome(folder, home), below)
		}
	}
	return filepath.Join(home, h.user)
}

// belowHome is a path of the environment, with the home folder in place of a ~ in front, which no shell has replaced.
func belowHome(path, home string) string {
	if below, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, below)
	}
	return path
}

// Paths returns all names that the settings file of a scope can have, in the order in which the host reads them. Path is the first.
func (h *Host) Paths(scope Scope, home, project string, lookup func(string) string) []string {
	path := h.Path(scope, home, project, lookup)
	switch {
	case path == "":
		return nil
	case h.variant == "":
		return []string{path}
	}
	return []string{path, filepath.Join(filepath.Dir(path), h.variant)}
}

// versionOne is the member that some hosts want in a file of hooks.
const versionOne = `"version": 1`

// places are the hosts' settings.
var places = map[string]Host{
	hook.ClaudeCode: {
		HTTP: true, VersionOf: []string{"claude", "--version"},
		form: jsonForm, home: "CLAUDE_CONFIG_DIR",
		user: ".claude/settings.json", project: ".claude/settings.json", managed: "/etc/claude-code/managed-settings.json",
		grouped: true, matcher: "*",
		write: func(entry map[string]any, o Options) {
			if o.URL != "" {
				entry["type"], entry["url"] = "http", o.URL+HTTPPath
				entry["headers"] = map[string]any{"Authorization": "Bearer $" + o.KeyVariable}
				entry["allowedEnvVars"] = []any{o.KeyVariable}
				return
			}
			entry["type"], entry["command"], entry["args"] = "command", o.Command[0], list(o.Command[1:])
		},
		off: []offSwitch{{path: "disableAllHooks", value: true}}, also: []string{".claude/settings.local.json"},
	},
	hook.Codex: {
		form: jsonForm, home: "CODEX_HOME", user: ".codex/hooks.json", project: ".codex/hooks.json", grouped: true, other: "config.toml",
		write: func(entry map[string]any, o Options) {
			entry["type"], entry["command"] = "command", joinWords(o.Command)
		},
	},
	hook.Gemini: {
		form: jsoncForm, user: ".gemini/settings.json", project: ".gemini/settings.json", managed: "/etc/gemini-cli/settings.json",
		grouped: true, matcher: "*",
		write: func(entry map[string]any, o Options) {
			entry["type"], entry["name"], entry["command"] = "command", hookName, joinWords(o.Command)
		},
		off: []offSwitch{
			{path: "hooksConfig.enabled", value: false}, {path: "hooks.enabled", value: false}, {path: "tools.enableHooks", value: false},
			{path: "hooksConfig.disabled", value: hookName}, {path: "hooks.disabled", value: hookName},
		},
	},
	hook.Cursor: {
		form: jsonForm, user: ".cursor/hooks.json", project: ".cursor/hooks.json", managed: "/etc/cursor/hooks.json", fresh: versionOne,
		write: func(entry map[string]any, o Options) { entry["command"] = joinWords(o.Command) },
	},
	hook.Copilot: {
		form: jsonForm, user: ".copilot/hooks/bailiff.json", project: ".github/hooks/bailiff.json",
		managed: "/etc/github-copilot/policy.d/bailiff.json", fresh: versionOne,
		write: func(entry map[string]any, o Options) { entry["type"], entry["bash"] = "command", joinWords(o.Command) },
		off:   []offSwitch{{path: "disableAllHooks", value: true}},
		also:  []string{"~/.copilot/settings.json", "~/.copilot/config.json", ".github/copilot/settings.json", ".github/copilot/settings.local.json"},
	},
	hook.Windsurf: {
		form: jsonForm, user: ".codeium/windsurf/hooks.json", project: ".windsurf/hooks.json", managed: "/etc/windsurf/hooks.json",
		write: func(entry map[string]any, o Options) { entry["command"] = joinWords(o.Command) },
	},
	hook.Hermes: {
		form: yamlForm, home: "HERMES_HOME", user: ".hermes/config.yaml",
		write: func(entry map[string]any, o Options) { entry["command"] = joinWords(o.Command) },
	},
	hook.OpenCode: {
		form: jsoncForm, home: "XDG_CONFIG_HOME", user: ".config/opencode/opencode.json", project: "opencode.json",
		managed: "/etc/opencode/opencode.json", variant: "opencode.jsonc", plugin: &openCodePlugin,
		fresh: `"$schema": "https://opencode.ai/config.json"`, // which OpenCode would add
	},
	hook.OpenClaw: {
		form: json5Form, home: "OPENCLAW_STATE_DIR", file: "OPENCLAW_CONFIG_PATH", user: ".openclaw/openclaw.json", plugin: &openClawPlugin,
		off: []offSwitch{
			{path: "plugins.enabled", value: false}, {path: "plugins.deny", value: pluginName},
			{path: "plugins.entries." + pluginName + ".enabled", value: false}, {path: "plugins.allow", value: pluginName, lacks: true},
		},
	},
}

// hookName is the name of the hook in hosts that have names for hooks.
const hookName = "bailiff"

// Also returns further files of a host that may switch its hooks off.
func (h *Host) Also(home, project string) []string {
	var paths []string
	for _, path := range h.also {
		if below, ok := strings.CutPrefix(path, "~/"); ok {
			paths = append(paths, filepath.Join(home, below))
		} else {
			paths = append(paths, filepath.Join(project, path))
		}
	}
	return paths
}

// list is a list of texts as a document has it.
func list(words []string) []any {
	values := make([]any, len(words))
	for i, word := range words {
		values[i] = word
	}
	return values
}

// fallback follows the adapter's command line where a shell runs it and the host has no fail-closed switch: a hook that is
// killed denies too, by the one exit code that all those hosts read as a denial, and the shell's own words on standard error,
// without which some of them take none. Shells other than POSIX ones read it as well.
const fallback = " || exit 2"

// lineNames are the members of an entry that a shell may run.
var lineNames = []string{"command", "bash"}

// entry is the part that is installed for each event.
func (h *Host) entry(o Options) any {
	if h.plugin != nil {
		return h.pluginEntry(o)
	}
	single := map[string]any{}
	h.write(single, o)
	if h.Timed() {
		single[h.TimeoutField] = int(o.Timeout / h.TimeoutUnit)
	}
	switch {
	case o.Closed && h.FailClosed != "":
		single[h.FailClosed] = switchOf(h.Host)
	case o.Closed:
		for _, name := range lineNames {
			if line, ok := single[name].(string); ok {
				single[name] = line + fallback
			}
		}
	}
	if !h.grouped {
		return single
	}
	group := map[string]any{"hooks": []any{single}}
	if h.matcher != "" {
		group["matcher"] = h.matcher
	}
	return group
}

// switchOf is the value of the host's own switch.
func switchOf(h *hook.Host) any {
	var value any
	_ = json.Unmarshal([]byte(h.FailClosedValue), &value) // the table has JSON
	return value
}
