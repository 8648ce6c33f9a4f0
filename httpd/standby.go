package httpd

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/peers"
	"bailiff/httpd/strict"
	"bailiff/runtime/budget"
	"bailiff/runtime/clock"
	"bailiff/runtime/metrics"
)

// StandbyConfig is what a standby is made of. Pass is nil where it passes nothing on; all else is required.
type StandbyConfig struct {
	Checks         func() []Check // why the instance is not ready, or that it passes requests on
	Pass           *peers.Passing
	Passed         bool // requests come from other instances
	Log            *slog.Logger
	Clock          clock.Clock
	Random         io.Reader      // for the ids of requests
	TrustedProxies []netip.Prefix // as those of the server that follows
	Metrics        *metrics.Metrics
	Bodies         *budget.Budget // as the server's that follows; nil: NewBodies
}

// Standby answers clients on a listener while another instance decides: it is alive, and passes requests on to that instance, or refuses
// them as the API refuses what its store can't confirm. It keeps its connections when a server of the same instance takes over from it
// ([Standby.NewServer]).
type Standby struct {
	http   *strict.Server
	checks func() []Check
	server *Server // reads requests; it has no authority
	ended  chan error

	made *Server                // by NewServer
	next atomic.Pointer[Server] // made, when it has taken over
	over chan struct{}          // closed when one has
}

// NewStandby answers on a listener at once.
func NewStandby(listener net.Listener, c StandbyConfig) (*Standby, error) {
	s := &Standby{checks: c.Checks, ended: make(chan error, 1), over: make(chan struct{})}
	s.server = &Server{
		config: Config{Clock: c.Clock, TrustedProxies: c.TrustedProxies, Metrics: c.Metrics, Pass: c.Pass, Passed: c.Passed},
		log:    c.Log, bodies: c.Bodies, passed: c.Metrics.Route(passedRoute),
	}
	if s.server.bodies == nil {
		s.server.bodies = NewBodies(c.Clock, c.Log)
	}
	if err := s.server.ids.init(c.Random); err != nil {
		return nil, err
	}
	s.http = newStrict(c.Log, s.answer, Timeouts{})
	s.server.http = s.http
	go func() { s.ended <- s.http.Serve(listener) }()
	return s, nil
}

// NewServer returns the server that answers once Serve is called. Its timeouts are the standby's.
func (s *Standby) NewServer(c Config) (*Server, error) {
	server, err := New(c)
	if err != nil {
		return nil, err
	}
	server.http, s.made = s.http, server
	return server, nil
}

// Serve has the server of NewServer answer from now on, and returns when nothing is answered any more. The listener is the one that the
// standby has.
func (s *Standby) Serve(net.Listener) error {
	s.next.Store(s.made)
	close(s.over)
	return <-s.ended
}

// Shutdown ends the standby as [strict.Server.Shutdown] does.
func (s *Standby) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

func (s *Standby) answer(ctx *fasthttp.RequestCtx) {
	if next := s.next.Load(); next != nil {
		next.dispatch(ctx)
		return
	}
	switch string(pathOf(&ctx.Request.Header)) {
	case "/healthz":
		writeJSON(ctx, fasthttp.StatusOK, healthy)
	case "/readyz":
		status, document := readiness(s.waiting)
		writeJSON(ctx, status, document)
		ctx.Response.Header.SetCanonical(cacheControl, noStore)
	default:
		s.server.with(ctx, s.elsewhere)
		return
	}
	if s.http.Draining() || ctx.Request.IsBodyStream() {
		ctx.SetConnectionClose()
	}
}

// waiting returns why the instance is not ready. One that passes nothing on refuses requests until a server has taken over.
func (s *Standby) waiting() []Check {
	checks := s.checks()
	if s.server.config.Pass == nil && !slices.ContainsFunc(checks, func(c Check) bool { return !c.Ready }) {
		return append([]Check{{Name: "service", Reason: "it is starting"}}, checks...)
	}
	return checks
}

// elsewhere has another instance answer a request.
func (s *Standby) elsewhere(c *call) *metrics.Route {
	if s.server.config.Pass != nil {
		return s.server.passOn(c, 0, s.next.Load, s.over)
	}
	s.server.refuse(c, "this instance waits while another one decides; nothing was done: ask the other one, or this one again when GET /readyz answers 200")
	if s.server.config.Passed {
		c.Response.Header.Set(peers.Back, "1")
	}
	return s.server.passed
}
