package httpd

import (
	"context"

	"bailiff/runtime/policies"

	"github.com/valyala/fasthttp"
)

// pins answers with what the key has pinned of one MCP server.
func (s *Server) pins(c *call) {
	if fault := checkParameters(c.QueryArgs(), c.route.query); fault != nil {
		s.fail(c, fault)
		return
	}
	view, fault := s.config.Authority.Pins(context.Background(), c.key, string(c.QueryArgs().Peek("server")))
	s.reply(c, fasthttp.StatusOK, view, fault)
}

// meetTools pins what is new. No route of the API accepts a definition that has changed: that is the operator's alone.
func (s *Server) meetTools(c *call) {
	view, fault := s.config.Authority.MeetTools(context.Background(), c.key, c.input)
	s.reply(c, fasthttp.StatusOK, view, fault)
}

// pins lists what keys have pinned.
func (s *Admin) pins(ctx *fasthttp.RequestCtx, _ string) {
	arguments := ctx.QueryArgs()
	text := func(name string) string { return string(arguments.Peek(name)) }
	reply(ctx, fasthttp.StatusOK)(s.admin.AllPins(ctx, policies.PinQuery{KeyID: text("key"), Server: text("server"), Tool: text("tool")}))
}

func (s *Admin) acceptTool(ctx *fasthttp.RequestCtx, _ string) {
	var choice policies.PinChoice
	if !readRequest(ctx, &choice) {
		return
	}
	reply(ctx, fasthttp.StatusOK)(s.admin.AcceptTool(ctx, choice))
}

func (s *Admin) forgetTools(ctx *fasthttp.RequestCtx, _ string) {
	var choice policies.PinChoice
	if !readRequest(ctx, &choice) {
		return
	}
	reply(ctx, fasthttp.StatusOK)(s.admin.ForgetTools(ctx, choice))
}
