package pgledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
)

const (
	// pageGroups is how many groups one statement reads.
	pageGroups = 64
	// beatsPerLease is how often in a lease an instance says that it lives, and a waiting one asks whether the owner does.
	beatsPerLease = 6
	// againPause is the pause between two questions after an append without an answer.
	againPause = 20 * time.Millisecond
	// orphanLeases is for how many leases a slot has no owner until one takes it that has its share.
	orphanLeases = 3
	// lostLeases is for how many leases an owner is not heard until it is taken for lost, even where no other instance takes its slot.
	lostLeases = 2
	// never is a lease that does not end: only a free slot, or one of the same name, is taken.
	never = 1000 * time.Hour
)

// A log is a commit.Log over one slot of a database, for as long as it owns it.
type log struct {
	*life
	db     database
	slot   int
	me     instance
	rounds rounds

	// Of the one goroutine that appends.
	term int64
	at   group // the end of the log, without its data

	ended chan struct{} // closed by Close
	done  chan struct{} // closed when keep has returned

	failing  sync.Mutex
	leaving  bool // it is handed over because the instance owns too many
	given    bool // it is not counted among those of the instance any more
	failure  error
	failed   chan struct{} // closed with failure
	onFailed func(error)
}

var (
	_ commit.Log       = (*log)(nil)
	_ commit.Confirmer = (*log)(nil)
)

// take makes an instance the owner of slot 0.
func take(db database, me instance, f *life, stop <-chan struct{}) (*log, error) {
	return takeSlot(db, 0, me, f, stop)
}

// takeSlot makes an instance the owner of a slot, as soon as the owner before is not heard of for a lease, and the instance owns less than
// its share. It asks until stop is closed.
func takeSlot(db database, slot int, me instance, f *life, stop <-chan struct{}) (*log, error) {
	l := &log{life: f, db: db, slot: slot, me: me, ended: make(chan struct{}), done: make(chan struct{}), failed: make(chan struct{})}
	if err := l.wait(f.comes(me), stop); err != nil {
		return nil, err
	}
	l.rounds.begun, l.rounds.since = &f.begun, f.begun.Add(1) // after the claim: marks from before it were of the log before
	at, err := db.last(l.slot)                                // after the claim, so that it sees all that was confirmed
	if err == nil {
		err = f.missing(db, l.slot)
	}
	if err != nil {
		db.release(me) //nolint:errcheck // its lease ends
		f.shares.give(false)
		return nil, err
	}
	l.at = at
	f.takes()
	l.calls.Go(l.keep)
	return l, nil
}

// wait claims the slot until it has it. One that has not heard the database for half a lease cannot know whether the owner lives, and
// waits a whole lease longer: otherwise each hiccup of the database would have another instance decide. A process that has had the log
// before does not take it after another one: what it has in memory beside the log would be old.
func (l *log) wait(after []string, stop <-chan struct{}) (err error) {
	defer func() {
		if err != nil {
			l.db.release(l.me) //nolint:errcheck // it owns nothing
		}
		if !errors.Is(err, ErrStopped) { // requests that are under way at the owner end by themselves
			l.waitsFor(instance{})
		}
	}()
	heard, err := l.arrive()
	if err != nil {
		return err
	}
	blind := 0 // beats, until the lease of an owner counts
	var free time.Time
	for waits := false; ; {
		if err == nil && after != nil && !slices.Contains(after, heard.held) {
			return notMine(heard, l.me)
		}
		if err == nil {
			if heard.sure {
				l.saw(heard.end)
			}
			if l.shares != nil && ended(stop) { // it has had its share, and hands it over
				return ErrStopped
			}
			if free = freeSince(free, heard); !l.leaves(free, heard) {
				if err = l.claim(heard, blind > 0, l.orphaned(free, heard), after); err == nil && l.term > 0 {
					return nil
				}
			}
		}
		switch {
		case err != nil && l.shares != nil && errors.Is(err, errClock):
			return err
		case err != nil:
			blind = beatsPerLease
		case blind > 0:
			blind--
		}
		if err == nil {
			l.hears(heard)
		}
		if !waits && heard.owner.id != "" {
			waits = true
			l.waits(heard.owner.name)
		}
		pause := l.calls.timers.Alarm(l.until(heard, free, err))
		select {
		case <-stop:
			pause.Stop()
			return ErrStopped
		case <-pause.C:
		}
		heard, err = l.beat(l.db, l.slot, l.me)
	}
}

// arrive says for the first time that the instance lives. Of several slots, one that can't decide is not counted among those that share them.
func (l *log) arrive() (pulse, error) {
	if l.shares != nil {
		if err := l.compare(l.db); err != nil {
			return pulse{}, err
		}
	}
	return l.beat(l.db, l.slot, l.me)
}

// freeSince returns since when a slot has no owner, zero where it has one.
func freeSince(before time.Time, heard pulse) time.Time {
	switch {
	case heard.owner.id != "":
		return time.Time{}
	case before.IsZero():
		return heard.at
	}
	return before
}

// orphaned reports whether no instance has a slot for so long that one takes it that has its share.
func (l *log) orphaned(free time.Time, heard pulse) bool {
	if heard.owner.id != "" {
		return heard.silent >= orphanLeases*l.lease
	}
	return !free.IsZero() && heard.at.Sub(free) >= orphanLeases*l.lease
}

// hears notes which instance has the slot. Of several, one that was not heard for two leases is lost, and the slot is nowhere.
func (l *log) hears(heard pulse) {
	if l.shares != nil && heard.silent > lostLeases*l.lease {
		heard.owner = instance{}
	}
	l.waitsFor(heard.owner)
}

// leaves reports whether a slot is left to another instance, which has few: for a lease, after which it may be that it does not take it.
func (l *log) leaves(free time.Time, heard pulse) bool {
	return !free.IsZero() && heard.at.Sub(free) < l.lease && l.shares.waits()
}

// until returns how long to wait until the database is asked again.
func (l *log) until(heard pulse, free time.Time, err error) time.Duration {
	between := l.lease / beatsPerLease
	if err == nil && heard.owner.id == "" {
		l.shares.free()
	}
	switch {
	case err != nil:
	case (heard.owner.id == "" || heard.owner.name == l.me.name) && l.shares.mayTake():
		return min(between, againPause) // it is free, or the term was moved since it was heard
	case heard.owner.id == "" && heard.at.Sub(free) < between:
		return min(between, againPause) // an instance may have ended, so that the share is larger
	}
	return between
}

// ended reports whether a channel is closed.
func ended(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// claim claims the slot where the instance owns less than its share. Where it does not, and an earlier claim whose answer was lost has made
// it the owner, it gives the slot up.
func (l *log) claim(heard pulse, blind, orphan bool, after []string) (err error) {
	lease := l.lease
	if blind {
		lease = never
	}
	l.term = 0
	if !l.shares.take(orphan) {
		if heard.owner.id == l.me.id {
			return l.db.release(l.me)
		}
		return nil
	}
	if l.term, err = l.db.claim(l.slot, l.me, lease, after, heard.term); l.term == 0 || err != nil {
		l.shares.give(false)
	}
	return err
}

// notMine returns why a process that has had the log does not take it again.
func notMine(heard pulse, me instance) error {
	switch {
	case heard.held == "":
		return fmt.Errorf("%w (it says that no instance has had the log yet)", errWentBack)
	case heard.owner.name == me.name:
		return errReplaced
	}
	return errDeposed
}

// keep says that the instance lives, and fails the log where that cannot be said for a lease, where another instance owns the slot, or
// where the clock is another than the database's.
func (l *log) keep() {
	defer close(l.done)
	silent := l.calls.timers.Alarm(l.lease)
	defer func() { silent.Stop() }()
	for {
		pause := l.calls.timers.Alarm(l.lease / beatsPerLease)
		select {
		case <-l.ended:
			pause.Stop()
			return
		case <-pause.C:
		}
		heard, err := l.beat(l.db, l.slot, l.me)
		switch {
		case errors.Is(err, errClock):
			l.fail(err) //nolint:errcheck // it is told
			return
		case err == nil && heard.owner.id != l.me.id:
			l.fail(l.taken(heard.owner)) //nolint:errcheck // it is told
			return
		case err == nil:
			silent.Stop()
			silent = l.calls.timers.Alarm(l.lease)
			continue
		}
		select {
		case <-silent.C:
			l.fail(fmt.Errorf("%w for %s: %w", errSilent, l.lease, err)) //nolint:errcheck // it is told
			return
		default:
		}
	}
}

// taken returns why the log is lost to an owner. Of several slots, one whose name another process has does not go on.
func (l *log) taken(by instance) error {
	if l.shares != nil && by.name == l.me.name {
		return errReplaced
	}
	return errTaken
}

// Notify has failed called when the log fails outside of Append, or at once where it has.
func (l *log) Notify(failed func(error)) {
	l.failing.Lock()
	l.onFailed = failed
	err := l.failure
	l.failing.Unlock()
	if err != nil {
		failed(err)
	}
}

// fail notes that the log is lost until it is opened again. The instance may take another slot at once, and not only when this log is closed: that
// may wait long for the database.
func (l *log) fail(err error) error {
	l.failing.Lock()
	if l.failure == nil {
		l.failure = err
		close(l.failed)
		l.give()
	}
	failed := l.onFailed
	l.failing.Unlock()
	if failed != nil {
		l.calls.Go(func() { failed(err) }) // the ledger may be waiting for Append
	}
	return err
}

// Health returns why the log has failed.
func (l *log) Health() error {
	l.failing.Lock()
	defer l.failing.Unlock()
	return l.failure
}

// Append implements commit.Log.
func (l *log) Append(first uint64, data []byte) error {
	if err := l.Health(); err != nil {
		return err
	}
	last, err := commit.LastOf(data)
	if err != nil {
		return err
	}
	return l.append(group{first: first, last: last, hash: sha256.Sum256(data), data: data})
}

func (l *log) append(g group) error {
	round := l.rounds.begin()
	kept, err := l.db.add(l.slot, l.term, l.at, g)
	if err != nil || !kept {
		l.looked.Add(1)
		if err := l.resolve(g, err); err != nil {
			if errors.Is(err, errTaken) {
				l.fenced.Add(1)
			}
			return l.fail(err)
		}
	}
	l.at = g.end()
	l.saw(l.at)
	l.rounds.prove(round)
	return nil
}

// resolve finds out whether a group is kept whose append had no answer or a refusal, and writes it again where it is certain
// that it was not kept and cannot be any more.
func (l *log) resolve(g group, cause error) error {
	deadline := l.calls.timers.Alarm(l.patience)
	defer deadline.Stop()
	for {
		kept, err := l.look(g)
		if kept || errors.Is(err, errTaken) || errors.Is(err, errWentBack) {
			return err
		}
		if err != nil {
			cause = err
		}
		pause := l.calls.timers.Alarm(min(againPause, l.patience/beatsPerLease))
		select {
		case <-deadline.C:
			pause.Stop()
			if lossy := (*lossyError)(nil); errors.As(cause, &lossy) {
				return lossy
			}
			return fmt.Errorf("%w: %w", errSilent, cause)
		case <-pause.C:
		}
	}
}

// look moves the term, so that the end of the log is final, and takes the group for kept where that is the end. Where the end is neither
// this group nor the one before it, the slot may have got another owner since the term was moved: only if it has not, the database went back.
func (l *log) look(g group) (kept bool, err error) {
	if err := l.move(); err != nil {
		return false, err
	}
	end, err := l.db.last(l.slot)
	switch {
	case err != nil:
		return false, err
	case end.is(g):
		return l.db.confirm(l.slot, l.me) // which commits after the group
	case end.is(l.at):
		return l.db.add(l.slot, l.term, l.at, g)
	}
	if err := l.move(); err != nil {
		return false, err
	}
	return false, fmt.Errorf("%w (it ends with record %d, and %d was confirmed)", errWentBack, end.last, l.at.last)
}

// move moves the term of the slot, or returns errTaken where it is another instance's.
func (l *log) move() error {
	term, err := l.db.again(l.slot, l.me, l.term)
	if err == nil && term == 0 {
		err = errTaken
	}
	if err == nil {
		l.term = term
	}
	return err
}

// Mark implements commit.Confirmer.
func (l *log) Mark() uint64 { return l.begun.Load() }

// Confirm implements commit.Confirmer. One question is under way at a time, and serves all who wait.
func (l *log) Confirm(mark uint64) error {
	if mark < l.rounds.since {
		return fmt.Errorf("%w: the log was taken again meanwhile", ledger.ErrUnavailable)
	}
	deadline := l.calls.timers.Alarm(l.patience)
	defer deadline.Stop()
	for cause := errSilent; ; {
		proved, wait := l.rounds.after(mark)
		if proved {
			return nil
		}
		if wait == nil {
			err := l.ask()
			if err == nil {
				continue
			}
			cause, wait = err, l.rest()
		}
		select {
		case <-wait:
		case <-l.failed:
			return fmt.Errorf("%w: %w", ledger.ErrUnavailable, l.Health())
		case <-deadline.C:
			return fmt.Errorf("%w: %w", ledger.ErrUnavailable, cause)
		}
	}
}

// ask asks the database whether the slot is this log's.
func (l *log) ask() error {
	defer l.rounds.answered()
	round := l.rounds.begin()
	mine, err := l.db.confirm(l.slot, l.me)
	switch {
	case err != nil:
		return err
	case !mine:
		return l.fail(errTaken)
	}
	l.rounds.prove(round)
	return nil
}

// rest returns a channel that is closed after a pause.
func (l *log) rest() <-chan struct{} {
	over := make(chan struct{})
	l.calls.timers.AfterFunc(min(againPause, l.patience/beatsPerLease), func() { close(over) })
	return over
}

// Read implements commit.Log.
func (l *log) Read(from uint64, yield func(first uint64, group []byte) bool) error {
	return readAll(pageGroups, l.page, from, yield)
}

// page reads a page of the log.
func (l *log) page(from uint64) ([]group, error) { return l.db.read(l.slot, from, pageGroups) }

// readAll reads a log by pages of so many groups.
func readAll(groups int, read func(from uint64) ([]group, error), from uint64, yield func(first uint64, group []byte) bool) error {
	for {
		page, err := read(from)
		if err != nil {
			return err
		}
		for _, g := range page {
			if !yield(g.first, g.data) {
				return nil
			}
			from = g.last + 1
		}
		if len(page) < groups {
			return nil
		}
	}
}

// Truncate implements commit.Log. Groups are never removed: one that is unfinished was changed.
func (l *log) Truncate(uint64) error { return errChanged }

// Head implements commit.Log.
func (l *log) Head() (first uint64, err error) {
	end, err := l.db.last(l.slot)
	return end.first, err
}

// leave says that the slot is handed over because the instance owns too many.
func (l *log) leave() {
	l.failing.Lock()
	defer l.failing.Unlock()
	if !l.leaving {
		l.leaving = true
		l.shares.goes(!l.given)
	}
}

// give takes the slot out of those that the instance is counted to own, once. The caller has the lock.
func (l *log) give() {
	if !l.given {
		l.given = true
		l.shares.give(l.leaving)
	}
}

// Close hands the slot over: another instance may claim it at once.
func (l *log) Close() error {
	close(l.ended)
	<-l.done
	err := l.db.release(l.me)
	l.failing.Lock()
	l.give()
	l.failing.Unlock()
	l.db.close()
	return err
}
