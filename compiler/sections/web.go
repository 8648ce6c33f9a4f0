package sections

import (
	"regexp"
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/form"
	"bailiff/vm/form/httpurl"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// HTTP is what the keys `http.…` say.
type HTTP struct {
	AllowedMethods *frame.List
	BlockedMethods *frame.List
	AllowedHosts   *frame.List   // canonical hosts, and `*.` and a name for what is below it
	Rules          []*MethodRule // in the order of their first lines
}

// MethodRule is what the keys `http.method_rules.<METHOD>.…` say of one method.
type MethodRule struct {
	Method string
	Deny   *frame.Flag
	Query  *Query
}

var (
	keyDomains = frame.NewKey(blockedDomains, func(s *ToolCalls) **frame.List { return &s.BlockedDomains }, frame.Key{Name: "web_fetch.blocked_domains", Blocks: true,
		Code:    errcode.BlockedDomain,
		Doc:     "Hosts that `web_fetch` and `http` must not reach, with their subdomains; an IPv4 address also inside NAT64, 6to4 and IPv4-compatible literals.",
		Example: "web_fetch.blocked_domains: pastebin.com, 169.254.169.254"})

	keyNoMethods = frame.NewKey(frame.Choices, func(s *ToolCalls) **frame.List { return &s.HTTP.BlockedMethods }, frame.Key{Name: "http.blocked_methods", Since: frame.V20, Blocks: true, Values: slot.Methods(),
		Code: errcode.ToolCallNotAllowed,
		Doc:  "The methods that `http` must not use.", Example: "http.blocked_methods: DELETE, PATCH"})

	keyMethods = frame.NewKey(frame.Choices, func(s *ToolCalls) **frame.List { return &s.HTTP.AllowedMethods }, frame.Key{Name: "http.allowed_methods", Since: frame.V20, Values: slot.Methods(),
		Code: errcode.ToolCallNotAllowed,
		Doc:  "The methods that `http` may use; `web_fetch`, which has none, is denied then.", Example: "http.allowed_methods: GET, HEAD"})

	keyHosts = frame.NewKey(allowedHosts, func(s *ToolCalls) **frame.List { return &s.HTTP.AllowedHosts }, frame.Key{Name: "http.allowed_hosts", Since: frame.V20,
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "The hosts that `http` and `web_fetch` may reach: a name matches exactly, `*.example.com` every host below it.",
		Example: "http.allowed_hosts: api.example.com, *.example.org"})

	keyMethodDeny = frame.NewKeyFunc(frame.TypeBoolean, readMethodDeny, frame.Key{Name: "http.method_rules.<METHOD>.deny", Since: frame.V21, Default: "false",
		Code: errcode.ToolCallNotAllowed,
		Doc:  "Whether the method is denied.", Example: "http.method_rules.DELETE.deny: true"})

	keyMethodQuery = frame.NewKeyFunc(frame.TypeRegexp, readMethodQuery, frame.Key{Name: "http.method_rules.<METHOD>.require_query_matches", Since: frame.V21,
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "A pattern that the whole query, as it is sent and without `?`, has to match; an empty query never does.",
		Example: `http.method_rules.GET.require_query_matches: "q=[a-z]{1,32}"`})
)

var (
	blockedDomains = frame.EntriesOf(frame.TypeHosts, codes.BlockedDomain, blockedDomain)

	allowedHosts = frame.EntriesOf(frame.TypeHosts, codes.AllowedHost, allowedHost)
)

// rules reports whether anything is said of typed HTTP.
func (h *HTTP) rules() bool {
	return h.AllowedMethods != nil || h.BlockedMethods != nil || h.AllowedHosts != nil || len(h.Rules) > 0
}

// Span returns where the first line about the method is that says anything.
func (r *MethodRule) Span() grammar.Span {
	if r.Query == nil || r.Deny != nil && r.Deny.Span.Start < r.Query.Span.Start {
		return r.Deny.Span
	}
	return r.Query.Span
}

// Query is a pattern that a whole query has to match. A nil Query is absent.
type Query struct {
	Span    grammar.Span // of the entry
	Pattern frame.Item
}

// readMethodDeny reads whether a method is denied.
func readMethodDeny(c *frame.Checker, row *frame.Key, entry *grammar.Entry) {
	if rule := methodRule(c, row, entry); rule != nil {
		rule.Deny = c.Boolean(entry)
	}
}

// readMethodQuery reads the pattern that the queries of a method have to match.
func readMethodQuery(c *frame.Checker, row *frame.Key, entry *grammar.Entry) {
	if rule := methodRule(c, row, entry); rule != nil && queryPattern(c, entry.Value) {
		rule.Query = &Query{Span: entry.Span, Pattern: frame.Item{Text: entry.Value.Text, Span: entry.Value.Span}}
	}
}

// methodRule returns the rule of the method that a key names, a new one where it has none yet.
func methodRule(c *frame.Checker, row *frame.Key, entry *grammar.Entry) *MethodRule {
	name := entry.Key.Segments[2]
	named := *row
	named.Name, named.Values = "http.method_rules", slot.Methods()
	if !c.Choice(&named, grammar.Item{Text: name.Text, Span: name.Span}) {
		return nil
	}
	h := &frame.Part[ToolCalls](c.Parts).HTTP
	for _, rule := range h.Rules {
		if rule.Method == name.Text {
			return rule
		}
	}
	rule := &MethodRule{Method: name.Text}
	h.Rules = append(h.Rules, rule)
	return rule
}

// queryPattern reports a pattern for queries that is empty or that the machine does not take.
func queryPattern(c *frame.Checker, value *grammar.Value) bool {
	if value.Text == "" {
		c.Add(grammar.At(codes.EmptyValue, value.Span, "the empty pattern matches the empty query only, and that is denied").
			WithHint("write what queries have to look like, such as `q=[a-z]+`"))
		return false
	}
	return c.Pattern(value.Text, value.Span, form.Escapes)
}

func blockedDomain(text string) ([]string, error) {
	host, err := httpurl.BlockedEntry(text)
	return []string{host}, err
}

func allowedHost(text string) ([]string, error) {
	pattern, err := httpurl.AllowedEntry(text)
	return []string{pattern}, err
}

// web judges `http` and `web_fetch`: blocked methods, allowed methods, hosts, method rules, blocked domains. A
// `web_fetch` has no method, so that it meets no rule about one but that a method be allowed.
func web(e *frame.Emitter, done vm.Label) {
	t := frame.Part[ToolCalls](e.Parts)
	h := &t.HTTP
	if h.BlockedMethods != nil {
		next := e.NewLabel()
		e.Blocking(h.BlockedMethods)
		e.Test(vm.OpIn, vm.Unless, e.Field(frame.SlotMethod), e.Exactly(h.BlockedMethods.Texts()...), next)
		e.DenyBy(keyNoMethods.Rule, keyNoMethods.Code, "the method is in tool_calls.http.blocked_methods", e.Value(frame.SlotMethod), next)
		e.Place(next)
	}
	if h.AllowedMethods != nil {
		e.Allow(keyMethods, h.AllowedMethods, vm.OpIn, vm.If, frame.SlotMethod, e.Exactly(h.AllowedMethods.Texts()...),
			"the intent has no method that is in tool_calls.http.allowed_methods")
	}
	if h.AllowedHosts != nil {
		emitAllowedHosts(e, h.AllowedHosts)
	}
	methodRules(e)
	if t.BlockedDomains != nil {
		emitBlocked(e, emitDomains(e), done)
	} else {
		e.Jump(done)
	}
}

// emitAllowedHosts denies hosts that no entry covers, and intents without one.
func emitAllowedHosts(e *frame.Emitter, hosts *frame.List) {
	var exact, below []string
	for _, host := range hosts.Texts() {
		if domain, ok := strings.CutPrefix(host, "*"); ok {
			below = append(below, domain)
		} else {
			exact = append(exact, host)
		}
	}
	e.Allowing(hosts)
	e.Unless(func(pass vm.Label) {
		if len(exact) > 0 {
			e.Test(vm.OpIn, vm.If, e.Field(derived.Host), e.Exactly(exact...), pass)
		}
		if len(below) > 0 {
			e.Test(vm.OpHost, vm.If, e.Field(derived.Host), e.Hosts(below...), pass)
		}
	}, keyHosts.Rule, keyHosts.Code, "the url is missing, or its host is not in tool_calls.http.allowed_hosts", e.Value(derived.Host))
}

// methodRules judges by what is said of single methods.
func methodRules(e *frame.Emitter) {
	var ruled []*MethodRule
	var cases []vm.Case
	for _, rule := range frame.Part[ToolCalls](e.Parts).HTTP.Rules {
		if frame.IsOn(rule.Deny) || rule.Query != nil {
			ruled = append(ruled, rule)
			cases = append(cases, vm.Case{Text: rule.Method, To: e.NewLabel()})
		}
	}
	if len(ruled) == 0 {
		return
	}
	next := e.NewLabel()
	e.At(ruled[0].Span())
	e.Switch(e.Field(frame.SlotMethod), next, cases...)
	for i, rule := range ruled {
		e.Place(cases[i].To)
		emitMethodRule(e, rule, next)
	}
	e.Place(next)
}

// emitMethodRule judges by what is said of one method. A query that is too long to be matched is denied.
func emitMethodRule(e *frame.Emitter, rule *MethodRule, next vm.Label) {
	if frame.IsOn(rule.Deny) {
		resume := next
		if rule.Query != nil {
			resume = e.NewLabel()
		}
		e.At(rule.Deny.Span)
		e.DenyBy(keyMethodDeny.RuleOf(rule.Method), keyMethodDeny.Code, "the policy denies the method", e.Value(frame.SlotMethod), resume)
		if rule.Query == nil {
			return
		}
		e.Place(resume)
	}
	e.At(rule.Query.Span)
	bad, query := e.NewLabel(), e.Field(derived.Query)
	pattern := frame.MachinePattern([]string{rule.Query.Pattern.Text}, form.Escapes)
	if matchesEmpty(pattern) {
		e.Test(vm.OpMatch, vm.Unless, query, e.Pattern("(?s:.)", false), bad)
	}
	e.Test(vm.OpMatch, vm.If, query, e.Pattern(pattern, true), next)
	e.Place(bad)
	e.DenyBy(keyMethodQuery.RuleOf(rule.Method), keyMethodQuery.Code, "the query is empty, too long, or not as the policy requires", e.Value(derived.Query), next)
}

// matchesEmpty reports whether a pattern, which compiles, matches the empty text.
func matchesEmpty(pattern string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString("")
}

// emitDomains reads also the IPv4 addresses in IPv6 literals where the list has one that they could be.
func emitDomains(e *frame.Emitter) blockList {
	domains, slot := frame.Part[ToolCalls](e.Parts).BlockedDomains, derived.Host
	if slices.ContainsFunc(domains.Texts(), httpurl.IsIPv4) {
		slot = derived.Hosts
	}
	return blockList{list: domains, key: keyDomains, slot: slot,
		tests:   func(texts []string) []frame.SetTest { return []frame.SetTest{{Op: vm.OpHost, Set: e.Hosts(texts...)}} },
		missing: "the policy blocks domains, and the intent has no url",
		blocked: "the host is an entry of tool_calls.web_fetch.blocked_domains, or below one"}
}
