// Package reopen is a ledger that heals itself: around one that refuses everything after a failed write, it closes
// that one and opens it again, with growing pauses, until the disk works.
//
// Nothing that was acknowledged is lost by that, because the ledger is its log: what opens again has replayed it. What
// was under way when the write failed stays unknown. In the meantime every call is refused with an error that wraps
// ledger.ErrUnavailable and says why; only LookupKey goes on answering from what it last knew, so that a good key is
// told that the service is unavailable and not that it is unknown.
//
// The failed ledger is closed before it is opened again, since it holds its directory. A ledger that does not close is
// waited for without anybody being kept waiting: calls go on being refused, and Stuck is told.
//
// Deliveries that were handed out stay handed out: the one who has them can settle them while the ledger is away, and
// the one that comes back does not hand them out a second time.
package reopen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/runtime/ledger"
)

// Options say when and how a ledger is opened again. Only Random is required.
type Options struct {
	Log    *slog.Logger // told of every failure, attempt and recovery; nil for none
	Random io.Reader    // of the jitter

	Check    time.Duration // between two looks at the ledger's health; 0 for 50 ms
	Least    time.Duration // the first pause; 0 for 50 ms
	Most     time.Duration // the longest pause; 0 for 5 s
	Patience time.Duration // for a ledger that does not close; 0 for 15 s

	// Stuck is told of a failed ledger that has not closed within Patience, or that has closed and holds its directory
	// still, so that it does not open again (ledger.ErrLocked). Only a new process gets out of that for sure: Stuck may
	// end this one, where something starts it again. It is told once of each failure. nil for nothing.
	Stuck func(error)
}

func (o *Options) setDefaults() {
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&o.Check, 50 * time.Millisecond}, {&o.Least, 50 * time.Millisecond}, {&o.Most, 5 * time.Second}, {&o.Patience, 15 * time.Second}} {
		if *d.value <= 0 {
			*d.value = d.usual
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Stuck == nil {
		o.Stuck = func(error) {}
	}
}

// A Ledger is a ledger.Ledger over one that is opened again when it fails.
type Ledger struct {
	open     func() (ledger.Ledger, error)
	options  Options
	current  atomic.Pointer[status]
	nudge    chan struct{} // one token: a call was refused
	outboxed chan struct{} // one token: deliveries wait
	outbox   outbox

	ending   chan struct{} // closed by Close
	kept     chan struct{} // closed when the keeper has ended
	closing  sync.Once
	closeErr error
}

var _ ledger.Ledger = (*Ledger)(nil)

// A status is the session that serves or, where cause is not nil, the one that failed last, and why.
type status struct {
	session *session
	cause   error
}

// A session is the life of one inner ledger.
type session struct {
	inner ledger.Ledger
	// calls is held for reading by every call that may read the disk, so that none of them meets a closed one.
	calls sync.RWMutex
	ended chan struct{} // closed when the session has failed or the ledger is closed
}

// Open opens a ledger for the first time and returns one that opens it again, by the same function, when it has
// failed. The error is that of the function.
func Open(open func() (ledger.Ledger, error), options Options) (*Ledger, error) {
	inner, err := open()
	if err != nil {
		return nil, err
	}
	options.setDefaults()
	l := &Ledger{
		open: open, options: options, outbox: newOutbox(),
		nudge: make(chan struct{}, 1), outboxed: make(chan struct{}, 1),
		ending: make(chan struct{}), kept: make(chan struct{}),
	}
	l.begin(inner)
	go l.keep()
	return l, nil
}

// begin has inner serve. What came of deliveries while none served is told to it before anybody can ask it for more.
func (l *Ledger) begin(inner ledger.Ledger) {
	s := &session{inner: inner, ended: make(chan struct{})}
	l.outbox.settle(inner)
	l.current.Store(&status{session: s})
	go l.forward(s)
}

// forward passes on that deliveries wait, until the session ends.
func (l *Ledger) forward(s *session) {
	for {
		select {
		case _, open := <-s.inner.Outboxed():
			if !open {
				return
			}
			signal(l.outboxed)
		case <-s.ended:
			return
		}
	}
}

// keep looks after the inner ledger until Close.
func (l *Ledger) keep() {
	defer close(l.kept)
	tick := time.NewTicker(l.options.Check)
	defer tick.Stop()
	pause, well := l.options.Least, time.Duration(0)
	for {
		select {
		case <-l.ending:
			return
		case <-l.nudge:
		case <-tick.C:
			if well += l.options.Check; well > l.options.Most {
				pause = l.options.Least
			}
		}
		s := l.current.Load().session
		if err := s.inner.Health(); lost(err) {
			var healed bool
			if pause, healed = l.heal(s, err, pause); !healed {
				return
			}
			well = 0
			continue
		}
		l.outbox.settle(s.inner)
	}
}

// lost reports whether a ledger of this health has to be opened again. One that is only behind, or has trouble that it
// still works with, recovers by itself.
func lost(health error) bool {
	return errors.Is(health, ledger.ErrUnavailable) && !errors.Is(health, ledger.ErrBusy)
}

// heal replaces a session that has failed. It returns the pause to begin with should the next one fail soon, and false
// where Close came first: the session has ended then, and no other has begun.
func (l *Ledger) heal(s *session, cause error, pause time.Duration) (next time.Duration, healed bool) {
	l.end(s, cause)
	l.options.Log.Error("the ledger has failed; everything is refused until it is open again", "cause", cause)
	told := false
	stuck := func(err error) {
		if !told {
			told = true
			l.options.Log.Error("the failed ledger does not let go; end the process and start it again", "error", err)
			l.options.Stuck(err)
		}
	}
	if !l.await(l.release(s), cause, stuck) {
		return pause, false
	}
	for attempt := 1; l.sleep(pause); attempt++ {
		pause = min(2*pause, l.options.Most)
		inner, err := l.attempt()
		if err == nil {
			l.begin(inner)
			signal(l.outboxed) // what waited before may have been told to nobody
			l.options.Log.Info("the ledger is open again", "attempt", attempt)
			return pause, true
		}
		l.current.Store(&status{session: s, cause: fmt.Errorf("%w: it failed (%v) and does not open again: %v", ledger.ErrUnavailable, cause, err)}) //nolint:errorlint // nothing but that may shine through
		l.options.Log.Error("the ledger does not open again", "attempt", attempt, "error", err)
		if errors.Is(err, ledger.ErrLocked) {
			stuck(err)
		}
	}
	return pause, false
}

// end has everything refused because of cause.
func (l *Ledger) end(s *session, cause error) {
	l.current.Store(&status{session: s, cause: cause})
	close(s.ended)
}

// release closes the inner ledger once all calls have left it. What it returns gets the result.
func (l *Ledger) release(s *session) <-chan error {
	closed := make(chan error, 1)
	go func() {
		s.calls.Lock()
		closed <- guarded("closing", s.inner.Close)
	}()
	return closed
}

// await waits until a failed ledger has closed, and reports false where Close came first.
func (l *Ledger) await(closed <-chan error, cause error, stuck func(error)) bool {
	patience := time.NewTimer(l.options.Patience)
	defer patience.Stop()
	for {
		select {
		case err := <-closed:
			l.options.Log.Info("the failed ledger is closed", "result", err)
			return true
		case <-patience.C:
			stuck(fmt.Errorf("the failed ledger does not close: %w", cause))
		case <-l.ending:
			return false
		}
	}
}

// attempt opens the inner ledger.
func (l *Ledger) attempt() (inner ledger.Ledger, err error) {
	err = guarded("opening", func() (err error) {
		inner, err = l.open()
		return err
	})
	return inner, err
}

// guarded turns a panic into an error: a disk that fails in an unforeseen way must not end the process.
func guarded(doing string, do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("ledger: panic while %s: %v", doing, cause)
		}
	}()
	return do()
}

// sleep waits for half of a pause and a random part of the other half, and reports false where Close came first.
func (l *Ledger) sleep(pause time.Duration) bool {
	timer := time.NewTimer(pause/2 + l.jitter(pause/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ending:
		return false
	}
}

// jitter returns a random part of most. Where there is no randomness it is all of it.
func (l *Ledger) jitter(most time.Duration) time.Duration {
	var b [8]byte
	if _, err := io.ReadFull(l.options.Random, b[:]); err != nil || most <= 0 {
		return max(most, 0)
	}
	return time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(most))
}

// signal leaves a token where none is.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close implements ledger.Ledger. It waits for a ledger that does not close, or that is being opened, no longer than
// Patience, and returns why the ledger failed where it ends in that state. Whatever it does not wait for is still
// closed.
func (l *Ledger) Close() error {
	l.closing.Do(func() {
		close(l.ending)
		closed := make(chan error, 1)
		go func() { closed <- l.closeLast() }()
		patience := time.NewTimer(l.options.Patience)
		defer patience.Stop()
		select {
		case l.closeErr = <-closed:
		case <-patience.C:
			l.closeErr = fmt.Errorf("ledger: it has not closed within %v", l.options.Patience)
		}
	})
	return l.closeErr
}

// closeLast closes the session that serves when the keeper has ended.
func (l *Ledger) closeLast() error {
	<-l.kept
	now := l.current.Load()
	if now.cause != nil {
		return now.cause
	}
	l.end(now.session, ledger.ErrClosed)
	return <-l.release(now.session)
}
