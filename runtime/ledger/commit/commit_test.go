package commit_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"go.uber.org/goleak"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	"bailiff/vm/amount"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A slowLog shows a group at once, and has its Append return when it is told to.
type slowLog struct {
	*memory.Log
	entered chan struct{} // each Append gives one
	gate    chan error    // each Append takes one and returns it
}

func (l slowLog) Append(first uint64, group []byte) error {
	if err := l.Log.Append(first, group); err != nil {
		return err
	}
	l.entered <- struct{}{}
	return <-l.gate
}

// open returns a ledger over log with one key.
func open(t testing.TB, log commit.Log) *commit.Ledger {
	t.Helper()
	l, err := commit.Open(log, commit.Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func openSlow(t *testing.T) (*commit.Ledger, slowLog) {
	log := slowLog{memory.NewLog(), make(chan struct{}, 1000), make(chan error, 1)}
	l := open(t, log)
	log.gate <- nil
	if err := l.CreateKey(context.Background(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	<-log.entered
	return l, log
}

var calls = ledger.Counter{Limit: "calls", Window: ledger.Day}

func plan() *ledger.Plan {
	return &ledger.Plan{
		At: ledgertest.Start, Key: ledgertest.ID('k', 1), Epoch: 1, Pass: ledger.Ending{Decision: ledger.Allowed},
		Reservations: []ledger.Reservation{{Counter: calls, Op: ledger.Count, Limit: amount.FromUint64(1000)}},
	}
}

func soon() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 20*time.Millisecond)
}

// TestSlowDisk looks at the ledger while a group is under way: waiters may leave, and reads do not tell early.
func TestSlowDisk(t *testing.T) {
	l, log := openSlow(t)
	ticket := l.Submit(plan())
	ctx, cancel := soon()
	defer cancel()
	if err := ticket.Wait(ctx); !errors.Is(err, ledger.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Wait: %v", err)
	}
	if _, err := l.Counter(ctx, ledgertest.ID('k', 1), calls, ledgertest.Start); err == nil {
		t.Fatal("a counter was told before it was durable")
	}
	if err := l.CreateKey(ctx, ledgertest.NewKey(2)); !errors.Is(err, ledger.ErrUnknown) {
		t.Fatalf("CreateKey: %v", err)
	}
	key2 := ledgertest.NewKey(2)
	if _, ok := l.LookupKey(key2.Hash); ok {
		t.Fatal("a key was found before it was durable")
	}
	if page, err := l.Events(context.Background(), ledger.EventQuery{Limit: 10}); err != nil || len(page.Events) != 1 {
		t.Fatalf("events before they are durable: %+v, %v", page, err)
	}
	if _, err := l.RevokeKey(ctx, ledgertest.ID('k', 1), ledgertest.Start); !errors.Is(err, ledger.ErrUnknown) {
		t.Fatalf("RevokeKey: %v", err)
	}
	revoked := l.Submit(plan())
	if err := revoked.Wait(ctx); revoked.Outcome().Result != ledger.KeyRevoked || err == nil {
		t.Fatalf("a revocation was told before it was durable: %+v, %v", revoked.Outcome(), err)
	}
	log.gate <- nil
	log.gate <- nil
	for _, ticket := range []ledger.Ticket{ticket, revoked} {
		if err := ticket.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := l.LookupKey(key2.Hash); !ok {
		t.Fatal("the key is durable and not found")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFailedWrite checks who is told what when a group fails.
func TestFailedWrite(t *testing.T) {
	l, log := openSlow(t)
	underWay := l.Submit(plan())
	<-log.entered
	behind := l.Submit(plan())
	log.gate <- io.ErrUnexpectedEOF
	if err := underWay.Wait(context.Background()); !errors.Is(err, ledger.ErrUnknown) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("under way: %v", err)
	}
	if err := behind.Wait(context.Background()); !errors.Is(err, ledger.ErrUnavailable) {
		t.Fatalf("behind: %v", err)
	}
	late := l.Submit(plan())
	if err := late.Wait(context.Background()); !errors.Is(err, ledger.ErrUnavailable) || late.Outcome().Result != ledger.Unknown {
		t.Fatalf("late: %v", err)
	}
	if l.Peek(plan()).Result != ledger.Unknown || !errors.Is(l.Health(), io.ErrUnexpectedEOF) {
		t.Fatalf("health: %v", l.Health())
	}
	if err := l.Close(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("Close: %v", err)
	}
}

// TestFailOutside has the log fail elsewhere while Append hangs, and return after all.
func TestFailOutside(t *testing.T) {
	l, log := openSlow(t)
	ticket := l.Submit(plan())
	<-log.entered
	l.Fail(io.ErrClosedPipe)
	if err := ticket.Wait(context.Background()); !errors.Is(err, ledger.ErrUnknown) {
		t.Fatalf("Wait: %v", err)
	}
	log.gate <- nil
	if err := l.Close(); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("Close: %v", err)
	}
}

// TestBacklog fills the queue of a disk that hangs.
func TestBacklog(t *testing.T) {
	l, log := openSlow(t)
	var tickets []ledger.Ticket
	for i := range uint64(2000) {
		p := plan()
		p.TestRun = true // no caller waits for these, so only the bound can stop them
		p.Event.Value, p.Event.Detail = strings.Repeat("v", 1024), strings.Repeat("d", 1024)
		for range 1024 {
			if ticket := l.Submit(p); ticket.Outcome().Result == ledger.Unknown {
				if err := ticket.Wait(context.Background()); !errors.Is(err, ledger.ErrUnavailable) || l.Health() == nil {
					t.Fatalf("backlog: %v", err)
				}
				tickets = append(tickets, ticket)
				break
			}
		}
		if len(tickets) > 0 {
			break
		}
		if i == 1999 {
			t.Fatal("the backlog has no bound")
		}
	}
	close(log.gate)
	for l.Health() != nil {
		time.Sleep(time.Millisecond)
	}
	if err := l.Submit(plan()).Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// An editedLog is a log whose groups a test has edited.
type editedLog struct {
	*memory.Log
	firsts []uint64
	groups [][]byte
	cut    uint64
}

func (l *editedLog) Read(_ uint64, yield func(uint64, []byte) bool) error {
	for i := range l.groups {
		if !yield(l.firsts[i], l.groups[i]) {
			break
		}
	}
	return nil
}

func (l *editedLog) Head() (uint64, error) {
	if len(l.firsts) == 0 {
		return 0, nil
	}
	return l.firsts[len(l.firsts)-1], nil
}

func (l *editedLog) Truncate(from uint64) error { l.cut = from; return nil }

// written returns the groups of a log with a key and some decisions.
func written(t testing.TB) *editedLog {
	log := memory.NewLog()
	l := open(t, log)
	if err := l.CreateKey(context.Background(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := l.Submit(plan()).Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	l.Close()
	edited := &editedLog{Log: log}
	log.Read(0, func(first uint64, group []byte) bool {
		edited.firsts = append(edited.firsts, first)
		edited.groups = append(edited.groups, append([]byte(nil), group...))
		return true
	})
	return edited
}

// reseal puts a good checksum under an edited group.
func reseal(group []byte) {
	body := group[:len(group)-4]
	binary.BigEndian.PutUint32(group[len(body):], crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// repack edits the records of a group, which begin with a record's length in four bytes, and seals it again.
func repack(group *[]byte, edit func(records []byte)) {
	records, err := s2.Decode(nil, (*group)[64:len(*group)-4])
	if err != nil {
		panic(err) // it was written a moment ago
	}
	edit(records)
	*group = append(append((*group)[:64:64], s2.Encode(nil, records)...), 0, 0, 0, 0)
	reseal(*group)
}

// TestCorruption edits a log of four groups. Where it opens all the same, cut is the group that was removed.
func TestCorruption(t *testing.T) {
	other := written(t)
	for name, c := range map[string]struct {
		edit func(*editedLog)
		says string // "" where it opens
		cut  uint64
	}{
		"untouched":         {func(*editedLog) {}, "", 0},
		"last: a bit":       {func(l *editedLog) { l.groups[3][70] ^= 1 }, "", 4},
		"last: cut short":   {func(l *editedLog) { l.groups[3] = l.groups[3][:80] }, "", 4},
		"last: empty":       {func(l *editedLog) { l.groups[3] = nil }, "", 4},
		"middle: a bit":     {func(l *editedLog) { l.groups[1][70] ^= 1 }, "group 2: the group's checksum does not fit", 0},
		"middle: cut short": {func(l *editedLog) { l.groups[2] = l.groups[2][:9] }, "group 3: the group's checksum", 0},
		"middle: missing": {func(l *editedLog) {
			l.firsts = append(l.firsts[:1], l.firsts[2:]...)
			l.groups = append(l.groups[:1], l.groups[2:]...)
		}, "it has the number 3 where 2 is expected", 0},
		"middle: moved":        {func(l *editedLog) { l.groups[1], l.groups[2] = l.groups[2], l.groups[1] }, "it has the number 3 where 2 is expected", 0},
		"first: missing":       {func(l *editedLog) { l.firsts, l.groups = l.firsts[1:], l.groups[1:] }, "where 1 is expected", 0},
		"altered and resealed": {func(l *editedLog) { repack(&l.groups[1], func(r []byte) { r[86] ^= 1 }) }, "follows a group of the hash|counter|record 2", 0},
		"another stream":       {func(l *editedLog) { l.groups[2] = other.groups[2] }, "belongs to the stream", 0},
		"another version":      {func(l *editedLog) { l.groups[3][3] = '9'; reseal(l.groups[3]) }, "start the release that wrote it", 0},
		"count too small":      {func(l *editedLog) { l.groups[3][31] = 0; reseal(l.groups[3]) }, "0 records, and", 0},
		"count too large":      {func(l *editedLog) { l.groups[3][31] = 2; reseal(l.groups[3]) }, "record 5 is missing", 0},
		"length too large":     {func(l *editedLog) { repack(&l.groups[3], func(r []byte) { r[0] = 1 }) }, "record 4 is cut short", 0},
		"an unknown record":    {func(l *editedLog) { repack(&l.groups[3], func(r []byte) { r[4] = 99 }) }, "start the release that wrote it", 0},
		"packed wrongly":       {func(l *editedLog) { l.groups[3][66] = 0xff; reseal(l.groups[3]) }, "don't unpack", 0},
		"packed too large": {func(l *editedLog) {
			l.groups[3] = append(append(l.groups[3][:64:64], s2.Encode(nil, make([]byte, 16<<20))...), 0, 0, 0, 0)
			reseal(l.groups[3])
		}, "of at most", 0},
	} {
		log := written(t)
		c.edit(log)
		said := ""
		l, err := commit.Open(log, commit.Options{Random: rand.Reader, Logger: func(format string, args ...any) {
			said += fmt.Sprintf(format, args...)
		}})
		switch {
		case strings.Contains(said, "removed the last group") != (c.cut != 0):
			t.Errorf("%s: cut at %d, and the log says %q", name, c.cut, said)
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && !(errors.Is(err, ledger.ErrCorrupt) && containsOne(err.Error(), c.says)):
			t.Errorf("%s: %v; want %q", name, err, c.says)
		case log.cut != c.cut:
			t.Errorf("%s: cut at %d", name, log.cut)
		}
		if l != nil {
			l.Close()
		}
	}
}

func containsOne(text, alternatives string) bool {
	for _, one := range strings.Split(alternatives, "|") {
		if strings.Contains(text, one) {
			return true
		}
	}
	return false
}

// refusesOrWorks opens a log: it is refused as corrupt, or works.
func refusesOrWorks(t *testing.T, log commit.Log) {
	l, err := commit.Open(log, commit.Options{Random: rand.Reader})
	if err != nil {
		if !errors.Is(err, ledger.ErrCorrupt) {
			t.Fatal(err)
		}
		return
	}
	defer l.Close()
	if err := l.Submit(plan()).Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// FuzzOpen opens a log whose last group holds any bytes, under a good checksum and under none: it may refuse, never
// panic, and what opens works.
func FuzzOpen(f *testing.F) {
	for _, group := range written(f).groups {
		f.Add(group, true)
		f.Add(group, false)
	}
	base := written(f)
	f.Fuzz(func(t *testing.T, group []byte, sealed bool) {
		log := &editedLog{Log: memory.NewLog(), firsts: base.firsts, groups: append(base.groups[:3:3], append([]byte(nil), group...))}
		if sealed && len(group) > 4 {
			reseal(log.groups[3])
		}
		refusesOrWorks(t, log)
	})
}

// FuzzRecords opens a log whose last group holds any records, packed and sealed as they should be: any bytes there, as
// FuzzOpen has them, seldom unpack. It may refuse, never panic, and what opens works.
func FuzzRecords(f *testing.F) {
	base := written(f)
	last := base.groups[3]
	records, err := s2.Decode(nil, last[64:len(last)-4])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(records, uint8(1))
	f.Add(append(records, records...), uint8(2))
	f.Fuzz(func(t *testing.T, records []byte, count uint8) {
		group := append(append(last[:64:64], s2.Encode(nil, records)...), 0, 0, 0, 0)
		group[31] = count
		reseal(group)
		log := &editedLog{Log: memory.NewLog(), firsts: base.firsts, groups: append(base.groups[:3:3], group)}
		refusesOrWorks(t, log)
	})
}

// TestAllocations bounds what a submission and a look-up cost.
func TestAllocations(t *testing.T) {
	l := open(t, memory.NewLog())
	defer l.Close()
	key := ledgertest.NewKey(1)
	if err := l.CreateKey(context.Background(), key); err != nil {
		t.Fatal(err)
	}
	p := plan()
	p.Reservations[0].Limit = amount.FromUint64(1 << 60)
	if n := testing.AllocsPerRun(1000, func() { l.LookupKey(key.Hash); l.Peek(p) }); n != 0 {
		t.Errorf("looking up and peeking allocate %v times", n)
	}
	if n := testing.AllocsPerRun(1000, func() { l.Submit(p) }); n > 0 {
		t.Errorf("submitting allocates %v times", n)
	}
}

// A countingLog takes its time and counts.
type countingLog struct {
	*memory.Log
	appends int
}

func (l *countingLog) Append(first uint64, group []byte) error {
	l.appends++
	time.Sleep(time.Millisecond)
	return l.Log.Append(first, group)
}

// TestGathers has many callers share groups, and one caller have groups of its own without waiting for company.
func TestGathers(t *testing.T) {
	log := &countingLog{Log: memory.NewLog()}
	l := open(t, log)
	if err := l.CreateKey(context.Background(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	const callers, each = 64, 10
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				if err := l.Submit(plan()).Wait(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Submit(plan()).Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if perGroup := callers * each / log.appends; perGroup < callers/4 {
		t.Errorf("%d decisions took %d groups", callers*each, log.appends)
	}
}

// TestRidesAlong has a test-run wait for a decision to come, or for Close.
func TestRidesAlong(t *testing.T) {
	log := &countingLog{Log: memory.NewLog()}
	l := open(t, log)
	if err := l.CreateKey(context.Background(), ledgertest.NewKey(1)); err != nil {
		t.Fatal(err)
	}
	dry := plan()
	dry.TestRun = true
	submitDry := func() {
		if err := l.Submit(dry).Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	submitDry()
	if err := l.Submit(plan()).Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	submitDry()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if log.appends != 3 {
		t.Errorf("a key, a test-run with a decision and a last test-run took %d groups, not 3", log.appends)
	}
}
