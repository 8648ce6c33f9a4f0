package strict

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

const (
	// acceptPause is the pause before the next try if no connection can be accepted. It doubles up to mostAcceptPause.
	acceptPause     = 5 * time.Millisecond
	mostAcceptPause = time.Second
	// acceptLogEvery is how often the log says that connections have to wait.
	acceptLogEvery = time.Minute
)

// A retryingListener retries if a connection cannot be accepted for lack of files or memory. A server would take that for the end
// of its listener, so that a client could end the service by opening connections until no files are left. It accepts no more
// connections than there are slots.
type retryingListener struct {
	net.Listener
	log    *slog.Logger
	clock  func() time.Time
	slots  *Slots
	closed chan struct{}
	close  func() error
	logged *rate.Limiter // of lines in the log
}

// NewRetryingListener wraps a listener: it retries if a connection cannot be accepted for lack of files or memory, and gives each
// connection one of the slots, which may be nil. Its Accept is called by one goroutine at a time; its Close may be called again.
func NewRetryingListener(inner net.Listener, s *Slots, clock func() time.Time, log *slog.Logger) net.Listener {
	return newRetryingListener(inner, s, clock, log)
}

func newRetryingListener(inner net.Listener, s *Slots, clock func() time.Time, log *slog.Logger) *retryingListener {
	l := &retryingListener{Listener: inner, log: log, clock: clock, slots: s, closed: make(chan struct{}), logged: rate.NewLimiter(rate.Every(acceptLogEvery), 1)}
	l.close = sync.OnceValue(func() error {
		close(l.closed)
		return inner.Close()
	})
	return l
}

// Close implements net.Listener. It may be called again.
func (l *retryingListener) Close() error { return l.close() }

// Accept implements net.Listener.
func (l *retryingListener) Accept() (net.Conn, error) {
	if !l.enter() {
		return nil, net.ErrClosed
	}
	for pause := acceptPause; ; pause = min(2*pause, mostAcceptPause) {
		connection, err := l.Listener.Accept()
		if err == nil && l.slots != nil {
			if placed := l.slots.place(connection); placed != nil {
				return placed, nil
			}
			l.tell("a source has as many connections as it may have, and more of it are closed", "connections", MaxPerSource, "source", connection.RemoteAddr().String())
			connection.Close()
			pause = acceptPause
			continue
		}
		if !passing(err) {
			if err != nil {
				l.leave()
			}
			return connection, err
		}
		l.tell("no connection can be accepted, and new ones wait; raise how many files may be open (ulimit -n, LimitNOFILE)", "error", err)
		select {
		case <-time.After(pause):
		case <-l.closed:
			l.leave()
			return nil, net.ErrClosed
		}
	}
}

// passing reports whether an error of Accept passes when other connections have ended.
func passing(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}

// enter takes a slot, for which the longest idle connection may have to end, and reports false if the listener is closed first.
func (l *retryingListener) enter() bool {
	if l.slots == nil {
		return true
	}
	for {
		select {
		case l.slots.taken <- struct{}{}:
			return true
		default:
		}
		l.tell("as many connections are open as the limit of open files allows: idle ones are closed, or new ones wait; raise it (ulimit -n, LimitNOFILE)", "connections", cap(l.slots.taken))
		l.slots.endIdle()
		select {
		case l.slots.taken <- struct{}{}:
			return true
		case <-l.closed:
			return false
		case <-time.After(endIdleEvery):
		}
	}
}

func (l *retryingListener) leave() {
	if l.slots != nil {
		<-l.slots.taken
	}
}

// tell logs a line, but at most one a minute.
func (l *retryingListener) tell(message string, arguments ...any) {
	if l.logged.AllowN(l.clock(), 1) {
		l.log.Warn(message, append(arguments, "address", l.Addr().String())...)
	}
}
