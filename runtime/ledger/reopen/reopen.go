// Package reopen opens a log again after it has failed: it closes the failed one and tries, with growing pauses, until the
// disk works and the ledger above has read what is there.
//
// Nothing that was acknowledged is lost by that, because the ledger is its log. While the log is away, every call of it is
// refused with an error that wraps ledger.ErrUnavailable and says why.
//
// The failed log is closed before it is opened again, since it has its directory locked. A log that does not close is
// waited for in the background: calls continue to be refused, and Stuck is called.
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
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/system"
)

// Options say how a log is opened again. Only Random is required.
type Options struct {
	Log    *slog.Logger // gets every failure, attempt and recovery; nil for none
	Random io.Reader    // of the jitter

	Least    time.Duration // the first pause; 0 for 50 ms
	Most     time.Duration // the longest pause; 0 for 5 s
	Patience time.Duration // for a log that does not close; 0 for 15 s

	// Stuck is called with a failed log that has not closed within Patience, or that has closed and still has its directory
	// locked, so that it does not open again (ledger.ErrLocked). Only a new process is sure to end that: Stuck may
	// end this one, where something starts it again. It is called once for each failure. nil for nothing.
	Stuck func(error)
	// Opening is called when an attempt begins, and what it returns when the attempt ends. nil for nothing.
	Opening func() (done func())
	// Go starts what may hang, such as closing a failed log, in the background; nil means system.Go.
	Go func(task func())
	// Timers measure pauses and patience; nil means the machine's.
	Timers system.Timers
}

func (o *Options) setDefaults() {
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&o.Least, 50 * time.Millisecond}, {&o.Most, 5 * time.Second}, {&o.Patience, 15 * time.Second}} {
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
	if o.Go == nil {
		o.Go = system.Go
	}
	if o.Opening == nil {
		o.Opening = func() func() { return func() {} }
	}
}

// A Log is a commit.Log over one that is opened again when it has failed.
type Log struct {
	open    func() (commit.Log, error)
	options Options

	away atomic.Pointer[error] // why no log is open; nil while one is

	calls sync.RWMutex // for reading during every call, so that none uses a closed log
	inner commit.Log

	pause  time.Duration // before the next attempt
	steady atomic.Bool   // the log has worked for Most since it was opened
	timer  system.Timer  // sets steady

	ending chan struct{} // closed by Finish
	finish sync.Once
}

var (
	_ commit.Reopener  = (*Log)(nil)
	_ commit.Dropper   = (*Log)(nil)
	_ commit.Confirmer = (*Log)(nil)
)

// Open opens a log for the first time and returns one that is opened again by the same function. The error is that of the function.
func Open(open func() (commit.Log, error), options Options) (*Log, error) {
	options.setDefaults()
	inner, err := open()
	if err != nil {
		return nil, err
	}
	return &Log{open: open, options: options, inner: inner, ending: make(chan struct{})}, nil
}

// use makes one call of the log that is open.
func (l *Log) use(call func(commit.Log) error) error {
	if !l.calls.TryRLock() {
		return l.refusal()
	}
	defer l.calls.RUnlock()
	if l.away.Load() != nil {
		return l.refusal()
	}
	return call(l.inner)
}

// refusal returns why no log is open.
func (l *Log) refusal() error {
	if cause := l.away.Load(); cause != nil {
		return fmt.Errorf("%w: %v", ledger.ErrUnavailable, *cause) //nolint:errorlint // the refused call itself is not unknown
	}
	return fmt.Errorf("%w: the log is being opened again", ledger.ErrUnavailable)
}

// Append implements commit.Log.
func (l *Log) Append(first uint64, group []byte) error {
	return l.use(func(log commit.Log) error { return log.Append(first, group) })
}

// Read implements commit.Log.
func (l *Log) Read(from uint64, yield func(first uint64, group []byte) bool) error {
	return l.use(func(log commit.Log) error { return log.Read(from, yield) })
}

// Truncate implements commit.Log.
func (l *Log) Truncate(from uint64) error {
	return l.use(func(log commit.Log) error { return log.Truncate(from) })
}

// Head implements commit.Log.
func (l *Log) Head() (first uint64, err error) {
	err = l.use(func(log commit.Log) error {
		first, err = log.Head()
		return err
	})
	return first, err
}

// dropper makes one call of the log that is open, if it can drop groups.
func (l *Log) dropper(call func(commit.Dropper) error) error {
	return l.use(func(log commit.Log) error {
		if log, ok := log.(commit.Dropper); ok {
			return call(log)
		}
		return ledger.ErrNotRetained
	})
}

// SaveBase implements commit.Dropper.
func (l *Log) SaveBase(lsn uint64, write func(io.Writer) error, reached func(ledger.RetentionStep) error) error {
	return l.dropper(func(log commit.Dropper) error { return log.SaveBase(lsn, write, reached) })
}

// OpenBase implements commit.Dropper.
func (l *Log) OpenBase(lsn uint64) (base commit.Base, err error) {
	err = l.dropper(func(log commit.Dropper) error {
		base, err = log.OpenBase(lsn)
		return err
	})
	return base, err
}

// Drop implements commit.Dropper.
func (l *Log) Drop(lsn uint64, beginning []byte, reached func(ledger.RetentionStep) error) error {
	return l.dropper(func(log commit.Dropper) error { return log.Drop(lsn, beginning, reached) })
}

// Free implements commit.Dropper.
func (l *Log) Free(lsn uint64, reached func(ledger.RetentionStep) error) error {
	return l.dropper(func(log commit.Dropper) error { return log.Free(lsn, reached) })
}

// Mark implements commit.Confirmer. While no log is open it is 0, which no log that is opened later confirms.
func (l *Log) Mark() (mark uint64) {
	l.use(func(log commit.Log) error { //nolint:errcheck // Confirm is refused then
		if log, ok := log.(commit.Confirmer); ok {
			mark = log.Mark()
		}
		return nil
	})
	return mark
}

// Confirm implements commit.Confirmer.
func (l *Log) Confirm(mark uint64) error {
	return l.use(func(log commit.Log) error {
		if log, ok := log.(commit.Confirmer); ok {
			return log.Confirm(mark)
		}
		return nil
	})
}

// Current implements commit.Reopener.
func (l *Log) Current() commit.Log { return l.inner }

// Health returns why no log is open, or what the open one says of itself.
func (l *Log) Health() error {
	if l.away.Load() != nil {
		return l.refusal()
	}
	return l.use(func(log commit.Log) error {
		if log, ok := log.(interface{ Health() error }); ok {
			return log.Health()
		}
		return nil
	})
}

// Reopen implements commit.Reopener.
func (l *Log) Reopen(cause error, leave func(), resume func() error) bool {
	l.away.Store(&cause)
	l.options.Log.Error("the ledger has failed; everything is refused until it is open again", "cause", cause)
	told := false
	stuck := func(err error) {
		if !told {
			told = true
			l.options.Log.Error("the failed ledger does not let go; end the process and start it again", "error", err)
			l.options.Stuck(err)
		}
	}
	if l.timer == nil || l.steady.Load() {
		l.pause = l.options.Least
	} else {
		l.timer.Stop()
	}
	if !l.await(l.release(leave), cause, stuck) {
		return false
	}
	for attempt := 1; l.sleep(l.pause); attempt++ {
		l.pause = min(2*l.pause, l.options.Most)
		err := l.attempt(resume)
		if err == nil {
			l.steady.Store(false)
			l.timer = l.options.Timers.AfterFunc(l.options.Most, func() { l.steady.Store(true) })
			l.options.Log.Info("the ledger is open again", "attempt", attempt)
			return true
		}
		why := fmt.Errorf("it failed (%v) and does not open again: %v", cause, err) //nolint:errorlint // only the text may be visible
		l.away.Store(&why)
		l.options.Log.Error("the ledger does not open again", "attempt", attempt, "error", err)
		if errors.Is(err, ledger.ErrLocked) {
			stuck(err)
		}
	}
	return false
}

// release closes the failed log once leave has returned and all calls have ended. The channel gets the result.
func (l *Log) release(leave func()) <-chan error {
	closed := make(chan error, 1)
	l.options.Go(func() {
		leave()
		l.calls.Lock()
		defer l.calls.Unlock()
		closed <- guarded("closing", func() error { return closeLog(l.inner) })
	})
	return closed
}

func closeLog(log commit.Log) error {
	if log, ok := log.(io.Closer); ok {
		return log.Close()
	}
	return nil
}

// await waits until a failed log has closed, and reports false where Finish came first.
func (l *Log) await(closed <-chan error, cause error, stuck func(error)) bool {
	patience := l.options.Timers.Alarm(l.options.Patience)
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

// attempt opens the log and has the ledger read it. Where that fails, the log is closed again.
func (l *Log) attempt(resume func() error) error {
	defer l.options.Opening()()
	var inner commit.Log
	err := guarded("opening", func() (err error) {
		inner, err = l.open()
		return err
	})
	if err != nil {
		return err
	}
	l.calls.Lock()
	l.inner = inner
	l.calls.Unlock()
	before := l.away.Swap(nil)
	if err = guarded("opening", resume); err == nil {
		return nil
	}
	l.away.Store(before)
	l.calls.Lock()
	defer l.calls.Unlock()
	return errors.Join(err, guarded("closing", func() error { return closeLog(inner) }))
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

// sleep waits for half of a pause and a random part of the other half, and reports false where Finish came first.
func (l *Log) sleep(pause time.Duration) bool {
	timer := l.options.Timers.Alarm(pause/2 + l.jitter(pause/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ending:
		return false
	}
}

// jitter returns a random part of most. Where there is no randomness it is all of it.
func (l *Log) jitter(most time.Duration) time.Duration {
	var b [8]byte
	if _, err := io.ReadFull(l.options.Random, b[:]); err != nil || most <= 0 {
		return max(most, 0)
	}
	return time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(most))
}

// Finish implements commit.Reopener.
func (l *Log) Finish(end func() error) error {
	l.finish.Do(func() { close(l.ending) })
	closed := make(chan error, 1)
	l.options.Go(func() { closed <- guarded("closing", end) })
	patience := l.options.Timers.Alarm(l.options.Patience)
	defer patience.Stop()
	select {
	case err := <-closed:
		return err
	case <-patience.C:
		return fmt.Errorf("ledger: it has not closed within %v", l.options.Patience)
	}
}

// Close closes the log that is open, once all calls have ended. A log that has failed has been closed, or is being closed.
func (l *Log) Close() error {
	if l.away.Load() != nil {
		return nil
	}
	l.calls.Lock()
	defer l.calls.Unlock()
	closed := ledger.ErrClosed
	l.away.Store(&closed)
	return closeLog(l.inner)
}
