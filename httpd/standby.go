package httpd

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/strict"
	"bailiff/runtime/budget"
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
	Bodies         *budget.Budget // as the server's that follows; nil: NewBodies
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

	metrics *metrics.Metrics

	made *Server                // by NewServer
	next atomic.Pointer[Server] // made, when it has taken over
	over chan struct{}          // closed when one has
}

// NewStandby answers on a listener at once.
func NewStandby(listener net.Listener, c StandbyConfig) (*Standby, error) {
	s := &Standby{checks: c.Checks, pass: c.Pass, passed: c.Passed, metrics: c.Metrics, ended: make(chan error, 1), over: make(chan struct{})}
	s.server = &Server{config: Config{Clock: c.Clock, TrustedProxies: c.TrustedProxies}, log: c.Log, bodies: c.Bodies, others: c.Metrics.Route("passed on")}
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
	fault := passable(&c.Request.Header)
	if fault == nil {
		var err error
		if fault, err = c.readBody(mostOf(c)); err != nil {
			refuseUnread(c.RequestCtx, err)
			return s.server.others
		}
	}
	if fault != nil {
		writeFailure(c.RequestCtx, fault)
		return s.server.others
	}
	// The library may still read the body when it has the answer: its memory is not used again.
	if c.RequestBodyStream() == nil {
		c.input = bytes.Clone(c.input)
	}
	c.body.buffer = nil
	return s.place(c)
}

// passable returns why a request can't be passed on as it is: net/http, which writes it, rewrites such a host and such a target.
func passable(header *fasthttp.RequestHeader) *service.Failure {
	host := header.Host()
	if len(host) == 0 || bytes.ContainsFunc(host, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(".:-_[]", r))
	}) {
		return schemaFailure("the Host header is missing, or has a character other than letters, digits and .:-_[]; send the name or address of the service")
	}
	if bytes.HasPrefix(header.RequestURI(), []byte("//")) {
		return &service.Failure{Code: errcode.NotFound, Message: "there is no such route"}
	}
	return nil
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
	// passGrace is how much longer another instance may take to answer when this one ends.
	passGrace = 5 * time.Second
	// passShare is which part of the connections to another instance one source may have: requests that wait for holds have one each.
	passShare = 4
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
	// Patience is how long a request waits for an instance that takes it, and for a connection to it.
	Patience time.Duration
	// Connections is how many connections to an instance there may be; more requests wait.
	Connections int
	// Sign makes attestations of decisions of the other instance, with the keys that Pair names ([attest.Signer]). nil: the other instance does.
	Sign func(dst, claims []byte) ([]byte, error)
	Pair string

	mu       sync.Mutex
	last     Instance
	to       *http.Transport // last
	bySource map[netip.Addr]int
}

// enter counts a request of a source, which leave takes back, and reports false where the source has its share of the connections.
// Clients without an address are not counted.
func (p *Passing) enter(source netip.Addr) (leave func(), ok bool) {
	if !source.IsValid() {
		return func() {}, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bySource[source] >= max(1, p.Connections/passShare) {
		return nil, false
	}
	if p.bySource == nil {
		p.bySource = map[netip.Addr]int{}
	}
	p.bySource[source]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.bySource[source]--; p.bySource[source] == 0 {
			delete(p.bySource, source)
		}
	}, true
}

// Renew has later requests use new connections, as with another certificate.
func (p *Passing) Renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to != nil {
		p.to.CloseIdleConnections()
	}
	p.to = nil
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
			MaxConnsPerHost: p.Connections, MaxIdleConnsPerHost: p.Connections, IdleConnTimeout: passIdle,
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
	leave, ok := s.pass.enter(s.server.source(c.RequestCtx))
	if !ok {
		writeFailure(c.RequestCtx, &service.Failure{Code: errcode.RateLimited, RetryAfter: time.Second, Message: "as many requests of your address are under way as this instance passes on at once; send fewer at once"})
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), passTime)
	end := sync.OnceFunc(func() { cancel(); leave() })
	go s.watch(ctx, cancel, to)
	var sent atomic.Bool
	late := time.AfterFunc(s.pass.Patience, func() {
		if !sent.Load() {
			cancel()
		}
	})
	defer late.Stop()
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	stop := func() {}
	if c.IsGet() && len(c.input) == 0 { // it may wait for a hold, for a client that has gone
		watched, unwatch := strict.Watch(ctx, c.Conn())
		leaves := context.AfterFunc(watched, cancel)
		stop = func() { leaves(); unwatch() } // unwatch ends watched, too
	}
	request := c.toPass(traced)
	if s.pass.Sign != nil {
		request.Header[passedSigns] = []string{s.pass.Pair}
	}
	response, err := s.pass.transport(to).RoundTrip(request)
	stop()
	if err != nil {
		defer end()
		var unreachable unreachableError
		switch {
		case sent.Load():
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

// watch cancels a request when its instance does not decide any more, or some time after this instance began to end.
func (s *Standby) watch(ctx context.Context, cancel func(), to Instance) {
	serving := s.http.Serving()
	select {
	case <-ctx.Done():
		return
	case <-to.Gone:
		cancel()
		return
	case <-serving.Done():
	}
	grace := time.NewTimer(passGrace)
	defer grace.Stop()
	select {
	case <-ctx.Done():
	case <-to.Gone:
	case <-grace.C:
	}
	cancel()
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
	PassedFrom: true, passedTLS: true, passedBack: true, passedSigns: true, passedClaims: true,
}

// A wholeBody is a body that is there, or an empty one. Its type hides it from the library, which would send a request again that it can
// rewind, or that has no body and a method that only reads, as decisions for Envoy may have.
type wholeBody struct{ io.Reader }

// Close implements io.Closer.
func (wholeBody) Close() error { return nil }

// repeatable are the methods by which the library takes a request without a body for repeatable. Of an empty body it finds out that it is
// empty, and sends none; with other methods it would send chunks.
var repeatable = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}

// toPass returns the request as it is, with what the other instance can't see of it.
func (c *call) toPass(ctx context.Context) *http.Request {
	header := http.Header{"User-Agent": nil}
	for line := range bytes.Lines(c.Request.Header.RawHeaders()) { // the library that has read them would write some in another way
		raw, value, _ := bytes.Cut(line, []byte(":"))
		name := textproto.CanonicalMIMEHeaderKey(string(raw))
		if hopHeaders[name] || len(value) == 0 {
			continue
		}
		if name == "Idempotency-Key" || name == "X-Idempotency-Key" { // by these the library takes a request for repeatable
			name = strings.ToLower(name)
		}
		header[name] = append(header[name], string(bytes.TrimSpace(value)))
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
	if len(c.input) > 0 || slices.Contains(repeatable, request.Method) {
		request.Body = wholeBody{bytes.NewReader(c.input)}
	}
	return request.WithContext(ctx)
}

// tell answers as another instance has; end ends its request.
func (s *Standby) tell(c *call, response *http.Response, end func()) {
	c.Response.Reset()
	c.Response.Header.SetNoDefaultContentType(true)
	c.SetStatusCode(response.StatusCode)
	for name, values := range response.Header {
		if hopHeaders[name] || name == fasthttp.HeaderDate {
			continue
		}
		for _, value := range values {
			c.Response.Header.Add(name, value)
		}
	}
	size, claims := response.ContentLength, response.Header.Get(passedClaims)
	if c.IsHead() {
		response.Body.Close()
		end()
		c.Response.SkipBody = true
		c.Response.Header.SetContentLength(int(max(size, 0)))
		if claims != "" {
			s.attest(c, claims, nil)
		}
		return
	}
	if claims == "" && (size < 0 || size > wholeBytes) {
		c.Response.SetBodyStream(passedBody{response.Body, end}, int(size))
		return
	}
	defer end()
	defer response.Body.Close()
	body := make([]byte, max(size, 0)) // claims whose answer has no length are not signed: it has no place for them
	if _, err := io.ReadFull(response.Body, body); err != nil {
		s.lose(c)
		return
	}
	c.Response.SetBodyRaw(body)
	if claims != "" {
		s.attest(c, claims, body)
	}
}

// Signing is nine tenths of the work of a decision that allows. The instance that a request came to does it in the place of the one that
// decides, so that it grows with the instances.

// attest signs claims, and puts the attestation where the other instance would have.
func (s *Standby) attest(c *call, claims string, body []byte) {
	began := s.server.config.Clock()
	token, err := s.sign(claims)
	s.metrics.Stage(metrics.StageSign, s.server.config.Clock().Sub(began))
	rest, ok := bytes.CutPrefix(body, unattested)
	if err == nil && ok {
		head := bytes.TrimSuffix(unattested, []byte("null"))
		body = append(make([]byte, 0, len(head)+len(token)+len(rest)+2), head...)
		c.Response.SetBodyRaw(append(append(append(append(body, '"'), token...), '"'), rest...))
		return
	}
	if err == nil && ofEnvoy(pathOf(&c.Request.Header)) {
		c.Response.Header.SetBytesV(attestationHeader, token)
		return
	}
	if err == nil {
		err = errors.New("the answer has no place for it")
	}
	s.server.log.Error("an attestation could not be signed for the instance that decides", "error", err)
	c.forget()
	writeFailure(c.RequestCtx, service.Unsigned())
}

// sign returns the token of claims.
func (s *Standby) sign(claims string) ([]byte, error) {
	if s.pass.Sign == nil {
		return nil, errors.New("no claims were asked for")
	}
	text, err := base64.RawURLEncoding.DecodeString(claims)
	if err != nil {
		return nil, err
	}
	return s.pass.Sign(nil, text)
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
