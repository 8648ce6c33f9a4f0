package pgtest_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"bailiff/fuzz/kit/pgtest"
)

// TestPair starts a primary and its standby, kills the primary, promotes the standby, and gives it one of its own.
func TestPair(t *testing.T) {
	primary, standby := pgtest.StartPair(t)
	reachable := func(s *pgtest.Server) bool {
		_, folder, _ := strings.Cut(s.URL(), "host=")
		conn, err := net.Dial("unix", filepath.Join(folder, ".s.PGSQL.5432"))
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
	if !reachable(primary) || !reachable(standby) {
		t.Fatal("a server that was started does not listen")
	}
	primary.Freeze()()
	primary.Kill()
	if reachable(primary) {
		t.Error("a server that was killed listens")
	}
	standby.Promote()
	if _, folder, _ := strings.Cut(standby.URL(), "host="); exists(filepath.Join(folder, "standby.signal")) {
		t.Error("a server that was promoted is a standby")
	}
	standby.Standbys("standby")
	if next := standby.NewStandby(); !reachable(next) {
		t.Error("a new standby does not listen")
	}
}

// TestMain ends the server that the tests share.
func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestStart: a server starts with the programs of the npm package, and for a user other than root.
func TestStart(t *testing.T) {
	t.Run("npm", func(t *testing.T) {
		t.Setenv(pgtest.Variable, "npm")
		answers(t, pgtest.Start(t))
	})
	t.Run("user", func(t *testing.T) {
		if os.Getuid() > 0 {
			answers(t, pgtest.Start(t))
			return
		}
		if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); len(found) == 0 {
			t.Skip("the npm package is kept where another user than root can't read it, and Debian's programs are not installed")
		}
		said, err := again(t, func(c *exec.Cmd) {
			dir, err := os.MkdirTemp("/tmp", "bailiff-user-") // not t.TempDir, which other users may not enter
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			text, err := os.ReadFile(c.Path)
			c.Path = filepath.Join(dir, "pgtest.test")
			if err = errors.Join(err, os.Chmod(dir, 0o755), os.WriteFile(c.Path, text, 0o755)); err != nil { //nolint:gosec // others run it
				t.Fatal(err)
			}
			c.Dir, c.SysProcAttr = dir, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}, "^TestStart$/^user$")
		if err != nil || !strings.Contains(said, "--- PASS: TestStart/user") {
			t.Errorf("%v\n%s", err, said)
		}
	})
}

// TestMissing: where PostgreSQL's programs are missing, each test that wants the shared server is skipped with the reason, and fails in continuous
// integration.
func TestMissing(t *testing.T) {
	const of = "^TestShared(First|Second)$"
	for ci, want := range map[string]string{"": "SKIP", "true": "FAIL"} {
		said, _ := again(t, func(c *exec.Cmd) {
			c.Env = []string{"PATH=/nowhere", pgtest.Variable + "=npm", "CI=" + ci, "TMPDIR=" + t.TempDir()}
		}, of)
		for _, name := range []string{"TestSharedFirst", "TestSharedSecond"} {
			if !strings.Contains(said, "--- "+want+": "+name) || !strings.Contains(said, "node is not installed") {
				t.Errorf("CI=%s: %s", ci, said)
			}
		}
		if want == "SKIP" && strings.Count(said, "node is not installed") != 2 {
			t.Errorf("not each test says why it is skipped: %s", said)
		}
	}
}

func TestSharedFirst(t *testing.T)  { answers(t, pgtest.Shared(t)) }
func TestSharedSecond(t *testing.T) { answers(t, pgtest.Shared(t)) }

// again runs tests of this package in a process of its own.
func again(t *testing.T, with func(*exec.Cmd), tests string) (said string, err error) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(own, "-test.v", "-test.run", tests)
	c.Env = append(os.Environ(), "TMPDIR=/tmp")
	with(c)
	output, err := c.CombinedOutput()
	return string(output), err
}

// answers asks a server something.
func answers(t *testing.T, s *pgtest.Server) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT 1").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
