package httpd

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
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
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

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
func (s *Server) refuse(c *call, message string) {
	writeFailure(c.RequestCtx, &service.Failure{Code: errcode.StoreUnavailable, Message: message})
	c.SetConnectionClose()
}

// passedRoute is how metrics name what another instance answers.
const passedRoute = "passed on"

// passedBack is in the answer of an instance that has done nothing, since it does not decide, or not yet.
const passedBack = "Bailiff-Passed-Back"

const (
	// passTime bounds how long another instance takes to answer. The longest that it lets a client wait is holds.MaxWait.
	passTime = time.Minute
	// passIdle is how long a connection to another instance is kept that has nothing to do: shorter than the other one keeps it.
	passIdle = time.Minute
	// goneGrace is how long the answer of an instance may be under way that has decided, and does not any more.
	goneGrace = 500 * time.Millisecond
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
	// Owner returns the instance that decides for the keys of a slot; its Gone is nil where none is known.
	Owner func(slot int) Instance
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
	to       map[peerName]*peer
	bySource map[passedSource]int
}

// A passedSource is who has sent requests that are under way to an instance.
type passedSource struct {
	address netip.Addr
	to      string
}

// A peerName is the name of an instance, and where it takes requests from others.
type peerName struct {
	name, address string
	questions     bool // a question has a connection even where requests have all of theirs, which may wait for its answer
}

// A peer is another instance, as this one is connected to it.
type peer struct {
	*http.Transport
	gone <-chan struct{} // closed when it does not decide any more what it did
}

// enter counts a request of a source to an instance, which leave takes back, and reports false where the source has its share of the
// connections. Clients without an address are not counted.
func (p *Passing) enter(address netip.Addr, to string) (leave func(), ok bool) {
	if !address.IsValid() {
		return func() {}, true
	}
	source := passedSource{address, to}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bySource[source] >= max(1, p.Connections/passShare) {
		return nil, false
	}
	if p.bySource == nil {
		p.bySource = map[passedSource]int{}
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
	for name := range p.to {
		p.drop(name)
	}
}

// drop ends the idle connections to an instance. The caller has the lock.
func (p *Passing) drop(name peerName) {
	p.to[name].CloseIdleConnections()
	delete(p.to, name)
}

// An unreachable error says that nothing was sent.
type unreachableError struct{ error }

// transport returns what connects to an instance, and ends the idle connections to those that do not decide any more what they did: their
// machine may be gone.
func (p *Passing) transport(to Instance, questions bool) *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, known := range p.to {
		select {
		case <-known.gone:
			p.drop(name)
		default:
		}
	}
	name, most := peerName{to.Name, to.Peer, questions}, p.Connections
	if questions {
		most = max(1, most/questionShare)
	}
	if p.to[name] == nil {
		if p.to == nil {
			p.to = map[peerName]*peer{}
		}
		p.to[name] = &peer{gone: to.Gone, Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, err := p.Dial(ctx, to)
				if err != nil {
					return nil, unreachableError{err}
				}
				return conn, nil
			},
			MaxConnsPerHost: most, MaxIdleConnsPerHost: most, IdleConnTimeout: passIdle,
			DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
		}}
	}
	return p.to[name].Transport
}

// passOn has another instance answer a request of a slot, or this one, where here returns a server of its own in the meantime. over is
// closed when it does; nil where it may at any time.
func (s *Server) passOn(c *call, slot int, here func() *Server, over <-chan struct{}) *metrics.Route {
	fault := passable(&c.Request.Header)
	if fault == nil {
		var err error
		if fault, err = c.readBody(mostOf(c)); err != nil {
			refuseUnread(c.RequestCtx, err)
			return s.passed
		}
	}
	if fault != nil {
		writeFailure(c.RequestCtx, fault)
		return s.passed
	}
	// The library may still read the body when it has the answer: its memory is not used again.
	if c.RequestBodyStream() == nil {
		c.input = bytes.Clone(c.input)
	}
	c.body.buffer = nil
	late := time.NewTimer(s.config.Pass.Patience)
	defer late.Stop()
	for {
		if own := here(); own != nil {
			c.Request.SetBodyRaw(c.input)
			own.dispatch(c.RequestCtx)
			return nil
		}
		to := s.config.Pass.Owner(slot)
		var pause <-chan time.Time
		if to.Gone != nil {
			if to.Peer == "" {
				s.refuse(c, "the instance that decides takes no requests from other instances; nothing was done: have SVC_PEER_LISTEN set there, too")
				return s.passed
			}
			if s.send(c, to) {
				return s.passed
			}
			pause = time.After(passPause)
		} else {
			pause = time.After(passPause / 10)
		}
		select {
		case <-over:
		case <-pause:
		case <-late.C:
			s.refuse(c, "no instance that decides can be reached; nothing was done: send the request again")
			return s.passed
		case <-s.http.Serving().Done():
			s.refuse(c, "this instance ends, and the one that decides can't be reached; nothing was done: send the request again")
			return s.passed
		}
	}
}

// send passes a request on to an instance, and answers it; or reports false, where nothing was sent.
func (s *Server) send(c *call, to Instance) (answered bool) {
	leave, ok := s.config.Pass.enter(s.source(c.RequestCtx), to.Name)
	if !ok {
		writeFailure(c.RequestCtx, &service.Failure{Code: errcode.RateLimited, RetryAfter: time.Second, Message: "as many requests of your address are under way as this instance passes on at once; send fewer at once"})
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), passTime)
	end := sync.OnceFunc(func() { cancel(); leave() })
	go follow(ctx, cancel, to, s.http.Serving().Done())
	var sent atomic.Bool
	late := time.AfterFunc(s.config.Pass.Patience, func() {
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
	if s.config.Pass.Sign != nil {
		request.Header[passedSigns] = []string{s.config.Pass.Pair}
	}
	response, err := s.config.Pass.transport(to, false).RoundTrip(request)
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

// follow cancels a request when its instance does not decide any more, or some time after this instance began to end.
func follow(ctx context.Context, cancel func(), to Instance, ending <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-to.Gone:
		pause(ctx, nil, goneGrace)
	case <-ending:
		pause(ctx, to.Gone, passGrace)
	}
	cancel()
}

// pause waits for a time, or until ctx ends or before is closed.
func pause(ctx context.Context, before <-chan struct{}, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-before:
	case <-timer.C:
	}
}

// lose says that the outcome is not known.
func (s *Server) lose(c *call) {
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
func (s *Server) tell(c *call, response *http.Response, end func()) {
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
func (s *Server) attest(c *call, claims string, body []byte) {
	began := s.config.Clock()
	token, err := s.sign(claims)
	s.config.Metrics.Stage(metrics.StageSign, s.config.Clock().Sub(began))
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
	s.log.Error("an attestation could not be signed for the instance that decides", "error", err)
	c.forget()
	writeFailure(c.RequestCtx, service.Unsigned())
}

// sign returns the token of claims.
func (s *Server) sign(claims string) ([]byte, error) {
	if s.config.Pass.Sign == nil {
		return nil, errors.New("no claims were asked for")
	}
	text, err := base64.RawURLEncoding.DecodeString(claims)
	if err != nil {
		return nil, err
	}
	return s.config.Pass.Sign(nil, text)
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
