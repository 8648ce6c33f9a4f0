package strict

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// drainTime is how long clients have, on shutdown, to send their next request and be told to close their connection. It begins
	// anew with each that is told, as others may then be merely slow, and ends after mostDrainTime in any case.
	drainTime     = 500 * time.Millisecond
	mostDrainTime = 2 * time.Second
	drainStep     = 10 * time.Millisecond
	// arrivalTime is how long what has begun to arrive has after that.
	arrivalTime = time.Second
)

// A Server serves a fasthttp server on one listener: it enforces the deadlines of connections, and drains them on Shutdown.
type Server struct {
	http      *fasthttp.Server
	listener  atomic.Pointer[closeOnce]
	deadlines atomic.Pointer[deadlineListener]
	draining  atomic.Bool
	told      atomic.Bool // a client since Shutdown last looked
	serving   context.Context
	stop      context.CancelFunc
}

// NewServer returns a server over http, which it takes over.
func NewServer(http *fasthttp.Server) *Server {
	s := &Server{http: http}
	s.serving, s.stop = context.WithCancel(context.Background())
	return s
}

// Serving returns a context that ends when Shutdown begins: requests that wait for something are answered then.
func (s *Server) Serving() context.Context { return s.serving }

// Draining reports whether Shutdown has begun, so that the answer that asks has to close its connection.
func (s *Server) Draining() bool {
	if !s.draining.Load() {
		return false
	}
	s.told.Store(true)
	return true
}

// OpenConnections returns how many connections are open.
func (s *Server) OpenConnections() int { return int(s.http.GetOpenConnectionsCount()) }

// Serve answers on a listener until Shutdown. It is called once.
func (s *Server) Serve(listener net.Listener) error {
	kept := newDeadlineListener(listener, deadlineRound)
	once := &closeOnce{Listener: kept}
	s.deadlines.Store(kept)
	s.listener.Store(once)
	return s.http.Serve(once)
}

// Shutdown accepts no more connections, finishes what is in flight, and returns when that is done or ctx ends. Clients that
// keep their connection get a moment in which their next answer tells them to close it: a connection that is merely
// idle may have a request on its way. What has begun to arrive gets a moment more to do so.
func (s *Server) Shutdown(ctx context.Context) error {
	if listener := s.listener.Load(); listener != nil {
		_ = listener.Close() // Serve returns what is wrong with it
	}
	s.draining.Store(true)
	s.stop()
	draining, cancel := context.WithTimeout(ctx, mostDrainTime)
	defer cancel()
	for wait := drainTime; wait > 0 && s.OpenConnections() > 0 && draining.Err() == nil; wait -= drainStep {
		time.Sleep(drainStep)
		if s.told.Swap(false) {
			wait = drainTime
		}
	}
	if kept := s.deadlines.Load(); kept != nil {
		defer time.AfterFunc(arrivalTime, kept.endReading).Stop()
	}
	return s.http.ShutdownWithContext(ctx)
}

// closeOnce is a listener that may be closed again.
type closeOnce struct {
	net.Listener
	once sync.Once
	err  error
}

// Close implements net.Listener.
func (l *closeOnce) Close() error {
	l.once.Do(func() { l.err = l.Listener.Close() })
	return l.err
}
