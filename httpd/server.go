// Package httpd puts the authority on the wire: routes, bounds, authentication headers, the JSON of answers, and
// the mapping of codes to HTTP. It decides nothing. It is the only importer of fasthttp.
package httpd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/authority"
	"bailiff/runtime/code"
)

const (
	// readBufferBytes bounds a request's headers. An attestation takes 6.5 KB of them, and proxies add theirs.
	readBufferBytes = 32 << 10
	// writeBufferBytes takes an answer with its attestation in one write.
	writeBufferBytes = 16 << 10
	// A client that sends its request, or reads its answer, slower than this is let go.
	transferTimeout = 15 * time.Second
	// A connection that is kept open waits so long for its next request.
	idleTimeout = 2 * time.Minute
	// On shutdown clients are given so long to send their next request and be told to close.
	drainTime = 500 * time.Millisecond
	drainStep = 10 * time.Millisecond
	// So much of a body that is too large is read and thrown away before the connection is closed, until the client
	// pauses for so long: while it is still sending it would see a broken connection instead of the answer.
	discardBytes = 16 << 20
	discardPause = 100 * time.Millisecond
)

// Server serves the API of an authority over HTTP.
type Server struct {
	authority *authority.Authority
	log       *slog.Logger
	commit    string
	http      *fasthttp.Server
	listener  atomic.Pointer[closeOnce]
	// draining asks every client to go: its next answer closes the connection.
	draining atomic.Bool
}

// New returns a server. commit is the full id of the commit that the build is bound to, or empty.
func New(a *authority.Authority, log *slog.Logger, commit string) *Server {
	s := &Server{authority: a, log: log, commit: commit}
	s.http = newHTTP(log, guard(log, s.route))
	s.http.HeaderReceived = boundBody
	return s
}

func newHTTP(log *slog.Logger, handler fasthttp.RequestHandler) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:               handler,
		ErrorHandler:          refuseUnread,
		Name:                  "bailiff",
		ReadBufferSize:        readBufferBytes,
		WriteBufferSize:       writeBufferBytes,
		ReadTimeout:           transferTimeout,
		WriteTimeout:          transferTimeout,
		IdleTimeout:           idleTimeout,
		MaxRequestBodySize:    maxBodyBytes,
		CloseOnShutdown:       true,
		SecureErrorLogMessage: true, // requests carry keys and commands
		NoDefaultContentType:  true,
		NoDefaultServerHeader: true,
		// Forms are nothing to this API, and must not be parsed before the key is looked at.
		DisablePreParseMultipartForm: true,
		Logger:                       serverLog{log},
	}
}

// serverLog passes on what fasthttp has to say; of single connections it says nothing.
type serverLog struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (l serverLog) Printf(format string, arguments ...any) {
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
	once := &closeOnce{Listener: listener}
	s.listener.Store(once)
	return s.http.Serve(once)
}

// Shutdown accepts nothing more, finishes what is in flight, and returns when that is done or ctx ends. Clients that
// keep their connection get a moment in which their next answer tells them to close it: a connection that is merely
// idle may have a request on its way.
func (s *Server) Shutdown(ctx context.Context) error {
	if listener := s.listener.Load(); listener != nil {
		_ = listener.Close() // Serve returns what is wrong with it
	}
	s.draining.Store(true)
	for wait := drainTime; wait > 0 && s.http.GetOpenConnectionsCount() > 0 && ctx.Err() == nil; wait -= drainStep {
		time.Sleep(drainStep)
	}
	return s.http.ShutdownWithContext(ctx)
}

// guard wraps a handler: what must not reach it is refused, and a defect in it is one request's trouble only.
func guard(log *slog.Logger, handler fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		defer func() {
			if fault := recover(); fault != nil {
				log.Error("a request failed", "path", string(ctx.Path()), "fault", fault, "stack", string(debug.Stack()))
				ctx.Response.Reset()
				writeFailure(ctx, &authority.Failure{Code: code.Internal, Message: "the service failed on this request; nothing was allowed"})
			}
		}()
		if problem := ambiguousFraming(&ctx.Request.Header); problem != "" {
			writeFailure(ctx, schemaFailure(problem))
			ctx.SetConnectionClose()
			return
		}
		handler(ctx)
	}
}

// ambiguousFraming says in words why two readers could see the request end, or a header begin, in two places (RFC
// 9112, sections 5.2 and 6.3), and is empty for a request that all read alike.
func ambiguousFraming(header *fasthttp.RequestHeader) string {
	lengths, encodings := 0, 0
	for line := range bytes.Lines(header.RawHeaders()) {
		switch line[0] {
		case ' ', '\t':
			return "a header goes on in a second line; write it in one"
		case 'C', 'c', 'T', 't':
		default:
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch name = bytes.TrimSpace(name); {
		case bytes.EqualFold(name, []byte("Content-Length")):
			lengths++
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			encodings++
			if !bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked")) {
				return "the request has a Transfer-Encoding other than chunked; send it as it is"
			}
		}
	}
	if lengths+encodings > 1 {
		return "the request has both Content-Length and Transfer-Encoding, or one of them twice; send one"
	}
	return ""
}

// refuseUnread answers a request that could not be read at all.
func refuseUnread(ctx *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		discard(ctx.Conn())
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

// discard reads on behalf of a client that is still sending, until it pauses: then it is waiting for the answer.
func discard(connection net.Conn) {
	buffer := make([]byte, readBufferBytes)
	pause := time.AfterFunc(discardPause, func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) })
	defer pause.Stop()
	for read := 0; read < discardBytes; {
		n, err := connection.Read(buffer)
		if err != nil || !pause.Reset(discardPause) {
			return
		}
		read += n
	}
}

func schemaFailure(message string) *authority.Failure {
	return &authority.Failure{Code: code.ValidationSchema, Message: message}
}
