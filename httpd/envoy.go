package httpd

import (
	"github.com/valyala/fasthttp"

	"bailiff/runtime/decision"
	"bailiff/runtime/envoy"
	"bailiff/runtime/service"
)

// The headers between Envoy and the service. Envoy's configuration sets the first; the second is of an answer that allows.
const (
	agentHeader       = "X-Bailiff-Agent"
	attestationHeader = "X-Bailiff-Attestation"
)

// askedByEnvoy answers a request of Envoy's: 200 where the action is allowed, with its attestation where there is one, and 403 in
// every other case.
func (s *Server) askedByEnvoy(c *call) {
	request, fault := c.envoyRequest()
	var body []byte
	if fault == nil {
		var err error
		if body, err = request.Body(); err != nil {
			fault = schemaFailure(err.Error())
		}
	}
	if fault == nil {
		fault = s.judge(c, body, decision.Call{ID: c.id, TestRun: !s.config.EnvoyAuthorizes, RequestID: c.sentID(), Trace: c.trace(), Unsigned: c.unsigned})
	}
	switch {
	case fault != nil:
		s.fail(c, fault)
	case c.allowed():
		writeEnvoy(c.RequestCtx, fasthttp.StatusOK)
		if c.answer.Attestation != nil {
			c.Response.Header.SetBytesV(attestationHeader, c.answer.Attestation)
		}
		c.leaveClaims()
	default:
		writeEnvoyDenial(c.RequestCtx, c.answer.Status, c.answer.Code)
	}
}

// envoyRequest is the request that Envoy holds back. A header that is there twice could be one of the client's.
func (c *call) envoyRequest() (*envoy.Request, *service.Failure) {
	agents := c.Request.Header.PeekAll(agentHeader)
	if len(agents) > 1 {
		return nil, schemaFailure("there are several " + agentHeader + " headers; have Envoy set it, in place of the client's")
	}
	agent := ""
	if len(agents) == 1 {
		agent = string(agents[0])
	}
	return &envoy.Request{
		Method: string(c.Method()), Host: string(c.Request.Header.Host()), Target: string(c.Request.Header.RequestURI()), Agent: agent,
	}, nil
}
