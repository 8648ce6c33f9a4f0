package httpd

import (
	"cmp"
	"encoding/hex"
	"net/netip"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/decision"
	"bailiff/runtime/hook"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// claudeHookPath is where Claude Code asks before it calls a tool. It takes denials from the JSON of an answer alone, never
// from its status: so every request is answered 200, and all but ALLOWED is a denial in its format.
const claudeHookPath = "/v1/hooks/claude-code"

// What requests of this route say of their agent: the host has no place for anything else.
const (
	hookAgent     = "agent"
	hookFramework = "agent-hooks"
)

// claudeHook answers an event. It is decided as POST /v1/authorize decides the request that it becomes. The paths that it names
// are not opened, so that the usage of a model is not known here.
func (s *Server) claudeHook(c *call) {
	request, fault := s.hookRequest(c)
	if fault != nil {
		s.fail(c, fault)
		return
	}
	want := decision.Call{ID: c.id, RequestID: cmp.Or(c.sentID(), hook.RequestID(request.TaskID)), Trace: c.trace()}
	want.Unsigned = true // no host of a hook is given an attestation
	if fault := s.judge(c, request.Body, want); fault != nil {
		s.fail(c, fault)
		return
	}
	a := &c.answer
	writeHook(c.RequestCtx, hook.Answered{
		Status: a.Status, Code: string(a.Code), Rule: a.Rule, Message: string(a.Message), HoldID: a.HoldID, ExpiresAt: a.ExpiresAt,
	}.Decision())
}

// hookRequest makes the request for a decision. An event of many small parts takes far more memory to read than its body has
// bytes, so that is taken from the budget of bodies, too.
func (s *Server) hookRequest(c *call) (*hook.Request, *service.Failure) {
	source, weight := netip.Addr{}, int64(hook.Weight(len(c.input)))
	if len(c.input) > firstBodyBytes {
		source = s.source(c.RequestCtx)
	}
	if err := s.bodies.Take(source, weight); err != nil {
		return nil, c.noRoom(err)
	}
	defer s.bodies.Give(source, weight)
	event, err := hook.Read(hook.ClaudeCode, c.input)
	if err != nil {
		return nil, schemaFailure(err.Error())
	}
	request, err := event.Request(hook.Config{AgentID: hookAgent, Framework: hookFramework, Random: hex.EncodeToString(c.id[:])})
	if err != nil {
		return nil, schemaFailure(err.Error())
	}
	return request, nil
}

// writeHookDenial answers a request that was not decided.
func writeHookDenial(ctx *fasthttp.RequestCtx, f *service.Failure) {
	writeHook(ctx, hook.Answered{Code: string(errcode.Lookup(f.Code).Code), Message: f.Message}.Decision())
}

// writeHook writes a decision as Claude Code reads it: one object, empty where the call may run.
func writeHook(ctx *fasthttp.RequestCtx, d hook.Decision) {
	body := hook.Answer(hook.Find(hook.ClaudeCode), d).Stdout
	if len(body) == 0 {
		body = []byte("{}\n")
	}
	writeJSON(ctx, fasthttp.StatusOK, body)
	ctx.Response.Header.SetCanonical(cacheControl, noStore)
}
