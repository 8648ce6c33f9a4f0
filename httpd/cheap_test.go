//go:build !race

// Under the race detector a sync.Pool forgets what it has at random, and takes memory anew.

package httpd

import (
	"testing"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/accounts"
	"bailiff/runtime/decision"
	"bailiff/runtime/ledger"
)

// TestDispatchIsCheap holds what is around a decision to no memory of its own, where no limit is set.
func TestDispatchIsCheap(t *testing.T) {
	w := newWorld(t)
	server := w.serve(w.config(w.authority("version: 1.0.0\n\n## tool_calls\nallowed: bash\n", false)))
	w.createKey("agent", accounts.NewKey{})
	request := func(set func(*fasthttp.Request)) float64 {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.Header.SetProtocol("HTTP/1.1")
		ctx.Request.Header.Set("Authorization", "Bearer "+w.said["agent"])
		ctx.Request.SetBodyString("{}") // refused when it is decoded: what the decision takes is not counted here
		set(&ctx.Request)
		return testing.AllocsPerRun(200, func() {
			ctx.Response.Reset()
			server.dispatch(&ctx)
		})
	}
	decide := request(func(r *fasthttp.Request) { r.SetRequestURI("/v1/authorize") })
	c, token := new(call), []byte(w.said["agent"])
	floor := testing.AllocsPerRun(200, func() {
		key, fault := server.config.Authority.Authenticate(token, ledger.ScopeAuthorize)
		if fault != nil {
			t.Fatal(fault)
		}
		fault = server.config.Authority.Decide(t.Context(), key, []byte("{}"), decision.Call{}, &c.answer)
		_ = appendBody(nil, fault)
	})
	if decide > floor {
		t.Errorf("dispatch takes memory %v times where the decision alone takes it %v times", decide, floor)
	}
	if n := request(func(r *fasthttp.Request) { r.SetRequestURI("/healthz"); r.Header.SetMethod("GET") }); n != 0 {
		t.Errorf("a request for /healthz takes memory %v times", n)
	}
}
