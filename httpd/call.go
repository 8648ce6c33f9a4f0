package httpd

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/peers"
	"bailiff/httpd/strict"
	"bailiff/runtime/decision"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/runtime/tracecontext"
	"bailiff/vm/errcode"
)

// A call is a request on its way through a route. Calls are used again.
type call struct {
	*fasthttp.RequestCtx
	server    *Server
	route     *route
	key       *ledger.Key // nil where the route is public
	parameter string      // the path's
	stay      slots.Stay  // in its slot, where that is of several
	id        ledger.ID   // of the request; a decision has the same
	requestID []byte      // the id as the answer names it: what the client sent, in the request's memory, or id, in made
	sent      bool        // the client sent requestID
	unfit     bool        // a gateway has refused a write that does not fit its attestation
	unsigned  bool        // the instance that passes the request on signs its attestation
	counted   bool        // the limit of its source has counted it, before it was known to be a read
	input     []byte      // the request's body
	body      body

	made   [madeRequestID]byte
	name   []byte          // that is counted for a limit
	answer decision.Answer // a decision,
	output []byte          // and its JSON, before that is copied into the response
}

var calls = sync.Pool{New: func() any { return new(call) }}

// Names of headers as fasthttp takes them without looking at them again.
var (
	cacheControl    = []byte("Cache-Control")
	noStore         = []byte("no-store")
	requestIDHeader = []byte("X-Request-Id")
	traceHeader     = []byte("Traceparent")
)

// dispatch takes a request to its route and counts the answer.
func (s *Server) dispatch(ctx *fasthttp.RequestCtx) { s.with(ctx, s.begin) }

// with has a request answered by a function that returns what counts the answer; nil where that was done.
func (s *Server) with(ctx *fasthttp.RequestCtx, answer func(*call) *metrics.Route) {
	if strict.Pipelined(ctx.Conn()) {
		// Nothing that it waits for would let others run: some hundred connections with thirty such requests each made a new
		// connection wait for half a second.
		runtime.Gosched()
	}
	c := calls.Get().(*call)
	c.RequestCtx, c.server, c.key, c.unfit, c.unsigned, c.counted, c.stay = ctx, s, nil, false, false, false, slots.Stay{}
	done := false
	defer func() {
		if !done { // a panic: the memory is not used again
			c.giveBack()
		}
	}()
	s.identify(c)
	counter := answer(c)
	c.leave()
	counter.Count(ctx.Response.StatusCode(), time.Since(ctx.Time()))
	if s.http.Draining() {
		ctx.SetConnectionClose()
	}
	c.dropBody()
	if cap(c.output) > keptBufferBytes {
		c.output = nil
	}
	c.RequestCtx, c.key, c.requestID = nil, nil, nil
	c.answer.Explanation = nil // it is large, and is not used again
	c.answer.Details = decision.Details{}
	done = true
	calls.Put(c) // not deferred: after a panic it may be in use
}

// begin sees where a request comes from and what it is of, and returns what counts its answer.
func (s *Server) begin(c *call) *metrics.Route {
	if s.config.Passed {
		if fault := takePassed(c.RequestCtx); fault != nil {
			s.fail(c, fault)
			return s.others
		}
		c.unsigned = string(c.Request.Header.Peek(peers.Signs)) == s.config.Authority.Signer.Pair()
	}
	switch {
	case s.config.Slots == nil:
		return s.lead(c)
	case s.config.Passed && bytes.HasPrefix(pathOf(&c.Request.Header), []byte(peers.Root)):
		return s.answerQuestion(c)
	case s.config.Passed && bytes.HasPrefix(pathOf(&c.Request.Header), []byte(peers.Commands+"/")):
		return s.answerCommand(c)
	}
	return s.leadHere(c)
}

// lead takes a request to its route, and returns what counts the route's answers.
func (s *Server) lead(c *call) *metrics.Route {
	path := pathOf(&c.Request.Header)
	resource, parameter := find(path)
	switch {
	case resource == nil && s.pagesOf(path) != nil:
		s.servePages(c, s.pagesOf(path))
		return s.pages
	case ofEnvoy(path):
		c.route = envoyRoute
		s.pass(c)
		return s.envoy
	case resource == nil:
		s.fail(c, &service.Failure{Code: errcode.NotFound, Message: "there is no such route"})
		return s.others
	}
	c.parameter = string(parameter)
	s.serve(c, resource)
	return s.counters[resource.index]
}

// identify gives the request an id, which the answer names unless the client has sent one of its own. Envoy shows the answer to
// somebody else, so that the id is never the one that was sent.
func (s *Server) identify(c *call) {
	c.id = s.ids.next()
	made := hex.AppendEncode(c.made[:0], c.id[:])
	c.requestID = c.Request.Header.PeekCanonical(requestIDHeader)
	if c.sent = wellFormedID(c.requestID); !c.sent {
		c.requestID = made
	}
	if ofEnvoy(pathOf(&c.Request.Header)) {
		c.Response.Header.SetCanonical(requestIDHeader, made)
		return
	}
	c.Response.Header.SetCanonical(requestIDHeader, c.requestID)
}

// serve finds the route of a request and takes it through.
func (s *Server) serve(c *call, r *resource) {
	if c.route = r.route(c.Method()); c.route == nil {
		s.fail(c, &service.Failure{Code: errcode.MethodNotAllowed, Message: "this route takes " + strings.ReplaceAll(r.allow, ", ", " and ")})
		c.Response.Header.Set("Allow", r.allow)
		return
	}
	s.pass(c)
}

// pass admits a request to the call's route in the decided order: source, key, scope, body, limit of the key. What follows is the
// handler's. Nothing of the body is used before the key has been looked at, nor anything done before the body has come as a whole.
func (s *Server) pass(c *call) {
	fault := s.admitEarly(c)
	var seen confirmation
	if fault == nil && (c.route.access.keyed || c.route.bodyBytes > 0) {
		seen = begin(s.confirmer(c))
	}
	if fault == nil && c.route.access.keyed {
		c.key, fault = s.authenticate(c)
	}
	if fault == nil && c.route.bodyBytes > 0 && encoded(&c.Request.Header) {
		fault = s.refuseEncoding(c)
	}
	if fault == nil && c.route.limit == gatewayLimit {
		fault = s.admitUnattested(c)
	}
	if fault == nil {
		var err error
		if fault, err = c.readBody(c.route.maxBody()); err != nil {
			refuseUnread(c.RequestCtx, err)
			return
		}
	}
	if fault == nil && c.key != nil && c.route.limit != decisionLimit {
		fault = s.admitKey(c, c.key)
	}
	if fault != nil {
		s.fail(c, fault)
		s.confirm(c, seen)
		return
	}
	c.route.handle(s, c)
	s.confirm(c, seen)
	s.countRefused(c)
}

// confirm replaces the answer where it must not be told. Over several slots, the answer of a node says nothing of them: the use of the
// attestation was confirmed by its own record.
func (s *Server) confirm(c *call, seen confirmation) {
	if s.config.Slots != nil && c.route.limit == gatewayLimit && c.Response.StatusCode() == fasthttp.StatusOK {
		return
	}
	if fault := seen.fault(); fault != nil {
		c.forget()
		s.fail(c, fault)
	}
}

// leaveClaims leaves the claims of a decision, if there are any, to the instance that signs them.
func (c *call) leaveClaims() {
	if c.answer.Claims != nil {
		c.Response.Header.Set(peers.Claims, base64.RawURLEncoding.EncodeToString(c.answer.Claims))
	}
}

// forget removes an answer, but for the id of its request.
func (c *call) forget() {
	id := append([]byte(nil), c.Response.Header.PeekBytes(requestIDHeader)...)
	c.Response.Reset()
	c.Response.Header.SetCanonical(requestIDHeader, id)
}

// refuseEncoding refuses a body for its content encoding. On a gateway, whose handler is not come to, that counts for the
// source as everything does there that is malformed.
func (s *Server) refuseEncoding(c *call) *service.Failure {
	if c.route.limit == gatewayLimit {
		if fault := s.limitSource(c); fault != nil {
			return fault
		}
	}
	return schemaFailure("the body has a Content-Encoding; send it as it is")
}

// encoded reports whether a body has a content encoding, in whichever of several fields.
func encoded(header *fasthttp.RequestHeader) bool {
	for _, encoding := range header.PeekAll("Content-Encoding") {
		if len(encoding) > 0 {
			return true
		}
	}
	return false
}

// fail answers with an error body.
func (s *Server) fail(c *call, fault *service.Failure) { writeFailure(c.RequestCtx, fault) }

// sentID is the id that the client gave the request, or empty, in memory that is used again when the call is over.
func (c *call) sentID() string {
	if !c.sent {
		return ""
	}
	return unsafe.String(unsafe.SliceData(c.requestID), len(c.requestID))
}

// trace is the traceparent that the client sent, in the request's memory; "" where it sent none, several, or one that is none.
func (c *call) trace() string {
	raw := c.Request.Header.PeekCanonical(traceHeader)
	text := unsafe.String(unsafe.SliceData(raw), len(raw))
	if !tracecontext.WellFormed(text) {
		return ""
	}
	return text
}

func (s *Server) authenticate(c *call) (*ledger.Key, *service.Failure) {
	token, fault := bearer(&c.Request.Header)
	if fault != nil {
		return nil, fault
	}
	return s.config.Authority.Authenticate(token, c.route.access.scope)
}

// bearer returns the token of the one Authorization header (RFC 6750, section 2.1), or why there is none.
func bearer(header *fasthttp.RequestHeader) (token []byte, fault *service.Failure) {
	const howTo = "send the API key as Authorization: Bearer sk_svc_…"
	values := header.PeekAll("Authorization")
	switch {
	case len(values) == 0:
		return nil, &service.Failure{Code: errcode.APIKeyRequired, Message: howTo}
	case len(values) > 1:
		return nil, &service.Failure{Code: errcode.APIKeyInvalid, Message: "there are several Authorization headers; send one"}
	}
	scheme, token, _ := bytes.Cut(values[0], []byte(" "))
	if !bytes.EqualFold(scheme, []byte("Bearer")) {
		return nil, &service.Failure{Code: errcode.APIKeyInvalid, Message: "the Authorization header is of another scheme; " + howTo}
	}
	return bytes.TrimLeft(token, " "), nil
}
