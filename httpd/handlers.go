package httpd

import (
	"context"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/authority"
	"bailiff/runtime/canonical"
	"bailiff/runtime/code"
	"bailiff/runtime/ledger"
)

// keySetCaching is how long others may keep a key set (decisions, section 4).
const keySetCaching = "max-age=300"

func (s *Server) authorize(ctx *fasthttp.RequestCtx) { s.decide(ctx, false) }

func (s *Server) testRun(ctx *fasthttp.RequestCtx) { s.decide(ctx, true) }

// decide answers authorize and test-run: authentication, then the body (decisions, section 3, "Order").
func (s *Server) decide(ctx *fasthttp.RequestCtx, testRun bool) {
	key, fault := s.authenticate(ctx, ledger.ScopeAuthorize)
	if fault == nil && len(ctx.Request.Header.ContentEncoding()) > 0 {
		fault = schemaFailure("the body has a Content-Encoding; send it as it is")
	}
	explain := false
	if fault == nil {
		explain, fault = explainQuery(ctx, testRun)
	}
	if fault != nil {
		writeFailure(ctx, fault)
		return
	}
	// The wait for the store ends with the store's answer alone: a client that goes away changes nothing.
	d := decisions.Get().(*decision)
	if explain {
		fault = s.authority.Explain(context.Background(), key, ctx.PostBody(), &d.answer)
	} else {
		fault = s.authority.Decide(context.Background(), key, ctx.PostBody(), testRun, &d.answer)
	}
	if fault != nil {
		writeFailure(ctx, fault)
	} else {
		d.write(ctx)
	}
	d.answer.Explanation = nil // it is large, and nobody's to use again
	decisions.Put(d)           // not deferred: after a panic it may be in use
}

func (s *Server) authenticate(ctx *fasthttp.RequestCtx, scope ledger.Scopes) (*ledger.Key, *authority.Failure) {
	token, fault := bearer(&ctx.Request.Header)
	if fault != nil {
		return nil, fault
	}
	return s.authority.Authenticate(token, scope)
}

func (s *Server) jwks(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set("Cache-Control", keySetCaching)
	writeJSON(ctx, fasthttp.StatusOK, s.authority.JWKS())
}

func (s *Server) pqcKeys(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set("Cache-Control", keySetCaching)
	writeJSON(ctx, fasthttp.StatusOK, s.authority.PQCKeys())
}

// health answers for the process alone: a store in trouble shows in the decisions, which then are refused.
func (s *Server) health(ctx *fasthttp.RequestCtx) {
	writeJSON(ctx, fasthttp.StatusOK, []byte(`{"status":"ok"}`))
}

func (s *Server) metadata(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set("Cache-Control", "no-store")
	if s.commit == "" {
		writeFailure(ctx, &authority.Failure{Code: code.MetadataUnavailable, Message: "this build is bound to no commit: it was made outside a repository, or from a tree with changes"})
		return
	}
	writeJSON(ctx, fasthttp.StatusOK, append(canonical.AppendString([]byte(`{"serviceCommit":`), s.commit), '}'))
}
