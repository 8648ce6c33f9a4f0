package serve

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"bailiff/runtime/clock"
)

const (
	// Where no connection can be accepted the next try waits for so long, and twice as long each time, up to the most.
	acceptPause     = 5 * time.Millisecond
	mostAcceptPause = time.Second
	// acceptLogEvery is how often the log says that connections have to wait.
	acceptLogEvery = time.Minute
)

// A steadyListener goes on where a connection can't be accepted for want of files or memory, which a server would take for
// the end of its listener: otherwise whoever opens connections until there are no files left ends the service. And it
// accepts no more of them than there are places.
type steadyListener struct {
	net.Listener
	log    *slog.Logger
	clock  clock.Clock
	places *places
	closed chan struct{}
	close  func() error
	told   time.Time // of the last line in the log; only Accept looks at it
}

// steady makes a listener steady. Accept is then called by one goroutine at a time.
func steady(inner net.Listener, p *places, clock clock.Clock, log *slog.Logger) *steadyListener {
	l := &steadyListener{Listener: inner, log: log, clock: clock, places: p, closed: make(chan struct{})}
	l.close = sync.OnceValue(func() error {
		close(l.closed)
		return inner.Close()
	})
	return l
}

// Close implements net.Listener. It may be called again.
func (l *steadyListener) Close() error { return l.close() }

// Accept implements net.Listener.
func (l *steadyListener) Accept() (net.Conn, error) {
	if !l.enter() {
		return nil, net.ErrClosed
	}
	for pause := acceptPause; ; pause = min(2*pause, mostAcceptPause) {
		connection, err := l.Listener.Accept()
		if err == nil && l.places != nil {
			if placed := l.places.place(connection); placed != nil {
				return placed, nil
			}
			l.tell("a source has as many connections as it may have, and more of it are closed", "connections", maxPerSource, "source", connection.RemoteAddr().String())
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

// passing reports whether an error of Accept goes by when other connections have ended.
func passing(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}

// enter takes a place, for which the longest idle connection may have to end, and reports false where the listener is closed
// first.
func (l *steadyListener) enter() bool {
	if l.places == nil {
		return true
	}
	for {
		select {
		case l.places.slots <- struct{}{}:
			return true
		default:
		}
		l.tell("as many connections are open as the limit of open files allows: idle ones are closed, or new ones wait; raise it (ulimit -n, LimitNOFILE)", "connections", cap(l.places.slots))
		l.places.endIdle()
		select {
		case l.places.slots <- struct{}{}:
			return true
		case <-l.closed:
			return false
		case <-time.After(endIdleEvery):
		}
	}
}

func (l *steadyListener) leave() {
	if l.places != nil {
		<-l.places.slots
	}
}

// tell logs a line, and no more than one in a minute.
func (l *steadyListener) tell(message string, arguments ...any) {
	if now := l.clock(); now.Sub(l.told) >= acceptLogEvery {
		l.told = now
		l.log.Warn(message, append(arguments, "address", l.Addr().String())...)
	}
}
