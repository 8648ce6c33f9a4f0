package httpd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/strict"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// A store may have several slots of keys, each of which one instance decides for. What is about a key is answered where its slot is. Who
// registers is counted where the slot of the source is, and pages, whose sessions are in memory, are where the first slot is. All else any
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
	c.Response.Header.Set(passedBack, "1")
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

// watch returns a context for what a request waits for: it ends where the client leaves, the server is about to end, or the slot is.
func (s *Server) watch(c *call) (context.Context, func()) {
	watched, stop := strict.Watch(s.http.Serving(), c.Conn())
	if !c.stay.Given() {
		return watched, stop
	}
	ctx, cancel := context.WithCancel(watched)
	going := c.stay.Going()
	go func() {
		select {
		case <-going:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); stop() }
}

const (
	// slotsRoot is where an instance takes questions of others about a slot of its own, whose number follows.
	slotsRoot = "/slots/"
	// questionBytes bounds a question: the largest has a policy and its program.
	questionBytes = ledger.MaxProgram + 4<<20
	// answerBytes bounds an answer, which may have all keys of a slot, or groups of the log.
	answerBytes = 1 << 30
	// questionShare is which part of the connections to another instance there may be for questions besides.
	questionShare = 4
)

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
	slot, err := strconv.Atoi(strings.TrimPrefix(string(pathOf(&c.Request.Header)), slotsRoot))
	var answer []byte
	if err == nil {
		answer, err = s.config.Slots.Answer(context.Background(), slot, c.input)
	}
	if err != nil {
		writeFailure(c.RequestCtx, &service.Failure{Code: errcode.StoreUnavailable, Message: "this instance does not have the slot; nothing was done"})
		c.Response.Header.Set(passedBack, "1")
		return s.passed
	}
	c.SetStatusCode(fasthttp.StatusOK)
	c.Response.SetBodyRaw(answer)
	return s.passed
}

// Ask takes a question about a slot to the instance that has it, once ([slots.Options.Remote]).
func (p *Passing) Ask(ctx context.Context, slot int, question []byte) (answer []byte, err error) {
	to := p.Owner(slot)
	if to.Gone == nil || to.Peer == "" {
		return nil, fmt.Errorf("%w: no instance is known that has slot %d", slots.ErrElsewhere, slot)
	}
	ctx, cancel := context.WithTimeout(ctx, passTime)
	defer cancel()
	go follow(ctx, cancel, to, nil)
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	request := (&http.Request{
		Method: http.MethodPost, URL: &url.URL{Scheme: "http", Host: "bailiff", Path: slotsRoot + strconv.Itoa(slot)}, Host: "bailiff",
		Header: http.Header{PassedFrom: {unnamed}}, Body: wholeBody{bytes.NewReader(question)}, ContentLength: int64(len(question)),
	}).WithContext(traced)
	response, err := p.transport(to, true).RoundTrip(request)
	if err != nil && !sent.Load() {
		return nil, fmt.Errorf("%w: %s can't be reached: %v", slots.ErrElsewhere, to.Name, err) //nolint:errorlint // nothing was sent
	}
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", to.Name, err)
	}
	defer response.Body.Close()
	if response.Header.Get(passedBack) != "" {
		return nil, fmt.Errorf("%w: %s does not have slot %d", slots.ErrElsewhere, to.Name, slot)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking %s: it answers %s", to.Name, response.Status)
	}
	answer, err = io.ReadAll(io.LimitReader(response.Body, answerBytes+1))
	if err == nil && len(answer) > answerBytes {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", to.Name, err)
	}
	return answer, nil
}
