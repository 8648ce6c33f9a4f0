package httpd

import (
	"bytes"
	"cmp"
	"context"
	"strconv"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/authzen"
	"bailiff/runtime/decision"
	"bailiff/runtime/jcs"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

func (s *Server) evaluation(c *call) { s.evaluate(c, authzen.ReadEvaluation) }

func (s *Server) evaluations(c *call) { s.evaluate(c, authzen.ReadEvaluations) }

// evaluate answers a request of AuthZEN. Each evaluation is decided as test-run decides the request that it stands for or, where
// the operator says so, as authorize does, and counts against the key's limit. All but `ALLOWED` is the decision false.
func (s *Server) evaluate(c *call, read func([]byte) (*authzen.Request, error)) {
	request, err := read(c.input)
	if err != nil {
		s.fail(c, schemaFailure(err.Error()))
		return
	}
	if request.Single {
		if _, err := request.Evaluations[0].Body(); err != nil {
			s.fail(c, schemaFailure(err.Error()))
			return
		}
		c.output, _ = s.appendEvaluation(c, c.output[:0], &request.Evaluations[0], c.call())
		c.output = append(c.output, '\n')
		c.writeEvaluated()
		return
	}
	out := append(c.output[:0], `{"evaluations":[`...)
	for i := range request.Evaluations {
		want := c.call()
		if i > 0 { // each decision has an id of its own, and the answer's fields tell what is left after the last
			want.ID = ledger.ID{}
			c.Response.Header.Del("RateLimit-Policy")
			c.Response.Header.Del("RateLimit")
		}
		var allowed bool
		out, allowed = s.appendEvaluation(c, appendComma(out, i), &request.Evaluations[i], want)
		if request.Semantic.Ends(allowed) {
			break
		}
	}
	c.output = append(out, "]}\n"...)
	c.writeEvaluated()
}

// call is what an evaluation wants of its decision.
func (c *call) call() decision.Call {
	return decision.Call{ID: c.id, TestRun: !c.server.config.AuthZENAuthorizes, RequestID: c.sentID(), Trace: c.trace()}
}

func (c *call) writeEvaluated() {
	writeJSON(c.RequestCtx, fasthttp.StatusOK, c.output)
	c.Response.Header.SetCanonical(cacheControl, noStore)
}

// appendEvaluation decides one evaluation and appends its answer: the decision and, as its context, what POST /v1/authorize answers,
// or why there is none.
func (s *Server) appendEvaluation(c *call, dst []byte, evaluation *authzen.Evaluation, want decision.Call) (answer []byte, allowed bool) {
	fault := s.admitKey(c, c.key) // also for what can't be decided: a body may have a hundred of those
	if fault == nil {
		body, err := evaluation.Body()
		if err != nil {
			fault = schemaFailure(err.Error())
		} else {
			fault = s.config.Authority.Decide(context.Background(), c.key, body, want, &c.answer)
		}
	}
	if fault != nil {
		return appendEvaluationFault(dst, fault), false
	}
	allowed = c.allowed()
	dst = strconv.AppendBool(append(dst, `{"decision":`...), allowed)
	return append(bytes.TrimSuffix(AppendAnswer(append(dst, `,"context":`...), &c.answer), []byte("\n")), '}'), allowed
}

// appendEvaluationFault appends the answer of an evaluation that could not be decided.
func appendEvaluationFault(dst []byte, f *service.Failure) []byte {
	info := errcode.Lookup(f.Code)
	dst = strconv.AppendInt(append(dst, `{"decision":false,"context":{"error":{"status":`...), int64(cmp.Or(f.HTTP, info.HTTP)), 10)
	dst = jcs.AppendString(append(dst, `,"error_code":`...), string(info.Code))
	return append(jcs.AppendString(append(dst, `,"message":`...), f.Message), "}}}"...)
}
