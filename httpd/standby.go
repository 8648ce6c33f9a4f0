package httpd

import (
	"context"
	"log/slog"
	"net"
	"sync"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// Standby answers clients on a listener while another instance decides: it is alive, it is not ready, and everything else is refused
// as the API refuses what its store can't confirm. Each connection ends with its answer, so that the next one finds the instance that
// decides, or this one when it does.
type Standby struct {
	http   *fasthttp.Server
	lender *lender
	ended  chan error
}

// NewStandby answers on a listener, and returns what does, and the listener for a server that is to follow after Shutdown. checks say
// why the instance is not ready.
func NewStandby(listener net.Listener, checks func() []Check, log *slog.Logger) (*Standby, net.Listener) {
	s := &Standby{lender: &lender{Listener: listener, accepted: make(chan net.Conn)}, ended: make(chan error, 1)}
	s.http = newHTTP(log, guard(log, func(ctx *fasthttp.RequestCtx) { refuseStandby(ctx, checks) }), Timeouts{})
	lent := &loan{lender: s.lender, over: make(chan struct{})}
	go func() { s.ended <- s.http.Serve(lent) }()
	return s, s.lender
}

// Shutdown finishes the requests in flight, and leaves the listener open.
func (s *Standby) Shutdown(ctx context.Context) error {
	if err := s.http.ShutdownWithContext(ctx); err != nil {
		return err
	}
	return <-s.ended
}

func refuseStandby(ctx *fasthttp.RequestCtx, checks func() []Check) {
	ctx.SetConnectionClose()
	switch string(pathOf(&ctx.Request.Header)) {
	case "/healthz":
		writeJSON(ctx, fasthttp.StatusOK, healthy)
	case "/readyz":
		status, document := readiness(checks)
		writeJSON(ctx, status, document)
		ctx.Response.Header.SetCanonical(cacheControl, noStore)
	default:
		writeFailure(ctx, &service.Failure{Code: errcode.StoreUnavailable, Message: "this instance waits while another one decides; nothing was done: ask the other one, or this one again when GET /readyz answers 200"})
	}
}

// A lender is a listener whose connections go to whichever server accepts them at the time.
type lender struct {
	net.Listener
	begin    sync.Once
	accepted chan net.Conn // closed when the listener is
	failure  error         // of the listener, when accepted is closed
}

// accept hands out the connections of the listener, one after the other.
func (l *lender) accept() {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			l.failure = err
			close(l.accepted)
			return
		}
		l.accepted <- connection
	}
}

// next returns the next connection, or net.ErrClosed where over is closed first.
func (l *lender) next(over <-chan struct{}) (net.Conn, error) {
	l.begin.Do(func() { go l.accept() })
	select {
	case <-over:
		return nil, net.ErrClosed
	default:
	}
	select {
	case connection, open := <-l.accepted:
		if !open {
			return nil, l.failure
		}
		return connection, nil
	case <-over:
		return nil, net.ErrClosed
	}
}

// Accept implements net.Listener.
func (l *lender) Accept() (net.Conn, error) { return l.next(nil) }

// A loan is the lender's listener for a server that gives it back: its Close leaves the listener open.
type loan struct {
	*lender
	once sync.Once
	over chan struct{}
}

// Accept implements net.Listener.
func (l *loan) Accept() (net.Conn, error) { return l.next(l.over) }

// Close implements net.Listener.
func (l *loan) Close() error {
	l.once.Do(func() { close(l.over) })
	return nil
}
