package suite

import (
	"time"

	"bailiff/fuzz/ledgertest"
	"bailiff/runtime/ledger"
)

const year = 365 * day

// latest returns the ledger's latest time.
func (f *fixture) latest() int64 {
	f.Helper()
	latest, err := f.l.Latest(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return latest
}

// setClock puts the ledger's time right.
func (f *fixture) setClock(at int64) {
	f.Helper()
	if err := f.l.SetClock(f.Context(), at); err != nil {
		f.Fatal(err)
	}
}

// testSetClock has a clock jump ahead by a year, and be put right.
func testSetClock(f *fixture) {
	daily, hourly, task := count("d", ledger.Day, "", 3), count("h", ledger.Hour, "", 3), count("t", ledger.Task, "x", 3)
	f.allow(f.plan(daily))
	f.at += year
	full := count("full", ledger.Day, "", 2)
	f.allow(f.plan(daily, hourly, task, full))
	f.allow(f.plan(daily, hourly, task, full))
	held := f.want(f.held(1), ledger.Held, ledger.Pending)
	lasting := f.at + day
	for _, stop := range []bool{true, false} {
		f.wantErr("a halt of a year ahead", f.l.Halt(f.Context(), &ledger.Halt{Stop: stop, At: f.at + hour}), nil)
	}
	f.at -= year
	if f.latest() != f.at+year+hour {
		f.Fatalf("the latest time is %d", f.latest())
	}
	f.setClock(f.at)
	if f.latest() != f.at {
		f.Fatalf("the latest time is %d after it was put right", f.latest())
	}
	use := f.use(1)
	use.Issued = f.at + 2e9 // a halt voids nothing that was issued after the time was put right
	f.wantErr("using after the time was put right", f.l.UseOnce(f.Context(), use), nil)
	f.wantCounter(daily, 2)
	f.wantCounter(hourly, 2)
	f.wantCounter(task, 2)
	f.refuse(f.plan(full)) // it is used up, and no step of now gives it another window
	if hold, err := f.l.Hold(f.Context(), f.key.ID, held.Hold, f.at); err != nil || hold.Expires != lasting-year || hold.Created != f.at {
		f.Fatalf("the hold: %+v, %v", hold, err)
	}
	if usage, err := f.l.Usage(f.Context(), f.key.ID); err != nil || len(usage) != 1 || usage[0].Count != 3 {
		f.Fatalf("usage: %+v, %v", usage, err)
	}
	if f.suite.Reopen != nil {
		f.l = f.suite.Reopen(f.T, f.l)
	}
	f.allow(f.plan(daily, hourly))
	f.refuse(f.plan(hourly))
	f.at += hour
	f.wantCounter(hourly, 0)
	f.refuse(f.plan(daily))
	f.at += 23 * hour
	f.wantCounter(daily, 0)
	f.allow(f.plan(full))
	f.allow(f.plan(daily, hourly))
	if n, err := f.l.ExpireHolds(f.Context(), f.at, 9); err != nil || n != 1 {
		f.Fatalf("%d holds have expired, %v", n, err)
	}
	f.wantErr("before 1970", f.l.SetClock(f.Context(), -1), ledger.ErrInvalid)
}

// testSetClockRight: a clock that is right is not set.
func testSetClockRight(f *fixture) {
	f.allow(f.plan(count("d", ledger.Day, "", 3)))
	before := f.head()
	f.setClock(f.at)
	f.setClock(f.at + hour)
	if f.head() != before {
		f.Fatal("a clock that is right was set")
	}
}

// head returns the LSN of the last record.
func (f *fixture) head() uint64 {
	f.Helper()
	head, err := f.l.Head(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return head.LSN
}

// testSetClockOnce: when a clock is put right, attestations are good again within a minute, and none that was used within five
// minutes is good twice.
func testSetClockOnce(f *fixture) {
	use := func(n uint64, issued int64) error {
		return f.l.UseOnce(f.Context(), &ledger.Use{
			Key: f.key.ID, Epoch: f.key.Epoch, Token: ledgertest.ID('t', n), At: f.at, Expires: issued + int64(time.Minute), Event: ledger.Event{Endpoint: "/rpc"},
		})
	}
	right := f.at
	f.wantErr("the first", use(1, right), nil)
	for n := range uint64(20) { // each has others forgotten
		f.at += int64(15 * time.Second)
		f.wantErr("another", use(2+n, f.at), nil)
	}
	f.at = right
	f.setClock(right)
	f.wantErr("the first again", use(1, right), ledger.ErrUsed)
	f.wantErr("one of those", use(3, f.at+int64(30*time.Second)), ledger.ErrUsed)
	f.wantErr("a new one", use(100, right), nil)
	f.at += year
	for n := range uint64(8) {
		f.wantErr("a year later", use(200+n, f.at+int64(n)), nil)
		f.at += hour
	}
	f.at = right + int64(time.Second)
	f.setClock(f.at)
	f.at += int64(2 * time.Second)
	f.wantErr("a year before, again", use(300, f.at), nil)
}
