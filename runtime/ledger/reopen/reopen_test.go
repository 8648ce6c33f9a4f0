package reopen

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bailiff/fuzz/ledgertest"
	"bailiff/fuzz/ledgertest/suite"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A disk is a log in memory that can be made to fail, with and without having written.
type disk struct {
	*memory.Log
	broken  atomic.Bool
	appends atomic.Uint64
}

func (d *disk) Append(first uint64, group []byte) error {
	n := d.appends.Add(1)
	if !d.broken.Load() {
		return d.Log.Append(first, group)
	}
	if n%2 == 0 {
		if err := d.Log.Append(first, group); err != nil {
			return err
		}
	}
	return syscall.EIO
}

func (d *disk) open() (commit.Log, error) {
	if d.broken.Load() {
		return nil, syscall.EIO
	}
	return d, nil
}

func newDisk() *disk { return &disk{Log: memory.NewLog()} }

var quick = Options{Random: rand.Reader, Least: time.Millisecond, Most: 8 * time.Millisecond, Patience: 5 * time.Second}

// mustOpen opens a ledger whose log is opened again by a function.
func mustOpen(t *testing.T, open func() (commit.Log, error), options Options) *commit.Ledger {
	t.Helper()
	log, err := Open(open, options)
	if err != nil {
		t.Fatal(err)
	}
	l, err := commit.Open(log, commit.Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 5000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("not in time: %s", what)
}

// TestConformance runs the suite of every ledger over a log that is opened again.
func TestConformance(t *testing.T) {
	suite.Run(t, suite.Suite{Open: func(t *testing.T) ledger.Ledger {
		return mustOpen(t, newDisk().open, quick)
	}})
}

var counter = ledger.Counter{Limit: "soft_limits.cap.calls.max_count", Window: ledger.Day}

func plan() *ledger.Plan {
	return &ledger.Plan{
		ID: ledgertest.ID('p', 1), At: ledgertest.Start, Key: ledgertest.ID('k', 1), Epoch: 1,
		Pass: ledger.Ending{Decision: ledger.Allowed},
		Reservations: []ledger.Reservation{{
			Counter: counter, Op: ledger.Count, Limit: amount.FromUint64(1 << 60), Code: errcode.AggregateLimit, Rule: "soft_limits",
		}},
	}
}

// acknowledge submits until the test is over and returns the LSNs that were acknowledged. Whatever is refused is
// refused at once, and as unavailable or unknown.
func acknowledge(t *testing.T, l ledger.Ledger, done *atomic.Bool) (lsns []uint64) {
	for !done.Load() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		ticket := l.Submit(plan())
		err := ticket.Wait(ctx)
		cancel()
		switch {
		case err == nil && ticket.Outcome().Result == ledger.Passed:
			lsns = append(lsns, ticket.Outcome().LSN)
		case err == nil:
			t.Errorf("acknowledged: %v", ticket.Outcome().Result)
		case errors.Is(err, context.DeadlineExceeded), !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrUnknown):
			t.Errorf("refused with: %v", err)
		default:
			time.Sleep(100 * time.Microsecond)
		}
	}
	return lsns
}

// TestHeals breaks the disk again and again under load.
func TestHeals(t *testing.T) {
	d := newDisk()
	l := mustOpen(t, d.open, quick)
	if err := l.CreateKey(t.Context(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var all sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[uint64]bool{}
	for range 8 {
		all.Go(func() {
			lsns := acknowledge(t, l, &done)
			mu.Lock()
			defer mu.Unlock()
			for _, lsn := range lsns {
				if acknowledged[lsn] {
					t.Errorf("record %d was acknowledged twice", lsn)
				}
				acknowledged[lsn] = true
			}
		})
	}
	for range 20 {
		time.Sleep(10 * time.Millisecond)
		d.broken.Store(true)
		eventually(t, "failure", func() bool { return errors.Is(l.Health(), ledger.ErrUnavailable) })
		if key, ok := l.LookupKey(ledgertest.NewKey(1).Hash); !ok || key.ID != ledgertest.ID('k', 1) {
			t.Error("a good key is not known while the ledger is away")
		}
		if _, err := l.Keys(t.Context()); !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("Keys: %v", err)
		}
		d.broken.Store(false)
		eventually(t, "recovery", func() bool { return l.Health() == nil })
	}
	done.Store(true)
	all.Wait()
	if err := checkKept(t.Context(), l, acknowledged); err != nil {
		t.Error(err)
	}
}

// checkKept returns what is wrong with what the ledger has kept: everything that was acknowledged has to be there, and
// the counter has to have counted what is there.
func checkKept(ctx context.Context, l *commit.Ledger, acknowledged map[uint64]bool) error {
	if len(acknowledged) < 100 {
		return fmt.Errorf("only %d were acknowledged", len(acknowledged))
	}
	kept, after := uint64(0), uint64(0)
	for more := true; more; {
		page, err := l.Events(ctx, ledger.EventQuery{After: after, Limit: ledger.MaxEventPage})
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			delete(acknowledged, e.LSN)
			if e.Kind == ledger.Decided {
				kept++
			}
		}
		after, more = page.Next, page.More
	}
	if len(acknowledged) > 0 {
		return fmt.Errorf("%d acknowledged records are lost", len(acknowledged))
	}
	value, err := l.Counter(ctx, ledgertest.ID('k', 1), counter, ledgertest.Start)
	if err != nil || value != amount.FromUint64(kept) {
		return fmt.Errorf("the counter is %s after %d records, %w", value, kept, err)
	}
	return nil
}

// TestHealsCanary shows that checkKept notices a record that is lost.
func TestHealsCanary(t *testing.T) {
	d := newDisk()
	l := mustOpen(t, d.open, quick)
	if err := l.CreateKey(t.Context(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[uint64]bool{}
	for range 200 {
		ticket := l.Submit(plan())
		if err := ticket.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		acknowledged[ticket.Outcome().LSN] = true
	}
	head, err := d.Head()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Close(), d.Truncate(head)); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, d.open, quick)
	if err := checkKept(t.Context(), l, acknowledged); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("a lost record goes unnoticed: %v", err)
	}
}

// A part is a log of which a test replaces some methods. All parts of a test have the same groups.
type part struct {
	*memory.Log
	sick  atomic.Bool // it fails to append
	head  func()      // called when the ledger begins to read
	read  func()
	close func() error
}

func (p *part) Append(first uint64, group []byte) error {
	if p.sick.Load() {
		return errors.New("the part is sick")
	}
	return p.Log.Append(first, group)
}

func (p *part) Head() (uint64, error) {
	p.head()
	return p.Log.Head()
}

func (p *part) Read(from uint64, yield func(uint64, []byte) bool) error {
	p.read()
	return p.Log.Read(from, yield)
}

func (p *part) Close() error { return p.close() }

// parts opens one part after the other. Each starts well.
type parts struct {
	log    *memory.Log
	mu     sync.Mutex
	all    []*part
	change func(n int, p *part)
}

func newParts(change func(n int, p *part)) *parts {
	return &parts{log: memory.NewLog(), change: change}
}

func (ps *parts) open() (commit.Log, error) {
	ps.mu.Lock()
	n := len(ps.all)
	p := &part{Log: ps.log, head: func() {}, read: func() {}, close: func() error { return nil }}
	ps.all = append(ps.all, p)
	ps.mu.Unlock()
	ps.change(n, p)
	return p, nil
}

func (ps *parts) count() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return len(ps.all)
}

// fail has the last part fail, by a record that it does not take. The record is unknown.
func (ps *parts) fail(t *testing.T, l ledger.Ledger) {
	t.Helper()
	ps.mu.Lock()
	ps.all[len(ps.all)-1].sick.Store(true)
	ps.mu.Unlock()
	if err := l.CreateKey(t.Context(), ledgertest.NewKey(uint64(200+ps.count()))); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("a record that the log does not take: %v", err)
	}
}

// refused holds a submission to being refused at once.
func refused(t *testing.T, l ledger.Ledger) {
	t.Helper()
	if err := l.Submit(plan()).Wait(context.Background()); !errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrUnknown) {
		t.Fatalf("while the log is away: %v", err)
	}
}

// TestHangingClose has a failed log not close until the test lets it: no call waits for it.
func TestHangingClose(t *testing.T) {
	release, stuck := make(chan struct{}), make(chan error, 1)
	ps := newParts(func(n int, p *part) {
		if n == 0 {
			p.close = func() error { <-release; return nil }
		}
	})
	options := quick
	options.Patience = 20 * time.Millisecond
	options.Stuck = func(err error) { stuck <- err }
	l := mustOpen(t, ps.open, options)
	ps.fail(t, l)
	if err := <-stuck; !strings.Contains(err.Error(), "the part is sick") {
		t.Errorf("stuck: %v", err)
	}
	for range 100 {
		refused(t, l)
	}
	if _, err := l.Keys(t.Context()); !errors.Is(err, ledger.ErrUnavailable) || ps.count() != 1 {
		t.Fatalf("opened %d times before the first has closed, %v", ps.count(), err)
	}
	close(release)
	eventually(t, "recovery", func() bool { return l.Health() == nil })
	if ps.count() != 2 || l.Peek(plan()).Result != ledger.KeyRevoked {
		t.Errorf("opened %d times", ps.count())
	}
}

// TestCloseInTime closes the ledger while its log hangs.
func TestCloseInTime(t *testing.T) {
	for _, sick := range []bool{false, true} {
		release := make(chan struct{})
		ps := newParts(func(_ int, p *part) { p.close = func() error { <-release; return nil } })
		options := quick
		options.Patience = 20 * time.Millisecond
		l := mustOpen(t, ps.open, options)
		if sick {
			ps.fail(t, l)
		}
		began := time.Now()
		if err := l.Close(); err == nil || time.Since(began) > 2*time.Second {
			t.Errorf("sick %t: %v after %v", sick, err, time.Since(began))
		}
		refused(t, l)
		close(release)
	}
}

// TestCloseWhileOpening closes the ledger while a failed log is being opened again, or read: no call waits for it, and what
// opens in the end is closed.
func TestCloseWhileOpening(t *testing.T) {
	for _, reading := range []bool{false, true} {
		opening, open, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
		ps := newParts(func(n int, p *part) {
			if n != 1 {
				return
			}
			wait := func() { close(opening); <-open }
			p.close = func() error { close(closed); return nil }
			if reading {
				p.head = wait
			} else {
				wait()
			}
		})
		options := quick
		options.Patience = 20 * time.Millisecond
		l := mustOpen(t, ps.open, options)
		ps.fail(t, l)
		<-opening
		if err := l.Close(); err == nil {
			t.Error("closed while it is being opened")
		}
		close(open)
		<-closed
		eventually(t, "refusal", func() bool { return errors.Is(l.Submit(plan()).Wait(context.Background()), ledger.ErrClosed) })
	}
}

// TestPanics has closing, opening and reading panic.
func TestPanics(t *testing.T) {
	ps := newParts(func(n int, p *part) {
		switch n {
		case 0:
			p.close = func() error { panic("close") }
		case 1:
			panic("open")
		case 2:
			p.head = func() { panic("head") }
		}
	})
	l := mustOpen(t, ps.open, quick)
	ps.fail(t, l)
	eventually(t, "recovery", func() bool { return ps.count() == 4 && l.Health() == nil })
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.CreateKey(t.Context(), ledgertest.NewKey(1)); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestCorruptIsNotServed has another log in the place of the failed one: it is refused again and again, and closed each time.
func TestCorruptIsNotServed(t *testing.T) {
	var closed atomic.Int64
	other := memory.NewLog()
	if err := other.Append(1, []byte("not a group, but long enough to be looked at: "+strings.Repeat("x", 64))); err != nil {
		t.Fatal(err)
	}
	if err := other.Append(2, []byte("and one after it")); err != nil {
		t.Fatal(err)
	}
	ps := newParts(func(n int, p *part) {
		p.close = func() error { closed.Add(1); return nil }
		if n > 0 && n < 4 {
			p.Log = other
		}
	})
	l := mustOpen(t, ps.open, quick)
	if err := l.CreateKey(t.Context(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	ps.fail(t, l)
	eventually(t, "recovery", func() bool { return ps.count() == 5 && l.Health() == nil })
	if n := closed.Load(); n != 4 {
		t.Errorf("%d of 5 logs were closed before the last", n)
	}
	if keys, err := l.Keys(t.Context()); err != nil || len(keys) != 1 {
		t.Errorf("keys: %v, %v", keys, err)
	}
}

// TestStaysLocked has a log close and keep its directory locked for a while.
func TestStaysLocked(t *testing.T) {
	stuck := make(chan error, 10)
	ps := newParts(func(int, *part) {})
	var tries atomic.Int64
	options := quick
	options.Stuck = func(err error) { stuck <- err }
	l := mustOpen(t, func() (commit.Log, error) {
		if n := tries.Add(1); n > 1 && n < 5 {
			return nil, ledger.ErrLocked
		}
		return ps.open()
	}, options)
	ps.fail(t, l)
	if err := <-stuck; !errors.Is(err, ledger.ErrLocked) {
		t.Error(err)
	}
	eventually(t, "recovery", func() bool { return ps.count() == 2 && l.Health() == nil })
	if len(stuck) != 0 {
		t.Error("called more than once")
	}
}

// TestOpenFails returns the first failure to the caller.
func TestOpenFails(t *testing.T) {
	if _, err := Open(func() (commit.Log, error) { return nil, io.ErrUnexpectedEOF }, quick); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// TestReaderLeavesFirst has a slow read under way when the log fails: it is closed after the read has ended.
func TestReaderLeavesFirst(t *testing.T) {
	entered, leave, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var slow atomic.Bool
	ps := newParts(func(n int, p *part) {
		if n == 0 {
			p.read = func() {
				if slow.CompareAndSwap(true, false) {
					close(entered)
					<-leave
				}
			}
			p.close = func() error { close(closed); return nil }
		}
	})
	l := mustOpen(t, ps.open, quick)
	if err := l.CreateKey(t.Context(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	slow.Store(true)
	read := make(chan error, 1)
	go func() {
		_, err := l.Events(context.Background(), ledger.EventQuery{Limit: 1})
		read <- err
	}()
	<-entered
	ps.fail(t, l)
	select {
	case <-closed:
		t.Fatal("closed under a reader")
	case <-time.After(20 * time.Millisecond):
	}
	close(leave)
	if err := <-read; !errors.Is(err, ledger.ErrUnavailable) { // it looks again for more
		t.Errorf("the page: %v", err)
	}
	<-closed
	eventually(t, "recovery", func() bool { return l.Health() == nil })
}

// told makes a key with a webhook, and three events that it is told of.
func told(t *testing.T, l ledger.Ledger) (hook ledger.ID, lsns []uint64) {
	t.Helper()
	key, hook := ledgertest.NewKey(1), ledgertest.ID('w', 1)
	if err := l.CreateKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := l.CreateWebhook(t.Context(), ledger.Webhook{
		ID: hook, Key: key.ID, URL: "https://example.com", Topics: ledger.AllTopics, Secret: make([]byte, ledger.MinWebhookSecret), Created: ledgertest.Start,
	}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ticket := l.Submit(plan())
		if err := ticket.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		lsns = append(lsns, ticket.Outcome().LSN)
	}
	return hook, lsns
}

// TestDeliveries checks that what was handed out stays so over a failure, and that results are not lost.
func TestDeliveries(t *testing.T) {
	wait := make(chan struct{})
	ps := newParts(func(n int, p *part) {
		if n == 0 {
			p.close = func() error { <-wait; return nil }
		}
	})
	l := mustOpen(t, ps.open, quick)
	hook, lsns := told(t, l)
	at := ledgertest.Start + int64(time.Hour)
	due := func(limit int) (found []uint64) {
		got, _, err := l.Due(t.Context(), at, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range got {
			found = append(found, d.LSN)
		}
		return found
	}
	result := func(lsn uint64, next int64) error {
		return l.SettleDelivery(ledger.DeliveryResult{Key: ledgertest.ID('k', 1), Webhook: hook, LSN: lsn, At: at, Delivered: next == 0, Next: next})
	}
	boxed := l.Outboxed()
	if got := due(2); !slices.Equal(got, lsns[:2]) {
		t.Fatalf("due: %v, want %v", got, lsns[:2])
	}
	ps.fail(t, l)
	for len(boxed) > 0 {
		<-boxed
	}
	if err := result(lsns[0], at); err != nil {
		t.Errorf("a result while the ledger is away: %v", err)
	}
	if err := result(lsns[2], 0); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("a result of what was never handed out: %v", err)
	}
	close(wait)
	<-boxed
	if got := due(10); !slices.Equal(got, []uint64{lsns[0], lsns[2]}) { // the first is due again, and the second is still out
		t.Errorf("due after the failure: %v of %v", got, lsns)
	}
	for _, lsn := range lsns {
		if err := result(lsn, 0); err != nil {
			t.Errorf("settling %d: %v", lsn, err)
		}
	}
	if got := due(10); got != nil {
		t.Errorf("due after all were settled: %v", got)
	}
}
