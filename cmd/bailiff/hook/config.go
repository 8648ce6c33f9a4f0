package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	api "bailiff/httpd/client"
	"bailiff/runtime/hook"
)

// Flags are what a host's settings say in the hook's command line.
type Flags struct {
	Adapter     string        `default:"auto" help:"The host: ${enum}." enum:"auto,claude-code,codex,gemini,cursor,copilot,windsurf,hermes,opencode,openclaw" placeholder:"HOST"`
	Config      string        `env:"SVC_HOOK_CONFIG" help:"Configuration file, JSON, mode 0600 (default: bailiff/hook.json in your configuration folder, where it exists)." placeholder:"FILE"`
	URL         string        `env:"SVC_API_URL" help:"Address of the service (default http://127.0.0.1:8787), or unix: and the path of its socket." placeholder:"URL"`
	APIKeyFile  string        `name:"api-key-file" help:"File of the API key, mode 0600. Otherwise it comes from SVC_API_KEY, then from the configuration file." placeholder:"FILE"`
	AgentID     string        `name:"agent-id" env:"SVC_AGENT_ID" help:"The agent (default agent)." placeholder:"ID"`
	Framework   string        `env:"SVC_FRAMEWORK" help:"The framework (default agent-hooks)." placeholder:"NAME"`
	FailMode    string        `name:"fail-mode" env:"SVC_FAIL_MODE" help:"What happens while the service cannot be reached: closed denies, open lets calls run and says so (default open)." placeholder:"MODE"`
	TaskID      string        `name:"task-id" help:"The task of all calls, in place of the session that the host names." placeholder:"ID"`
	SendContent bool          `name:"send-content" help:"Send the content of files that a call writes, up to 64 KiB a call; calls that write more are denied."`
	Wait        time.Duration `help:"Wait for so long for a person to resolve a hold." placeholder:"DURATION"`
	HostTimeout time.Duration `name:"host-timeout" help:"After how long the host stops the hook, where its settings say so." placeholder:"DURATION"`
	Log         string        `help:"File for what the service has no record of: calls that ran without it, and denials without its word (default: bailiff/hook.log in your state folder)." placeholder:"FILE"`
}

// hookConfig is the configuration, and the form of its file.
type hookConfig struct {
	APIKey      string `json:"apiKey"`
	APIURL      string `json:"apiUrl"`
	AgentID     string `json:"agentId"`
	Framework   string `json:"framework"`
	FailMode    string `json:"failMode"`
	TaskID      string `json:"taskId"`
	SendContent bool   `json:"sendContent"`

	open bool
}

// What is configured where nothing says otherwise (specification, hook-adapter.4).
const (
	defaultAgentID   = "agent"
	defaultFramework = "agent-hooks"
	maxConfigBytes   = 64 << 10
)

// config puts the configuration together: flags, then variables, then the file, then what is usual. kong reads flags and
// variables.
func (f *Flags) config() (hookConfig, error) {
	c, err := readHookConfig(f.Config)
	if err != nil {
		return c, err
	}
	key, err := f.key()
	if err != nil {
		return c, err
	}
	c.APIKey = cmp.Or(key, strings.TrimSpace(os.Getenv("SVC_API_KEY")), c.APIKey)
	c.APIURL = cmp.Or(f.URL, c.APIURL, api.DefaultURL)
	c.AgentID = cmp.Or(f.AgentID, c.AgentID, defaultAgentID)
	c.Framework = cmp.Or(f.Framework, c.Framework, defaultFramework)
	c.FailMode = cmp.Or(f.FailMode, c.FailMode, "open")
	c.TaskID = cmp.Or(f.TaskID, c.TaskID)
	c.SendContent = c.SendContent || f.SendContent
	c.open = c.FailMode == "open"
	switch {
	case c.APIKey == "":
		return c, cli.Usage("there is no API key; give --api-key-file FILE, set SVC_API_KEY, or write apiKey into the configuration file")
	case c.FailMode != "open" && c.FailMode != "closed":
		return c, cli.Usage("failMode is %.32q; it is open or closed", c.FailMode)
	case c.TaskID != "" && !hook.IsTaskID(c.TaskID):
		return c, cli.Usage("the task id %.64q is not 1 to 128 letters, digits, underscores and hyphens", c.TaskID)
	}
	return c, nil
}

// key reads the key's file, where one is named.
func (f *Flags) key() (string, error) {
	if f.APIKeyFile == "" {
		return "", nil
	}
	text, err := readSecret(f.APIKeyFile)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if key == "" {
		return "", cli.Usage("%s does not contain an API key", f.APIKeyFile)
	}
	return key, nil
}

// readHookConfig reads the configuration file. Without a name it is the usual one, which need not exist.
func readHookConfig(name string) (c hookConfig, err error) {
	optional := name == ""
	if optional {
		folder, err := os.UserConfigDir()
		if err != nil {
			return c, nil //nolint:nilerr // there is no usual place
		}
		name = filepath.Join(folder, "bailiff", "hook.json")
	}
	text, err := readSecret(name)
	switch {
	case optional && errors.Is(err, os.ErrNotExist):
		return c, nil
	case err != nil:
		return c, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return c, cli.Usage("%s: %v; its members are apiKey, apiUrl, agentId, framework, failMode, taskId and sendContent", name, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return c, cli.Usage("%s: something follows the JSON object", name)
	}
	return c, nil
}

// readSecret reads a file that its owner alone may read.
func readSecret(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, cli.Usage("%s is not a file", name)
	case info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/':
		return nil, cli.Usage("%s can be read by others (mode %04o), and has an API key; run chmod 600 %s", name, info.Mode().Perm(), name)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxConfigBytes+1))
	if err == nil && len(text) > maxConfigBytes {
		return nil, cli.Usage("%s has more than %d KiB", name, maxConfigBytes>>10)
	}
	return text, err
}
