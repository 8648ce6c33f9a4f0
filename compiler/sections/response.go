package sections

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm/amount"
	"bailiff/vm/match"
)

// Response is what the keys `response.…` tell clients about the results of tools. It judges no intent.
type Response struct {
	WebFetchTools  *frame.List // in lower case
	HTTPTools      *frame.List // in lower case
	Ruleset        *frame.Text
	BlockClasses   *frame.List
	RedactClasses  *frame.List
	Scanner        Scanner
	ObserveClasses *frame.List
	ObserveUntil   *Moment
}

// Covers reports whether any tool's results are inspected.
func (r *Response) Covers() bool { return r.WebFetchTools != nil || r.HTTPTools != nil }

// Scanner is what a client's scanner has to be and to look for.
type Scanner struct {
	Required   *frame.Flag
	Profile    *frame.Text
	Classes    *frame.List
	Confidence *frame.Limit // with four decimals, at most 1; zero may be meant
}

// Moment is a time. A nil Moment is absent.
type Moment struct {
	Span grammar.Span // of the entry
	Time time.Time    // UTC
}

// MaxObserve is how far ahead `mcp.response.observe_until` may lie when a policy is deployed.
const MaxObserve = 30 * 24 * time.Hour

// ObserveUntil returns when a client's observing of results ends, or the zero time where the policy names none, or has no such section. A
// policy's text has no clock: who deploys it at now refuses it where this is later than now plus [MaxObserve].
func (m *MCP) ObserveUntil() time.Time {
	if m == nil || m.Response.ObserveUntil == nil {
		return time.Time{}
	}
	return m.Response.ObserveUntil.Time
}

// The types of values that only these keys have.
var (
	identifiers = frame.ValueOf(frame.TypeName, identifier)
	confidences = frame.ValueOf(frame.TypeDecimal, confidence)
	moments     = frame.ValueOf(frame.TypeTime, moment)
	jsonTexts   = frame.ValueOf(frame.TypeJSON, jsonText)
)

var (
	keyMCPResponseWebFetchTools = frame.NewKey(toolNames, func(s *MCP) **frame.List { return &s.Response.WebFetchTools }, frame.Key{Name: "response.web_fetch_tools", Since: frame.V22,
		Doc:     "The tools whose results are inspected as web pages: exact entries of `allowed_tools` that nothing blocks.",
		Example: "response.web_fetch_tools: browser.fetch"})

	keyMCPResponseHttpTools = frame.NewKey(toolNames, func(s *MCP) **frame.List { return &s.Response.HTTPTools }, frame.Key{Name: "response.http_tools", Since: frame.V22,
		Doc:     "The tools whose results are inspected as HTTP responses: exact entries of `allowed_tools` that nothing blocks.",
		Example: "response.http_tools: api.call"})

	keyMCPResponseDeterministicRuleset = frame.NewKey(frame.OneWord, func(s *MCP) **frame.Text { return &s.Response.Ruleset }, frame.Key{Name: "response.deterministic_ruleset", Since: frame.V22, Values: []string{"sof-response-rules-v1"},
		Doc:     "The rules by which results are inspected; required where tools are covered.",
		Example: "response.deterministic_ruleset: sof-response-rules-v1"})

	keyMCPResponseBlockClasses = frame.NewKey(frame.Choices, func(s *MCP) **frame.List { return &s.Response.BlockClasses }, frame.Key{Name: "response.block_classes", Since: frame.V22, Values: responseClasses,
		Doc: "The classes of findings that keep a result back.", Example: "response.block_classes: secret, malicious_url"})

	keyMCPResponseRedactClasses = frame.NewKey(frame.Choices, func(s *MCP) **frame.List { return &s.Response.RedactClasses }, frame.Key{Name: "response.redact_classes", Since: frame.V23, Values: responseClasses,
		Doc: "The classes of findings that are made unreadable in a result.", Example: "response.redact_classes: pii"})

	keyMCPResponseScannerRequired = frame.NewKey(frame.Booleans, func(s *MCP) **frame.Flag { return &s.Response.Scanner.Required }, frame.Key{Name: "response.scanner.required", Since: frame.V23, Default: "false",
		Doc: "Whether a result needs a scanner's verdict.", Example: "response.scanner.required: true"})

	keyMCPResponseScannerProfile = frame.NewKey(identifiers, func(s *MCP) **frame.Text { return &s.Response.Scanner.Profile }, frame.Key{Name: "response.scanner.profile", Since: frame.V23,
		Doc: "The scanner's profile: an identifier of up to 128 letters, digits and `._:/-`.", Example: "response.scanner.profile: standard-v2"})

	keyMCPResponseScannerClasses = frame.NewKey(frame.Choices, func(s *MCP) **frame.List { return &s.Response.Scanner.Classes }, frame.Key{Name: "response.scanner.classes", Since: frame.V23, Values: responseClasses,
		Doc: "The classes that the scanner looks for.", Example: "response.scanner.classes: prompt_injection"})

	keyMCPResponseScannerMinConfidence = frame.NewKey(confidences, func(s *MCP) **frame.Limit { return &s.Response.Scanner.Confidence }, frame.Key{Name: "response.scanner.min_confidence", Since: frame.V23,
		Doc: "The confidence from which on a finding counts, 0 to 1 with at most four fraction digits.", Example: "response.scanner.min_confidence: 0.85"})

	keyMCPResponseObserveClasses = frame.NewKey(frame.Choices, func(s *MCP) **frame.List { return &s.Response.ObserveClasses }, frame.Key{Name: "response.observe_classes", Since: frame.V23, Values: responseClasses,
		Doc: "The classes of findings that are only reported, until `response.observe_until`.", Example: "response.observe_classes: pii"})

	keyMCPResponseObserveUntil = frame.NewKey(moments, func(s *MCP) **Moment { return &s.Response.ObserveUntil }, frame.Key{Name: "response.observe_until", Since: frame.V23,
		Doc:     "When observing ends: at most 30 days after the deployment. The service checks this at the deployment.",
		Example: "response.observe_until: 2026-12-01T00:00:00Z"})
)

// responseClasses are the classes of findings about results.
var responseClasses = []string{"malicious_url", "pii", "prompt_injection", "secret"}

// moment reads a time in UTC. It returns nil after reporting.
func moment(c *frame.Checker, entry *grammar.Entry) *Moment {
	text := entry.Value.Text
	at, err := time.Parse(time.RFC3339, text)
	if err == nil && at.UTC().Format(time.RFC3339Nano) == text {
		return &Moment{Span: entry.Span, Time: at.UTC()}
	}
	d := grammar.At(codes.Time, entry.Value.Span, "`%s` is not a time in UTC", frame.Shorten(text)).
		WithHint("write it as RFC 3339 has it, such as `2026-12-01T00:00:00Z`")
	if err == nil {
		d = d.WithFix(entry.Value.Span, at.UTC().Format(time.RFC3339Nano))
	}
	c.Add(d)
	return nil
}

// identifier reads a name that a client knows. It returns nil after reporting.
func identifier(c *frame.Checker, entry *grammar.Entry) *frame.Text {
	const most = 128
	text := entry.Value.Text
	if text == "" || len(text) > most || strings.Trim(text, frame.NameLetters+".:/") != "" {
		c.Add(grammar.At(codes.Identifier, entry.Value.Span, "`%s` is not an identifier", frame.Shorten(text)).
			WithHint("use up to %d letters, digits and `._:/-`", most))
		return nil
	}
	return &frame.Text{Span: entry.Span, Item: frame.Item{Text: text, Span: entry.Value.Span}}
}

// confidence reads a decimal from 0 to 1. It returns nil after reporting.
func confidence(c *frame.Checker, entry *grammar.Entry) *frame.Limit {
	const decimals = 4
	one, _ := amount.Parse("1", decimals)
	value, err := amount.Parse(entry.Value.Text, decimals)
	if err != nil || value.Cmp(one) > 0 {
		c.Add(grammar.At(codes.Confidence, entry.Value.Span, "`%s` is not a decimal from 0 to 1 with at most %d fraction digits", frame.Shorten(entry.Value.Text), decimals).
			WithHint("write it as 0.85"))
		return nil
	}
	return &frame.Limit{Span: entry.Span, Amount: value, Decimals: decimals}
}

// jsonText reads a JSON string that is not empty. It returns nil after reporting.
func jsonText(c *frame.Checker, entry *grammar.Entry) *frame.Text {
	value := entry.Value
	var text string
	err := json.Unmarshal([]byte(value.Raw), &text)
	switch {
	case !strings.HasPrefix(value.Raw, `"`) || err != nil || strings.ContainsRune(text, utf8.RuneError):
		d := grammar.At(codes.JSONString, value.Span, "this is not a JSON string").
			WithHint("put it between double quotes, with \\ in front of quotes and backslashes inside")
		if fixed, err := json.Marshal(value.Text); err == nil && !value.Quoted && !strings.ContainsRune(value.Text, utf8.RuneError) {
			d = d.WithFix(value.Span, string(fixed))
		}
		c.Add(d)
	case text == "":
		c.Add(grammar.At(codes.EmptyValue, value.Span, "an empty text cannot be looked for").WithHint("write what should be denied"))
	case len(text) > frame.MaxTextBytes:
		c.Add(grammar.At(codes.TextLong, value.Span, "a value has at most %d bytes, and this one %d", frame.MaxTextBytes, len(text)))
	default:
		return &frame.Text{Span: entry.Span, Item: frame.Item{Text: text, Span: value.Span}}
	}
	return nil
}

// FinishResponse checks what the keys about results need of others.
func FinishResponse(c *frame.Checker) {
	if c.Lost("mcp", "tools") {
		return
	}
	before := len(c.Found)
	m := frame.Part[MCP](c.Parts)
	if custom := frame.Part[Custom](c.Parts); custom != nil && custom.ResponseDeny != nil && (m == nil || !m.Response.Covers()) {
		c.Add(grammar.At(codes.ResponseUncovered, custom.ResponseDeny.Span, "no tool's results are inspected, so there is nothing to look into").
			WithHint("name the tools in `## mcp`: `response.web_fetch_tools: …` or `response.http_tools: …`"))
	}
	if m != nil && m.Response.Covers() {
		finishCoverage(c, m)
	}
	c.Partial = c.Partial || c.Found[before:].HasErrors()
}

// finishCoverage checks the tools whose results are inspected.
func finishCoverage(c *frame.Checker, m *MCP) {
	r := &m.Response
	allowed := map[string]bool{}
	for _, text := range m.AllowedTools.Texts() {
		allowed[text] = true
	}
	blocked := frame.NewGlobIndex(match.Unbounded, m.BlockedTools.Texts())
	for _, list := range []*frame.List{r.WebFetchTools, r.HTTPTools} {
		if list == nil {
			continue
		}
		for _, item := range list.Items {
			if _, isBlocked := blocked.CoversTool(item.Text); isBlocked || !allowed[item.Text] || strings.Contains(item.Text, "*") {
				c.Add(grammar.At(codes.ResponseTool, item.Span, "`%s` is not an exact entry of `allowed_tools`, or another entry blocks it", frame.Shorten(item.Text)).
					WithHint("a covered tool is written out in `allowed_tools`, in the same words"))
			}
		}
		if r.Ruleset == nil && !c.Lost("mcp", "response.deterministic_ruleset") {
			c.Add(grammar.At(codes.ResponseRuleset, list.Span, "tools are covered, and there is no `response.deterministic_ruleset`").
				WithHint("add `response.deterministic_ruleset: sof-response-rules-v1`"))
			return
		}
	}
}
