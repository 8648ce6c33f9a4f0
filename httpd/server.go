// Package httpd puts the authority on the wire: routes, bounds, authentication headers, the JSON of answers, and
// the mapping of codes to HTTP. It decides nothing. It is the only importer of fasthttp.
package httpd

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/authority"
	"bailiff/runtime/code"
)

const (
	// readBufferBytes bounds a request's headers. An attestation takes 6.5 KB of them, and proxies add theirs.
	readBufferBytes = 32 << 10
	// A client that sends its request, or reads its answer, slower than this is let go.
	transferTimeout = 15 * time.Second
	// A connection that is kept open waits so long for its next request.
	idleTimeout = 2 * time.Minute
)

// Server serves the API of an authority over HTTP.
type Server struct {
	authority *authority.Authority
	log       *slog.Logger
	commit    string
	http      *fasthttp.Server
	// stopping ends when answers that wait for the store should not wait any longer.
	stopping context.Context
	stop     context.CancelFunc
}

// New returns a server. commit is the full id of the commit that the build is bound to, or empty.
func New(a *authority.Authority, log *slog.Logger, commit string) *Server {
	s := &Server{authority: a, log: log, commit: commit}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.http = newHTTP(log, s.guard(s.route))
	s.http.HeaderReceived = boundBody
	return s
}

func newHTTP(log *slog.Logger, handler fasthttp.RequestHandler) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:               handler,
		ErrorHandler:          refuseUnread,
		Name:                  "bailiff",
		ReadBufferSize:        readBufferBytes,
		ReadTimeout:           transferTimeout,
		WriteTimeout:          transferTimeout,
		IdleTimeout:           idleTimeout,
		MaxRequestBodySize:    maxBodyBytes,
		CloseOnShutdown:       true,
		SecureErrorLogMessage: true, // requests carry keys and commands
		NoDefaultContentType:  true,
		NoDefaultServerHeader: true,
		Logger:                quiet{log},
	}
}

// quiet passes what fasthttp has to say about single connections on at the level where it belongs.
type quiet struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (q quiet) Printf(format string, arguments ...any) {
	q.log.Debug("connection", "event", format, "arguments", len(arguments))
}

// Serve answers on a listener until Shutdown.
func (s *Server) Serve(listener net.Listener) error { return s.http.Serve(listener) }

// Shutdown accepts nothing more, finishes what is in flight, and returns when that is done or ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.ShutdownWithContext(ctx)
	s.stop()
	return err
}

// guard wraps a handler: what must not reach it is refused, and a defect in it is one request's trouble only.
func (s *Server) guard(handler fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		defer func() {
			if fault := recover(); fault != nil {
				s.log.Error("a request failed", "path", string(ctx.Path()), "fault", fault, "stack", string(debug.Stack()))
				ctx.Response.Reset()
				writeFailure(ctx, &authority.Failure{Code: code.Internal, Message: "the service failed on this request; nothing was allowed"})
			}
		}()
		if ambiguousFraming(&ctx.Request.Header) {
			writeFailure(ctx, schemaFailure("the request has both Content-Length and Transfer-Encoding, or one of them twice; send one"))
			ctx.SetConnectionClose()
			return
		}
		handler(ctx)
	}
}

// ambiguousFraming reports whether two readers could see the request's end in two places (RFC 9112, section 6.3).
func ambiguousFraming(header *fasthttp.RequestHeader) bool {
	lengths, encodings := 0, 0
	for line := range bytes.Lines(header.RawHeaders()) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		name = bytes.TrimSpace(name)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			lengths++
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			encodings++
		}
	}
	return lengths+encodings > 1
}

// refuseUnread answers a request that could not be read at all.
func refuseUnread(ctx *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		writeFailure(ctx, &authority.Failure{Code: code.BodyTooLarge, Message: "the body is larger than this route accepts"})
	case errors.As(err, &small):
		writeFailure(ctx, schemaFailure("the headers are larger than 32 KiB"))
		ctx.SetStatusCode(fasthttp.StatusRequestHeaderFieldsTooLarge)
	case errors.As(err, &network) && network.Timeout():
		writeFailure(ctx, schemaFailure("the request did not arrive in time"))
		ctx.SetStatusCode(fasthttp.StatusRequestTimeout)
	default:
		writeFailure(ctx, schemaFailure("the request is not well-formed HTTP"))
	}
	ctx.SetConnectionClose()
}

func schemaFailure(message string) *authority.Failure {
	return &authority.Failure{Code: code.ValidationSchema, Message: message}
}
