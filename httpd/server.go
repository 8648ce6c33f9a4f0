// Package httpd puts the authority on the wire: routes, bounds, authentication headers, the JSON of answers, and
// the mapping of codes to HTTP. It decides nothing. It is the only importer of fasthttp.
package httpd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/console"
	"bailiff/runtime/budget"
	"bailiff/runtime/gateway"
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const (
	// readBufferBytes bounds a request's headers. An attestation takes up to 8 KiB of them, and proxies add theirs.
	readBufferBytes = 32 << 10
	// writeBufferBytes takes an answer with its attestation in one write.
	writeBufferBytes = 16 << 10
	// idleWorker is after how long a goroutine ends that has no connection to serve: after a flood there are thousands.
	idleWorker = 2 * time.Second
	// On shutdown clients are given so long to send their next request and be told to close.
	drainTime = 500 * time.Millisecond
	drainStep = 10 * time.Millisecond
	// Then what has begun to arrive is given so long.
	arrivalTime = time.Second
)

// Server serves the API of an authority over HTTP.
type Server struct {
	config    Config
	log       *slog.Logger
	http      *fasthttp.Server
	documents documents
	gateway   *gateway.Gateway
	ids       requestIDs
	counters  []*metrics.Route // by resource
	others    *metrics.Route   // of paths that lead nowhere
	pages     *metrics.Route   // of the console
	troubled  atomic.Int64     // Unix second of the latest log line about a store of limits
	listener  atomic.Pointer[closeOnce]
	deadlines atomic.Pointer[deadlines]
	bodies    *budget.Budget
	// draining asks every client to go: its next answer closes the connection.
	draining atomic.Bool
	serving  context.Context // ends when Shutdown begins: what waits is answered then
	leaving  context.CancelFunc
}

// New returns a server, or what is missing for one.
func New(c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s := &Server{config: c, log: c.Log, gateway: c.Gateway, bodies: c.Bodies}
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
	s.serving, s.leaving = context.WithCancel(context.Background())
	s.http = newHTTP(c.Log, guard(c.Log, s.dispatch), c.Timeouts)
	s.http.HeaderReceived = awaitBody
	s.http.StreamRequestBody = true
	return s, nil
}

func newHTTP(log *slog.Logger, handler fasthttp.RequestHandler, timeouts Timeouts) *fasthttp.Server {
	timeouts = timeouts.orDefault()
	// An idle connection keeps no more than this of the memory of its last request and answer.
	fasthttp.SetBodySizePoolLimit(keptBufferBytes, keptBufferBytes)
	return &fasthttp.Server{
		Handler:               handler,
		ErrorHandler:          refuseUnread,
		Name:                  "bailiff",
		ReadBufferSize:        readBufferBytes,
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
		Logger:                       serverLog{log},
	}
}

// serverLog passes on what fasthttp has to say, but for what is wrong with single connections: anybody could fill the log
// with that, and it repeats what was sent.
type serverLog struct{ log *slog.Logger }

// ofConnection begins what fasthttp says of a single connection.
const ofConnection = "error when serving connection"

// Printf implements fasthttp.Logger.
func (l serverLog) Printf(format string, arguments ...any) {
	if strings.HasPrefix(format, ofConnection) {
		return
	}
	l.log.Warn("http", "message", fmt.Sprintf(format, arguments...))
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

// Serve answers on a listener until Shutdown. It is called once.
func (s *Server) Serve(listener net.Listener) error {
	kept := keepDeadlines(listener, deadlineRound)
	once := &closeOnce{Listener: kept}
	s.deadlines.Store(kept)
	s.listener.Store(once)
	return s.http.Serve(once)
}

// Shutdown accepts nothing more, finishes what is in flight, and returns when that is done or ctx ends. Clients that
// keep their connection get a moment in which their next answer tells them to close it: a connection that is merely
// idle may have a request on its way. What has begun to arrive gets a moment more to do so.
func (s *Server) Shutdown(ctx context.Context) error {
	if listener := s.listener.Load(); listener != nil {
		_ = listener.Close() // Serve returns what is wrong with it
	}
	s.draining.Store(true)
	s.leaving()
	for wait := drainTime; wait > 0 && s.http.GetOpenConnectionsCount() > 0 && ctx.Err() == nil; wait -= drainStep {
		time.Sleep(drainStep)
	}
	if kept := s.deadlines.Load(); kept != nil {
		defer time.AfterFunc(arrivalTime, kept.endReading).Stop()
	}
	return s.http.ShutdownWithContext(ctx)
}

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
		if otherVersion(&ctx.Request.Header) {
			writeFailure(ctx, statusFailure(fasthttp.StatusHTTPVersionNotSupported, "the version of HTTP is not spoken here; use HTTP/1.1"))
			turnAway(ctx)
			return
		}
		ambiguous, last := framing(&ctx.Request.Header)
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
		discard(ctx.Conn(), discardBytes)
	}
	ctx.SetConnectionClose()
}

func schemaFailure(message string) *service.Failure { return statusFailure(0, message) }

// statusFailure is a schemaFailure with a status of its own.
func statusFailure(status int, message string) *service.Failure {
	return &service.Failure{Code: errcode.ValidationSchema, Message: message, HTTP: status}
}
