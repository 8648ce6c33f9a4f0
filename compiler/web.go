package compiler

import (
	"regexp"
	"slices"
	"strings"

	"bailiff/compiler/codes"
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
	AllowedMethods *List
	BlockedMethods *List
	AllowedHosts   *List         // canonical hosts, and `*.` and a name for what is below it
	Rules          []*MethodRule // in the order of their first lines
}

// MethodRule is what the keys `http.method_rules.<METHOD>.…` say of one method.
type MethodRule struct {
	Method string
	Deny   *Flag
	Query  *Query
}

var (
	keyDomains = key(blockedDomains, func(s *ToolCalls) **List { return &s.BlockedDomains }, Key{Name: "web_fetch.blocked_domains", Blocks: true,
		Code:    errcode.BlockedDomain,
		Doc:     "Hosts that `web_fetch` and `http` must not reach, with their subdomains; an IPv4 address also inside NAT64, 6to4 and IPv4-compatible literals.",
		Example: "web_fetch.blocked_domains: pastebin.com, 169.254.169.254"})

	keyNoMethods = key(choices, func(s *ToolCalls) **List { return &s.HTTP.BlockedMethods }, Key{Name: "http.blocked_methods", Since: v20, Blocks: true, Values: slot.Methods(),
		Code: errcode.ToolCallNotAllowed,
		Doc:  "The methods that `http` must not use.", Example: "http.blocked_methods: DELETE, PATCH"})

	keyMethods = key(choices, func(s *ToolCalls) **List { return &s.HTTP.AllowedMethods }, Key{Name: "http.allowed_methods", Since: v20, Values: slot.Methods(),
		Code: errcode.ToolCallNotAllowed,
		Doc:  "The methods that `http` may use; `web_fetch`, which has none, is denied then.", Example: "http.allowed_methods: GET, HEAD"})

	keyHosts = key(allowedHosts, func(s *ToolCalls) **List { return &s.HTTP.AllowedHosts }, Key{Name: "http.allowed_hosts", Since: v20,
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "The hosts that `http` and `web_fetch` may reach: a name stands for itself, `*.example.com` for what is below it.",
		Example: "http.allowed_hosts: api.example.com, *.example.org"})

	keyMethodDeny = keyRead(TypeBoolean, (*checker).readMethodDeny, Key{Name: "http.method_rules.<METHOD>.deny", Since: v21, Default: "false",
		Code: errcode.ToolCallNotAllowed,
		Doc:  "Whether the method is denied.", Example: "http.method_rules.DELETE.deny: true"})

	keyMethodQuery = keyRead(TypeRegexp, (*checker).readMethodQuery, Key{Name: "http.method_rules.<METHOD>.require_query_matches", Since: v21,
		Code:    errcode.ToolCallNotAllowed,
		Doc:     "A pattern that the whole query, as it is sent and without `?`, has to match; an empty query never does.",
		Example: `http.method_rules.GET.require_query_matches: "q=[a-z]{1,32}"`})
)

var (
	blockedDomains = entriesOf(TypeHosts, codes.BlockedDomain, blockedDomain)

	allowedHosts = entriesOf(TypeHosts, codes.AllowedHost, allowedHost)
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
	Pattern Item
}

// readMethodDeny reads whether a method is denied.
func (c *checker) readMethodDeny(row *Key, entry *grammar.Entry) {
	if rule := c.methodRule(row, entry); rule != nil {
		rule.Deny = c.boolean(entry)
	}
}

// readMethodQuery reads the pattern that the queries of a method have to match.
func (c *checker) readMethodQuery(row *Key, entry *grammar.Entry) {
	if rule := c.methodRule(row, entry); rule != nil && c.queryPattern(entry.Value) {
		rule.Query = &Query{Span: entry.Span, Pattern: Item{entry.Value.Text, entry.Value.Span}}
	}
}

// methodRule returns the rule of the method that a key names, a new one where it has none yet.
func (c *checker) methodRule(row *Key, entry *grammar.Entry) *MethodRule {
	name := entry.Key.Segments[2]
	named := *row
	named.Name, named.Values = "http.method_rules", slot.Methods()
	if !c.choice(&named, grammar.Item{Text: name.Text, Span: name.Span}) {
		return nil
	}
	h := &part[ToolCalls](c.parts).HTTP
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
func (c *checker) queryPattern(value *grammar.Value) bool {
	if value.Text == "" {
		c.add(grammar.At(codes.EmptyValue, value.Span, "the empty pattern matches the empty query only, and that is denied").
			WithHint("write what queries have to look like, such as `q=[a-z]+`"))
		return false
	}
	return c.pattern(value.Text, value.Span, form.Escapes)
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
func (e *emitter) web(done vm.Label) {
	t := part[ToolCalls](e.parts)
	h := &t.HTTP
	if h.BlockedMethods != nil {
		next := e.NewLabel()
		e.blocking(h.BlockedMethods)
		e.Test(vm.OpIn, vm.Unless, e.Field(slotMethod), e.exactly(h.BlockedMethods.Texts()...), next)
		e.deny(keyNoMethods.Rule, keyNoMethods.Code, "the method is in tool_calls.http.blocked_methods", e.value(slotMethod), next)
		e.Place(next)
	}
	if h.AllowedMethods != nil {
		e.allow(keyMethods, h.AllowedMethods, vm.OpIn, vm.If, slotMethod, e.exactly(h.AllowedMethods.Texts()...),
			"the intent has no method that is in tool_calls.http.allowed_methods")
	}
	if h.AllowedHosts != nil {
		e.allowedHosts(h.AllowedHosts)
	}
	e.methodRules()
	if t.BlockedDomains != nil {
		e.blocked(e.domains(), done)
	} else {
		e.Jump(done)
	}
}

// allowedHosts denies hosts that no entry covers, and intents without one.
func (e *emitter) allowedHosts(hosts *List) {
	var exact, below []string
	for _, host := range hosts.Texts() {
		if domain, ok := strings.CutPrefix(host, "*"); ok {
			below = append(below, domain)
		} else {
			exact = append(exact, host)
		}
	}
	e.allowing(hosts)
	e.unless(func(pass vm.Label) {
		if len(exact) > 0 {
			e.Test(vm.OpIn, vm.If, e.Field(derived.Host), e.exactly(exact...), pass)
		}
		if len(below) > 0 {
			e.Test(vm.OpHost, vm.If, e.Field(derived.Host), e.Hosts(below...), pass)
		}
	}, keyHosts.Rule, keyHosts.Code, "the url is missing, or its host is not in tool_calls.http.allowed_hosts", e.value(derived.Host))
}

// methodRules judges by what is said of single methods.
func (e *emitter) methodRules() {
	var ruled []*MethodRule
	var cases []vm.Case
	for _, rule := range part[ToolCalls](e.parts).HTTP.Rules {
		if IsOn(rule.Deny) || rule.Query != nil {
			ruled = append(ruled, rule)
			cases = append(cases, vm.Case{Text: rule.Method, To: e.NewLabel()})
		}
	}
	if len(ruled) == 0 {
		return
	}
	next := e.NewLabel()
	e.at(ruled[0].Span())
	e.Switch(e.Field(slotMethod), next, cases...)
	for i, rule := range ruled {
		e.Place(cases[i].To)
		e.methodRule(rule, next)
	}
	e.Place(next)
}

// methodRule judges by what is said of one method. A query that is too long to be matched is denied.
func (e *emitter) methodRule(rule *MethodRule, next vm.Label) {
	if IsOn(rule.Deny) {
		resume := next
		if rule.Query != nil {
			resume = e.NewLabel()
		}
		e.at(rule.Deny.Span)
		e.deny(keyMethodDeny.ruleOf(rule.Method), keyMethodDeny.Code, "the policy denies the method", e.value(slotMethod), resume)
		if rule.Query == nil {
			return
		}
		e.Place(resume)
	}
	e.at(rule.Query.Span)
	bad, query := e.NewLabel(), e.Field(derived.Query)
	pattern := machinePattern([]string{rule.Query.Pattern.Text}, form.Escapes)
	if matchesEmpty(pattern) {
		e.Test(vm.OpMatch, vm.Unless, query, e.Pattern("(?s:.)", false), bad)
	}
	e.Test(vm.OpMatch, vm.If, query, e.Pattern(pattern, true), next)
	e.Place(bad)
	e.deny(keyMethodQuery.ruleOf(rule.Method), keyMethodQuery.Code, "the query is empty, too long, or not as the policy requires", e.value(derived.Query), next)
}

// matchesEmpty reports whether a pattern, which compiles, matches the empty text.
func matchesEmpty(pattern string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString("")
}

// domains reads also the IPv4 addresses in IPv6 literals where the list has one that they could be.
func (e *emitter) domains() blockList {
	domains, slot := part[ToolCalls](e.parts).BlockedDomains, derived.Host
	if slices.ContainsFunc(domains.Texts(), httpurl.IsIPv4) {
		slot = derived.Hosts
	}
	return blockList{list: domains, key: keyDomains, slot: slot,
		tests:   func(texts []string) []setTest { return []setTest{{vm.OpHost, e.Hosts(texts...)}} },
		missing: "the policy blocks domains, and the intent has no url",
		blocked: "the host is an entry of tool_calls.web_fetch.blocked_domains, or below one"}
}
