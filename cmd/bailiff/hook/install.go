package hook

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"bailiff/cmd/bailiff/cli"
	cmdclient "bailiff/cmd/bailiff/client"
	"bailiff/compiler/sections"
	"bailiff/runtime/clock"
	"bailiff/runtime/hook/setup"
)

// How long a call may wait for a person, and how much longer than that the host waits for the adapter.
const (
	mostWait    = time.Hour
	waitReserve = 30 * time.Second
)

type hookInstallCommand struct {
	scopeFlags
	askFlags
	cmdclient.ApiFlags
	AgentID  string        `name:"agent-id" default:"agent" help:"The agent, in requests and events (${default})." placeholder:"ID"`
	FailMode string        `name:"fail-mode" enum:"closed,open" default:"closed" help:"What happens while the service can't be reached: closed stops every call, open lets it pass (${default})."`
	Wait     time.Duration `help:"How long a call waits for a person who has to approve it; without, it is denied and can be tried again." placeholder:"T"`
	HTTP     bool          `name:"http" help:"Have the host ask the service itself, without a program in between; claude-code 2.1.295 or later only."`
	Hosts    []string      `arg:"" name:"host" help:"${hosts}."`
}

// Help says what is changed.
func (c *hookInstallCommand) Help() string {
	return `Adds a hook to the host's settings, so that it runs "bailiff hook" before each tool call. For opencode and openclaw, which have
plugins instead, it also writes the plugin, into the folder bailiff-plugin beside the settings. The change is shown first; everything
else in the file stays byte for byte as it is, and hook uninstall brings the file back. The key has to be one that may
authorize and nothing else (bailiff keys create), in a file that its owner alone can read. Where the host has a switch that
stops a call whose hook fails, it is set. What a person still has to do is printed at the end, with a command that a guarded
agent can't run: until it was denied, hook status says "installed, not yet seen".`
}

// An installation is what a command line asks for, checked.
type installation struct {
	service *cmdclient.Client
	url     string // of the service, as the adapter gets it
	keyFile string
	program string
	steps   []string // that hold for every host
	budget  string   // a rule that limits what a model uses; empty for none
	now     time.Time
}

// Run shows what is to be written, asks, and writes it.
func (c *hookInstallCommand) Run(std cli.Streams) error {
	hosts, err := hostsOf(c.Hosts)
	if err != nil {
		return err
	}
	var changes []*change
	made, err := c.prepare(std, hosts)
	if err != nil {
		return err
	}
	for _, host := range hosts {
		one, err := c.plan(host, made)
		if err != nil {
			return err
		}
		changes = append(changes, one)
	}
	return c.carryOut(std, changes, func(one *change) { c.report(std, one, made) })
}

// prepare checks everything that does not depend on one host's settings.
func (c *hookInstallCommand) prepare(std cli.Streams, hosts []*setup.Host) (*installation, error) {
	for _, host := range hosts {
		if err := c.suits(host); err != nil {
			return nil, err
		}
	}
	made := &installation{now: clock.System()().UTC()}
	var err error
	if made.keyFile, err = c.keyPath(); err != nil {
		return nil, err
	}
	if made.program, err = os.Executable(); err != nil {
		return nil, cli.Fail("the path of this program is not known: %v", err)
	}
	if made.service, err = c.Client(std); err != nil {
		return nil, err
	}
	if made.url, err = c.address(); err != nil {
		return nil, err
	}
	for _, host := range hosts {
		if err := c.reaches(host, made.url); err != nil {
			return nil, err
		}
	}
	ctx := context.Background()
	if err := checkScopes(ctx, made.service); err != nil {
		return nil, err
	}
	policy, err := askPolicy(ctx, made.service, c.AgentID)
	if err != nil {
		return nil, err
	}
	made.steps, made.budget = policy.steps(), policy.budget
	if c.HTTP && policy.budget != "" {
		return nil, cli.Fail("the policy has %s, and the HTTP form can't say what the model used; leave --http out, so that the adapter reads it from the transcript", policy.budget)
	}
	return made, nil
}

// suits refuses what a host can't do.
func (c *hookInstallCommand) suits(host *setup.Host) error {
	switch {
	case c.Wait < 0 || c.Wait > mostWait:
		return cli.Usage("--wait %s: it has to be between 0s and %s; a person who needs longer approves, and the agent asks again", c.Wait, mostWait)
	case c.Wait > 0 && !host.Timed():
		return cli.Usage("%s has no setting for how long it waits for a hook, so --wait can't be kept; leave it out: a held call is denied, and can be tried again once it was approved", host.Name)
	case c.HTTP && !host.HTTP:
		return cli.Usage("%s has no HTTP hooks that fail closed, only claude-code has; leave --http out", host.Name)
	case c.HTTP && c.Wait > 0:
		return cli.Usage("--wait goes with the command form: the service does not keep a host waiting; leave out --http or --wait")
	case c.HTTP && c.AgentID != defaultAgentID:
		return cli.Usage("--agent-id %s goes with the command form: calls of the HTTP form are those of the agent %q; leave --agent-id out", c.AgentID, defaultAgentID)
	case c.HTTP && c.FailMode == "open":
		return cli.Usage("the HTTP form has no fail mode: install sets onFailure to \"block\"; leave --fail-mode out")
	}
	if !c.HTTP {
		return nil
	}
	version, err := hostVersion(host)
	switch {
	case err != nil:
		return cli.Fail("the version of %s is not known (%v), and before %s it ignores onFailure, so that the HTTP form fails open; put it in PATH, or leave --http out", host.Name, err, host.FailClosedSince)
	case older(version, host.FailClosedSince):
		return cli.Fail("%s is %s, and before %s it ignores onFailure, so that the HTTP form fails open; update it, or leave --http out", host.Name, version, host.FailClosedSince)
	}
	return nil
}

// reaches refuses the HTTP form where the host's settings or environment would keep its requests, or its key, from the service.
func (c *hookInstallCommand) reaches(host *setup.Host, address string) error {
	if !c.HTTP {
		return nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return cli.Fail("your home folder is not known: %v; set HOME", err)
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	if why := refusesHTTP(host, address, home, folder, os.Getenv); why != "" {
		return cli.Fail("the HTTP form would deny every call: %s, or leave --http out", why)
	}
	return nil
}

// keyPath is the absolute path of the file with the API key, which no one but its owner may read.
func (c *hookInstallCommand) keyPath() (string, error) {
	if c.APIKeyFile == "" || c.APIKeyFile == "-" || c.APIKey != "" {
		return "", cli.Usage("a hook reads its key from a file; put a key that may authorize and nothing else into one of mode 0600, and name it with --api-key-file")
	}
	path, err := filepath.Abs(c.APIKeyFile)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", cli.Unreadable(err)
	case !info.Mode().IsRegular():
		return "", cli.Usage("%s is not a regular file", path)
	case info.Mode().Perm()&0o077 != 0:
		return "", cli.Fail("%s has mode %04o, so that others can use the key; run chmod 600 %s", path, info.Mode().Perm(), cli.ShellWord(path))
	}
	return path, nil
}

// address is where the service is, from any folder.
func (c *hookInstallCommand) address() (string, error) {
	socket, local := strings.CutPrefix(c.URL, "unix:")
	switch {
	case local && c.HTTP:
		return "", cli.Usage("--url %s: the host itself can't ask a socket; give an address, or leave --http out", c.URL)
	case local && !filepath.IsAbs(socket):
		return "", cli.Usage("--url %s: the hook runs in other folders; give the socket's absolute path", c.URL)
	}
	return strings.TrimSuffix(c.URL, "/"), nil
}

// options is what is installed in a host's settings.
func (c *hookInstallCommand) options(file *settingsFile, made *installation) setup.Options {
	host := file.host
	o := setup.Options{Timeout: host.Timeout, Closed: c.FailMode == "closed", Folder: host.PluginFolder(file.path)}
	if c.Wait > 0 {
		o.Timeout = c.Wait + waitReserve
	}
	if c.HTTP {
		o.URL, o.KeyVariable = made.url, setup.KeyVariable
		return o
	}
	o.Command = []string{made.program, "hook", "--adapter", host.Name, "--url", made.url, "--api-key-file", made.keyFile, "--agent-id", c.AgentID, "--fail-mode", c.FailMode}
	if host.Timed() { // so that the adapter answers before it is stopped
		o.Command = append(o.Command, "--host-timeout", o.Timeout.String())
	}
	if c.Wait > 0 {
		o.Command = append(o.Command, "--wait", c.Wait.String())
	}
	return o
}

// A change is a settings file and the files of a plugin, what is to become of them, and the receipt for that.
type change struct {
	fileEdit
	plugin  []fileEdit
	kept    []string // files of a plugin that stay, since they were changed after the installation
	receipt *receipt
	undoes  bool // the receipt is used up
}

// edits are all files that the change is about, in the order in which they are written: a plugin is there whenever the settings
// name it.
func (c *change) edits() []fileEdit {
	if c.undoes {
		return append([]fileEdit{c.fileEdit}, c.plugin...)
	}
	return append(slices.Clone(c.plugin), c.fileEdit)
}

// done reports whether every file is as it is to be.
func (c *change) done() bool {
	return !slices.ContainsFunc(c.edits(), func(edit fileEdit) bool { return !edit.none() })
}

// noted reports whether the receipt says what was installed.
func (c *change) noted() bool {
	return c.receipt.fits(c.file.text) && cli.IsMissing(c.receipt.mark()) &&
		!slices.ContainsFunc(c.plugin, func(edit fileEdit) bool { return !c.receipt.installedAt(edit.file.path).fits(edit.file) })
}

// plan works out what becomes of a host's settings.
func (c *hookInstallCommand) plan(host *setup.Host, made *installation) (*change, error) {
	files, err := filesWith(host, c.scope())
	if err != nil {
		return nil, err
	}
	file := files[len(files)-1] // what is in the last one counts
	after, err := host.Install(file.text, c.options(file, made))
	if err != nil {
		return nil, cli.Fail("%s can't be changed: %v", file.path, err)
	}
	r, err := receiptOf(file)
	if err != nil {
		return nil, err
	}
	one := &change{fileEdit: fileEdit{file: file, after: after}, receipt: r}
	if err := planPlugin(one); err != nil {
		return nil, err
	}
	if one.done() && one.noted() {
		return one, nil
	}
	if !r.fits(file.text) { // the file is another than this command left it, so what was before is what there is, without hooks
		if r.Before, err = host.Uninstall(file.text); err != nil {
			return nil, cli.Fail("%s can't be changed: %v", file.path, err)
		}
		r.Existed = file.found
	}
	for _, edit := range one.edits() {
		for _, folder := range missingFolders(filepath.Dir(edit.file.path)) {
			if !slices.Contains(r.Folders, folder) {
				r.Folders = append(r.Folders, folder)
			}
		}
	}
	one.noteFiles()
	hooks, err := host.Hooks(after)
	if err != nil {
		return nil, err
	}
	_, r.Hooks = oursIn(hooks)
	canary := make([]byte, 8)
	if _, err := rand.Read(canary); err != nil {
		return nil, err
	}
	r.Host, r.Scope, r.Path, r.After = host.Name, file.scope, file.path, digestOf(after)
	r.Installed, r.Denied, r.Session, r.Canary = made.now, time.Time{}, "", hex.EncodeToString(canary)
	r.URL, r.KeyFile, r.AgentID = made.url, made.keyFile, c.AgentID
	return one, nil
}

// missingFolders are the folders that have to be made for one, outermost first.
func missingFolders(folder string) (missing []string) {
	for ; cli.IsMissing(folder); folder = filepath.Dir(folder) {
		missing = append(missing, folder)
	}
	slices.Reverse(missing)
	return missing
}

// askFlags say whether a change of settings is made, and after what.
type askFlags struct {
	Yes    bool `xor:"ask" help:"Don't ask before writing."`
	DryRun bool `name:"dry-run" xor:"ask" help:"Show what would be written, and write nothing."`
}

// carryOut shows changes, asks whether to make them, makes them, and reports each one that was made.
func (f *askFlags) carryOut(std cli.Streams, changes []*change, report func(*change)) error {
	agreed, err := f.confirm(std, changes)
	if err != nil || !agreed {
		return err
	}
	for _, one := range changes {
		if err := one.apply(); err != nil {
			return err
		}
		report(one)
	}
	return nil
}

// makeFolder makes the folder of a file of a scope. All have to read the files of root's scope, whatever root's umask is: a host
// that can't read its settings runs without them.
func makeFolder(folder string, scope setup.Scope) error {
	missing := missingFolders(folder)
	if err := os.MkdirAll(folder, 0o755); err != nil || scope != setup.Managed {
		return err
	}
	for _, made := range missing {
		if err := os.Chmod(made, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// confirm shows changes, and asks whether to make them.
func (f *askFlags) confirm(std cli.Streams, changes []*change) (bool, error) {
	changed := false
	for _, one := range changes {
		for _, edit := range one.edits() {
			changed = !edit.none() || changed
			edit.show(std)
		}
		for _, path := range one.kept {
			fmt.Fprintf(std.Out, "%s was changed since it was installed, and is left as it is.\n", path)
		}
	}
	if f.DryRun || f.Yes || !changed {
		return !f.DryRun, nil
	}
	if !cli.Ask(std, std.Out, "Write this?") {
		return false, cli.Fail("nothing was changed; answer y, or give --yes, to have it written")
	}
	return true, nil
}

// show says what becomes of a file.
func (e *fileEdit) show(std cli.Streams) {
	name := e.file.path
	if e.none() {
		fmt.Fprintf(std.Out, "%s is as it has to be.\n", name)
		return
	}
	if target, err := filepath.EvalSymlinks(name); err == nil && target != name {
		fmt.Fprintf(std.Out, "%s is a link to %s.\n", name, target)
	}
	if e.remove {
		fmt.Fprintf(std.Out, "%s was not there before, and is removed.\n", name)
		return
	}
	shown := diff.Diff(name, e.file.text, name, e.after)
	fmt.Fprint(std.Out, strings.Map(cli.KeepLines, string(shown)))
}

// apply makes the change. The receipt is written first, so that there is one whenever the settings are changed.
func (c *change) apply() error {
	for _, edit := range c.edits() {
		now := *edit.file
		if err := now.read(); err != nil {
			return err
		}
		if now.found != edit.file.found || !bytes.Equal(now.text, edit.file.text) {
			return cli.Fail("%s was changed meanwhile, and is left as it is; run this again", now.path)
		}
	}
	if !c.undoes {
		if err := c.receipt.save(); err != nil {
			return err
		}
	}
	for _, edit := range c.edits() {
		if err := edit.write(); err != nil {
			return err
		}
	}
	if !c.undoes {
		return nil
	}
	for _, folder := range slices.Backward(c.receipt.Folders) {
		_ = os.Remove(folder) // one that has other files stays
	}
	_ = os.Remove(c.receipt.mark())
	if err := os.Remove(c.receipt.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// write writes or removes the file.
func (e *fileEdit) write() error {
	switch {
	case e.none():
		return nil
	case e.remove:
		return os.Remove(e.file.path)
	}
	if err := makeFolder(filepath.Dir(e.file.path), e.file.scope); err != nil {
		return cli.Unwritable(e.file.path, err)
	}
	return cli.ReplaceFile(e.file.path, e.after)
}

// report says what was installed, and what is left to do.
func (c *hookInstallCommand) report(std cli.Streams, one *change, made *installation) {
	host := one.file.host
	seen := "It is not yet seen to work."
	if !one.receipt.Denied.IsZero() {
		seen = "It was seen to work " + one.receipt.Denied.Format(time.RFC3339) + "."
	}
	fmt.Fprintf(std.Out, "\n%s: the hook is in %s. %s\n", host.Name, one.file.path, seen)
	if host.Open != "" {
		fmt.Fprintf(std.Out, "  note: %s\n", host.Open)
	}
	if c.FailMode == "open" {
		fmt.Fprintln(std.Out, "  note: while the service can't be reached, every call passes (--fail-mode open).")
	}
	steps := slices.Clone(made.steps)
	if host.Todo != "" {
		steps = append(steps, host.Todo)
	}
	if made.budget != "" && made.budget != sections.KeySpend.Rule && !host.Transcript {
		steps = append(steps, fmt.Sprintf("the policy has %s, and %s has no transcript from which the adapter could read what the model used: its calls are denied with SVC_MODEL_USAGE_UNAVAILABLE; give this key a policy without that limit", made.budget, host.Name))
	}
	if c.HTTP {
		steps = append(steps, "set "+setup.KeyVariable+" in the environment in which "+host.Name+" starts: the HTTP form takes the key from there")
	} else if host.FailClosedSince != "" && c.FailMode == "closed" {
		if version, err := hostVersion(host); err != nil || older(version, host.FailClosedSince) {
			steps = append(steps, fmt.Sprintf("check that %s is %s or later: before, it ignores %s, and a call passes whose hook fails", host.Name, host.FailClosedSince, host.Switch()))
		}
	}
	steps = append(steps,
		fmt.Sprintf("restart %s, and tell the agent to run this command: %s", host.Name, canaryLine(made.program, one.receipt.Canary)),
		"run bailiff hook status: it says \"armed\" once that command was denied")
	for i, step := range steps {
		fmt.Fprintf(std.Out, "  %d. %s\n", i+1, step)
	}
}

// canaryLine is the command that a guarded agent can't run.
func canaryLine(program, canary string) string {
	return cli.ShellWord(program) + " hook canary " + canary
}
