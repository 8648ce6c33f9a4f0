package httpd

import (
	"cmp"
	"strconv"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/decision"
	"bailiff/runtime/jcs"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// writeFailure answers with an error body: on the routes that decide, one that says `DENIED`; on those of AuthZEN, a message alone;
// on that of a hook, a denial as the hook's host reads it; on those of Envoy, a 403.
func writeFailure(ctx *fasthttp.RequestCtx, f *service.Failure) {
	switch path := pathOf(&ctx.Request.Header); {
	case string(path) == claudeHookPath:
		writeHookDenial(ctx, f)
		return
	case ofEnvoy(path):
		writeEnvoyDenial(ctx, denied, errcode.Lookup(f.Code).Code)
		return
	}
	status, write := cmp.Or(f.HTTP, errcode.Lookup(f.Code).HTTP), appendBody
	switch path := pathOf(&ctx.Request.Header); {
	case decides(path):
		write = AppendRefusal
	case evaluates(path):
		write = appendEvaluationRefusal
	}
	writeJSON(ctx, status, write(nil, f))
	ctx.Response.Header.Set("Cache-Control", "no-store")
	if f.RetryAfter > 0 {
		ctx.Response.Header.Set("Retry-After", strconv.FormatInt(wholeSeconds(f.RetryAfter), 10))
	}
	if status == fasthttp.StatusUnauthorized {
		ctx.Response.Header.Set("WWW-Authenticate", "Bearer") // RFC 9110, section 11.6.1
	}
}

// writeEnvoyDenial writes an answer that Envoy shows to its client. Of the request, the policy and the key it says nothing.
func writeEnvoyDenial(ctx *fasthttp.RequestCtx, status string, code errcode.Code) {
	writeEnvoy(ctx, fasthttp.StatusForbidden)
	body := jcs.AppendString([]byte(`{"status":`), status)
	writeJSON(ctx, fasthttp.StatusForbidden, append(jcs.AppendString(append(body, `,"error_code":`...), string(code)), "}\n"...))
}

// writeEnvoy begins an answer. Envoy passes all headers of a denial on to its client by default, so that those of limits and
// credentials go.
func writeEnvoy(ctx *fasthttp.RequestCtx, status int) {
	for _, name := range []string{"RateLimit-Policy", "RateLimit", fasthttp.HeaderRetryAfter, fasthttp.HeaderWWWAuthenticate} {
		ctx.Response.Header.Del(name)
	}
	ctx.SetStatusCode(status)
	ctx.Response.Header.SetCanonical(cacheControl, noStore)
}

// appendBody appends the JSON of an error body: status, error_code and message (decisions, section 3), with
// the diagnostics of a policy or the faults of a request's body.
func appendBody(dst []byte, f *service.Failure) []byte {
	if f.HTTP == fasthttp.StatusUnauthorized {
		return appendFailure(dst, unauthorized, f)
	}
	return appendFailure(dst, errcode.Lookup(f.Code).Status, f)
}

// unauthorized is the status of every 401.
const unauthorized = "UNAUTHORIZED"

// denied is the status of a refusal by a route that decides, so that a client that reads nothing else fails closed. It is a
// decision only where there is a policyHash, too (decisions, section 3).
const denied = "DENIED"

// AppendRefusal is appendBody for a request to decide on an intent: what the client can mend or repeat (a 4xx) has the
// status of a denial.
func AppendRefusal(dst []byte, f *service.Failure) []byte {
	info := errcode.Lookup(f.Code)
	if info.HTTP >= fasthttp.StatusBadRequest && info.HTTP < fasthttp.StatusInternalServerError {
		return appendFailure(dst, denied, f)
	}
	return appendFailure(dst, info.Status, f)
}

func appendFailure(dst []byte, status string, f *service.Failure) []byte {
	info := errcode.Lookup(f.Code)
	dst = jcs.AppendString(append(dst, `{"status":`...), status)
	dst = jcs.AppendString(append(dst, `,"error_code":`...), string(info.Code))
	dst = jcs.AppendString(append(dst, `,"message":`...), f.Message)
	if f.Diagnostics != nil {
		dst = append(append(dst, `,"diagnostics":`...), f.Diagnostics...)
	}
	if len(f.Faults) > 0 {
		dst = appendFaults(append(dst, `,"errors":`...), f.Faults)
	}
	return append(dst, "}\n"...)
}

// appendEvaluationRefusal appends the body of a request that is not evaluated: a message alone (AuthZEN 1.0, "Error Responses").
func appendEvaluationRefusal(dst []byte, f *service.Failure) []byte {
	return append(jcs.AppendString(dst, string(errcode.Lookup(f.Code).Code)+": "+f.Message), '\n')
}

// appendDetails appends both sides of a decision, without what does not apply.
func appendDetails(dst []byte, d *decision.Details) []byte {
	start := len(dst)
	dst = appendOptional(dst, `,"value":`, d.Value)
	dst = appendOptional(dst, `,"limit":`, d.Limit)
	if len(d.Allowed) > 0 {
		dst = append(dst, `,"allowed":[`...)
		for i, text := range d.Allowed {
			dst = jcs.AppendString(appendComma(dst, i), text)
		}
		dst = append(dst, ']')
	}
	if d.Count > len(d.Allowed) {
		dst = strconv.AppendInt(append(dst, `,"allowed_count":`...), int64(d.Count), 10)
	}
	dst = appendOptional(dst, `,"entry":`, d.Entry)
	if d.Line > 0 {
		dst = strconv.AppendInt(append(dst, `,"line":`...), int64(d.Line), 10)
	}
	dst[start] = '{' // in the place of the first comma
	return append(dst, '}')
}

// appendFaults appends the faults of a request's body.
func appendFaults(dst []byte, faults []service.Fault) []byte {
	dst = append(dst, '[')
	for i := range faults {
		dst = jcs.AppendString(append(appendComma(dst, i), `{"error_code":`...), string(faults[i].Code))
		dst = jcs.AppendString(append(dst, `,"field":`...), faults[i].Field)
		dst = append(jcs.AppendString(append(dst, `,"message":`...), faults[i].Message), '}')
	}
	return append(dst, ']')
}

func writeJSON(ctx *fasthttp.RequestCtx, status int, body []byte) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.Response.SetBody(body)
}

// allowed reports whether the call's decision lets the action happen.
func (c *call) allowed() bool {
	return c.answer.HTTP == fasthttp.StatusOK && c.answer.Status == "ALLOWED"
}

// writeAnswer writes the call's decision.
func (c *call) writeAnswer() {
	c.SetStatusCode(c.answer.HTTP)
	c.SetContentType("application/json")
	c.Response.Header.SetCanonical(cacheControl, noStore)
	c.leaveClaims()
	c.output = AppendAnswer(c.output[:0], &c.answer)
	c.Response.SetBody(c.output)
}

// unattested is how the answer begins that has no attestation yet (AppendAnswer).
var unattested = []byte(`{"status":"ALLOWED","intent_attestation":null`)

// AppendAnswer appends the JSON of a decision (specification, authorize.2).
func AppendAnswer(dst []byte, a *decision.Answer) []byte {
	dst = jcs.AppendString(append(dst, `{"status":`...), a.Status)
	dst = append(dst, `,"intent_attestation":`...)
	if a.Attestation == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(append(append(dst, '"'), a.Attestation...), '"') // base64url and dots
	}
	dst = jcs.AppendString(append(dst, `,"policyHash":`...), a.PolicyHash)
	dst = appendOptional(dst, `,"error_code":`, string(a.Code))
	dst = appendOptional(dst, `,"matched_rule":`, a.Rule)
	dst = jcs.AppendString(append(dst, `,"message":`...), a.Message)
	if !a.Details.IsZero() {
		dst = appendDetails(append(dst, `,"details":`...), &a.Details)
	}
	if a.HoldID != "" {
		dst = jcs.AppendString(append(dst, `,"holdId":`...), a.HoldID)
		dst = strconv.AppendInt(append(dst, `,"expiresAt":`...), a.ExpiresAt, 10)
		dst = appendOptional(dst, `,"approvalUrl":`, a.ApprovalURL)
	}
	if a.Status == "PENDING" {
		dst = jcs.AppendString(append(dst, `,"policyRule":`...), a.Rule)
	}
	if a.TestRun {
		dst = append(dst, `,"test_run":true,"observe_mode_active":`...)
		dst = strconv.AppendBool(dst, a.Observe)
	}
	dst = appendOptional(dst, `,"request_nonce":`, a.Nonce)
	if a.Replayed {
		dst = append(dst, `,"replayed":true`...)
	}
	if a.Explanation != nil {
		dst = appendExplanation(dst, a.Explanation)
	}
	return append(dst, "}\n"...)
}

func appendOptional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return jcs.AppendString(append(dst, name...), value)
}
