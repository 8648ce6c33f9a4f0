package httpd

import (
	"context"
	"slices"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/authority"
	"bailiff/runtime/code"
	"bailiff/runtime/gateway"
)

func (s *Server) rpc(c *call) { s.relay(c, gateway.RPC) }

func (s *Server) bundler(c *call) { s.relay(c, gateway.Bundler) }

// relay answers a request to a gateway. Reads are public and under the IP limit; a write is under its attestation.
func (s *Server) relay(c *call, endpoint gateway.Endpoint) {
	if s.gateway == nil {
		s.fail(c, &authority.Failure{Code: code.NotFound, Message: "this service has no gateways"})
		return
	}
	request, answer := s.gateway.Parse(endpoint, c.parameter, c.PostBody())
	if answer != nil || !request.Write() {
		if fault := s.limitSource(c); fault != nil {
			s.fail(c, fault)
			return
		}
	}
	if answer == nil {
		// The wait for the store and the upstream ends with their answers alone: a client that goes away changes nothing.
		answer = s.gateway.Serve(context.Background(), request, credentialOf(c, request))
		c.unfit = answer.Unfit
	}
	if answer.Code != "" {
		s.fail(c, &authority.Failure{Code: answer.Code, Message: answer.Message})
		return
	}
	c.Response.Header.SetCanonical(cacheControl, noStore)
	c.SetStatusCode(fasthttp.StatusOK)
	c.SetContentType("application/json")
	c.Response.SetBodyRaw(answer.Body) // nobody uses it again
}

// credentialOf returns what a write is let through for; nothing for a read.
func credentialOf(c *call, r *gateway.Request) gateway.Credential {
	if !r.Write() {
		return gateway.Credential{}
	}
	return gateway.Credential{
		Authorization: slices.Clone(c.Request.Header.PeekAll("Authorization")), // PeekAll uses its slice again
		Receipt:       c.Request.Header.PeekAll("Svc-Receipt"),
	}
}
