package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/strict"
	"bailiff/runtime/accounts"
	"bailiff/runtime/decision"
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// timingRequest is the request header by which a client asks authorize or test-run for the answer's field
// Server-Timing, with the value "on". The holder of a key may know how long its own decisions take.
const timingRequest = "Server-Timing"

func (s *Server) authorize(c *call) { s.decide(c, false) }

func (s *Server) testRun(c *call) { s.decide(c, true) }

// decide answers authorize and test-run. The wait for the store ends with the store's answer alone: a client that goes
// away changes nothing.
func (s *Server) decide(c *call, testRun bool) {
	explain, fault := explainQuery(c.RequestCtx)
	if fault != nil {
		s.fail(c, fault)
		return
	}
	want := decision.Call{ID: c.id, TestRun: testRun, Explain: explain, RequestID: c.sentID(), Trace: c.trace(), Unsigned: c.unsigned}
	want.Timed = string(c.Request.Header.Peek(timingRequest)) == "on"
	fault = s.judge(c, c.input, want)
	if want.Timed {
		c.Response.Header.Set("Server-Timing", timing(&c.answer))
	}
	if fault != nil {
		s.fail(c, fault)
		return
	}
	c.writeAnswer()
}

// judge takes the body of a request for a decision to its answer: decode, admit, judge. The limit of decisions counts between the
// body's validation and the policy (decisions, section 3, "Order").
func (s *Server) judge(c *call, body []byte, want decision.Call) *service.Failure {
	request, fault := s.config.Authority.Decode(context.Background(), c.key, body, want, &c.answer)
	if fault != nil {
		return fault
	}
	defer request.Close()
	if s.rates.Load().Key.Limit > 0 {
		if fault := s.admitKey(c, c.key); fault != nil {
			return fault
		}
	}
	return request.Judge(context.Background())
}

// timing is the field Server-Timing of an answer: its stages, in milliseconds (W3C Server Timing, section 2).
func timing(answer *decision.Answer) string {
	var field []byte
	for stage, took := range answer.Timing {
		if took == 0 {
			continue // not come to
		}
		if len(field) > 0 {
			field = append(field, ", "...)
		}
		field = append(append(field, metrics.Stage(stage).String()...), ";dur="...)
		field = strconv.AppendFloat(field, float64(took)/float64(time.Millisecond), 'f', 3, 64)
	}
	return string(field)
}

// hold answers with a hold; with ?wait when it is resolved, the wait is over, the client has gone, or the server is about to end.
func (s *Server) hold(c *call) {
	wait, fault := waitQuery(c.QueryArgs())
	if fault != nil {
		s.fail(c, fault)
		return
	}
	if wait == 0 {
		view, fault := s.config.Authority.Hold(context.Background(), c.key, c.parameter)
		s.reply(c, fasthttp.StatusOK, view, fault)
		return
	}
	ctx, stop := s.watch(c)
	defer stop()
	view, fault := s.config.Authority.WaitHold(ctx, c.key, c.parameter, wait)
	s.reply(c, fasthttp.StatusOK, view, fault)
}

func (s *Server) responsePolicy(c *call) {
	view, fault := s.config.Authority.ResponsePolicy(context.Background(), c.key)
	s.reply(c, fasthttp.StatusOK, view, fault)
}

func (s *Server) resolveHold(c *call) {
	view, fault := s.config.Authority.ResolveHold(context.Background(), c.key, c.parameter, c.input)
	s.reply(c, fasthttp.StatusOK, view, fault)
}

func (s *Server) register(c *call) {
	view, fault := s.config.Authority.Register(context.Background(), c.input)
	s.reply(c, fasthttp.StatusCreated, view, fault)
}

func (s *Server) halt(c *call) {
	view, fault := state(s, c, func() (*accounts.HaltView, *service.Failure) {
		return s.config.Authority.StateHalt(context.Background(), c.input)
	})
	s.reply(c, fasthttp.StatusOK, view, fault)
}

func (s *Server) rotateOperator(c *call) {
	view, fault := state(s, c, func() (*accounts.OperatorView, *service.Failure) {
		return s.config.Authority.StateRotation(context.Background(), c.input)
	})
	s.reply(c, fasthttp.StatusOK, view, fault)
}

func (s *Server) deploy(c *call) {
	view, fault := s.config.Authority.Deploy(context.Background(), c.key, c.input)
	s.reply(c, fasthttp.StatusOK, view, fault)
}

func (s *Server) listWebhooks(c *call) {
	views, fault := s.config.Authority.Webhooks(context.Background(), c.key)
	s.reply(c, fasthttp.StatusOK, views, fault)
}

// createWebhook leaves plan and scope to the authority, which looks at the plan first.
func (s *Server) createWebhook(c *call) {
	view, fault := s.config.Authority.CreateWebhook(context.Background(), c.key, c.input)
	s.reply(c, fasthttp.StatusCreated, view, fault)
}

func (s *Server) removeWebhook(c *call) {
	s.noContent(c, s.config.Authority.RemoveWebhook(context.Background(), c.key, c.parameter))
}

func (s *Server) enableWebhook(c *call) {
	s.noContent(c, s.config.Authority.EnableWebhook(context.Background(), c.key, c.parameter))
}

// noContent answers a request that leaves nothing to say, or why it failed.
func (s *Server) noContent(c *call, fault *service.Failure) {
	if fault != nil {
		s.fail(c, fault)
		return
	}
	c.SetStatusCode(fasthttp.StatusNoContent)
	c.Response.Header.SetCanonical(cacheControl, noStore)
}

func (s *Server) events(c *call) {
	query, fault := eventQuery(c.QueryArgs())
	if fault == nil && query.AfterEach != nil {
		fault = schemaFailure("after: is the next of a page of the events of all keys; continue a page of this key's")
	}
	if fault != nil {
		s.fail(c, fault)
		return
	}
	view, fault := s.config.Authority.Events(context.Background(), c.key, query)
	s.reply(c, fasthttp.StatusOK, view, fault)
}

func (s *Server) limits(c *call) {
	view, fault := s.config.Authority.Limits(context.Background(), c.key)
	s.reply(c, fasthttp.StatusOK, view, fault)
}

// checkpointText is the media type of a signed note (C2SP signed-note), which has none of its own.
const checkpointText = "text/plain; charset=utf-8"

func (s *Server) checkpoint(c *call) {
	note, fault := s.config.Authority.Checkpoint(context.Background(), c.key)
	if fault != nil {
		s.fail(c, fault)
		return
	}
	c.SetContentType(checkpointText)
	c.Response.Header.SetCanonical(cacheControl, noStore)
	c.Response.SetBody(note)
}

// reply writes what the authority returned. Answers to keys are for their holders alone: no cache may keep them.
func (s *Server) reply(c *call, status int, view any, fault *service.Failure) {
	if fault != nil {
		s.fail(c, fault)
		return
	}
	body, err := plainJSON(view)
	if err != nil {
		s.log.Error("an answer could not be written", "route", c.route.path, "error", err)
		s.fail(c, &service.Failure{Code: errcode.Internal, Message: "the answer could not be written; the request may have taken effect"})
		return
	}
	writeJSON(c.RequestCtx, status, body)
	c.Response.Header.SetCanonical(cacheControl, noStore)
}

// plainJSON is the JSON of a value, and a line's end. Nothing is escaped that need not be: a hold's intent keeps the bytes
// that its hash is of.
func plainJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return text.Bytes(), err
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
