package commit

import (
	"io"
)

// A Reopener is a Log that can be opened again after it has failed. The ledger over it continues then from the durable state, and
// refuses everything until then.
type Reopener interface {
	Log
	io.Closer
	// Current returns the log that is open. It keeps snapshots and an index where that one does.
	Current() Log
	// Reopen closes the log, after leave has returned, and opens it again until resume, which reads it, succeeds. It reports
	// false where Finish came first.
	Reopen(cause error, leave func(), resume func() error) bool
	// Finish ends Reopen, runs end, and returns its result, or an error where end takes too long. end continues then.
	Finish(end func() error) error
	// Health returns why the log is not open, or what it says of itself.
	Health() error
}

// current returns the log that is open.
func (l *Ledger) current() Log {
	if log, ok := l.log.(Reopener); ok {
		return log.Current()
	}
	return l.log
}

// heal opens the log again whenever it has failed, until Close.
func (l *Ledger) heal(log Reopener) {
	defer close(l.healed)
	for {
		l.mu.Lock()
		failed := l.failed
		l.mu.Unlock()
		select {
		case <-l.ending:
			return
		case <-failed:
		}
		select {
		case <-l.ending: // both had come
			return
		default:
		}
		l.mu.Lock()
		cause := l.failure
		l.mu.Unlock()
		if !log.Reopen(cause, l.leave, l.resume) {
			return
		}
	}
}

// leave ends what works on the log beside the callers: the committer and the workers.
func (l *Ledger) leave() {
	l.mu.Lock()
	done, failed, snapshots, index := l.done, l.failed, l.snapshots, l.indexer
	l.mu.Unlock()
	l.signal()
	<-done
	if snapshots != nil {
		snapshots.end(failed, nil, l.options.Timers)
	}
	if index != nil {
		index.end(failed, l.options.Timers.Alarm(indexPatience).C, l.options.Timers)
	}
}

// failing returns what a log calls when it fails outside Append. It concerns the log that is open now, and not one that is opened
// after it.
func (l *Ledger) failing() func(error) {
	l.mu.Lock()
	failed := l.failed
	l.mu.Unlock()
	return func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.failed == failed {
			l.failLocked(err)
		}
	}
}
