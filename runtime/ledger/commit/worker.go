package commit

import (
	"sync"
	"time"

	"bailiff/runtime/system"
)

// closingPatience bounds how long Close waits for a worker once the log has failed: the worker may wait for the log.
const closingPatience = time.Second

// A worker is a goroutine beside the ledger, which Close ends.
type worker struct {
	wake chan struct{} // one token: there is something to do
	stop chan struct{} // closed by end
	once *sync.Once    // of closing stop
	done chan struct{} // closed when the worker has ended
}

func newWorker() worker {
	return worker{wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}), once: new(sync.Once)}
}

// nudge wakes the worker.
func (w *worker) nudge() {
	select {
	case w.wake <- struct{}{}:
	default: // it has been woken and has not looked yet
	}
}

// stopped reports whether the worker is to end.
func (w *worker) stopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// end stops the worker and waits for it: once the log has failed, or after a time, for closingPatience only.
func (w *worker) end(failed <-chan struct{}, after <-chan time.Time, timers system.Timers) {
	w.once.Do(func() { close(w.stop) })
	select {
	case <-w.done:
		return
	case <-failed:
	case <-after:
	}
	select {
	case <-w.done:
	case <-timers.Alarm(closingPatience).C:
	}
}
