package pgledger

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/runtime/ledger/commit"
)

// MaxClockOffset is how far the clocks of an instance and of the database may differ: a key's time would otherwise jump when another
// instance decides.
const MaxClockOffset = time.Second

// A life is what the logs of a process, which it opens one after the other, have in common.
type life struct {
	lease    time.Duration
	patience time.Duration    // how long a statement without an answer is looked into; tests shorten it
	clock    func() time.Time // nil: it is not compared with the database's
	calls    calls
	waits    func(owner string) // called when the log begins to wait for another instance
	shares   *shares            // of the process, over all slots; nil where there is one

	begun  atomic.Uint64 // rounds; see rounds
	taken  atomic.Uint64 // how often the log was taken
	looked atomic.Uint64 // how many appends had no answer or a refusal
	fenced atomic.Uint64 // of how many of those another instance had taken the log
	offset atomic.Int64  // of the database's clock, nanoseconds
	heard  atomic.Int64  // when it was heard last, Unix nanoseconds

	owner atomic.Pointer[Owner] // while the process waits for it; nil otherwise

	mu   sync.Mutex
	kept group    // the end of the log as this process has seen it
	ids  []string // by which this process has come for it
	had  bool     // this process has had it
}

func newLife(lease time.Duration) *life {
	f := &life{lease: lease, patience: lease, calls: machine, waits: func(string) {}}
	f.begun.Store(1)
	return f
}

// saw notes an end of the log that is kept for certain.
func (f *life) saw(end group) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if end.last > f.kept.last {
		f.kept = end.end()
	}
}

// comes notes the id by which the process comes for the log. It returns the ids by which it has come where it has had the log before, nil
// otherwise.
func (f *life) comes(me instance) (after []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids = append(f.ids, me.id)
	if !f.had {
		return nil
	}
	return slices.Clone(f.ids)
}

// takes notes that the process has the log.
func (f *life) takes() {
	f.taken.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.had = true
}

// forgets notes that the process has nothing in memory of the log any more: it may take it after another one.
func (f *life) forgets() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids, f.had = nil, false
}

// missing returns why a log is not the one that this process has seen before, nil where it is.
func (f *life) missing(db database, slot int) error {
	f.mu.Lock()
	kept := f.kept
	f.mu.Unlock()
	if kept.last == 0 {
		return nil
	}
	page, err := db.read(slot, kept.first, 1)
	if err != nil || len(page) == 1 && kept.is(page[0]) {
		return err
	}
	if len(page) == 1 {
		begins, err := commit.Begins(page[0].data)
		if err != nil || begins.LSN > kept.last || begins.LSN == kept.last && begins.Hash == kept.hash {
			return err // it was dropped since, because of its age
		}
	}
	return fmt.Errorf("%w (record %d was confirmed, and is not there)", errWentBack, kept.last)
}

// compare compares the clocks, and writes nothing.
func (f *life) compare(db database) error {
	if f.clock == nil {
		return nil
	}
	asked := f.clock()
	at, err := db.time()
	if err != nil {
		return err
	}
	return f.differ(at, asked)
}

// differ notes that the database was heard, and holds its time against when it was asked. Half of the time that the answer took is not held against them.
func (f *life) differ(at, asked time.Time) error {
	f.heard.Store(asked.UnixNano())
	half := f.clock().Sub(asked) / 2
	offset := at.Sub(asked.Add(half))
	f.offset.Store(int64(offset))
	if offset.Abs() > MaxClockOffset+half {
		return fmt.Errorf("%w by %s, and %s is the most; have a time service set both", errClock, offset.Round(time.Millisecond), MaxClockOffset)
	}
	return nil
}

// beat says that an instance lives, and compares the clocks.
func (f *life) beat(db database, slot int, me instance) (heard pulse, err error) {
	if f.clock == nil {
		return db.beat(slot, me)
	}
	asked := f.clock()
	if heard, err = db.beat(slot, me); err != nil {
		return heard, err
	}
	return heard, f.differ(heard.at, asked)
}
