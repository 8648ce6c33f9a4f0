package commit_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/memory"
	"bailiff/vm/amount"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func deployment(n byte) *ledger.Deployment {
	return &ledger.Deployment{
		Key: ledgertest.ID('k', 1), At: ledgertest.Start, Operator: [32]byte{n}, PolicyHash: [32]byte{n}, Text: []byte("version: 2.0.0"),
	}
}

func webhook(n uint64) ledger.Webhook {
	return ledger.Webhook{
		ID: ledgertest.ID('w', n), Key: ledgertest.ID('k', 1), URL: "https://example.com", Topics: ledger.AllTopics,
		Secret: make([]byte, ledger.MinWebhookSecret), Created: ledgertest.Start,
	}
}

// TestNothingTooEarly has a slow disk: what rests on a group under way is not told, handed out, or refused, before it is
// durable.
func TestNothingTooEarly(t *testing.T) {
	l, log := openSlow(t)
	log.gate <- nil
	must(t, l.CreateWebhook(context.Background(), webhook(1)))
	<-log.entered
	head, err := l.Head(context.Background())
	must(t, err)
	first, second, late := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := l.Deploy(context.Background(), deployment(1))
		first <- err
	}()
	<-log.entered
	go func() {
		_, err := l.Deploy(context.Background(), deployment(2)) // refused, because of what is not durable yet
		second <- err
	}()
	key := ledgertest.NewKey(1)
	if got, _ := l.LookupKey(key.Hash); got.Epoch != 1 {
		t.Fatalf("found %+v before it was durable", got)
	}
	if due, next, err := l.Due(context.Background(), ledgertest.Start, 10); err != nil || len(due) > 0 || next != 0 {
		t.Fatalf("handed out before it was durable: %+v, %d, %v", due, next, err)
	}
	if got, err := l.Head(context.Background()); err != nil || got != head {
		t.Fatalf("the head moved before the group was durable: %+v, %v", got, err)
	}
	select {
	case <-l.Outboxed():
		t.Fatal("told of what is not durable")
	case err := <-second:
		t.Fatalf("refused because of what is not durable: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	go func() {
		late <- l.UseOnce(context.Background(), &ledger.Use{Key: key.ID, Epoch: 1, Token: ledger.ID{1}, Expires: ledger.MaxTime})
	}()
	select {
	case err := <-late:
		t.Fatalf("stale because of what is not durable: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	log.gate <- nil
	if err1, err2, err3 := <-first, <-second, <-late; err1 != nil || !errors.Is(err2, ledger.ErrOperator) || !errors.Is(err3, ledger.ErrStale) {
		t.Fatalf("first %v, second %v, late use %v", err1, err2, err3)
	}
	<-l.Outboxed()
	if due, _, err := l.Due(context.Background(), ledgertest.Start, 10); err != nil || len(due) != 1 || due[0].Topic != ledger.PolicyDeployed {
		t.Fatalf("due: %+v, %v", due, err)
	}
	must(t, l.Close())
}

// TestFailedDeployment has the write of a deployment fail: no answer says more than is known.
func TestFailedDeployment(t *testing.T) {
	l, log := openSlow(t)
	log.gate <- io.ErrUnexpectedEOF
	if _, err := l.Deploy(context.Background(), deployment(1)); !errors.Is(err, ledger.ErrUnknown) {
		t.Fatalf("Deploy: %v", err)
	}
	key := ledgertest.NewKey(1)
	if got, _ := l.LookupKey(key.Hash); got.Epoch != 1 {
		t.Fatalf("found %+v", got)
	}
	for name, try := range map[string]func() error{
		"Policy":         func() error { _, err := l.Policy(context.Background(), key.ID); return err },
		"Webhooks":       func() error { _, err := l.Webhooks(context.Background(), key.ID); return err },
		"Due":            func() error { _, _, err := l.Due(context.Background(), ledgertest.Start, 1); return err },
		"SettleDelivery": func() error { return l.SettleDelivery(ledger.DeliveryResult{}) },
		"Head":           func() error { _, err := l.Head(context.Background()); return err },
		"ExpireHolds":    func() error { _, err := l.ExpireHolds(context.Background(), ledgertest.Start, 1); return err },
		"UseOnce":        func() error { return l.UseOnce(context.Background(), &ledger.Use{Token: ledger.ID{1}}) },
	} {
		if err := try(); !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("%s of a failed ledger: %v", name, err)
		}
	}
	l.Close()
}

// TestSettlingRidesAlong has the result of a delivery wait for other records, or for Close; only one that disables a
// webhook is written at once.
func TestSettlingRidesAlong(t *testing.T) {
	log := &countingLog{Log: memory.NewLog()}
	l := open(t, log)
	must(t, l.CreateKey(context.Background(), ledgertest.NewKey(1)))
	must(t, l.CreateWebhook(context.Background(), webhook(1)))
	for range 3 {
		must(t, l.Submit(plan()).Wait(context.Background()))
	}
	due, _, err := l.Due(context.Background(), ledgertest.Start, 10)
	if err != nil || len(due) != 3 {
		t.Fatalf("%d due, %v", len(due), err)
	}
	settle := func(i int, change func(*ledger.DeliveryResult)) {
		r := ledger.DeliveryResult{Key: due[i].Webhook.Key, Webhook: due[i].Webhook.ID, LSN: due[i].LSN, At: ledgertest.Start}
		change(&r)
		must(t, l.SettleDelivery(r))
		time.Sleep(5 * time.Millisecond)
	}
	settle(0, func(r *ledger.DeliveryResult) { r.Delivered = true })
	settle(1, func(r *ledger.DeliveryResult) { r.Next = ledgertest.Start + 1 })
	if head, _ := l.Head(context.Background()); head.LSN != 5 {
		t.Fatalf("the head is at %d: a delivery's result was written for its own sake", head.LSN)
	}
	must(t, l.Close())
	if log.appends != 6 {
		t.Fatalf("%d groups, want 6: Close writes the results", log.appends)
	}
	l = open(t, log)
	due, next, err := l.Due(context.Background(), ledgertest.Start, 10)
	if err != nil || len(due) != 1 || next != ledgertest.Start+1 {
		t.Fatalf("after opening: %d due, next %d, %v", len(due), next, err)
	}
	settle(0, func(r *ledger.DeliveryResult) { r.Disable = true })
	if hooks, err := l.Webhooks(context.Background(), ledgertest.ID('k', 1)); err != nil || hooks[0].Disabled == 0 {
		t.Fatalf("disabled: %+v, %v", hooks, err)
	}
	must(t, l.Close())
}

// oldLog returns the log in testdata: groups of the first version of records, each after its length in four bytes.
func oldLog(t *testing.T) *memory.Log {
	t.Helper()
	data, err := os.ReadFile("testdata/blg1.log")
	must(t, err)
	log := memory.NewLog()
	for len(data) > 0 {
		group := data[4 : 4+binary.BigEndian.Uint32(data)]
		must(t, log.Append(binary.BigEndian.Uint64(group[20:]), group))
		data = data[4+len(group):]
	}
	return log
}

// TestOldLog opens a log that was written before there were policies and webhooks in it, goes on, and opens it again.
func TestOldLog(t *testing.T) {
	log, ctx, id := oldLog(t), context.Background(), ledgertest.ID('k', 1)
	l := open(t, log)
	keys, err := l.Keys(ctx)
	if want := ledgertest.NewKey(1); err != nil || len(keys) != 2 || keys[0].Email != want.Email || keys[0].Hash != want.Hash || !keys[1].Shim || keys[1].Revoked == 0 {
		t.Fatalf("keys: %+v, %v", keys, err)
	}
	counter := ledger.Counter{Limit: "eth", Window: ledger.Day, Group: "g"}
	if value, err := l.Counter(ctx, id, counter, ledgertest.Start); err != nil || value != amount.FromUint64(7) {
		t.Fatalf("counter: %s, %v", value, err)
	}
	holds, err := l.Holds(ctx, id, ledgertest.Start)
	if err != nil || len(holds) != 3 {
		t.Fatalf("holds: %+v, %v", holds, err)
	}
	for i, want := range []ledger.HoldState{ledger.HoldPending, ledger.HoldUsed, ledger.HoldRefused} {
		if holds[i].State != want || holds[i].Rule != "hold" {
			t.Errorf("hold %d: %+v", i, holds[i])
		}
	}
	page, err := l.Events(ctx, ledger.EventQuery{Limit: 100, Key: id})
	if err != nil || len(page.Events) != 10 || page.Events[2].Ending.Rule != "rule.eth" || page.Events[9].Ending.Decision != ledger.TestRun {
		t.Fatalf("events: %+v, %v", page, err)
	}
	must(t, l.CreateWebhook(ctx, webhook(1)))
	if n, err := l.ExpireHolds(ctx, holds[0].Expires, 10); n != 1 || err != nil {
		t.Fatalf("ExpireHolds: %d, %v", n, err)
	}
	_, err = l.Deploy(ctx, deployment(1))
	must(t, err)
	must(t, l.Close())
	l = open(t, log)
	if due, _, err := l.Due(ctx, ledger.MaxTime, 10); err != nil || len(due) != 2 || due[0].Event.Hold != holds[0].ID {
		t.Fatalf("due: %+v, %v", due, err)
	}
	must(t, l.Close())
}

// whole takes a log that begins anywhere.
func whole(ledger.Beginning) error { return nil }

// TestVerifyLog edits logs. A checkpoint of record 3 is compared on the way.
func TestVerifyLog(t *testing.T) {
	good := written(t)
	var checkpoint ledger.Head
	end, err := commit.VerifyLog(good, whole, func(head ledger.Head) error {
		if head.LSN == 3 {
			checkpoint = head
		}
		return nil
	})
	if err != nil || end.LSN != 4 || checkpoint.Hash == [32]byte{} || end.Stream != checkpoint.Stream {
		t.Fatalf("%+v, %v", end, err)
	}
	l := open(t, good)
	if head, err := l.Head(context.Background()); err != nil || head != end {
		t.Fatalf("the ledger's head is %+v, verifying says %+v (%v)", head, end, err)
	}
	l.Close()
	for name, c := range map[string]struct {
		edit func(*editedLog)
		says string // "" where it is whole
		lsn  uint64 // where what is whole ends
		fits bool   // with the checkpoint
	}{
		"untouched":      {func(*editedLog) {}, "", 4, true},
		"an edit":        {func(l *editedLog) { l.groups[1][70] ^= 1 }, "group 2", 1, false},
		"edit, resealed": {func(l *editedLog) { repack(&l.groups[1], func(r []byte) { r[16] ^= 1 }) }, "group 3: it follows", 2, false},
		"a bad record":   {func(l *editedLog) { repack(&l.groups[1], func(r []byte) { r[4] = 99 }) }, "unknown kind", 1, false},
		"a gap": {func(l *editedLog) {
			l.firsts, l.groups = append(l.firsts[:1:1], l.firsts[2:]...), append(l.groups[:1:1], l.groups[2:]...)
		}, "missing", 1, false},
		"cut off":    {func(l *editedLog) { l.firsts, l.groups = l.firsts[:2], l.groups[:2] }, "", 2, false},
		"cut later":  {func(l *editedLog) { l.firsts, l.groups = l.firsts[:3], l.groups[:3] }, "", 3, true},
		"unfinished": {func(l *editedLog) { l.groups[3] = l.groups[3][:90] }, "unfinished", 3, true},
		"empty":      {func(l *editedLog) { l.firsts, l.groups = nil, nil }, "", 0, false},
	} {
		log := &editedLog{Log: good.Log, firsts: good.firsts}
		for _, group := range good.groups {
			log.groups = append(log.groups, append([]byte(nil), group...))
		}
		c.edit(log)
		fits := false
		head, err := commit.VerifyLog(log, whole, func(head ledger.Head) error {
			fits = fits || head == checkpoint
			return nil
		})
		if head.LSN != c.lsn || fits != c.fits {
			t.Errorf("%s: whole up to %d, the checkpoint fits: %t", name, head.LSN, fits)
		}
		if c.says == "" && err != nil || c.says != "" && !(errors.Is(err, ledger.ErrCorrupt) && strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if errors.Is(err, commit.ErrUnfinished) != (c.says == "unfinished") {
			t.Errorf("%s: unfinished: %v", name, err)
		}
	}
	other := errors.New("the caller has seen enough")
	if head, err := commit.VerifyLog(good, whole, func(ledger.Head) error { return other }); head.LSN != 1 || !errors.Is(err, other) {
		t.Errorf("stopped at %d with %v", head.LSN, err)
	}
}

// A readLog counts the groups that are read.
type readLog struct {
	*memory.Log
	reads int
}

func (l *readLog) Read(from uint64, yield func(uint64, []byte) bool) error {
	return l.Log.Read(from, func(first uint64, group []byte) bool {
		l.reads++
		return yield(first, group)
	})
}

// TestEventsSkip has events of some hours in the middle of a log asked for: little else is read, also after opening.
func TestEventsSkip(t *testing.T) {
	log := &readLog{Log: memory.NewLog()}
	l := open(t, log)
	must(t, l.CreateKey(context.Background(), ledgertest.NewKey(1)))
	const hours, each = 24, 1500
	for i := range int64(hours * each) {
		p := plan()
		p.Reservations = nil
		p.At += i / each * 3600e9
		if ticket := l.Submit(p); i%50 == 0 {
			must(t, ticket.Wait(context.Background()))
		}
	}
	must(t, l.Close())
	l = open(t, log)
	defer l.Close()
	total := log.reads
	for hour, want := range map[int64]int{0: each + 1, 10: each, 23: each, 24: 0} {
		log.reads = 0
		from := ledgertest.Start + hour*3600e9
		page, err := l.Events(context.Background(), ledger.EventQuery{From: from, To: from + 3600e9, Limit: ledger.MaxEventPage})
		if err != nil || len(page.Events) != want || page.More || page.Next != hours*each+1 {
			t.Fatalf("hour %d: %d events, want %d; next %d (%v)", hour, len(page.Events), want, page.Next, err)
		}
		if log.reads > total/4 {
			t.Errorf("hour %d: %d of %d groups were read", hour, log.reads, total)
		}
	}
}

// TestIdleKey bounds the memory of a key that has a policy and does nothing.
func TestIdleKey(t *testing.T) {
	const keys = 4000
	log := memory.NewLog()
	l := open(t, log)
	for n := uint64(1); n <= keys; n++ {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // no caller waits
		l.CreateKey(ctx, ledgertest.NewKey(n))
		d := deployment(1)
		d.Key = ledgertest.ID('k', n)
		l.Deploy(ctx, d)
	}
	must(t, l.Close())
	before := heapBytes()
	l = open(t, log)
	perKey := (heapBytes() - before) / keys
	if all, err := l.Keys(context.Background()); err != nil || len(all) != keys || all[keys-1].Epoch != 2 {
		t.Fatalf("%d keys, %v", len(all), err)
	}
	if must(t, l.Close()); perKey <= 0 || perKey > 2048 {
		t.Errorf("an idle key takes %d bytes", perKey)
	}
	t.Logf("an idle key takes %d bytes", perKey)
}

func heapBytes() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// A tally is an observer that adds up.
type tally struct {
	groups, records, bytes int
	took                   time.Duration
}

func (o *tally) Group(records, bytes int, took time.Duration) {
	o.groups++
	o.records, o.bytes, o.took = o.records+records, o.bytes+bytes, o.took+took
}

func TestObserver(t *testing.T) {
	now, seen := time.Unix(0, 0), &tally{}
	clock := func() time.Time { now = now.Add(time.Second); return now }
	l, err := commit.Open(memory.NewLog(), commit.Options{Random: rand.Reader, Observer: seen, Clock: clock})
	must(t, err)
	must(t, l.CreateKey(context.Background(), ledgertest.NewKey(1)))
	must(t, l.Submit(plan()).Wait(context.Background()))
	must(t, l.Close())
	if fmt.Sprint(seen.groups, seen.records, seen.took) != "2 2 2s" || seen.bytes < 2*68 {
		t.Fatalf("seen: %+v", seen)
	}
}
