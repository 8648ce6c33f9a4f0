package pebbleledger

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/vm/amount"
)

// childDir tells the test binary that it is the process to be killed.
const childDir = "BAILIFF_LEDGER_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	os.Exit(m.Run())
}

// child submits as fast as it can and prints the LSN of everything that was acknowledged.
func child(dir string) {
	l, err := Open(dir, Options{Random: rand.Reader})
	if err == nil {
		err = l.CreateKey(context.Background(), ledgertest.NewKey(1))
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var mu sync.Mutex
	for range 7 {
		go submitForEver(l, &mu)
	}
	submitForEver(l, &mu)
}

func submitForEver(l ledger.Ledger, mu *sync.Mutex) {
	plan := benchPlan(2)
	for {
		ticket := l.Submit(plan)
		if err := ticket.Wait(context.Background()); err != nil {
			os.Exit(2)
		}
		mu.Lock()
		fmt.Println(ticket.Outcome().LSN)
		mu.Unlock()
	}
}

// TestKill kills a process in the middle of its writes: what it acknowledged is there.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged, lines := uint64(0), bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		lsn, err := strconv.ParseUint(lines.Text(), 10, 64)
		if err != nil {
			break // the line that the kill has cut
		}
		acknowledged = max(acknowledged, lsn)
		if n == 50 {
			wantLocked(t, dir)
		}
		if n == 400 {
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	if acknowledged < 300 {
		t.Fatalf("the child acknowledged %d only", acknowledged)
	}
	l, err := Open(dir, Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	page, err := l.Events(context.Background(), ledger.EventQuery{Limit: ledger.MaxEventPage})
	if err != nil || uint64(len(page.Events)) < acknowledged {
		t.Fatalf("%d events survived, %d were acknowledged (%v)", len(page.Events), acknowledged, err)
	}
	value, err := l.Counter(context.Background(), ledgertest.ID('k', 1), benchPlan(1).Reservations[0].Counter, ledgertest.Start)
	if want := amount.FromUint64(uint64(len(page.Events) - 1)); err != nil || value != want {
		t.Fatalf("the counter is %s, with %s decisions (%v)", value, want, err)
	}
}

func wantLocked(t *testing.T, dir string) {
	t.Helper()
	_, err := Open(dir, Options{Random: rand.Reader, AdminSocket: "/run/bailiff/admin.sock"})
	if !errors.Is(err, ledger.ErrLocked) || !strings.Contains(err.Error(), "/run/bailiff/admin.sock") || !strings.Contains(err.Error(), dir) {
		t.Errorf("opening a directory that is held: %v", err)
	}
}

func TestLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "er")
	l, err := Open(dir, Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	wantLocked(t, dir)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(dir, Options{Random: rand.Reader}); err != nil {
		t.Fatalf("opening after Close: %v", err)
	}
	l.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, Options{Random: rand.Reader}); err == nil || errors.Is(err, ledger.ErrLocked) {
		t.Fatalf("opening a file: %v", err)
	}
}

// openWith opens a ledger with a key on a disk that an injector spoils.
func openWith(t *testing.T, inject errorfs.Injector) (*commit.Ledger, *log, *errorfs.Toggle) {
	broken := &errorfs.Toggle{Injector: inject}
	log, err := openLog("ledger", Options{FS: errorfs.Wrap(vfs.NewMem(), broken)})
	if err != nil {
		t.Fatal(err)
	}
	log.patience = 100 * time.Millisecond
	l, err := commit.Open(log, commit.Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.CreateKey(context.Background(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	return l, log, broken
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 2000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("not in time: %s", what)
}

// TestFullDisk has a background flush meet a full disk: Health tells, and recovers.
func TestFullDisk(t *testing.T) {
	full := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
			return syscall.ENOSPC
		}
		return nil
	})
	l, log, broken := openWith(t, full)
	broken.On()
	go log.db.Flush()
	eventually(t, "trouble", func() bool { return errors.Is(l.Health(), syscall.ENOSPC) })
	if err := l.Submit(benchPlan(1)).Wait(context.Background()); err != nil {
		t.Fatalf("the log itself can be written: %v", err)
	}
	broken.Off()
	eventually(t, "recovery", func() bool { return l.Health() == nil })
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestIdleStarts opens a ledger several times and writes nothing: a log without entries makes no table when it is flushed,
// which Pebble calls an error of that flush, and which is no trouble.
func TestIdleStarts(t *testing.T) {
	options := Options{FS: vfs.NewMem(), Random: rand.Reader}
	for start := range 4 {
		l, err := Open("ledger", options)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Health(); err != nil {
			t.Errorf("start %d: %v", start, err)
		}
		if start == 0 {
			err = l.CreateKey(t.Context(), ledgertest.NewKey(1))
		}
		if err = errors.Join(err, l.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFatalInBackground has Pebble fail for good in a goroutine of its own.
func TestFatalInBackground(t *testing.T) {
	manifest := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.Contains(op.Path, "MANIFEST") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.EIO
		}
		return nil
	})
	l, log, broken := openWith(t, manifest)
	broken.On()
	go log.db.Flush()
	eventually(t, "failure", func() bool { return l.Health() != nil })
	ticket := l.Submit(benchPlan(1))
	if err := ticket.Wait(context.Background()); !errors.Is(err, ledger.ErrUnavailable) {
		t.Fatalf("Wait: %v", err)
	}
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), "MANIFEST") {
		t.Fatalf("Close: %v", err)
	}
}

// TestLog checks the seam itself: reading from within a group, cutting off the end, strange keys.
func TestLog(t *testing.T) {
	log, err := openLog("ledger", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, first := range []uint64{1, 4, 300} {
		if err := log.Append(first, fmt.Append(nil, "group ", first)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(from uint64) (firsts []uint64) {
		if err := log.Read(from, func(first uint64, group []byte) bool {
			if string(group) != fmt.Sprint("group ", first) {
				t.Errorf("group %d is %q", first, group)
			}
			firsts = append(firsts, first)
			return len(firsts) < 2
		}); err != nil {
			t.Error(err)
		}
		return firsts
	}
	for from, want := range map[uint64]string{0: "[1 4]", 1: "[1 4]", 3: "[1 4]", 4: "[4 300]", 299: "[4 300]", 300: "[300]", 1 << 60: "[300]"} {
		if got := fmt.Sprint(read(from)); got != want {
			t.Errorf("from %d: %s, want %s", from, got, want)
		}
	}
	if err := log.Truncate(300); err != nil {
		t.Fatal(err)
	}
	if head, err := log.Head(); head != 4 || err != nil {
		t.Errorf("head %d, %v", head, err)
	}
	if err := log.db.Set([]byte("l/strange"), nil, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Head(); err == nil {
		t.Error("a strange key is taken for a group")
	}
}

// TestReopenAfterFailedSync closes a ledger whose write has failed and opens it again in the same process.
func TestReopenAfterFailedSync(t *testing.T) {
	for _, kind := range []errorfs.OpKind{errorfs.OpFileSyncData, errorfs.OpFileWrite} {
		disk := vfs.NewMem()
		broken := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == kind && strings.HasSuffix(op.Path, ".log") {
				return syscall.EIO
			}
			return nil
		})}
		fs := errorfs.Wrap(disk, broken)
		l, err := Open("ledger", Options{FS: fs, Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.CreateKey(context.Background(), ledgertest.NewKey(1)); err != nil {
			t.Fatal(err)
		}
		broken.On()
		err = l.Submit(benchPlan(1)).Wait(context.Background())
		if !errors.Is(err, ledger.ErrUnknown) || !strings.Contains(err.Error(), "input/output error") {
			t.Fatalf("%v: Wait: %v", kind, err)
		}
		if err := l.Close(); err == nil || strings.Contains(err.Error(), "does not close") {
			t.Fatalf("%v: Close: %v", kind, err)
		}
		broken.Off()
		if l, err = Open("ledger", Options{FS: fs, Random: rand.Reader}); err != nil {
			t.Fatalf("%v: opening again: %v", kind, err)
		}
		if err := l.Submit(benchPlan(1)).Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}

// TestHold: a directory without a ledger is held by one process, too, and whether it is can be asked without making anything.
func TestHold(t *testing.T) {
	if dir := os.Getenv("BAILIFF_TEST_HOLD"); dir != "" { // the other process
		if _, err := Hold(dir); err != nil {
			t.Fatal(err)
		}
		fmt.Println("held")
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	dir := t.TempDir()
	if Held(dir) {
		t.Error("a folder without a lock is held")
	}
	other := exec.Command(os.Args[0], "-test.run", "^TestHold$")
	other.Env = append(os.Environ(), "BAILIFF_TEST_HOLD="+dir)
	ends, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	if err == nil {
		_, err = says.Read(make([]byte, 4))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(dir); !errors.Is(err, ledger.ErrLocked) || !Held(dir) {
		t.Errorf("held twice: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, lockName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the lock is open to others: %v, %v", info.Mode(), err)
	}
	if err := errors.Join(ends.Close(), other.Wait()); err != nil || Held(dir) {
		t.Errorf("held after the other process has ended: %v", err)
	}
	held, err := Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	held.Close()
}
