package httpd

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/decision"
	"bailiff/runtime/jcs"
	"bailiff/runtime/service"
)

// explainParameter is the one parameter of authorize and test-run.
const explainParameter = "explain"

// explainQuery reads the query parameter explain, and refuses all others: a misspelt one would go unnoticed.
func explainQuery(ctx *fasthttp.RequestCtx) (explain bool, fault *service.Failure) {
	if bytes.IndexByte(ctx.Request.Header.RequestURI(), '?') < 0 {
		return false, nil // what nearly all requests are
	}
	arguments := ctx.QueryArgs()
	if fault := checkParameters(arguments, []string{explainParameter}); fault != nil || !arguments.Has(explainParameter) {
		return false, fault
	}
	switch text := string(arguments.Peek(explainParameter)); text {
	case "true", "false":
		return text == "true", nil
	default:
		return false, schemaFailure(fmt.Sprintf("explain: is %.64q; it must be true or false", text))
	}
}

// appendExplanation appends the member `explanation` of an answer.
func appendExplanation(dst []byte, e *decision.Explanation) []byte {
	dst = appendFindings(append(dst, `,"explanation":{"violations":`...), e.Violations)
	if e.Omitted > 0 {
		dst = strconv.AppendInt(append(dst, `,"omitted":`...), int64(e.Omitted), 10)
	}
	if len(e.Holds) > 0 {
		dst = appendFindings(append(dst, `,"holds":`...), e.Holds)
	}
	if len(e.Notes) > 0 {
		dst = appendFindings(append(dst, `,"notes":`...), e.Notes)
	}
	dst = append(dst, `,"limits":[`...)
	for i := range e.Limits {
		dst = appendHeadroom(appendComma(dst, i), &e.Limits[i])
	}
	dst = append(dst, ']')
	if e.Change != nil {
		dst = jcs.AppendString(append(dst, `,"change":`...), e.Change.String())
	}
	return append(dst, '}')
}

func appendComma(dst []byte, i int) []byte {
	if i == 0 {
		return dst
	}
	return append(dst, ',')
}

func appendFindings(dst []byte, findings []decision.Finding) []byte {
	dst = append(dst, '[')
	for i := range findings {
		f := &findings[i]
		dst = jcs.AppendString(append(appendComma(dst, i), `{"rule":`...), f.Rule)
		dst = jcs.AppendString(append(dst, `,"error_code":`...), string(f.Code))
		dst = jcs.AppendString(append(dst, `,"message":`...), f.Message)
		dst = strconv.AppendInt(append(dst, `,"line":`...), int64(f.Line), 10)
		dst = appendOptional(dst, `,"value":`, f.Value)
		if !f.Details.IsZero() {
			dst = appendDetails(append(dst, `,"details":`...), &f.Details)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendHeadroom appends one limit. Amounts are decimal strings in the limit's unit; what is used and left is absent
// where the intent does not say what it counts by.
func appendHeadroom(dst []byte, h *decision.Headroom) []byte {
	dst = jcs.AppendString(append(dst, `{"rule":`...), h.Rule)
	dst = strconv.AppendInt(append(dst, `,"line":`...), int64(h.Line), 10)
	dst = jcs.AppendString(append(dst, `,"window":`...), h.Window)
	if len(h.Groups) > 0 {
		dst = append(dst, `,"group":{`...)
		for i, group := range h.Groups {
			dst = jcs.AppendString(appendComma(dst, i), group.Name)
			dst = jcs.AppendString(append(dst, ':'), group.Value)
		}
		dst = append(dst, '}')
	}
	dst = appendOptional(dst, `,"unit":`, h.Unit)
	dst = jcs.AppendString(append(dst, `,"limit":`...), h.Limit.Format(h.Decimals))
	if len(h.Missing) > 0 {
		dst = append(dst, `,"missing":[`...)
		for i, name := range h.Missing {
			dst = jcs.AppendString(appendComma(dst, i), name)
		}
		dst = append(dst, ']')
	} else {
		dst = jcs.AppendString(append(dst, `,"used":`...), h.Used.Format(h.Decimals))
		dst = jcs.AppendString(append(dst, `,"left":`...), h.Left().Format(h.Decimals))
	}
	if !h.Resets.IsZero() {
		dst = jcs.AppendString(append(dst, `,"resets_at":`...), h.Resets.Format(time.RFC3339))
	}
	return append(dst, '}')
}
