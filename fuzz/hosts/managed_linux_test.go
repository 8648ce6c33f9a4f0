package hosts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bailiff/fuzz/kit/testbin/service"
	"bailiff/runtime/hook/setup"
)

// asRoot runs a command that takes the folder etc for /etc, as root of namespaces of its own. It returns errNoNamespace where the
// machine makes none.
func asRoot(etc, dir string, env []string, command ...string) (string, error) {
	self := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	group := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	attributes := []*syscall.SysProcAttr{{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER, UidMappings: self, GidMappings: group}}
	if os.Getuid() == 0 {
		attributes = append(attributes, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS})
	}
	const script = `set -e; umask 077; mount --make-rprivate /; mount --bind "$0" /etc; echo mounted; exec "$@"`
	for _, a := range attributes {
		run := exec.Command("/bin/sh", append([]string{"-c", script, etc}, command...)...)
		run.Dir, run.Env, run.SysProcAttr = dir, env, a
		output, err := run.CombinedOutput()
		if said, mounted := strings.CutPrefix(string(output), "mounted\n"); mounted {
			return said, err
		}
	}
	return "", errNoNamespace
}

var errNoNamespace = errors.New("no namespace with a root of its own can be made")

// TestManaged installs hooks into the places of root in a root of its own, has each fake host read what is there then, and
// judge calls by it: the hook asks a real service. Uninstalling leaves what was before.
func TestManaged(t *testing.T) {
	p := build(t)
	dir := t.TempDir()
	served, err := service.Start(p.path, t.TempDir(), policy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { served.Close() })
	keyFile := filepath.Join(dir, "key")
	if err := os.WriteFile(keyFile, []byte(served.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	etc := filepath.Join(dir, "etc")
	if err := os.MkdirAll(etc, 0o755); err != nil {
		t.Fatal(err)
	}
	root := func(arguments ...string) string {
		t.Helper()
		said, err := asRoot(etc, dir, p.env, append([]string{p.path, "hook"}, arguments...)...)
		if errors.Is(err, errNoNamespace) {
			t.Skip(err)
		}
		if err != nil {
			said += fmt.Sprint("\n", err)
		}
		return said
	}
	for _, h := range Hosts {
		managed := setup.Find(h.Name).Path(setup.Managed, "", "", os.Getenv)
		if managed == "" || h.HTTP {
			continue
		}
		t.Run(h.Name, func(t *testing.T) {
			file := filepath.Join(etc, strings.TrimPrefix(managed, "/etc/"))
			said := root("install", h.Name, "--managed", "--api-key-file", keyFile, "--url", served.Address, "--yes")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			holdManaged(t, p, h, text)
			for path, want := range map[string]os.FileMode{file: 0o644, filepath.Dir(file): 0o755, filepath.Join(etc, "bailiff", "hook"): 0o755} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: users can't read it, %v %v", path, info.Mode(), err)
				}
			}
			if status := root("status", h.Name); !strings.Contains(status, "managed") || !strings.Contains(status, "installed, not yet seen") {
				t.Errorf("status says %s", status)
			}
			if again := root("install", h.Name, "--managed", "--api-key-file", keyFile, "--url", served.Address, "--yes"); !strings.Contains(again, "is as it has to be") {
				t.Errorf("installing again: %s", again)
			}
			said = root("uninstall", h.Name, "--managed", "--yes")
			if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("uninstalling leaves %s: %v\n%s", file, err, said)
			}
		})
	}
}

// holdManaged has a host read settings, and holds what becomes of an allowed call and of a denied one.
func holdManaged(t *testing.T, p program, h Host, settings []byte) {
	t.Helper()
	c := Case{Host: h, Closed: true}
	installed, err := c.read(settings)
	if err != nil {
		t.Fatal(err)
	}
	installed.Env, installed.Timeout = p.env, long
	if h.Switch != "" && !installed.Closed {
		t.Errorf("%s is not set: %s", h.Switch, settings)
	}
	for command, runs := range map[string]bool{harmless: true, Command: false} {
		witness := filepath.Join(t.TempDir(), "witness")
		outcome, err := installed.Call(h.Event(command), witness)
		if err != nil || outcome.Ran != runs || ran(t, witness) != runs {
			t.Errorf("%s: the call ran: %v, by the rule %q, %v; the hook left %s", command, outcome.Ran, outcome.Rule.Name, err, left(outcome.Result))
		}
	}
}
