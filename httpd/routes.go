package httpd

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/authority"
	"bailiff/runtime/code"
)

// Bodies' bounds in bytes (decisions, section 3).
const (
	authorizeBodyBytes = authority.MaxBody
	maxBodyBytes       = 400_000 // the largest of any route
)

// A route is one row of the table of routes.
type route struct {
	path, method string
	bodyBytes    int // the largest body; 0 where none is looked at
	handle       func(*Server, *fasthttp.RequestCtx)
}

// routes is the table of the API's routes (specification, "Endpoints").
var routes = []route{
	{"/v1/authorize", "POST", authorizeBodyBytes, (*Server).authorize},
	{"/v1/authorize/test-run", "POST", authorizeBodyBytes, (*Server).testRun},
	{"/.well-known/jwks.json", "GET", 0, (*Server).jwks},
	{"/.well-known/svc-pqc-keys.json", "GET", 0, (*Server).pqcKeys},
	{"/v1/pqc-keys", "GET", 0, (*Server).pqcKeys},
	{"/healthz", "GET", 0, (*Server).health},
	{"/v1/service-metadata", "GET", 0, (*Server).metadata},
}

var routeByPath = func() map[string]*route {
	index := make(map[string]*route, len(routes))
	for i := range routes {
		index[routes[i].path] = &routes[i]
	}
	return index
}()

// route finds the handler of a request. A path is taken as it was sent: nothing is decoded or cleaned, so that
// no second spelling of a route gets past a proxy that knows the first.
func (s *Server) route(ctx *fasthttp.RequestCtx) {
	found := routeByPath[string(pathOf(&ctx.Request.Header))]
	method := string(ctx.Method())
	switch {
	case found == nil:
		writeFailure(ctx, &authority.Failure{Code: code.NotFound, Message: "there is no such route"})
	case method != found.method && (method != "HEAD" || found.method != "GET"):
		writeFailure(ctx, &authority.Failure{Code: code.MethodNotAllowed, Message: "this route takes " + found.method})
		ctx.Response.Header.Set("Allow", found.method)
	default:
		found.handle(s, ctx)
	}
	if s.draining.Load() {
		ctx.SetConnectionClose()
	}
}

// pathOf is the request target up to its query.
func pathOf(header *fasthttp.RequestHeader) []byte {
	target := header.RequestURI()
	for i, c := range target {
		if c == '?' {
			return target[:i]
		}
	}
	return target
}

// boundBody sets a request's body bound when its headers have come, before its body is read.
func boundBody(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	bound := maxBodyBytes // also of a path that leads nowhere, so that it is answered as such
	if found := routeByPath[string(pathOf(header))]; found != nil && found.bodyBytes > 0 {
		bound = found.bodyBytes
	}
	return fasthttp.RequestConfig{MaxRequestBodySize: bound}
}

// bearer returns the token of the one Authorization header (RFC 6750, section 2.1), or why there is none.
func bearer(header *fasthttp.RequestHeader) (token []byte, fault *authority.Failure) {
	const howTo = "send the API key as Authorization: Bearer sk_svc_…"
	values := header.PeekAll("Authorization")
	switch {
	case len(values) == 0:
		return nil, &authority.Failure{Code: code.APIKeyRequired, Message: howTo}
	case len(values) > 1:
		return nil, &authority.Failure{Code: code.APIKeyInvalid, Message: "there are several Authorization headers; send one"}
	}
	scheme, token, _ := bytes.Cut(values[0], []byte(" "))
	if !bytes.EqualFold(scheme, []byte("Bearer")) {
		return nil, &authority.Failure{Code: code.APIKeyInvalid, Message: "the Authorization header is of another scheme; " + howTo}
	}
	return bytes.TrimLeft(token, " "), nil
}
