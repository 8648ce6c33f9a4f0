package httpd

import (
	"context"
	"io"
	"slices"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/gateway"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

func (s *Server) rpc(c *call) { s.relay(c, gateway.RPC) }

func (s *Server) bundler(c *call) { s.relay(c, gateway.Bundler) }

// relay answers a request to a gateway. Reads are public and under the IP limit; a write is under its attestation.
func (s *Server) relay(c *call, endpoint gateway.Endpoint) {
	if s.gateway == nil {
		s.fail(c, &service.Failure{Code: errcode.NotFound, Message: "this service has no gateways"})
		return
	}
	request, answer := s.gateway.Parse(endpoint, c.parameter, c.input)
	if !c.counted && (answer != nil || !request.Write()) {
		if fault := s.limitSource(c); fault != nil {
			s.fail(c, fault)
			return
		}
	}
	if answer == nil {
		request.Source = s.source(c.RequestCtx)
		var credential gateway.Credential
		if request.Write() {
			credential = credentialOf(c)
		}
		// The wait for the store and the upstream ends with their answers alone: a client that goes away changes nothing.
		answer = s.gateway.Serve(context.Background(), request, credential)
		c.unfit = answer.Unfit
	}
	if answer.Code != "" {
		s.fail(c, &service.Failure{Code: answer.Code, Message: answer.Message, HTTP: answer.HTTP})
		return
	}
	c.Response.Header.SetCanonical(cacheControl, noStore)
	c.SetStatusCode(fasthttp.StatusOK)
	c.SetContentType("application/json")
	if answer.Held() {
		c.Response.SetBodyStream(&heldBody{answer: answer, left: answer.Body}, len(answer.Body))
		return
	}
	c.Response.SetBodyRaw(answer.Body) // it is not used again
}

// A heldBody is an upstream's answer on its way to the client. The HTTP library closes it when it was written, or when the
// connection broke.
type heldBody struct {
	answer *gateway.Response
	left   []byte
}

// Read implements io.Reader.
func (h *heldBody) Read(into []byte) (int, error) {
	if len(h.left) == 0 {
		return 0, io.EOF
	}
	n := copy(into, h.left)
	h.left = h.left[n:]
	return n, nil
}

// WriteTo implements io.WriterTo: nothing is copied.
func (h *heldBody) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(h.left)
	h.left = h.left[n:]
	return int64(n), err
}

// Close implements io.Closer.
func (h *heldBody) Close() error {
	h.answer.Release()
	return nil
}

// admitUnattested holds what may be large to the limit of its source before its body is read, unless it has a good
// attestation: then it is a write, and under that.
func (s *Server) admitUnattested(c *call) *service.Failure {
	length := c.Request.Header.ContentLength()
	small := c.RequestBodyStream() == nil || 0 <= length && length <= firstBodyBytes
	if small || s.gateway != nil && s.gateway.Attests(credentialOf(c)) {
		return nil
	}
	c.counted = true
	return s.limitSource(c)
}

// credentialOf returns what a write is let through for.
func credentialOf(c *call) gateway.Credential {
	return gateway.Credential{
		Authorization: slices.Clone(c.Request.Header.PeekAll("Authorization")), // PeekAll uses its slice again
		Receipt:       c.Request.Header.PeekAll("Svc-Receipt"),
	}
}
