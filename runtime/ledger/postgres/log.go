package pgledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"bailiff/runtime/ledger/commit"
)

const (
	// pageGroups is how many groups one statement reads.
	pageGroups = 64
	// beatsPerLease is how often in a lease an instance says that it lives, and a waiting one asks whether the owner does.
	beatsPerLease = 6
	// againPause is the pause between two questions after an append without an answer.
	againPause = 20 * time.Millisecond
)

// A log is a commit.Log over one slot of a database, for as long as it owns it.
type log struct {
	db    database
	slot  int
	me    instance
	lease time.Duration
	// patience is how long an append without an answer is looked into; tests shorten it.
	patience time.Duration
	calls    calls

	// Of the one goroutine that appends and truncates.
	term int64
	at   group // the end of the log, without its data

	ended chan struct{} // closed by Close
	done  chan struct{} // closed when keep has returned

	mu       sync.Mutex
	failure  error
	onFailed func(error)
}

var _ commit.Log = (*log)(nil)

// take makes an instance the owner of slot 0, which all keys are in as yet, as soon as the owner before is not heard of for a lease. It asks until stop is closed.
func take(db database, me instance, lease time.Duration, stop <-chan struct{}) (*log, error) {
	l := &log{db: db, me: me, lease: lease, patience: lease, calls: machine, ended: make(chan struct{}), done: make(chan struct{})}
	for {
		term, err := l.claim()
		if err != nil {
			return nil, err
		}
		if term > 0 {
			l.term = term
			break
		}
		select {
		case <-stop:
			return nil, errTaken
		case <-l.calls.timers.Alarm(lease / beatsPerLease).C:
		}
	}
	at, err := db.last(l.slot) // after the claim, so that it sees all that was confirmed
	if err != nil {
		return nil, err
	}
	l.at = at
	l.calls.Go(l.keep)
	return l, nil
}

func (l *log) claim() (term int64, err error) {
	if err := l.db.beat(l.me); err != nil {
		return 0, err
	}
	return l.db.claim(l.slot, l.me, l.lease)
}

// keep says that the instance lives, and fails the log where that cannot be said for a lease, or another instance owns the slot.
func (l *log) keep() {
	defer close(l.done)
	silent := l.calls.timers.Alarm(l.lease)
	defer func() { silent.Stop() }()
	for {
		beat := l.calls.timers.Alarm(l.lease / beatsPerLease)
		select {
		case <-l.ended:
			beat.Stop()
			return
		case <-beat.C:
		}
		err := l.db.beat(l.me)
		if err == nil {
			var mine bool
			if mine, err = l.db.owns(l.slot, l.me); err == nil && !mine {
				l.fail(errTaken) //nolint:errcheck // it is told
				return
			}
		}
		if err == nil {
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

// Notify has failed called when the log fails outside of Append, or at once where it has.
func (l *log) Notify(failed func(error)) {
	l.mu.Lock()
	l.onFailed = failed
	err := l.failure
	l.mu.Unlock()
	if err != nil {
		failed(err)
	}
}

// fail notes that the log is lost until it is opened again.
func (l *log) fail(err error) error {
	l.mu.Lock()
	if l.failure == nil {
		l.failure = err
	}
	failed := l.onFailed
	l.mu.Unlock()
	if failed != nil {
		l.calls.Go(func() { failed(err) }) // the ledger may be waiting for Append
	}
	return err
}

// Health returns why the log has failed.
func (l *log) Health() error {
	l.mu.Lock()
	defer l.mu.Unlock()
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
	kept, err := l.db.add(l.slot, l.term, l.at, g)
	if err != nil || !kept {
		if err := l.resolve(g, err); err != nil {
			return l.fail(err)
		}
	}
	l.at = g.end()
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
			return fmt.Errorf("%w: %w", errSilent, cause)
		case <-pause.C:
		}
	}
}

// look moves the term, so that the end of the log is final, and takes the group for kept where that is the end.
func (l *log) look(g group) (kept bool, err error) {
	term, err := l.db.again(l.slot, l.me, l.term)
	if err != nil {
		return false, err
	}
	if term == 0 {
		return false, errTaken
	}
	l.term = term
	end, err := l.db.last(l.slot)
	switch {
	case err != nil:
		return false, err
	case end.is(g):
		return true, nil
	case !end.is(l.at):
		return false, fmt.Errorf("%w (it ends with record %d, and %d was confirmed)", errWentBack, end.last, l.at.last)
	}
	return l.db.add(l.slot, l.term, l.at, g)
}

// Read implements commit.Log.
func (l *log) Read(from uint64, yield func(first uint64, group []byte) bool) error {
	for {
		page, err := l.db.read(l.slot, from, pageGroups)
		if err != nil {
			return err
		}
		for _, g := range page {
			if !yield(g.first, g.data) {
				return nil
			}
			from = g.last + 1
		}
		if len(page) < pageGroups {
			return nil
		}
	}
}

// Truncate implements commit.Log.
func (l *log) Truncate(from uint64) error {
	done, err := l.db.cut(l.slot, l.term, from)
	if err == nil && !done {
		err = l.fail(errTaken)
	}
	if err != nil {
		return err
	}
	l.at, err = l.db.last(l.slot)
	return err
}

// Head implements commit.Log.
func (l *log) Head() (first uint64, err error) {
	end, err := l.db.last(l.slot)
	return end.first, err
}

// Close hands the slot over: another instance may claim it at once.
func (l *log) Close() error {
	close(l.ended)
	<-l.done
	err := l.db.release(l.me)
	l.db.close()
	return err
}
