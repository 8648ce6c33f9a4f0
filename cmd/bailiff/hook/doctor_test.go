package hook

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/doctor"
	"bailiff/runtime/hook/setup"
)

// TestUses tries files that can be used in each way, and that cannot.
func TestUses(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(folder, "own")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	got := usesOf([]string{own, link, socket, filepath.Join(folder, "absent")})
	want := []use{mayRead | mayWrite, mayRead | mayWrite, mayWrite | mayUse, 0}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %b, want %b", i, got[i], want[i])
		}
	}
}

// TestOtherUser tries as root what another user may do: by the files' modes, by the folders they are in, and in a folder in
// which only owners may rename.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can check as another user")
	}
	e, err := eyesOf("nobody")
	if err != nil {
		t.Skip("there is no user nobody")
	}
	top, err := os.MkdirTemp("/tmp", "uses-*") // one that others reach
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(top)
	make := func(folder string, folderMode os.FileMode, name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(top, folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		for path, mode := range map[string]os.FileMode{path: mode, filepath.Dir(path): folderMode, top: 0o755} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	rows := []struct {
		path string
		want use
	}{
		{make("a", 0o755, "f", 0o600), 0},
		{make("b", 0o755, "f", 0o644), mayRead},
		{make("c", 0o755, "f", 0o666), mayRead | mayWrite},
		{make("d", 0o777, "f", 0o600), mayWrite},                  // another file can take its place
		{make("e", 0o777|os.ModeSticky, "f", 0o600), 0},           // only its owner can rename it
		{make("g", 0o700, "f", 0o666), 0},                         // out of reach
		{"/etc/passwd", mayRead}, {filepath.Join(top, "none"), 0}, // what is not there
	}
	var paths []string
	for _, row := range rows {
		paths = append(paths, row.path)
	}
	got, err := e.try(paths)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if got[i] != row.want {
			t.Errorf("%s: %03b, want %03b", row.path, got[i], row.want)
		}
	}
	if os.Geteuid() != 0 || usesOf(paths[:1])[0] == 0 {
		t.Error("this process is not root any more")
	}
}

// TestReadRegular: a pipe in place of settings is an error, and not waited for.
func TestReadRegular(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "settings.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := (&settingsFile{path: pipe}).read(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}

// TestOtherHooks: a hook that is not Bailiff's may change a call after it was judged, and doctor names it.
func TestOtherHooks(t *testing.T) {
	host := setup.Find("claude-code")
	hooks, err := host.Hooks([]byte(`{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "rewrite.sh"}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	p := &doctor.Patient{}
	(&hookDoctorCommand{}).examineOthers(p, &guardFile{settingsFile: settingsFile{host: host, path: "s.json"}, hooks: hooks})
	var out strings.Builder
	p.Add(doctor.Doubt, "x", "%s", "a\x1b[2Jb\u202ec")
	if err := (&doctor.Command{}).Report(cli.Streams{Out: &out}, p); err != nil || strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Errorf("a file steers the terminal: %q %v", out.String(), err)
	}
	p.Findings = p.Findings[:1]
	if len(p.Findings) != 1 || !strings.Contains(p.Findings[0].Message, "rewrite.sh") || p.Findings[0].Verdict != doctor.Doubt {
		t.Errorf("%+v", p.Findings)
	}
}

// TestPlainHTTP: doctor warns of a hook that asks another machine over plain HTTP, and of no other.
func TestPlainHTTP(t *testing.T) {
	t.Setenv("SVC_API_URL", "")
	host := setup.Find("claude-code")
	for _, row := range []struct {
		address string
		plain   bool
	}{
		{"http://192.0.2.7:8787", true}, {"HTTP://bailiff.example:8787", true}, {"http://0.0.0.0:8787", true}, {"http://localhost.example", true},
		{"https://bailiff.example", false}, {"http://127.0.0.1:8787", false}, {"http://127.8.0.1", false}, {"http://[::1]:8787", false},
		{"http://localhost:8787", false}, {"unix:/run/bailiff/api.sock", false},
	} {
		configuration := filepath.Join(t.TempDir(), "hook.json")
		if err := os.WriteFile(configuration, []byte(`{"apiUrl": "`+row.address+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, o := range []setup.Options{
			{Command: []string{"/opt/bailiff", "hook", "--adapter", "claude-code", "--config", configuration}, Closed: true},
			{Command: []string{"/opt/bailiff", "hook", "--adapter", "claude-code", "--url", row.address}, Closed: true},
			{URL: row.address, KeyVariable: "SVC_API_KEY", Closed: true},
		} {
			text, err := host.Install(nil, o)
			if err != nil {
				t.Fatal(err)
			}
			hooks, err := host.Hooks(text)
			if err != nil || len(hooks) != 1 {
				t.Fatalf("%v %+v", err, hooks)
			}
			p := &doctor.Patient{}
			(&hookDoctorCommand{}).examineHooks(p, guardFile{settingsFile: settingsFile{host: host, path: "s.json"}, hooks: hooks, ours: hooks[0]}, t.TempDir(), t.TempDir())
			warned := slices.ContainsFunc(p.Findings, func(f doctor.Finding) bool {
				return f.Verdict == doctor.Trouble && strings.Contains(f.Message, "over plain HTTP")
			})
			if warned != row.plain {
				t.Errorf("%s: warned %v, want %v: %+v", row.address, warned, row.plain, p.Findings)
			}
		}
	}
}

// TestOtherFile: doctor sees the hooks that Codex reads from config.toml, and says where that file is broken.
func TestOtherFile(t *testing.T) {
	for text, want := range map[string]string{
		"model = \"x\"\n": "",
		"[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"rewrite.sh\"\n":    "rewrite.sh",
		"hooks = {PreToolUse = [{hooks = [{type = \"command\", command = \"rewrite.sh\"}]}]}\n":                                   "another hook for PreToolUse",
		"[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"/opt/bailiff hook --adapter codex\"\n": "a hook of Bailiff's",
		"[[hooks.PostToolUse]]\n[[hooks.PostToolUse.hooks]]\ntype = \"command\"\ncommand = \"after.sh\"\n":                        "",
		"[hooks\n": "is not TOML",
	} {
		home := t.TempDir()
		t.Setenv("CODEX_HOME", "")
		path := filepath.Join(home, ".codex", "config.toml")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := &doctor.Patient{}
		(&hookDoctorCommand{}).filesOf(p, []*setup.Host{setup.Find("codex")}, home, t.TempDir())
		var said strings.Builder
		for _, f := range p.Findings {
			if f.About == "codex" {
				said.WriteString(f.Message)
			}
		}
		if want == "" && said.Len() > 0 || !strings.Contains(said.String(), want) {
			t.Errorf("%q: %q, want %q", text, said.String(), want)
		}
	}
}
