// Package httpd is the API over HTTP: routes (routes.go), bounds, authentication headers, the JSON of answers, and
// the mapping of codes to HTTP. It decides nothing: package runtime/decision does. Of the product only httpd and its
// package strict import fasthttp.
package httpd

import (
	"context"
	"log/slog"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/time/rate"

	"bailiff/httpd/console"
	"bailiff/httpd/strict"
	"bailiff/runtime/budget"
	"bailiff/runtime/envoy"
	"bailiff/runtime/gateway"
	"bailiff/runtime/metrics"
	"bailiff/runtime/ratelimit"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const (
	// writeBufferBytes takes an answer with its attestation in one write.
	writeBufferBytes = 16 << 10
	// idleWorker is after how long a goroutine ends that has no connection to serve: after a flood there are thousands.
	idleWorker = 2 * time.Second
	// passedRoute is how metrics name what another instance answers.
	passedRoute = "passed on"
	// maxStating is how many sources of operators' statements are counted.
	maxStating = 10_000
)

// Server serves the API of an authority over HTTP.
type Server struct {
	config    Config
	rates     atomic.Pointer[Limits] // those of config, until SetLimits
	log       *slog.Logger
	http      *strict.Server
	documents documents
	gateway   *gateway.Gateway
	ids       requestIDs
	counters  []*metrics.Route // by resource
	others    *metrics.Route   // of paths that lead nowhere
	pages     *metrics.Route   // of the console
	envoy     *metrics.Route   // of Envoy's requests
	passed    *metrics.Route   // of what another instance answers
	limitLog  *rate.Limiter    // of log lines about a store of limits
	bodies    *budget.Budget

	statements ratelimit.Store // of operators, by source
	verifying  *rate.Limiter   // of statements of sources that are beyond their limits
}

// New returns a server, or what is missing for one.
func New(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s := &Server{config: c, log: c.Log, gateway: c.Gateway, bodies: c.Bodies, limitLog: rate.NewLimiter(rate.Every(time.Second), 1)}
	s.statements, s.verifying = ratelimit.NewMemory(maxStating), rate.NewLimiter(statementsBeyond, statementsBeyond)
	s.rates.Store(&c.Limits)
	if s.bodies == nil {
		s.bodies = NewBodies(c.Clock, c.Log)
	}
	if err := s.ids.init(c.Random); err != nil {
		return nil, err
	}
	var err error
	if s.documents, err = newDocuments(&c); err != nil {
		return nil, err
	}
	for _, r := range resources {
		s.counters = append(s.counters, c.Metrics.Route(r.path))
	}
	s.others = c.Metrics.Route("other")
	s.pages = c.Metrics.Route(console.Root)
	s.envoy = c.Metrics.Route(envoy.Prefix)
	if c.Pass != nil {
		s.passed = c.Metrics.Route(passedRoute)
	}
	s.http = newStrict(c.Log, s.dispatch, c.Timeouts)
	return s, nil
}

// newStrict returns a server whose handler reads bodies itself.
func newStrict(log *slog.Logger, handler fasthttp.RequestHandler, timeouts Timeouts) *strict.Server {
	http := newHTTP(log, guard(log, handler), timeouts)
	http.HeaderReceived = awaitBody
	http.StreamRequestBody = true
	return strict.NewServer(http)
}

func newHTTP(log *slog.Logger, handler fasthttp.RequestHandler, timeouts Timeouts) *fasthttp.Server {
	timeouts = timeouts.orDefault()
	// An idle connection keeps no more than this of the memory of its last request and answer.
	fasthttp.SetBodySizePoolLimit(keptBufferBytes, keptBufferBytes)
	return &fasthttp.Server{
		Handler:               handler,
		ErrorHandler:          refuseUnread,
		Name:                  "bailiff",
		ReadBufferSize:        strict.ReadBufferBytes,
		WriteBufferSize:       writeBufferBytes,
		ReadTimeout:           timeouts.Transfer,
		WriteTimeout:          timeouts.Transfer,
		IdleTimeout:           timeouts.Idle,
		MaxIdleWorkerDuration: idleWorker,
		MaxRequestBodySize:    otherBodyBytes,
		CloseOnShutdown:       true,
		SecureErrorLogMessage: true, // requests carry keys and commands
		NoDefaultContentType:  true,
		NoDefaultServerHeader: true,
		// Forms are nothing to this API, and must not be parsed before the key is looked at.
		DisablePreParseMultipartForm: true,
		Logger:                       strict.Logger{Log: log},
	}
}

// SetLimits replaces the limits for every later request. Earlier requests count for the new ones.
func (s *Server) SetLimits(limits Limits) error {
	if err := limits.check(&s.config.Stores); err != nil {
		return err
	}
	s.rates.Store(&limits)
	return nil
}

// Serve answers on a listener until Shutdown. It is called once.
func (s *Server) Serve(listener net.Listener) error { return s.http.Serve(listener) }

// Shutdown stops the server as [strict.Server.Shutdown] does.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// guard wraps a handler: what must not reach it is refused, and a defect in it is one request's trouble only.
func guard(log *slog.Logger, handler fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		defer func() {
			if fault := recover(); fault != nil {
				log.Error("a request failed", "path", string(pathOf(&ctx.Request.Header)), "fault", fault, "stack", string(debug.Stack()))
				ctx.Response.Reset()
				writeFailure(ctx, &service.Failure{Code: errcode.Internal, Message: "the service failed on this request; nothing was allowed"})
				ctx.SetConnectionClose() // some of its body may be left
			}
		}()
		if strict.OtherVersion(&ctx.Request.Header) {
			writeFailure(ctx, statusFailure(fasthttp.StatusHTTPVersionNotSupported, "the version of HTTP is not spoken here; use HTTP/1.1"))
			turnAway(ctx)
			return
		}
		ambiguous, last := strict.Framing(&ctx.Request.Header)
		if ambiguous != "" {
			writeFailure(ctx, schemaFailure(ambiguous))
			turnAway(ctx)
			return
		}
		handler(ctx)
		if last {
			ctx.SetConnectionClose()
		}
	}
}

// turnAway closes the connection after the answer, and meanwhile reads what the client still sends.
func turnAway(ctx *fasthttp.RequestCtx) {
	if ctx.Request.IsBodyStream() {
		strict.Discard(ctx.Conn(), strict.DiscardBytes)
	}
	ctx.SetConnectionClose()
}

func schemaFailure(message string) *service.Failure { return statusFailure(0, message) }

// statusFailure is a schemaFailure with a status of its own.
func statusFailure(status int, message string) *service.Failure {
	return &service.Failure{Code: errcode.ValidationSchema, Message: message, HTTP: status}
}
