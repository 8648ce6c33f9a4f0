package httpd

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/strict"
	"bailiff/runtime/clock"
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// StandbyConfig is what a standby is made of. Pass is nil where it passes nothing on; all else is required.
type StandbyConfig struct {
	Checks         func() []Check // why the instance is not ready, or that it passes requests on
	Pass           *Passing
	Passed         bool // requests come from other instances
	Log            *slog.Logger
	Clock          clock.Clock
	Random         io.Reader      // for the ids of requests
	TrustedProxies []netip.Prefix // as those of the server that follows
	Metrics        *metrics.Metrics
}

// Standby answers clients on a listener while another instance decides: it is alive, and passes requests on to that instance, or refuses
// them as the API refuses what its store can't confirm. It keeps its connections when a server of the same instance takes over from it
// (Config.Standby).
type Standby struct {
	http   *strict.Server
	checks func() []Check
	pass   *Passing
	passed bool
	server *Server // reads requests; it has no authority
	ended  chan error

	next atomic.Pointer[Server] // that has taken over
	over chan struct{}          // closed when one has
}

// NewStandby answers on a listener at once.
func NewStandby(listener net.Listener, c StandbyConfig) (*Standby, error) {
	s := &Standby{checks: c.Checks, pass: c.Pass, passed: c.Passed, ended: make(chan error, 1), over: make(chan struct{})}
	s.server = &Server{config: Config{Clock: c.Clock, TrustedProxies: c.TrustedProxies}, log: c.Log, bodies: NewBodies(c.Clock, c.Log), others: c.Metrics.Route("passed on")}
	if err := s.server.ids.init(c.Random); err != nil {
		return nil, err
	}
	s.http = newStrict(c.Log, s.answer, Timeouts{})
	s.server.http = s.http
	go func() { s.ended <- s.http.Serve(listener) }()
	return s, nil
}

// follow has a server answer from now on, and returns when nothing is answered any more.
func (s *Standby) follow(server *Server) error {
	s.next.Store(server)
	close(s.over)
	return s.Serve(nil)
}

// Serve returns when nothing is answered any more. The listener is the one that the standby has.
func (s *Standby) Serve(net.Listener) error { return <-s.ended }

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
		status, document := readiness(s.checks)
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

// elsewhere has another instance answer a request.
func (s *Standby) elsewhere(c *call) *metrics.Route {
	if s.pass == nil {
		s.refuse(c, "this instance waits while another one decides; nothing was done: ask the other one, or this one again when GET /readyz answers 200")
		if s.passed {
			c.Response.Header.Set(passedBack, "1")
		}
		return s.server.others
	}
	fault, err := c.readBody(mostOf(c))
	switch {
	case err != nil:
		refuseUnread(c.RequestCtx, err)
	case fault != nil:
		writeFailure(c.RequestCtx, fault)
	default:
		return s.place(c)
	}
	return s.server.others
}

// mostOf is how large the body of a request may be.
func mostOf(c *call) int {
	resource, _ := find(pathOf(&c.Request.Header))
	if resource == nil {
		return otherBodyBytes
	}
	if c.route = resource.route(c.Method()); c.route == nil {
		return otherBodyBytes
	}
	return c.route.maxBody()
}

// refuse says that nothing was done. The connection ends, so that the client's next one finds another instance, or this one when it
// decides.
func (s *Standby) refuse(c *call, message string) {
	writeFailure(c.RequestCtx, &service.Failure{Code: errcode.StoreUnavailable, Message: message})
	c.SetConnectionClose()
}
