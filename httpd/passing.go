package httpd

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/peers"
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

const (
	// wholeBytes is how large an answer is that is read as a whole before any of it is told.
	wholeBytes = 64 << 10
	// passPause is the pause before an instance that can't be reached is tried again.
	passPause = 50 * time.Millisecond
)

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
func (s *Server) send(c *call, to peers.Instance) (answered bool) {
	leave, ok := s.config.Pass.Enter(s.source(c.RequestCtx), to.Name)
	if !ok {
		s.config.Metrics.Passed(metrics.PassRefused)
		writeFailure(c.RequestCtx, &service.Failure{Code: errcode.RateLimited, RetryAfter: time.Second, Message: "as many requests of your address are under way as this instance passes on at once; send fewer at once"})
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), peers.Time)
	end := sync.OnceFunc(func() { cancel(); leave() })
	go peers.Follow(ctx, cancel, to, s.http.Serving().Done())
	stop := func() {}
	if c.IsGet() && len(c.input) == 0 { // it may wait for a hold, for a client that has gone
		watched, unwatch := strict.Watch(ctx, c.Conn())
		leaves := context.AfterFunc(watched, cancel)
		stop = func() { leaves(); unwatch() } // unwatch ends watched, too
	}
	request := c.toPass()
	if s.config.Pass.Sign != nil {
		request.Header[peers.Signs] = []string{s.config.Pass.Pair}
	}
	response, sent, err := s.config.Pass.Once(ctx, cancel, to, false, request)
	stop()
	if err != nil {
		defer end()
		var unreachable peers.UnreachableError
		switch {
		case sent:
			s.config.Metrics.Passed(metrics.PassLost)
			s.lose(c)
		case errors.As(err, &unreachable) || ctx.Err() != nil:
			s.config.Metrics.Passed(metrics.PassUnreachable)
			return false
		default: // the library does not write it
			s.config.Metrics.Passed(metrics.PassRefused)
			writeFailure(c.RequestCtx, schemaFailure("the target or a header has a character that can't be passed on to the instance that decides"))
		}
		return true
	}
	if response.Header.Get(peers.Back) != "" {
		s.config.Metrics.Passed(metrics.PassReturned)
		response.Body.Close()
		end()
		return false
	}
	s.config.Metrics.Passed(metrics.PassAnswered)
	s.tell(c, response, end)
	return true
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
	peers.From: true, peers.TLS: true, peers.Back: true, peers.Signs: true, peers.Claims: true,
}

// repeatable are the methods by which the library takes a request without a body for repeatable. Of an empty body it finds out that it is
// empty, and sends none; with other methods it would send chunks.
var repeatable = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}

// toPass returns the request as it is, with what the other instance can't see of it.
func (c *call) toPass() *http.Request {
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
	header[peers.From] = []string{peers.Unnamed}
	if at, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		header[peers.From] = []string{at.AddrPort().String()}
	}
	if strict.Secure(c.Conn()) {
		header[peers.TLS] = []string{"1"}
	}
	request := &http.Request{
		Method: string(c.Method()), URL: &url.URL{Scheme: "http", Host: "bailiff", Opaque: string(c.Request.Header.RequestURI())},
		Host: string(c.Request.Header.Host()), Header: header, ContentLength: int64(len(c.input)),
	}
	if len(c.input) > 0 || slices.Contains(repeatable, request.Method) {
		request.Body = peers.Body{Reader: bytes.NewReader(c.input)}
	}
	return request
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
	size, claims := response.ContentLength, response.Header.Get(peers.Claims)
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
