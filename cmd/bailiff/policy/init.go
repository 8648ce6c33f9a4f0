package policy

import (
	"bytes"
	"embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/hook/setup"
)

// starterFiles are the policies that bailiff init writes, and their tests: one template for the hosts of coding agents, one for
// MCP servers. That of a trading agent is the policy of a first run.
//
//go:embed starters example
var starterFiles embed.FS

type initCommand struct {
	For    string `required:"" enum:"${starters}" help:"Whom the policy is for: ${enum}." placeholder:"AGENT"`
	Output string `short:"o" default:"warranty.md" help:"File of the policy; its tests are beside it (${default})." placeholder:"FILE"`
}

// Help says what is written.
func (c *initCommand) Help() string {
	return `Writes a policy to start from, and its tests beside it. For a coding agent it allows what such an agent does, and denies it
what would switch its guard off: writing the host's settings, this policy, Bailiff's files and keys, and bailiff's own commands.`
}

// Run writes both files; one that is there is left alone.
func (c *initCommand) Run(std cli.Streams) error {
	policy, tests, err := StarterOf(c.For)
	if err != nil {
		return err
	}
	if filepath.Ext(c.Output) != ".md" {
		return cli.Usage("-o %s: a policy's file ends in .md, so that its tests are found beside it", c.Output)
	}
	beside := strings.TrimSuffix(c.Output, ".md") + ".test.yaml"
	for _, path := range []string{c.Output, beside} {
		if !cli.IsMissing(path) {
			return cli.Fail("%s is there already, and is left as it is; name another file with -o", path)
		}
	}
	if err := os.MkdirAll(filepath.Dir(c.Output), 0o755); err != nil {
		return cli.Unwritable(c.Output, err)
	}
	if err := cli.ReplaceFile(c.Output, policy); err != nil {
		return err
	}
	if err := cli.ReplaceFile(beside, tests); err != nil {
		return err
	}
	name := cli.ShellWord(c.Output)
	fmt.Fprintf(std.Out, `wrote %[1]s and %[2]s

Read the policy, change it, and then, with your operator key:

  bailiff check %[3]s
  bailiff test %[3]s
  bailiff sign --key operator.key %[3]s     # bailiff keygen -o operator.key makes a key

A service enforces it after its next start with WARRANTY_PATH=%[3]s and the key's public part in SVC_OPERATOR_PUBLIC_KEY.
`, c.Output, beside, name)
	if setup.Find(c.For) != nil {
		fmt.Fprintf(std.Out, "With the service running, and a key from bailiff keys create in FILE:\n\n  bailiff hook install %s --api-key-file FILE\n", c.For)
	}
	return nil
}

// A starterHost is what the template for coding agents has to know of a host.
type starterHost struct {
	Host, Title string
	Tools       []string // that need no rules beyond their name
	Words       []string // in commands that would touch the host's settings
	Paths       []string // of these settings
	Settings    []string // the settings as an agent would name them, for the tests
}

// StarterHosts are the hosts of coding agents. A test holds that Words and Paths cover every place in which a hook can be.
var StarterHosts = []starterHost{
	{
		Host: "claude-code", Title: "Claude Code",
		Tools: []string{"agent", "ask_user_question", "bash_output", "enter_plan_mode", "exit_plan_mode", "kill_shell", "skill", "task", "task_create", "task_get", "task_list", "task_output", "task_stop", "task_update", "todo_write", "tool_search", "web_search"},
		Words: []string{".claude", "claude-code/", "disableAllHooks", "CLAUDE_CONFIG_DIR", "--setting-sources", "dangerously-skip-permissions"},
		Paths: []string{".claude/settings*.json", ".claude/hooks", ".claude.json"},
	},
	{
		Host: "codex", Title: "Codex CLI",
		Tools: []string{"update_plan", "view_image", "web_search"},
		Words: []string{".codex", "CODEX_HOME", "dangerously-bypass"},
		Paths: []string{".codex"},
	},
	{
		Host: "gemini", Title: "Gemini CLI",
		Tools: []string{"activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode", "google_web_search", "save_memory", "write_todos"},
		Words: []string{".gemini", "gemini-cli/", "GEMINI_CLI_"},
		Paths: []string{".gemini/settings.json", ".gemini/hooks", ".gemini/trustedFolders.json"},
	},
	{
		Host: "cursor", Title: "Cursor",
		Tools: []string{"ask_question", "read_lints", "semantic_search", "switch_mode", "task", "todo_write", "web_search"},
		Words: []string{".cursor", "/etc/cursor"},
		Paths: []string{".cursor/hooks.json", ".cursor/hooks"},
	},
	{
		Host: "copilot", Title: "GitHub Copilot CLI",
		Tools: []string{"ask_user", "list_bash", "read_bash", "report_intent", "skill", "stop_bash", "task", "update_todo", "web_search"},
		Words: []string{".copilot", ".github/hooks", "github-copilot/", ".claude/settings", "allow-all"},
		Paths: []string{".copilot", ".github/hooks", ".claude/settings*.json"},
	},
	{
		Host: "windsurf", Title: "Windsurf",
		Words: []string{".windsurf", ".codeium", "/etc/windsurf"},
		Paths: []string{".windsurf/hooks.json", ".codeium"},
	},
	{
		Host: "hermes", Title: "Hermes",
		Tools: []string{"clarify", "delegate_task", "memory", "process", "session_search", "skill_view", "skills_list", "todo", "web_search"},
		Words: []string{".hermes", "HERMES_HOME"},
		Paths: []string{".hermes"},
	},
	{
		Host: "opencode", Title: "OpenCode",
		Tools: []string{"plan_exit", "question", "skill", "task", "todowrite", "websearch"},
		Words: []string{".config/opencode", ".opencode", "opencode.json", "/etc/opencode", "OPENCODE_", "opencode --pure"},
		Paths: []string{".config/opencode", ".opencode", "opencode.json*", "bailiff-plugin"},
	},
	{
		Host: "openclaw", Title: "OpenClaw",
		Tools: []string{"agents_list", "ask_user", "get_goal", "memory_get", "memory_search", "progress_card", "session_status", "sessions_history", "sessions_list", "tool_describe", "tool_search", "update_goal", "web_search"},
		Words: []string{"openclaw.json", ".openclaw/extensions", ".openclaw/.env", "OPENCLAW_", "openclaw config", "openclaw plugins"},
		Paths: []string{"openclaw.json*", ".openclaw/extensions", "bailiff-plugin"},
	},
}

// plainStarters are the starters that are the same for everybody: the policy, and its tests.
var plainStarters = map[string][2]string{
	"trader": {"example/warranty.md", "example/warranty.test.yaml"},
	"mcp":    {"starters/mcp.md", "starters/mcp.test.yaml"},
}

// StarterNames are the names of all starters.
func StarterNames() []string {
	return slices.Concat(setup.Names(), slices.Sorted(maps.Keys(plainStarters)))
}

// StarterOf returns the policy for an agent, and its tests.
func StarterOf(name string) (policy, tests []byte, err error) {
	at := slices.IndexFunc(StarterHosts, func(h starterHost) bool { return h.Host == name })
	if at < 0 {
		if policy, err = starterFiles.ReadFile(plainStarters[name][0]); err == nil {
			tests, err = starterFiles.ReadFile(plainStarters[name][1])
		}
		return policy, tests, err
	}
	host := StarterHosts[at]
	host.Settings = settingsOf(setup.Find(name))
	templates, err := template.ParseFS(starterFiles, "starters/*.tmpl")
	if err != nil {
		return nil, nil, err
	}
	var made [2]bytes.Buffer
	for i, file := range []string{"agent.md.tmpl", "agent.test.yaml.tmpl"} {
		if err := templates.ExecuteTemplate(&made[i], file, host); err != nil {
			return nil, nil, err
		}
	}
	return made[0].Bytes(), made[1].Bytes(), nil
}

// settingsOf is where hooks of a host can be, for a user ann with a project.
func settingsOf(host *setup.Host) []string {
	var paths []string
	for _, scope := range setup.Scopes {
		for _, path := range host.Paths(scope, "/home/ann", "/home/ann/project", func(string) string { return "" }) {
			paths = append(paths, path)
			files := host.PluginFiles(path)
			for _, name := range slices.Sorted(maps.Keys(files)) {
				if !slices.Contains(paths, files[name]) {
					paths = append(paths, files[name])
				}
			}
		}
	}
	return paths
}
