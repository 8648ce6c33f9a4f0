package httpd

import (
	"context"
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/peers"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// A store may have several slots of keys, each of which one instance decides for. A request about a key is answered where its slot is. A
// registration is counted where the slot of the source is, and pages, whose sessions are in memory, are where the first slot is. All else any
// instance answers, which asks others for what it needs of their slots.

// leadHere takes a request to its route where its slot is here, and otherwise to the instance that has it.
func (s *Server) leadHere(c *call) *metrics.Route {
	slot, of := s.slotOf(c)
	if !of {
		return s.lead(c)
	}
	stay, here := s.config.Slots.Enter(slot)
	if here {
		defer stay.Leave()
		c.stay = stay
		return s.lead(c)
	}
	if !s.config.Passed {
		return s.passOn(c, slot, func() *Server { return s.having(slot) }, nil)
	}
	s.refuse(c, "this instance does not have the slot of the API key; nothing was done: send the request again")
	c.Response.Header.Set(peers.Back, "1")
	return s.passed
}

// having returns the server where a slot is here.
func (s *Server) having(slot int) *Server {
	stay, here := s.config.Slots.Enter(slot)
	if !here {
		return nil
	}
	stay.Leave()
	return s
}

// slotOf returns the slot that a request is of, and reports false where any instance answers it.
func (s *Server) slotOf(c *call) (slot int, of bool) {
	path := pathOf(&c.Request.Header)
	resource, _ := find(path)
	switch {
	case resource == nil && ofEnvoy(path):
		return s.slotOfBearer(c)
	case resource == nil:
		return 0, s.pagesOf(path) != nil
	}
	switch route := resource.route(c.Method()); {
	case route == nil:
		return 0, false
	case route.access.keyed:
		return s.slotOfBearer(c)
	case route.limit == registerLimit:
		return s.config.Slots.Of(sha256.Sum256(s.source(c.RequestCtx).AppendTo([]byte("register:")))), true
	}
	return 0, false
}

// slotOfBearer returns the slot of a request's API key, whether there is such a key or not.
func (s *Server) slotOfBearer(c *call) (slot int, of bool) {
	token, fault := bearer(&c.Request.Header)
	if fault != nil {
		return 0, false
	}
	return s.config.Slots.Of(sha256.Sum256(token)), true
}

// confirmer returns what confirms the answer to a request.
func (s *Server) confirmer(c *call) commit.Confirmer {
	if c.stay.Given() && c.route.access.keyed {
		return c.stay
	}
	return s.config.Confirm
}

// questionBytes bounds a question of another instance: the largest has a policy and its program.
const questionBytes = ledger.MaxProgram + 4<<20

// answerCommand answers a command of the operator of another instance.
func (s *Server) answerCommand(c *call) *metrics.Route {
	path := strings.TrimPrefix(string(pathOf(&c.Request.Header)), peers.Commands)
	answers := func(*fasthttp.RequestCtx, string) bool { return false }
	if s.config.Commands != nil {
		if given := s.config.Commands.answer.Load(); given != nil {
			answers = *given
		}
	}
	if !answers(c.RequestCtx, path) {
		writeFailure(c.RequestCtx, &service.Failure{Code: errcode.StoreUnavailable, Message: "this instance does not have the approvers' pages; nothing was done"})
		c.Response.Header.Set(peers.Back, "1")
	}
	return s.passed
}

// answerQuestion answers what another instance asks of a slot.
func (s *Server) answerQuestion(c *call) *metrics.Route {
	fault, err := c.readBody(questionBytes)
	if err != nil {
		refuseUnread(c.RequestCtx, err)
		return s.passed
	}
	if fault != nil {
		writeFailure(c.RequestCtx, fault)
		return s.passed
	}
	slot, err := strconv.Atoi(strings.TrimPrefix(string(pathOf(&c.Request.Header)), peers.Root))
	var answer []byte
	if err == nil {
		answer, err = s.config.Slots.Answer(context.Background(), slot, c.input)
	}
	if err != nil {
		writeFailure(c.RequestCtx, &service.Failure{Code: errcode.StoreUnavailable, Message: "this instance does not have the slot; nothing was done"})
		c.Response.Header.Set(peers.Back, "1")
		return s.passed
	}
	c.SetStatusCode(fasthttp.StatusOK)
	c.Response.SetBodyRaw(answer)
	return s.passed
}
