package httpd

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/authority"
	"bailiff/runtime/canonical"
	"bailiff/runtime/code"
)

// writeFailure answers with an error body.
func writeFailure(ctx *fasthttp.RequestCtx, f *authority.Failure) {
	status := code.Lookup(f.Code).HTTP
	writeJSON(ctx, status, AppendFailure(nil, f))
	ctx.Response.Header.Set("Cache-Control", "no-store")
	if status == fasthttp.StatusUnauthorized {
		ctx.Response.Header.Set("WWW-Authenticate", "Bearer") // RFC 9110, section 11.6.1
	}
}

// AppendFailure appends the JSON of an error body: status, error_code and message (decisions, section 3), and
// the diagnostics of a policy.
func AppendFailure(dst []byte, f *authority.Failure) []byte {
	info := code.Lookup(f.Code)
	dst = canonical.AppendString(append(dst, `{"status":`...), info.Status)
	dst = canonical.AppendString(append(dst, `,"error_code":`...), string(info.Code))
	dst = canonical.AppendString(append(dst, `,"message":`...), f.Message)
	if f.Diagnostics != nil {
		dst = append(append(dst, `,"diagnostics":`...), f.Diagnostics...)
	}
	return append(dst, "}\n"...)
}

func writeJSON(ctx *fasthttp.RequestCtx, status int, body []byte) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.Response.SetBody(body)
}

// writeAnswer writes the call's decision.
func (c *call) writeAnswer() {
	c.SetStatusCode(c.answer.HTTP)
	c.SetContentType("application/json")
	c.Response.Header.SetCanonical(cacheControl, noStore)
	c.body = AppendAnswer(c.body[:0], &c.answer)
	c.Response.SetBody(c.body)
}

// AppendAnswer appends the JSON of a decision (specification, "Authorization response").
func AppendAnswer(dst []byte, a *authority.Answer) []byte {
	dst = canonical.AppendString(append(dst, `{"status":`...), a.Status)
	dst = append(dst, `,"intent_attestation":`...)
	if a.Attestation == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(append(append(dst, '"'), a.Attestation...), '"') // base64url and dots
	}
	dst = canonical.AppendString(append(dst, `,"policyHash":`...), a.PolicyHash)
	dst = appendOptional(dst, `,"error_code":`, string(a.Code))
	dst = appendOptional(dst, `,"matched_rule":`, a.Rule)
	dst = canonical.AppendString(append(dst, `,"message":`...), a.Message)
	if a.HoldID != "" {
		dst = canonical.AppendString(append(dst, `,"holdId":`...), a.HoldID)
		dst = strconv.AppendInt(append(dst, `,"expiresAt":`...), a.ExpiresAt, 10)
	}
	if a.Status == "PENDING" {
		dst = canonical.AppendString(append(dst, `,"policyRule":`...), a.Rule)
	}
	if a.TestRun {
		dst = append(dst, `,"test_run":true,"observe_mode_active":`...)
		dst = strconv.AppendBool(dst, a.Observe)
	}
	dst = appendOptional(dst, `,"request_nonce":`, a.Nonce)
	if a.Explanation != nil {
		dst = appendExplanation(dst, a.Explanation)
	}
	return append(dst, "}\n"...)
}

func appendOptional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return canonical.AppendString(append(dst, name...), value)
}
