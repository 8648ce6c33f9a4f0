package compiler

import (
	"regexp"
	"strings"

	"bailiff/vm"
	"bailiff/vm/form"
)

// web judges `http` and `web_fetch`: blocked methods, allowed methods, hosts, method rules, blocked domains. A
// `web_fetch` has no method, so that it meets no rule about one but that a method be allowed.
func (e *emitter) web(done vm.Label) {
	t := e.policy.ToolCalls
	h := &t.HTTP
	if h.BlockedMethods != nil {
		next := e.NewLabel()
		e.blocking(h.BlockedMethods)
		e.Test(vm.OpIn, vm.Unless, e.Field(slotMethod), e.exactly(h.BlockedMethods.texts()...), next)
		e.deny(keyNoMethods.Rule, keyNoMethods.Code, "the method is in tool_calls.http.blocked_methods", e.value(slotMethod), next)
		e.Place(next)
	}
	if h.AllowedMethods != nil {
		e.allowing(h.AllowedMethods)
		e.unless(func(pass vm.Label) {
			e.Test(vm.OpIn, vm.If, e.Field(slotMethod), e.exactly(h.AllowedMethods.texts()...), pass)
		}, keyMethods.Rule, keyMethods.Code, "the intent has no method that is in tool_calls.http.allowed_methods", e.value(slotMethod))
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
	for _, host := range hosts.texts() {
		if domain, ok := strings.CutPrefix(host, "*"); ok {
			below = append(below, domain)
		} else {
			exact = append(exact, host)
		}
	}
	e.allowing(hosts)
	e.unless(func(pass vm.Label) {
		if len(exact) > 0 {
			e.Test(vm.OpIn, vm.If, e.Field(slotHost), e.exactly(exact...), pass)
		}
		if len(below) > 0 {
			e.Test(vm.OpHost, vm.If, e.Field(slotHost), e.Hosts(below...), pass)
		}
	}, keyHosts.Rule, keyHosts.Code, "the url is missing, or its host is not in tool_calls.http.allowed_hosts", e.value(slotHost))
}

// methodRules judges by what is said of single methods.
func (e *emitter) methodRules() {
	var ruled []*MethodRule
	var cases []vm.Case
	for _, rule := range e.policy.ToolCalls.HTTP.Rules {
		if isOn(rule.Deny) || rule.Query != nil {
			ruled = append(ruled, rule)
			cases = append(cases, vm.Case{Text: rule.Method, To: e.NewLabel()})
		}
	}
	if len(ruled) == 0 {
		return
	}
	next := e.NewLabel()
	e.at(ruled[0].span())
	e.Switch(e.Field(slotMethod), next, cases...)
	for i, rule := range ruled {
		e.Place(cases[i].To)
		e.methodRule(rule, next)
	}
	e.Place(next)
}

// methodRule judges by what is said of one method. A query that is too long to be matched is denied.
func (e *emitter) methodRule(rule *MethodRule, next vm.Label) {
	if isOn(rule.Deny) {
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
	bad, query := e.NewLabel(), e.Field(slotQuery)
	pattern := machinePattern([]string{rule.Query.Pattern.Text}, form.Escapes)
	if matchesEmpty(pattern) {
		e.Test(vm.OpMatch, vm.Unless, query, e.Pattern("(?s:.)", false), bad)
	}
	e.Test(vm.OpMatch, vm.If, query, e.Pattern(pattern, true), next)
	e.Place(bad)
	e.deny(keyMethodQuery.ruleOf(rule.Method), keyMethodQuery.Code, "the query is empty, too long, or not as the policy requires", e.value(slotQuery), next)
}

// matchesEmpty reports whether a pattern, which compiles, matches the empty text.
func matchesEmpty(pattern string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString("")
}

// email judges recipients: whether there are any, the blocked list, the allowed list. What is no address is denied by
// the first of the two, since a test of it never jumps.
func (e *emitter) email(done vm.Label) {
	m := &e.policy.ToolCalls.Email
	recipients, present := e.Field(slotRecipients), e.NewLabel()
	first := keyRecipients
	e.at(m.span())
	if m.Allowed == nil {
		first = keyNoRecipients
	} else {
		e.allowing(m.Allowed)
	}
	e.Kind(vm.Unless, recipients, absent, present)
	e.deny(first.Rule, keyRecipients.Code, "the policy restricts recipients, and the intent has none", e.value(slotRecipients), done)
	e.Place(present)
	if m.Blocked != nil {
		next := e.NewLabel()
		e.blocking(m.Blocked)
		e.Test(vm.OpGlob, vm.Unless, recipients, e.Globs(vm.Mailbox, m.Blocked.texts()...), next)
		e.deny(keyNoRecipients.Rule, keyNoRecipients.Code, "a recipient is in tool_calls.email.blocked_recipients, or no address", e.element(slotRecipients), next)
		e.Place(next)
	}
	if m.Allowed != nil {
		e.allowing(m.Allowed)
		e.Test(vm.OpGlob, vm.If|vm.Every, recipients, e.Globs(vm.Mailbox, m.Allowed.texts()...), done)
		e.deny(keyRecipients.Rule, keyRecipients.Code, "a recipient is not in tool_calls.email.allowed_recipients", e.element(slotRecipients), done)
	} else {
		e.Jump(done)
	}
}
