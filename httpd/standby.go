package httpd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

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
// ([Standby.NewServer]).
type Standby struct {
	http   *strict.Server
	checks func() []Check
	pass   *Passing
	passed bool
	server *Server // reads requests; it has no authority
	ended  chan error

	made *Server                // by NewServer
	next atomic.Pointer[Server] // made, when it has taken over
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
		c.input = bytes.Clone(c.input) // the library may still read it when it has the answer, and the memory is used again then
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

// passedBack is in the answer of an instance that has done nothing, since it does not decide, or not yet.
const passedBack = "Bailiff-Passed-Back"

const (
	// passTime bounds how long another instance takes to answer. The longest that it lets a client wait is holds.MaxWait.
	passTime = time.Minute
	// passIdle is how long a connection to another instance is kept that has nothing to do: shorter than the other one keeps it.
	passIdle = time.Minute
	// passConnections bounds the connections to another instance, which takes that many of one source: requests that wait for holds have
	// one each.
	passConnections = strict.MaxPerSource
	// wholeBytes is how large an answer is that is read as a whole before any of it is told.
	wholeBytes = 64 << 10
	// passPause is the pause before an instance that can't be reached is tried again.
	passPause = 50 * time.Millisecond
)

// An Instance is another instance, which decides.
type Instance struct {
	Name string
	Peer string          // where it takes requests from others; "" where it takes none
	Gone <-chan struct{} // closed when it does not decide any more
}

// Passing passes requests on to the instance that decides, each once: what may have arrived is not sent again.
type Passing struct {
	// Owner returns the instance that decides; its Gone is nil where none is known.
	Owner func() Instance
	// Dial connects to an instance.
	Dial func(context.Context, Instance) (net.Conn, error)
	// Patience is how long a request waits for an instance that takes it.
	Patience time.Duration

	mu   sync.Mutex
	last Instance
	to   *http.Transport // last
}

// An unreachable error says that nothing was sent.
type unreachableError struct{ error }

// transport returns what connects to an instance, and ends the idle connections to the one before.
func (p *Passing) transport(to Instance) *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to == nil || p.last != to {
		if p.to != nil {
			p.to.CloseIdleConnections()
		}
		p.last, p.to = to, &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, err := p.Dial(ctx, to)
				if err != nil {
					return nil, unreachableError{err}
				}
				return conn, nil
			},
			MaxConnsPerHost: passConnections, MaxIdleConnsPerHost: passConnections, IdleConnTimeout: passIdle,
			DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
		}
	}
	return p.to
}

// place passes a request on, or has the server of this instance answer it, where that takes over in the meantime.
func (s *Standby) place(c *call) *metrics.Route {
	late := time.NewTimer(s.pass.Patience)
	defer late.Stop()
	for {
		if next := s.next.Load(); next != nil {
			c.Request.SetBodyRaw(c.input)
			next.dispatch(c.RequestCtx)
			return nil
		}
		to := s.pass.Owner()
		var pause <-chan time.Time
		if to.Gone != nil {
			if to.Peer == "" {
				s.refuse(c, "this instance waits while another one decides that takes no requests from instances; nothing was done: have SVC_PEER_LISTEN set there, too")
				return s.server.others
			}
			if s.send(c, to) {
				return s.server.others
			}
			pause = time.After(passPause)
		} else {
			pause = time.After(passPause / 10)
		}
		select {
		case <-s.over:
		case <-pause:
		case <-late.C:
			s.refuse(c, "no instance that decides can be reached; nothing was done: send the request again")
			return s.server.others
		case <-s.http.Serving().Done():
			s.refuse(c, "this instance ends, and the one that decides can't be reached; nothing was done: send the request again")
			return s.server.others
		}
	}
}

// send passes a request on to an instance, and answers it; or reports false, where nothing was sent.
func (s *Standby) send(c *call, to Instance) (answered bool) {
	ctx, cancel := context.WithTimeout(context.Background(), passTime)
	sent := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }})
	ended := make(chan struct{})
	go func() {
		select {
		case <-to.Gone:
			cancel()
		case <-ended:
		}
	}()
	end := sync.OnceFunc(func() { close(ended); cancel() })
	response, err := s.pass.transport(to).RoundTrip(c.toPass(ctx))
	if err != nil {
		defer end()
		var unreachable unreachableError
		switch {
		case sent:
			s.lose(c)
		case errors.As(err, &unreachable) || ctx.Err() != nil:
			return false
		default: // the library does not write it
			writeFailure(c.RequestCtx, schemaFailure("the target or a header has a character that can't be passed on to the instance that decides"))
		}
		return true
	}
	if response.Header.Get(passedBack) != "" {
		response.Body.Close()
		end()
		return false
	}
	s.tell(c, response, end)
	return true
}

// lose says that the outcome is not known.
func (s *Standby) lose(c *call) {
	c.forget()
	writeFailure(c.RequestCtx, &service.Failure{Code: errcode.StoreUnavailable, Message: "the instance that decides did not answer; a change that was asked for may or may not have been made"})
}

// hopHeaders are of one connection, and not of the request that comes over it (RFC 9110, section 7.6.1). What a client expects was done.
var hopHeaders = map[string]bool{
	fasthttp.HeaderConnection: true, "Keep-Alive": true, fasthttp.HeaderTE: true, fasthttp.HeaderUpgrade: true, fasthttp.HeaderExpect: true,
	fasthttp.HeaderTransferEncoding: true, fasthttp.HeaderContentLength: true, fasthttp.HeaderHost: true,
	PassedFrom: true, passedTLS: true, passedBack: true,
}

// A wholeBody is a body that is there. Its type hides it from the library, which would send a request again that it can rewind.
type wholeBody struct{ io.Reader }

// Close implements io.Closer.
func (wholeBody) Close() error { return nil }

// toPass returns the request as it is, with what the other instance can't see of it.
func (c *call) toPass(ctx context.Context) *http.Request {
	header := http.Header{"User-Agent": nil}
	for line := range bytes.Lines(c.Request.Header.RawHeaders()) { // the library that has read them would write some in another way
		raw, value, _ := bytes.Cut(line, []byte(":"))
		if name := textproto.CanonicalMIMEHeaderKey(string(raw)); !hopHeaders[name] && len(value) > 0 {
			header[name] = append(header[name], string(bytes.TrimSpace(value)))
		}
	}
	header[PassedFrom] = []string{unnamed}
	if at, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		header[PassedFrom] = []string{at.AddrPort().String()}
	}
	if strict.Secure(c.Conn()) {
		header[passedTLS] = []string{"1"}
	}
	request := &http.Request{
		Method: string(c.Method()), URL: &url.URL{Scheme: "http", Host: "bailiff", Opaque: string(c.Request.Header.RequestURI())},
		Host: string(c.Request.Header.Host()), Header: header, ContentLength: int64(len(c.input)),
	}
	if method := request.Method; len(c.input) > 0 || method != http.MethodGet && method != http.MethodHead {
		request.Body = wholeBody{bytes.NewReader(c.input)}
	}
	return request.WithContext(ctx)
}

// tell answers as another instance has; end ends its request.
func (s *Standby) tell(c *call, response *http.Response, end func()) {
	c.Response.Reset()
	c.SetStatusCode(response.StatusCode)
	for name, values := range response.Header {
		if hopHeaders[name] || name == fasthttp.HeaderDate {
			continue
		}
		for _, value := range values {
			c.Response.Header.Add(name, value)
		}
	}
	size := response.ContentLength
	if c.IsHead() {
		response.Body.Close()
		end()
		c.Response.SkipBody = true
		c.Response.Header.SetContentLength(int(max(size, 0)))
		return
	}
	if size < 0 || size > wholeBytes {
		c.Response.SetBodyStream(passedBody{response.Body, end}, int(size))
		return
	}
	defer end()
	defer response.Body.Close()
	body := make([]byte, size)
	if _, err := io.ReadFull(response.Body, body); err != nil {
		s.lose(c)
		return
	}
	c.Response.SetBodyRaw(body)
}

// A passedBody is the body of another instance's answer.
type passedBody struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (b passedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
