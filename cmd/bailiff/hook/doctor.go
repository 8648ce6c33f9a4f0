package hook

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/doctor"
	"bailiff/cmd/bailiff/settings"
	"bailiff/runtime/clock"
	"bailiff/runtime/hook/setup"
)

type hookDoctorCommand struct {
	As          string   `help:"Look with the eyes of this user, as whom the agent runs; root only." placeholder:"USER"`
	OperatorKey string   `default:"config/operator.key" help:"File of the operator's private key, if it is on this machine (${default})." placeholder:"FILE"`
	JSON        bool     `name:"json" help:"Print JSON."`
	Hosts       []string `arg:"" optional:"" name:"host" help:"The hosts; without, all that have a hook."`
}

// Help says what is tried.
func (c *hookDoctorCommand) Help() string {
	return `Tries, as the agent's user, what the agent could do to its own guard: write the host's settings, the program or the policy,
use the operator's key, the data (SVC_DATA_DIR) or the admin socket of a service on this machine. It looks for other hooks that
could change a call after it was judged, and for settings that switch hooks off. It changes nothing. Where something is wrong
the exit code is 1, and each finding says what to do.`
}

// sameUser is what holds where the agent can write what guards it.
const sameUser = "same user: a guardrail, not a boundary"

// Run examines everything and prints what was found.
func (c *hookDoctorCommand) Run(std cli.Streams) error {
	names := c.Hosts
	if len(names) == 0 {
		names = setup.Names()
	}
	hosts, err := hostsOf(names)
	if err != nil {
		return err
	}
	if c.As != "" && os.Geteuid() != 0 {
		return cli.Usage("--as %s: only root can check as another user; run the command with sudo, or leave --as out", c.As)
	}
	if c.As == "" && os.Geteuid() == 0 {
		return cli.Usage("root may read and write every file, so checking as root says nothing about the agent; name the agent's user with --as USER")
	}
	p := &doctor.Patient{Clock: clock.System()}
	eyes, err := eyesOf(c.As)
	if err != nil {
		return err
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	files := c.filesOf(p, hosts, eyes.home, folder)
	for _, file := range files {
		c.examineHooks(p, file, eyes.home, folder)
	}
	if err := c.examineAccess(p, eyes, files); err != nil {
		return err
	}
	return (&doctor.Command{JSON: c.JSON}).Report(std, p)
}

// eyes is the user as whom files are tried.
type eyes struct {
	name, home string
	uid, gid   uint32
	groups     []uint32
	self       bool
}

// eyesOf looks a user up; the empty name is this one.
func eyesOf(name string) (*eyes, error) {
	if name == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, cli.Fail("your home folder is not known: %v; set HOME", err)
		}
		return &eyes{name: "you", home: home, self: true}, nil
	}
	found, err := user.Lookup(name)
	if err != nil {
		return nil, cli.Usage("--as %s: there is no such user; name the one as whom the agent runs", name)
	}
	e := &eyes{name: name, home: found.HomeDir}
	ids, err := found.GroupIds()
	if err != nil {
		return nil, cli.Fail("the groups of %s are not known: %v", name, err)
	}
	if _, err := fmt.Sscan(found.Uid, &e.uid); err != nil {
		return nil, err
	}
	if _, err := fmt.Sscan(found.Gid, &e.gid); err != nil {
		return nil, err
	}
	for _, id := range ids {
		var group uint32
		if _, err := fmt.Sscan(id, &group); err != nil {
			return nil, err
		}
		e.groups = append(e.groups, group)
	}
	return e, nil
}

// A guardFile is a settings file with a hook of Bailiff's.
type guardFile struct {
	settingsFile
	hooks []setup.Hook // of everybody, of the events that the adapter is called for
	ours  setup.Hook
}

// filesOf finds the settings files of hosts that have a hook of Bailiff's, for the user whose home folder this is.
func (c *hookDoctorCommand) filesOf(p *doctor.Patient, hosts []*setup.Host, home, folder string) []guardFile {
	var files []guardFile
	for _, host := range hosts {
		for _, scope := range setup.Scopes {
			for _, path := range host.Paths(scope, home, folder, c.variable) {
				if slices.ContainsFunc(files, func(f guardFile) bool { return f.path == path }) {
					continue
				}
				if file := c.guardFileOf(p, host, scope, path); file != nil {
					files = append(files, *file)
				}
			}
		}
	}
	if len(files) == 0 {
		p.Add(doctor.Trouble, "hooks", "no hook is installed; run bailiff hook install HOST")
	}
	return files
}

// guardFileOf reads a settings file; nil where it has no hook of Bailiff's.
func (c *hookDoctorCommand) guardFileOf(p *doctor.Patient, host *setup.Host, scope setup.Scope, path string) *guardFile {
	file := &guardFile{settingsFile: settingsFile{host: host, scope: scope, path: path}}
	err := file.read()
	if err == nil {
		file.hooks, err = host.Hooks(file.text)
	}
	if err != nil {
		p.Add(doctor.Trouble, host.Name, "%s can't be read: %v; mend it, since the host may skip it as a whole", path, err)
		return nil
	}
	c.examineOtherFile(p, file)
	for _, hook := range file.hooks {
		if hook.Ours {
			file.ours = hook
		}
	}
	if file.ours.Ours {
		return file
	}
	c.examineOthers(p, file)
	return nil
}

// variable is the environment by which hosts find their settings. Of another user it is not known.
func (c *hookDoctorCommand) variable(name string) string {
	if c.As != "" {
		return ""
	}
	return os.Getenv(name)
}

// examineHooks looks at what the settings say.
func (c *hookDoctorCommand) examineHooks(p *doctor.Patient, file guardFile, home, folder string) {
	name := file.host.Name
	if off := switchedOff(file.host, home, folder, c.variable); off != "" {
		p.Add(doctor.Trouble, name, "%s, so no hook runs; remove that", off)
	}
	switch {
	case !file.ours.Closed && !failsOpen(file.ours.Words):
		p.Add(doctor.Trouble, name, "%s lacks %s, so a call passes whose hook fails; run bailiff hook install %s again", file.path, file.host.Switch(), name)
	case file.ours.Closed:
		p.Add(doctor.Sound, name, "%s has the hook, with %s", file.path, file.host.Switch())
	}
	if file.host.FailClosed == "" {
		p.Add(doctor.Doubt, name, "%s", file.host.Open)
	}
	if failsOpen(file.ours.Words) {
		p.Add(doctor.Doubt, name, "the hook has --fail-mode open: every call passes while the service can't be reached; install it with --fail-mode closed")
	}
	if address := c.addressOf(file.ours); plainRemote(address) {
		p.Add(doctor.Trouble, name, "the hook asks %s over plain HTTP, where others can read its key and answer in the service's place; use https, or a socket (unix:/path)", address)
	}
	if file.host.FailClosedSince != "" && file.ours.Closed {
		if version, err := hostVersion(file.host); err != nil {
			p.Add(doctor.Doubt, name, "the version is not known (%v); before %s %s is ignored", err, file.host.FailClosedSince, file.host.Switch())
		} else if older(version, file.host.FailClosedSince) {
			p.Add(doctor.Trouble, name, "this is version %s, which ignores %s; update it to %s or later", version, file.host.Switch(), file.host.FailClosedSince)
		}
	}
	if at := strings.TrimSuffix(file.ours.URL, setup.HTTPPath); file.ours.URL != "" {
		if why := refusesHTTP(file.host, at, home, folder, c.variable); why != "" {
			p.Add(doctor.Trouble, name, "every call is denied: %s", why)
		}
	}
	if wrong := examinePlugin(&file.settingsFile); wrong != "" {
		p.Add(doctor.Trouble, name, "%s", wrong)
	}
	c.examineOthers(p, &file)
}

// addressOf is the address that a hook asks: that of its settings or, as the hook takes it, of the environment or of its
// configuration file; empty where none says it, or where these are another user's.
func (c *hookDoctorCommand) addressOf(hook setup.Hook) string {
	at := slices.Index(hook.Words, "--url")
	switch {
	case at >= 0 && at+1 < len(hook.Words):
		return hook.Words[at+1]
	case hook.URL != "" || c.As != "":
		return hook.URL
	}
	named := ""
	if at := slices.Index(hook.Words, "--config"); at >= 0 && at+1 < len(hook.Words) {
		named = hook.Words[at+1]
	}
	config, err := readHookConfig(cmp.Or(named, os.Getenv("SVC_HOOK_CONFIG")))
	if err != nil {
		return os.Getenv("SVC_API_URL")
	}
	return cmp.Or(os.Getenv("SVC_API_URL"), config.APIURL)
}

// plainRemote reports whether requests to an address leave this machine unencrypted.
func plainRemote(address string) bool {
	to, err := url.Parse(address)
	if err != nil || !strings.EqualFold(to.Scheme, "http") {
		return false
	}
	ip, err := netip.ParseAddr(to.Hostname())
	return !strings.EqualFold(to.Hostname(), "localhost") && (err != nil || !ip.IsLoopback())
}

// examineOthers warns of hooks that are not Bailiff's: one that runs beside the adapter may rewrite the input of a call after it
// was judged.
func (c *hookDoctorCommand) examineOthers(p *doctor.Patient, file *guardFile) {
	for _, hook := range file.hooks {
		if !hook.Ours {
			other := "hook for " + hook.Event
			if file.host.PluginFolder(file.path) != "" {
				other = "plugin"
			}
			p.Add(doctor.Doubt, file.host.Name, "%s has another %s, which may change a call after it was judged; see what it does: %s", file.path, other, clipped(hook.Text))
		}
	}
}

// examineOtherFile warns of hooks in the further file of a host (Codex: config.toml), which Bailiff does not write.
func (c *hookDoctorCommand) examineOtherFile(p *doctor.Patient, file *guardFile) {
	path := file.host.OtherFile(file.path)
	if path == "" || cli.IsMissing(path) {
		return
	}
	other := guardFile{settingsFile: settingsFile{host: file.host, scope: file.scope, path: path}}
	text, err := readRegular(path)
	if err == nil {
		other.hooks, err = file.host.OtherHooks(text)
	}
	if err != nil {
		p.Add(doctor.Trouble, file.host.Name, "%s can't be read: %v; mend it, since the host may skip its hooks", path, err)
		return
	}
	for _, hook := range other.hooks {
		if hook.Ours {
			p.Add(doctor.Doubt, file.host.Name, "%s has a hook of Bailiff's for %s, which bailiff hook install does not see to; move it with bailiff hook install %s: %s", path, hook.Event, file.host.Name, clipped(hook.Text))
		}
	}
	c.examineOthers(p, &other)
}

// clipped shortens what a file has for a line.
func clipped(text string) string {
	const most = 200
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// A guarded is a file that an agent must not be able to use in some way.
type guarded struct {
	about, path string
	dangers     use
	says        string // what the agent could do
	advice      string
}

// examineAccess tries what the agent's user may do with everything that the guard rests on.
func (c *hookDoctorCommand) examineAccess(p *doctor.Patient, e *eyes, files []guardFile) error {
	watched := c.watched(files)
	var paths []string
	for _, w := range watched {
		paths = append(paths, w.path)
	}
	uses, err := e.try(paths)
	if err != nil {
		return err
	}
	safe := true
	for i, w := range watched {
		switch got := uses[i] & w.dangers; {
		case w.about == "key" && uses[i]&mayRead == 0:
			p.Add(doctor.Trouble, "key", "%s can't read %s, so the hook can't ask the service; give the file to that user, with mode 0600", e.who(), w.path)
		case w.about == "key":
			p.Add(doctor.Sound, "key", "%s can read %s, as the hook has to; hook install takes only keys that may authorize and nothing else", e.who(), w.path)
		case got != 0 && w.dangers != mayWrite:
			safe = false
			p.Add(doctor.Trouble, w.about, "%s can use %s, and with it %s; %s", e.who(), w.path, w.says, w.advice)
		case got != 0:
			safe = false
			p.Add(doctor.Doubt, w.about, "%s can write %s, and with it %s: %s; %s", e.who(), w.path, w.says, sameUser, w.advice)
		}
	}
	if safe && len(files) > 0 {
		p.Add(doctor.Sound, "access", "%s can't write the settings, the program, or what the service rests on", e.who())
	}
	return nil
}

// who names the user in a sentence.
func (e *eyes) who() string {
	if e.self {
		return "the agent, which runs as you,"
	}
	return "the user " + e.name
}

// watched lists what the guard rests on.
func (c *hookDoctorCommand) watched(files []guardFile) []guarded {
	var all []guarded
	put := func(about, path string, dangers use, says, advice string) {
		absolute, err := filepath.Abs(path)
		if err != nil {
			absolute = path
		}
		if path != "" && !slices.ContainsFunc(all, func(w guarded) bool { return w.path == absolute }) {
			all = append(all, guarded{about, absolute, dangers, says, advice})
		}
	}
	apart := "run the service, and keep this, as another user than the agent's"
	for _, file := range files {
		advice := "a policy that blocks it only slows the agent down"
		if file.host.Path(setup.Managed, "", "", c.variable) != "" {
			advice = "install the hook as root with --managed"
		}
		put("settings", file.path, mayWrite, "take the hook out", advice)
		paths := file.host.PluginFiles(file.path)
		for _, name := range slices.Sorted(maps.Keys(paths)) {
			put("plugin", paths[name], mayWrite, "have every call allowed", advice)
		}
		if words := file.ours.Words; len(words) > 0 {
			put("program", words[0], mayWrite, "put a program in its place that allows everything", "install Bailiff as root, in /usr/local/bin say")
			if at := slices.Index(words, "--api-key-file"); at >= 0 && at+1 < len(words) {
				put("key", words[at+1], 0, "", "") // its owner alone can read it, and the hook runs as the agent
			}
		}
	}
	s, err := settings.Load(os.Environ())
	if err != nil {
		return all
	}
	put("operator", c.OperatorKey, mayRead|mayWrite, "sign policies, and approve its own holds", "keep the operator's key on another machine")
	put("data", s.DataDir, mayRead|mayWrite, "forge records, keys and counters", apart)
	put("socket", s.AdminSocket(), mayUse|mayWrite, "make keys and change scopes", apart)
	if !s.Hosted {
		put("policy", s.WarrantyPath, mayWrite, "stop the service from starting, or bring back an older policy", apart)
	}
	return slices.DeleteFunc(all, func(w guarded) bool { return strings.TrimSpace(w.path) == "" })
}
