package commit_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
)

// A keeper is a log in memory that keeps snapshots.
type keeper struct {
	*memory.Log
	every    uint64 // records between two snapshots; 10 where it is 0
	mu       sync.Mutex
	snapshot []byte
	saved    int
	tried    int
	from     uint64 // where the last Read began
	failure  error  // of both
}

func (k *keeper) SaveSnapshot(snapshot []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tried++
	if k.failure == nil {
		k.snapshot, k.saved = slices.Clone(snapshot), k.saved+1
	}
	return k.failure
}

func (k *keeper) LoadSnapshot() ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.snapshot, k.failure
}

func (k *keeper) Read(from uint64, yield func(uint64, []byte) bool) error {
	k.mu.Lock()
	k.from = from
	k.mu.Unlock()
	return k.Log.Read(from, yield)
}

// open opens the ledger, and returns what it logs.
func (k *keeper) open(t *testing.T) (*commit.Ledger, *strings.Builder) {
	t.Helper()
	said, mu := &strings.Builder{}, sync.Mutex{}
	l, err := commit.Open(k, commit.Options{Random: rand.Reader, SnapshotEvery: cmp.Or(k.every, 10), Logger: func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(said, format+"\n", args...)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return l, said
}

// use makes n decisions.
func use(t *testing.T, l *commit.Ledger, n int) {
	t.Helper()
	for range n {
		if err := l.Submit(plan()).Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// waitFor waits until so many snapshots have been tried.
func (k *keeper) waitFor(t *testing.T, n int) {
	t.Helper()
	tried := func() int { k.mu.Lock(); defer k.mu.Unlock(); return k.tried }
	for deadline := time.Now().Add(10 * time.Second); tried() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d snapshots, want %d", tried(), n)
		}
	}
}

// kept returns a closed log of 45 records with a snapshot of the first 20 or more of them.
func kept(t *testing.T) *keeper {
	k := &keeper{Log: memory.NewLog()}
	l, _ := k.open(t)
	for n := range uint64(4) {
		if err := l.CreateKey(context.Background(), ledgertest.NewKey(4-n)); err != nil {
			t.Fatal(err)
		}
	}
	use(t, l, 10)
	k.waitFor(t, 1)
	use(t, l, 27)
	k.waitFor(t, 2)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, _ = k.open(t)
	use(t, l, 4)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return k
}

// tell says what a ledger knows.
func tell(t *testing.T, l *commit.Ledger) string {
	t.Helper()
	ctx := context.Background()
	keys, err1 := l.Keys(ctx)
	calls, err2 := l.Counter(ctx, ledgertest.ID('k', 1), calls, ledgertest.Start)
	head, err3 := l.Head(ctx)
	page, err4 := l.Events(ctx, ledger.EventQuery{From: 1, Limit: 100})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v\n%s calls\n%v\n%d events, more: %v, next %d", keys, calls, head, len(page.Events), page.More, page.Next)
}

// clone returns a log of the same groups, with a snapshot of one's own.
func (k *keeper) clone(t *testing.T, snapshot []byte) *keeper {
	t.Helper()
	other := &keeper{Log: memory.NewLog(), snapshot: snapshot}
	err := k.Log.Read(0, func(first uint64, group []byte) bool { return other.Append(first, group) == nil })
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// TestSnapshots opens a log with its snapshot and without, and wants the same ledger, which goes on in the same way. That
// the snapshot was used is seen by where reading began.
func TestSnapshots(t *testing.T) {
	k := kept(t)
	covers, err := commit.VerifySnapshot(k)
	if err != nil || covers < 20 || covers >= 45 {
		t.Fatalf("the snapshot covers %d records: %v", covers, err)
	}
	with, without := k.clone(t, k.snapshot), k.clone(t, nil)
	with.every, without.every = 1000, 1000
	var told [2]string
	for i, k := range []*keeper{with, without} {
		from := []uint64{covers + 1, 1}[i]
		l, said := k.open(t)
		if k.from != from {
			t.Errorf("the log was read from record %d, want %d: %s", k.from, from, said)
		}
		told[i] = tell(t, l)
		use(t, l, 1)
		if calls := tell(t, l); !strings.Contains(calls, "\n42 calls\n") {
			t.Errorf("after one more: %s", calls)
		}
		l.Close()
	}
	if told[0] != told[1] {
		t.Errorf("with the snapshot:\n%s\nwithout:\n%s", told[0], told[1])
	}
}

// resum puts a good checksum under an edited snapshot.
func resum(b []byte) []byte {
	sum := sha256.Sum256(b[:len(b)-sha256.Size])
	return append(b[:len(b)-sha256.Size], sum[:]...)
}

// TestUnfitSnapshots has snapshots that can't be used. The log says so, is read from its beginning, and has a good
// snapshot again after a while.
func TestUnfitSnapshots(t *testing.T) {
	k := kept(t)
	want := func() string { l, _ := k.clone(t, nil).open(t); defer l.Close(); return tell(t, l) }()
	edited := func(edit func([]byte) []byte) []byte { return edit(slices.Clone(k.snapshot)) }
	for name, c := range map[string]struct {
		snapshot []byte
		says     string
	}{
		"a bit":            {edited(func(b []byte) []byte { b[90] ^= 1; return b }), "not as it was written"},
		"cut short":        {edited(func(b []byte) []byte { return b[:len(b)-1] }), "not as it was written"},
		"empty":            {[]byte{}, "not as it was written"},
		"another version":  {edited(func(b []byte) []byte { b[3]++; return resum(b) }), "another version"},
		"a short index":    {edited(func(b []byte) []byte { return resum(b[:60+sha256.Size+1]) }), "index of times"},
		"another state":    {edited(func(b []byte) []byte { return resum(append(b, 1)) }), "bytes after the end"},
		"of another log":   {kept(t).snapshot, "not this one"},
		"of another group": {edited(func(b []byte) []byte { b[27]++; return resum(b) }), "not this one"},
		"beyond the log":   {edited(func(b []byte) []byte { b[26]++; return resum(b) }), "not this one"},
	} {
		t.Run(name, func(t *testing.T) {
			k := k.clone(t, c.snapshot)
			l, said := k.open(t)
			if got := tell(t, l); got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
			k.waitFor(t, 1) // there is much to be covered
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(said.String(), c.says) || !strings.Contains(said.String(), "from its beginning") {
				t.Errorf("the log says %q", said)
			}
			if covers, err := commit.VerifySnapshot(k); covers != 45 || err != nil {
				t.Errorf("the new snapshot covers %d: %v", covers, err)
			}
		})
	}
}

// TestVerifySnapshot edits what a snapshot knows, and puts a good checksum under it.
func TestVerifySnapshot(t *testing.T) {
	k := kept(t)
	found := 0
	for i := 60; i < len(k.snapshot)-sha256.Size; i++ {
		edited := slices.Clone(k.snapshot)
		edited[i] ^= 1
		covers, err := commit.VerifySnapshot(k.clone(t, resum(edited)))
		switch {
		case errors.Is(err, commit.ErrSnapshotChanged) && errors.Is(err, ledger.ErrCorrupt):
			found++
		case covers != 0 || err != nil:
			t.Errorf("byte %d may be any: %v", i, err)
		}
	}
	if found < 100 { // the others can't be read at all
		t.Errorf("%d edits were found in what was read", found)
	}
}

// TestSnapshotFails has the store fail: the ledger works, says so, and tries again.
func TestSnapshotFails(t *testing.T) {
	k := &keeper{Log: memory.NewLog(), failure: errors.New("no room")}
	l, said := k.open(t)
	if err := l.CreateKey(context.Background(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	use(t, l, 15)
	k.waitFor(t, 1)
	k.mu.Lock()
	k.failure = nil
	k.mu.Unlock()
	use(t, l, 15)
	k.waitFor(t, 2)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := said.String(); !strings.Contains(got, "no room") || !strings.Contains(got, "10 records on") || k.saved == 0 {
		t.Errorf("the log says %q", got)
	}
}

// TestSnapshotOfTheHung closes a ledger whose log hangs while a snapshot is made, and fails only then.
func TestSnapshotOfTheHung(t *testing.T) {
	k := &hung{keeper: keeper{Log: memory.NewLog()}, reading: make(chan struct{}), end: make(chan struct{})}
	defer close(k.end)
	l, err := commit.Open(k, commit.Options{Random: rand.Reader, SnapshotEvery: 1})
	if err != nil {
		t.Fatal(err)
	}
	k.hangs.Store(true)
	if err := l.CreateKey(context.Background(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	<-k.reading
	time.AfterFunc(50*time.Millisecond, func() { l.Fail(errors.New("the disk is gone")) })
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	select {
	case err := <-closed:
		if err == nil || !strings.Contains(err.Error(), "the disk is gone") {
			t.Errorf("Close: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Close waits for a log that has failed")
	}
}

// A hung is a keeper that can't be read.
type hung struct {
	keeper
	hangs        atomic.Bool
	reading, end chan struct{}
}

func (k *hung) Read(from uint64, yield func(uint64, []byte) bool) error {
	if k.hangs.Load() {
		close(k.reading)
		<-k.end
	}
	return k.keeper.Read(from, yield)
}

// TestEventsMissing opens logs that lack groups before their snapshot: reading events there fails, wherever the hole is,
// and what is after it can be read.
func TestEventsMissing(t *testing.T) {
	k := kept(t)
	for _, hole := range []uint64{1, 10, 15} {
		other := &keeper{Log: memory.NewLog(), snapshot: k.snapshot, every: 1000}
		err := k.Log.Read(0, func(first uint64, group []byte) bool {
			return first == hole || other.Append(first, group) == nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if hole == 1 {
			if _, err := commit.Open(other, commit.Options{Random: rand.Reader}); !errors.Is(err, ledger.ErrCorrupt) {
				t.Errorf("a log without its beginning opens: %v", err)
			}
			continue
		}
		l, said := other.open(t)
		if said.Len() > 0 {
			t.Errorf("hole at %d: the snapshot is not used: %s", hole, said)
		}
		for after, whole := range map[uint64]bool{0: false, hole - 1: false, hole: true} {
			_, err := l.Events(context.Background(), ledger.EventQuery{After: after, Limit: 100})
			if whole != (err == nil) || !whole && !errors.Is(err, ledger.ErrCorrupt) {
				t.Errorf("hole at %d: events after %d: %v", hole, after, err)
			}
		}
		l.Close()
	}
}
