package main

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"bailiff/runtime/authority"
)

const (
	// Where no connection can be accepted the next try waits for so long, and twice as long each time, up to the most.
	acceptPause     = 5 * time.Millisecond
	mostAcceptPause = time.Second
	// acceptLogEvery is how often the log says that connections have to wait.
	acceptLogEvery = time.Minute
)

// places bounds how many connections are open at once, of all listeners that share it. It is nil where nothing does.
type places chan struct{}

// Of the files that the process may open, at least these and a quarter stay for the record, for deliveries, for the
// chains' nodes and for the operator; maxPlaces is how many connections a server of httpd takes at most.
const (
	reservedFiles = 64
	maxPlaces     = 256 << 10
)

// placesFor is how many connections may be open where the process may open so many files.
func placesFor(files uint64) int {
	reserved := max(reservedFiles, files/4)
	if files <= reserved {
		return 1
	}
	return int(min(files-reserved, maxPlaces))
}

// newPlaces bounds connections by the files that this process may open.
func newPlaces() places {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil
	}
	return make(places, placesFor(limit.Cur))
}

// A steadyListener goes on where a connection can't be accepted for want of files or memory, which a server would take for
// the end of its listener: otherwise whoever opens connections until there are no files left ends the service. And it
// accepts no more of them than there are places.
type steadyListener struct {
	net.Listener
	log    *slog.Logger
	clock  authority.Clock
	places places
	closed chan struct{}
	close  func() error
	told   time.Time // of the last line in the log; only Accept looks at it
}

// steady makes a listener steady. Accept is then called by one goroutine at a time.
func steady(inner net.Listener, p places, clock authority.Clock, log *slog.Logger) *steadyListener {
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
			return &placedConn{connection, sync.OnceFunc(l.leave)}, nil
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

// enter waits for a place, and reports false where the listener is closed first.
func (l *steadyListener) enter() bool {
	if l.places == nil {
		return true
	}
	select {
	case l.places <- struct{}{}:
		return true
	default:
	}
	l.tell("as many connections are open as the limit of open files allows, and new ones wait; raise it (ulimit -n, LimitNOFILE)", "connections", cap(l.places))
	select {
	case l.places <- struct{}{}:
		return true
	case <-l.closed:
		return false
	}
}

func (l *steadyListener) leave() {
	if l.places != nil {
		<-l.places
	}
}

// tell logs a line, and no more than one in a minute.
func (l *steadyListener) tell(message string, arguments ...any) {
	if now := l.clock(); now.Sub(l.told) >= acceptLogEvery {
		l.told = now
		l.log.Warn(message, append(arguments, "address", l.Addr().String())...)
	}
}

// A placedConn has a place, which it leaves when it is closed.
type placedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *placedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
