package httpd

import (
	"bytes"
	"context"
	"net/url"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/approve"
	"bailiff/httpd/console"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// consoleRoute is what limits and bounds of bodies know of the console's pages, which are no part of the API and its document.
var consoleRoute = &route{path: console.Root, access: public, limit: manageLimit, bodyBytes: console.MaxForm}

// approveRoute is the same for the approvers' pages.
var approveRoute = &route{path: approve.Root, access: public, limit: manageLimit, bodyBytes: approve.MaxForm}

// A pageMaker makes pages for people: those of the console, or the approvers'.
type pageMaker interface {
	CookieName() string
	Answer(ctx context.Context, r *console.Request) *console.Response
	Refuse(fault *service.Failure) *console.Response
}

// pagesOf returns who makes the page of a path, nil where there is none.
func (s *Server) pagesOf(path []byte) pageMaker {
	switch {
	case s.config.Console != nil && console.Owns(string(path)):
		return s.config.Console
	case s.config.Approve != nil && approve.Owns(string(path)):
		return s.config.Approve
	}
	return nil
}

// servePages answers a request for a page, in the order of the API: transport, source, origin, body, key.
func (s *Server) servePages(c *call, pages pageMaker) {
	for _, header := range console.SecurityHeaders {
		c.Response.Header.Set(header[0], header[1])
	}
	if c.route = consoleRoute; pages == pageMaker(s.config.Approve) {
		c.route = approveRoute
	}
	scheme, fault := s.consoleScheme(c)
	if fault == nil {
		fault = s.limitVisit(c)
	}
	method := string(c.Method())
	if method == fasthttp.MethodHead {
		method = fasthttp.MethodGet
	}
	header := &c.Request.Header
	if fault == nil && method != fasthttp.MethodGet && !console.SameOrigin(scheme, string(header.Host()), string(header.Peek("Origin")), string(header.Peek("Sec-Fetch-Site"))) {
		fault = &service.Failure{Code: errcode.NotFound, HTTP: fasthttp.StatusForbidden, Message: "the form was not sent by a page of this service; open the page and send it from there"}
	}
	if fault == nil && encoded(header) {
		fault = schemaFailure("the body has a Content-Encoding; send it as it is")
	}
	if fault == nil {
		var err error
		if fault, err = c.readBody(c.route.maxBody()); err != nil {
			refuseUnread(c.RequestCtx, err)
			return
		}
	}
	if fault != nil {
		show(c.RequestCtx, pages.Refuse(fault))
		return
	}
	request, fault := visit(c.RequestCtx, method, pages.CookieName(), c.input)
	if fault != nil {
		show(c.RequestCtx, pages.Refuse(fault))
		return
	}
	seen := begin(s.config.Confirm)
	request.Admit = func(key *ledger.Key) *service.Failure { return s.takeKey(c, s.keyPolicy(manageLimit), key) }
	ctx, stop := context.Background(), func() {}
	if console.Waits(request.Path) {
		ctx, stop = s.watch(c)
	}
	defer stop()
	show(c.RequestCtx, confirmed(pages.Answer(ctx, request), seen, pages.Refuse))
}

// consoleScheme returns the scheme by which the browser reached the console, or why it is off: API keys and sessions travel
// over TLS, or do not leave the machine. Without TLS of the service's own a trusted proxy alone says that there is TLS in front of it.
func (s *Server) consoleScheme(c *call) (scheme string, fault *service.Failure) {
	peer := socketAddress(c.RemoteAddr())
	forwarded := c.Request.Header.PeekAll("X-Forwarded-Proto")
	if len(forwarded) == 1 && string(forwarded[0]) == "https" && s.trusts(peer) {
		return "https", nil
	}
	direct := len(forwarded) == 0 && len(c.Request.Header.PeekAll("X-Forwarded-For")) == 0
	if s.secure(c.RequestCtx) && (direct || !s.trusts(peer)) {
		return "https", nil
	}
	if direct && peer.IsLoopback() && console.LoopbackHost(string(c.Request.Header.Host())) {
		return "http", nil
	}
	return "", &service.Failure{Code: errcode.NotFound, Message: "this page is off without TLS: set SVC_TLS_CERT and SVC_TLS_KEY, open it by its loopback address on the service's machine, " +
		"or come through a proxy with TLS that SVC_TRUSTED_PROXIES names and that sends X-Forwarded-Proto: https"}
}

// limitVisit is limitSource for a visit: a session counts by its key, and an approver by the passkey, where there is no room for another
// source.
func (s *Server) limitVisit(c *call) *service.Failure {
	fault, full := s.takeSource(c, s.sourcePolicy(s.config.Stores.Sources))
	if !full {
		return fault
	}
	var id ledger.ID
	if c.route == approveRoute {
		id = s.config.Approve.VisitorID(string(c.Request.Header.Cookie(s.config.Approve.CookieName())))
	} else if key := s.config.Console.SessionKey(string(c.Request.Header.Cookie(console.Cookie))); key != nil {
		id = key.ID
	}
	if id == (ledger.ID{}) {
		return fault
	}
	return s.takeOwn(c, s.sourcePolicy(s.config.Stores.Keys), id)
}

// visit is the request as the console takes it.
func visit(c *fasthttp.RequestCtx, method, cookie string, body []byte) (*console.Request, *service.Failure) {
	request := &console.Request{Method: method, Path: string(pathOf(&c.Request.Header)), Token: string(c.Request.Header.Cookie(cookie))}
	request.LastEventID = string(c.Request.Header.Peek("Last-Event-Id"))
	var err error
	_, query, _ := bytes.Cut(c.Request.Header.RequestURI(), []byte("?"))
	if request.Query, err = url.ParseQuery(string(query)); err != nil {
		return nil, schemaFailure("the query of the address is malformed")
	}
	if method == fasthttp.MethodPost {
		if request.Form, err = url.ParseQuery(string(body)); err != nil {
			return nil, schemaFailure("the form is malformed")
		}
	}
	return request, nil
}

// show writes a page.
func show(c *fasthttp.RequestCtx, page *console.Response) {
	c.SetStatusCode(page.Status)
	header := &c.Response.Header
	if page.Cacheable {
		header.SetCanonical(cacheControl, []byte("no-cache"))
	} else {
		header.SetCanonical(cacheControl, noStore)
	}
	for _, field := range [...][2]string{{"Location", page.Location}, {"Allow", page.Allow}, {"Set-Cookie", page.SetCookie}} {
		if field[1] != "" {
			header.Add(field[0], field[1])
		}
	}
	if page.Type != "" {
		c.SetContentType(page.Type)
	}
	c.Response.SetBody(page.Body)
}
