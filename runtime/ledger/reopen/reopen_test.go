package reopen

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bailiff/fuzz/ledgertest"
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

func (d *disk) open() (ledger.Ledger, error) {
	if d.broken.Load() {
		return nil, syscall.EIO
	}
	return commit.Open(d, commit.Options{Random: rand.Reader})
}

func newDisk() *disk { return &disk{Log: memory.NewLog()} }

var quick = Options{Random: rand.Reader, Check: time.Millisecond, Least: time.Millisecond, Most: 8 * time.Millisecond, Patience: 5 * time.Second}

func mustOpen(t *testing.T, open func() (ledger.Ledger, error), options Options) *Ledger {
	t.Helper()
	l, err := Open(open, options)
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

// TestConformance runs the suite of every ledger: the wrapper passes everything through.
func TestConformance(t *testing.T) {
	ledgertest.Run(t, ledgertest.Suite{Open: func(t *testing.T) ledger.Ledger {
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
func checkKept(ctx context.Context, l *Ledger, acknowledged map[uint64]bool) error {
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

// A part is an inner ledger of which a test replaces some methods.
type part struct {
	ledger.Ledger
	health func() error
	close  func() error
	due    func() []ledger.Delivery
	settle func(ledger.DeliveryResult) error
	boxed  chan struct{}
}

func (p *part) Health() error { return p.health() }
func (p *part) Close() error  { return errors.Join(p.Ledger.Close(), p.close()) }
func (p *part) Due(context.Context, int64, int) ([]ledger.Delivery, int64, error) {
	return p.due(), 0, nil
}
func (p *part) SettleDelivery(r ledger.DeliveryResult) error { return p.settle(r) }
func (p *part) Outboxed() <-chan struct{}                    { return p.boxed }

// parts opens one part after the other. Each starts well.
type parts struct {
	mu     sync.Mutex
	opened int
	sick   [8]atomic.Bool
	change func(n int, p *part)
}

func (ps *parts) open() (ledger.Ledger, error) {
	ps.mu.Lock()
	n := ps.opened
	ps.opened++
	ps.mu.Unlock()
	p := &part{Ledger: memory.New(), boxed: make(chan struct{}, 1)}
	p.health = func() error {
		if ps.sick[n].Load() {
			return fmt.Errorf("%w: part %d is sick", ledger.ErrUnavailable, n)
		}
		return nil
	}
	p.close = func() error { return nil }
	p.due = func() []ledger.Delivery { return nil }
	p.settle = func(ledger.DeliveryResult) error { return nil }
	ps.change(n, p)
	return p, nil
}

func (ps *parts) count() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.opened
}

// TestHangingClose has a failed ledger not close until the test lets it: nobody waits for it.
func TestHangingClose(t *testing.T) {
	release, stuck := make(chan struct{}), make(chan error, 1)
	ps := &parts{change: func(n int, p *part) {
		if n == 0 {
			p.close = func() error { <-release; return nil }
		}
	}}
	options := quick
	options.Patience = 20 * time.Millisecond
	options.Stuck = func(err error) { stuck <- err }
	l := mustOpen(t, ps.open, options)
	ps.sick[0].Store(true)
	if err := <-stuck; !strings.Contains(err.Error(), "part 0 is sick") {
		t.Errorf("stuck: %v", err)
	}
	for range 100 {
		if err := l.Submit(plan()).Wait(context.Background()); !errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrUnknown) {
			t.Fatalf("while it does not close: %v", err)
		}
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

// TestCloseInTime closes the wrapper while the inner ledger hangs.
func TestCloseInTime(t *testing.T) {
	for _, sick := range []bool{false, true} {
		release := make(chan struct{})
		ps := &parts{change: func(_ int, p *part) { p.close = func() error { <-release; return nil } }}
		options := quick
		options.Patience = 20 * time.Millisecond
		l := mustOpen(t, ps.open, options)
		ps.sick[0].Store(sick)
		if sick {
			eventually(t, "failure", func() bool { return l.current.Load().cause != nil })
		}
		began := time.Now()
		if err := l.Close(); err == nil || time.Since(began) > 2*time.Second {
			t.Errorf("sick %t: %v after %v", sick, err, time.Since(began))
		}
		if err := l.Submit(plan()).Wait(context.Background()); !errors.Is(err, ledger.ErrUnavailable) {
			t.Error(err)
		}
		close(release)
	}
}

// TestCloseWhileOpening closes the wrapper while a failed ledger is being opened again: nobody waits for it, and what
// opens in the end is closed.
func TestCloseWhileOpening(t *testing.T) {
	opening, open, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	ps := &parts{change: func(n int, p *part) {
		if n == 1 {
			close(opening)
			<-open
			p.close = func() error { close(closed); return nil }
		}
	}}
	options := quick
	options.Patience = 20 * time.Millisecond
	l := mustOpen(t, ps.open, options)
	ps.sick[0].Store(true)
	<-opening
	if err := l.Close(); err == nil {
		t.Error("closed while it is being opened")
	}
	close(open)
	<-closed
	eventually(t, "refusal", func() bool { return errors.Is(l.Submit(plan()).Wait(context.Background()), ledger.ErrClosed) })
}

// TestPanics has closing and opening panic.
func TestPanics(t *testing.T) {
	ps := &parts{change: func(n int, p *part) {
		switch n {
		case 0:
			p.close = func() error { panic("close") }
		case 1, 2:
			p.Ledger.Close()
			panic("open")
		}
	}}
	l := mustOpen(t, ps.open, quick)
	ps.sick[0].Store(true)
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

// TestStaysLocked has a ledger close and hold its directory still, for a while.
func TestStaysLocked(t *testing.T) {
	stuck := make(chan error, 10)
	ps := &parts{change: func(int, *part) {}}
	var tries atomic.Int64
	options := quick
	options.Stuck = func(err error) { stuck <- err }
	l := mustOpen(t, func() (ledger.Ledger, error) {
		if n := tries.Add(1); n > 1 && n < 5 {
			return nil, ledger.ErrLocked
		}
		return ps.open()
	}, options)
	ps.sick[0].Store(true)
	if err := <-stuck; !errors.Is(err, ledger.ErrLocked) {
		t.Error(err)
	}
	eventually(t, "recovery", func() bool { return ps.count() == 2 && l.Health() == nil })
	if len(stuck) != 0 {
		t.Error("told more than once")
	}
}

// TestOpenFails returns the first failure to the caller.
func TestOpenFails(t *testing.T) {
	if _, err := Open(func() (ledger.Ledger, error) { return nil, io.ErrUnexpectedEOF }, quick); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// TestReaderLeavesFirst has a slow read under way when the ledger fails: it is closed after the read has left.
func TestReaderLeavesFirst(t *testing.T) {
	entered, leave, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	ps := &parts{change: func(n int, p *part) {
		if n == 0 {
			p.due = func() []ledger.Delivery { close(entered); <-leave; return nil }
			p.close = func() error { close(closed); return nil }
		}
	}}
	l := mustOpen(t, ps.open, quick)
	read := make(chan struct{})
	go func() {
		defer close(read)
		l.Due(context.Background(), 0, 1)
	}()
	<-entered
	ps.sick[0].Store(true)
	eventually(t, "failure", func() bool { return l.current.Load().cause != nil })
	select {
	case <-closed:
		t.Fatal("closed under a reader")
	case <-time.After(20 * time.Millisecond):
	}
	close(leave)
	<-read
	<-closed
	eventually(t, "recovery", func() bool { return l.Health() == nil })
}

// TestDeliveries checks that what was handed out stays so over a failure, and that results are not lost.
func TestDeliveries(t *testing.T) {
	delivery := func(n uint64) ledger.Delivery {
		return ledger.Delivery{Webhook: ledger.Webhook{ID: ledgertest.ID('w', 1)}, LSN: n}
	}
	result := func(n uint64) ledger.DeliveryResult {
		return ledger.DeliveryResult{Webhook: ledgertest.ID('w', 1), LSN: n, Delivered: true}
	}
	settled := make(chan string, 10)
	wait := make(chan struct{})
	ps := &parts{change: func(n int, p *part) {
		p.due = func() []ledger.Delivery { return []ledger.Delivery{delivery(1), delivery(2), delivery(uint64(10 + n))} }
		p.settle = func(r ledger.DeliveryResult) error { settled <- fmt.Sprint(n, ":", r.LSN); return nil }
		if n == 0 {
			p.close = func() error { <-wait; return nil }
		}
	}}
	l := mustOpen(t, ps.open, quick)
	due := func() (lsns []uint64) {
		got, _, err := l.Due(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range got {
			lsns = append(lsns, d.LSN)
		}
		return lsns
	}
	boxed := l.Outboxed()
	if got := fmt.Sprint(due()); got != "[1 2 10]" {
		t.Fatalf("due: %s", got)
	}
	ps.sick[0].Store(true)
	eventually(t, "failure", func() bool { return l.current.Load().cause != nil })
	if err := l.SettleDelivery(result(1)); err != nil {
		t.Errorf("a result while the ledger is away: %v", err)
	}
	if err := l.SettleDelivery(result(77)); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("a result of what was never handed out: %v", err)
	}
	close(wait)
	<-boxed
	if got := <-settled; got != "1:1" {
		t.Errorf("the first to be settled is %s", got)
	}
	if got := fmt.Sprint(due()); got != "[1 11]" { // 1 was settled and comes anew, 2 is still out
		t.Errorf("due after the failure: %s", got)
	}
	if err := l.SettleDelivery(result(2)); err != nil || <-settled != "1:2" {
		t.Error(err)
	}
}
