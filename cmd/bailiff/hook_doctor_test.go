package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
		t.Skip("only root can look with the eyes of another user")
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
	p := &patient{}
	(&hookDoctorCommand{}).examineOthers(p, &guardFile{settingsFile: settingsFile{host: host, path: "s.json"}, hooks: hooks})
	var out strings.Builder
	p.add(doubt, "x", "%s", "a\x1b[2Jb\u202ec")
	if err := (&doctorCommand{}).report(streams{out: &out}, p); err != nil || strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Errorf("a file steers the terminal: %q %v", out.String(), err)
	}
	p.findings = p.findings[:1]
	if len(p.findings) != 1 || !strings.Contains(p.findings[0].Message, "rewrite.sh") || p.findings[0].Verdict != doubt {
		t.Errorf("%+v", p.findings)
	}
}
