package hook

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/hook/setup"
)

type hookStatusCommand struct {
	JSON  bool     `name:"json" help:"Print JSON."`
	Hosts []string `arg:"" optional:"" name:"host" help:"The hosts; without, all."`
}

// Help says what the states mean.
func (c *hookStatusCommand) Help() string {
	return `Looks at your settings, this folder's, and the root-owned ones:

  armed                    a call that the host made was denied, and the service has its record
  installed, not yet seen  the hook is in the settings, and no more is known
  incomplete               the hook is not as it was installed: events or the host's own switch are missing
  off                      a setting of the host switches hooks off
  NOT GUARDED              the canary ran: the host lets calls pass

The exit code is 0 where every hook that is installed is armed, and 1 otherwise.`
}

// The states of a hook.
const (
	stateArmed      = "armed"
	stateUnseen     = "installed, not yet seen"
	stateIncomplete = "incomplete"
	stateOff        = "off"
	stateOpen       = "NOT GUARDED"
	stateMissing    = "not installed"
)

// A hookState is what is known of a host's hook in one scope.
type hookState struct {
	Host   string      `json:"host"`
	Scope  setup.Scope `json:"scope,omitempty"`
	Path   string      `json:"path,omitempty"`
	State  string      `json:"state"`
	Reason string      `json:"reason,omitempty"` // what was seen and, unless it is armed, what to do
}

// Run prints the state of each hook.
func (c *hookStatusCommand) Run(std cli.Streams) error {
	names := c.Hosts
	if len(names) == 0 {
		names = setup.Names()
	}
	hosts, err := hostsOf(names)
	if err != nil {
		return err
	}
	states, err := statesOf(std, hosts, len(c.Hosts) > 0)
	if err != nil {
		return err
	}
	if c.JSON {
		err = cli.PrintJSON(std.Out, states)
	} else if len(states) == 0 {
		fmt.Fprintln(std.Out, "No hook is installed; bailiff hook install HOST installs one.")
	}
	for _, s := range states {
		if !c.JSON {
			fmt.Fprintln(std.Out, strings.Map(cli.OneLine, fmt.Sprintf("%-12s %-8s %-24s %s", s.Host, s.Scope, s.State, s.Reason)))
		}
	}
	unarmed := slices.ContainsFunc(states, func(s hookState) bool { return s.State != stateArmed })
	if err == nil && (unarmed || len(states) == 0) {
		err = cli.ExitWith(cli.ExitFailed)
	}
	return err
}

// statesOf looks at every scope of hosts. Hosts without a hook are left out unless they are asked for.
func statesOf(std cli.Streams, hosts []*setup.Host, asked bool) ([]hookState, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, cli.Fail("your home folder is not known: %v; set HOME", err)
	}
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	states := []hookState{}
	for _, host := range hosts {
		found := false
		var here []*settingsFile
		for _, scope := range setup.Scopes {
			files, err := readSettingsFiles(host, scope)
			if len(files) == 0 || slices.ContainsFunc(here, func(f *settingsFile) bool { return f.path == files[0].path }) {
				continue
			}
			if err != nil {
				states = append(states, hookState{host.Name, scope, files[0].path, stateIncomplete, cli.Plain(err)})
				found = true
				continue
			}
			here = append(here, files...)
		}
		for _, file := range here {
			state := stateOf(std, file)
			if state.State == stateMissing {
				continue
			}
			if later := replaced(file, here); later != "" {
				state.State, state.Reason = stateOff, fmt.Sprintf("%s has a list of plugins of its own, which counts in place of that in %s; run bailiff hook install again", later, file.path)
			}
			if off := switchedOff(host, home, folder, os.Getenv); off != "" {
				state.State, state.Reason = stateOff, off+"; remove that"
			}
			states, found = append(states, state), true
		}
		if !found && asked {
			states = append(states, hookState{Host: host.Name, State: stateMissing, Reason: "bailiff hook install " + host.Name + " installs it"})
		}
	}
	return states, nil
}

// replaced returns the user's settings file whose list of plugins counts in place of that of file; empty for none.
func replaced(file *settingsFile, all []*settingsFile) string {
	at := slices.Index(all, file)
	for _, later := range all[at+1:] {
		if later.scope == file.scope && file.scope == setup.User && later.found && file.host.Replaces(later.text) {
			return later.path
		}
	}
	return ""
}

// stateOf looks at one settings file.
func stateOf(std cli.Streams, file *settingsFile) hookState {
	state := hookState{Host: file.host.Name, Scope: file.scope, Path: file.path, State: stateMissing}
	hooks, err := file.host.Hooks(file.text)
	if err != nil {
		state.State, state.Reason = stateIncomplete, fmt.Sprintf("%s can't be read: %s", file.path, cli.Plain(err))
		return state
	}
	hooks, texts := oursIn(hooks)
	r, err := receiptOf(file)
	switch {
	case err != nil:
		state.State, state.Reason = stateIncomplete, cli.Plain(err)
	case len(hooks) == 0 && r.After != "":
		state.State, state.Reason = stateIncomplete, fmt.Sprintf("the hook was installed %s and is no longer in %s; see who removed it, and run bailiff hook install again", r.Installed.Format(time.RFC3339), file.path)
	case len(hooks) == 0:
	case r.After != "" && !slices.Equal(texts, r.Hooks):
		if state.State, state.Reason = judge(std, file.host, hooks, r); state.State != stateIncomplete {
			state.State, state.Reason = stateIncomplete, fmt.Sprintf("the hook in %s is not as it was installed: %s; see who changed it, and run bailiff hook install again", file.path, clipped(strings.Join(texts, " ")))
		}
	default:
		state.State, state.Reason = judge(std, file.host, hooks, r)
	}
	if state.State == stateArmed || state.State == stateUnseen {
		if wrong := examinePlugin(file); wrong != "" {
			state.State, state.Reason = stateIncomplete, wrong
		}
	}
	return state
}

// judge says how far an installed hook is known to work.
func judge(std cli.Streams, host *setup.Host, hooks []setup.Hook, r *receipt) (state, reason string) {
	for _, event := range host.Events {
		at := slices.IndexFunc(hooks, func(hook setup.Hook) bool { return hook.Event == event })
		switch {
		case at < 0:
			return stateIncomplete, "there is no hook for " + event + "; run bailiff hook install again"
		case !hooks[at].Closed && !failsOpen(hooks[at].Words):
			return stateIncomplete, "the hook for " + event + " lacks " + host.Switch() + ", so that a call passes whose hook fails; run bailiff hook install again"
		}
		if words := hooks[at].Words; len(words) > 0 {
			if _, err := os.Stat(words[0]); err != nil {
				return stateIncomplete, cli.Plainf("the hook runs %s: %v; install Bailiff there, or run bailiff hook install again", words[0], err)
			}
		}
	}
	if r.Canary == "" {
		return stateUnseen, "there is no record of the installation; run bailiff hook install again to have a canary"
	}
	if !cli.IsMissing(r.mark()) {
		return stateOpen, "the canary ran, so the host lets calls pass that the service denies; see docs/hooks.md, then run bailiff hook install again"
	}
	if !r.Denied.IsZero() {
		return stateArmed, r.seen()
	}
	return seek(std, r)
}

// failsOpen reports whether an adapter was installed to let calls pass while the service can't be reached.
func failsOpen(words []string) bool {
	at := slices.Index(words, "--fail-mode")
	return at >= 0 && at+1 < len(words) && words[at+1] == "open"
}

// seek looks for the canary's denial among the key's events.
func seek(std cli.Streams, r *receipt) (state, reason string) {
	state = stateUnseen
	reason = "tell the agent to run: " + canaryLine(programName(), r.Canary)
	service, err := serviceOf(std, r)
	if err == nil {
		err = decisionsOf(context.Background(), service, r.Installed, func(event *hookEvent) bool {
			if !event.has(r.Canary) {
				return true
			}
			switch {
			case event.Decision == "DENIED":
				state, r.Denied, r.Session = stateArmed, event.Timestamp.Truncate(time.Second), event.session()
				reason = r.seen()
			case event.Observed:
				reason = "the service saw the canary and let it pass, since it is in OBSERVE mode; start it without SVC_MODE"
			default:
				return true
			}
			return false
		})
	}
	if err != nil {
		return stateUnseen, cli.Plainf("whether the canary was denied is not known: %v", err)
	}
	if state == stateArmed {
		_ = r.save() // where it can't be kept, a root-owned one say, the events are looked at again next time
	}
	return state, reason
}

// seen says when the canary was denied, and in which session.
func (r *receipt) seen() string {
	text := "the canary was denied " + r.Denied.Format(time.RFC3339)
	if r.Session != "" {
		text += ", in session " + r.Session
	}
	return text
}

// programName is the path of this program, or its name where that is not known.
func programName() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return "bailiff"
}

type hookCanaryCommand struct {
	ID string `arg:"" help:"The canary's id."`
}

// Run leaves a mark: that this runs shows that nothing stops the agent's calls.
func (c *hookCanaryCommand) Run(cli.Streams) error {
	folder, err := receiptFolder(setup.User)
	if err != nil {
		return err
	}
	for _, r := range c.ID {
		if !strings.ContainsRune("0123456789abcdef", r) {
			return cli.Usage("%q is not the id of a canary", c.ID)
		}
	}
	mark := (&receipt{file: filepath.Join(folder, "canary"), Canary: c.ID}).mark()
	err = os.MkdirAll(folder, 0o700)
	if err == nil {
		err = os.WriteFile(mark, nil, 0o600)
	}
	if err != nil {
		return cli.Fail("NOT GUARDED: this command was not stopped, and that can't be noted: %v", err)
	}
	return cli.Fail("NOT GUARDED: this command was not stopped. The host did not ask the service, or let the call pass all the same; bailiff hook status says more")
}
