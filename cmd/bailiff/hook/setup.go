package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	cmdclient "bailiff/cmd/bailiff/client"
	"bailiff/runtime/atomicfile"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/events"
	"bailiff/runtime/hook"
	"bailiff/runtime/hook/setup"
)

// hookSetup are the subcommands that see to the hooks in the settings of coding agents.
type hookSetup struct {
	Install   hookInstallCommand   `cmd:"" help:"Have a coding agent ask the service before each tool call."`
	Uninstall hookUninstallCommand `cmd:"" help:"Undo hook install."`
	Status    hookStatusCommand    `cmd:"" help:"Say whether hooks are installed, and whether they were seen to stop a call."`
	Doctor    hookDoctorCommand    `cmd:"" help:"Say what an agent could do to its own guard."`
	Log       hookLogCommand       `cmd:"" help:"Print the last decisions about an agent's calls, or what they come to."`
	Canary    hookCanaryCommand    `cmd:"" hidden:"" help:"The command that a guarded agent can't run."`
}

// scopeFlags say whose settings are meant.
type scopeFlags struct {
	User    bool `xor:"scope" help:"Your own settings (the default)."`
	Project bool `xor:"scope" help:"The settings of this folder, which others that work in it may share."`
	Managed bool `xor:"scope" help:"The host's root-owned settings, which users can't switch off."`
}

// scope is the scope that the flags name.
func (f *scopeFlags) scope() setup.Scope {
	switch {
	case f.Project:
		return setup.Project
	case f.Managed:
		return setup.Managed
	}
	return setup.User
}

// hostsOf returns the hosts of a command line.
func hostsOf(names []string) ([]*setup.Host, error) {
	var hosts []*setup.Host
	for _, name := range names {
		host := setup.Find(name)
		if host == nil {
			return nil, cli.Usage("%q is not a host; known: %s", name, strings.Join(setup.Names(), ", "))
		}
		if !slices.ContainsFunc(hosts, func(h *setup.Host) bool { return h.Name == name }) {
			hosts = append(hosts, host)
		}
	}
	return hosts, nil
}

// A settingsFile is a host's settings of one scope, as they are.
type settingsFile struct {
	host  *setup.Host
	scope setup.Scope
	path  string
	text  []byte
	found bool
}

// readSettingsFiles reads the settings of a host, under all names that the file can have; a host that has none in that scope is a
// usage error.
func readSettingsFiles(host *setup.Host, scope setup.Scope) ([]*settingsFile, error) {
	if scope == setup.Managed && runtime.GOOS != "linux" {
		return nil, cli.Usage("--managed works on Linux only: elsewhere the host's root-owned settings are in another place; take another scope")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, cli.Fail("your home folder is not known: %v; set HOME", err)
	}
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var files []*settingsFile
	for _, path := range host.Paths(scope, home, folder, os.Getenv) {
		file := &settingsFile{host: host, scope: scope, path: path}
		if err := file.read(); err != nil {
			return []*settingsFile{file}, err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, cli.Usage("%s has no settings for --%s; take another scope", host.Name, scope)
	}
	return files, nil
}

// switchedOff says which setting of a host switches its hooks off, in any of its files; empty where none does.
func switchedOff(host *setup.Host, home, folder string, lookup func(string) string) string {
	for _, path := range allSettings(host, home, folder, lookup) {
		text, err := readRegular(path)
		if err != nil {
			continue // it has no settings
		}
		if setting, err := host.SwitchedOff(text); err == nil && setting != "" {
			return path + " has " + setting
		}
	}
	return ""
}

// allSettings are all files in which a host has settings.
func allSettings(host *setup.Host, home, folder string, lookup func(string) string) []string {
	paths := host.Also(home, folder)
	for _, scope := range setup.Scopes {
		paths = append(paths, host.Paths(scope, home, folder, lookup)...)
	}
	return paths
}

// refusesHTTP says why a host would not ask the service at an address itself, or not with the key; empty where it would.
func refusesHTTP(host *setup.Host, address, home, folder string, lookup func(string) string) string {
	var limits setup.HTTPLimits
	for _, path := range allSettings(host, home, folder, lookup) {
		text, err := readRegular(path)
		if err != nil {
			continue // it has no settings
		}
		if one, err := host.HTTPLimits(text); err == nil {
			limits.Add(one)
		}
	}
	limits.Environment(lookup)
	return limits.Refuses(address)
}

// readRegular reads a settings file. One that is a pipe, which an agent could put there, would keep its reader waiting.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, cli.Unreadable(err)
	case !info.Mode().IsRegular():
		return nil, cli.Fail("%s is not a regular file", path)
	}
	return cli.ReadFile(path, setup.MaxBytes)
}

// read reads the file as it is now.
func (f *settingsFile) read() error {
	text, err := readRegular(f.path)
	if err != nil && cli.IsMissing(f.path) {
		f.text, f.found = nil, false
		return nil
	}
	f.text, f.found = text, true
	return err
}

// A receipt says what an installation changed, so that it can be undone, and by which call it can be seen to work.
type receipt struct {
	Host      string          `json:"host"`
	Scope     setup.Scope     `json:"scope"`
	Path      string          `json:"path"`
	Existed   bool            `json:"existed"`
	Before    []byte          `json:"before"`          // the file's bytes, where it existed
	After     string          `json:"after"`           // SHA-256 of what was written
	Folders   []string        `json:"folders"`         // that were made, outermost first
	Hooks     []string        `json:"hooks"`           // as they were written
	Files     []installedFile `json:"files,omitempty"` // of a plugin
	Installed time.Time       `json:"installed"`       // in UTC
	Canary    string          `json:"canary"`
	Denied    time.Time       `json:"denied"`  // when the canary's denial was seen; zero before
	Session   string          `json:"session"` // of that call; empty where its request did not say
	URL       string          `json:"url"`
	KeyFile   string          `json:"keyFile"`
	AgentID   string          `json:"agentId"`

	file string // of the receipt
}

// receiptFolder is where receipts are kept: with the user's settings, or root's.
func receiptFolder(scope setup.Scope) (string, error) {
	if scope == setup.Managed {
		return "/etc/bailiff/hook", nil
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return "", cli.Fail("the folder of your settings is not known: %v; set HOME", err)
	}
	return filepath.Join(config, "bailiff", "hook"), nil
}

// receiptOf reads the receipt of a settings file; one that does not exist is empty, with its file's name.
func receiptOf(f *settingsFile) (*receipt, error) {
	folder, err := receiptFolder(f.scope)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(f.path))
	r := &receipt{file: filepath.Join(folder, fmt.Sprintf("%s-%s-%x.json", f.host.Name, f.scope, sum[:4]))}
	text, err := cli.ReadFile(r.file, 2*setup.MaxBytes)
	if err != nil {
		if cli.IsMissing(r.file) {
			return r, nil
		}
		return nil, err
	}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, cli.Fail("%s can't be read: %v; remove it, and run bailiff hook install again", r.file, err)
	}
	return r, nil
}

// save keeps the receipt, readable by its owner alone; one of root's can be read by all, as the settings can that it is about.
func (r *receipt) save() error {
	folder := filepath.Dir(r.file)
	made := func() error { return os.MkdirAll(folder, 0o700) }
	if r.Scope == setup.Managed {
		made = func() error { return makeFolder(folder, r.Scope) }
	}
	if err := made(); err != nil {
		return cli.Unwritable(r.file, err)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.ReplacePrivate(r.file, append(text, '\n')); err != nil || r.Scope != setup.Managed {
		return cli.Unwritable(r.file, err)
	}
	return os.Chmod(r.file, 0o644)
}

// fits reports whether the settings are as the installation left them.
func (r *receipt) fits(text []byte) bool { return r.After != "" && r.After == digestOf(text) }

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// oursIn returns Bailiff's hooks, and their texts.
func oursIn(hooks []setup.Hook) (ours []setup.Hook, texts []string) {
	for _, one := range hooks {
		if one.Ours {
			ours, texts = append(ours, one), append(texts, one.Text)
		}
	}
	return ours, texts
}

// mark is the file that the canary leaves where it could run, as the agent's user.
func (r *receipt) mark() string {
	folder, err := receiptFolder(setup.User)
	if err != nil {
		folder = filepath.Dir(r.file)
	}
	return filepath.Join(folder, "ran-"+r.Canary)
}

// decisionsOf fetches the key's decisions since a time, and gives each to see until that returns false.
func decisionsOf(ctx context.Context, service *cmdclient.Client, since time.Time, see func(*hookEvent) bool) error {
	query := events.Query{From: since, Limit: cmdclient.EventsAtOnce}
	for {
		var page cmdclient.EventsPage // of at most EventsAtOnce events
		if err := service.Call(ctx, "GET", "/v1/events?"+cmdclient.EncodeQuery(query).Encode(), nil, &page); err != nil {
			return err
		}
		for _, raw := range page.Events {
			event := &hookEvent{raw: raw}
			if err := json.Unmarshal(raw, &event.eventView); err != nil {
				return cli.Fail("an event can't be read: %v", err)
			}
			if event.Event == "decision" && !see(event) {
				return nil
			}
		}
		if _, err := fmt.Sscan(page.Next, &query.After); err != nil || !page.More {
			return nil
		}
	}
}

// serviceOf returns a client of the service that an installed hook asks, with its key.
func serviceOf(std cli.Streams, r *receipt) (*cmdclient.Client, error) {
	if r.KeyFile == "" {
		return nil, cli.Fail("there is no record of the installation; run bailiff hook install again")
	}
	flags := cmdclient.ApiFlags{URL: r.URL, APIKeyFile: r.KeyFile}
	return flags.Client(std)
}

type eventView = eventjson.Event

// A hookEvent is an event of the service, as it was read and as it came.
type hookEvent struct {
	eventView
	raw json.RawMessage
}

// has reports whether the event is about a command with this text in it.
func (e *hookEvent) has(text string) bool {
	return strings.Contains(e.Value, text) || strings.Contains(e.Message, text)
}

// of reports whether the event is of a session; every one is of none.
func (e *hookEvent) of(session string) bool {
	return strings.HasPrefix(e.RequestID, hook.RequestID(session))
}

// session is the session that the event is of, empty where its request had no id of its own.
func (e *hookEvent) session() string {
	if e.RequestID == strings.ReplaceAll(e.ID, "-", "") {
		return ""
	}
	return e.RequestID
}
