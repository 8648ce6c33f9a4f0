package oracle

import (
	"bailiff/vm/errcode"
)

// web judges `http` and `web_fetch`: "`http.blocked_methods` (`http` only), `http.allowed_methods` (which `web_fetch`
// can't satisfy), `http.allowed_hosts` (a missing `url` is denied), method rules, `web_fetch.blocked_domains`."
func (j *judgement) web() {
	tools := j.p.tools
	method := ""
	if j.action == "http" {
		method = j.text("method") // a 400 without
	}
	if method != "" && methodListed(tools.list("http.blocked_methods"), method) {
		j.deny("tool_calls.http.blocked_methods", errcode.ToolCallNotAllowed)
	}
	if tools.has("http.allowed_methods") && !methodListed(tools.list("http.allowed_methods"), method) {
		j.deny("tool_calls.http.allowed_methods", errcode.ToolCallNotAllowed)
	}
	if tools.has("http.allowed_hosts") && !j.hostIn(j.p.hosts, false) {
		j.deny("tool_calls.http.allowed_hosts", errcode.ToolCallNotAllowed)
	}
	j.methodRules(method)
	if tools.has("web_fetch.blocked_domains") && (!j.hostReadable() || j.hostIn(j.p.domains, true)) {
		j.deny("tool_calls.web_fetch.blocked_domains", errcode.BlockedDomain)
	}
}

func methodListed(list []string, method string) bool {
	for _, each := range list {
		if asciiLower(each) == asciiLower(method) {
			return true
		}
	}
	return false
}

// methodRules: "A method rule with `deny: true` denies its method; `require_query_matches` has to match the whole
// query without `?`, and an empty query, or one of more than 4 KiB, never does." It reads the normal form, as every operator.
func (j *judgement) methodRules(method string) {
	rule := "http.method_rules." + method + "."
	if method != "" && j.p.tools.flag(rule+"deny") {
		j.deny("tool_calls."+rule+"deny", errcode.ToolCallNotAllowed)
	}
	wanted, ok := j.p.patterns.queries[method]
	if !ok {
		return
	}
	u, _ := j.url()
	query, _ := withEscapes.normal(u.query)
	if query == "" || len(query) > maxSubject || !wanted.exact.MatchString(query) {
		j.deny("tool_calls."+rule+"require_query_matches", errcode.ToolCallNotAllowed)
	}
}

// hostReadable reports whether the URL is there and has a host.
func (j *judgement) hostReadable() bool {
	u, ok := j.url()
	return ok && u.host != ""
}

// hostIn reports whether the host of the URL is covered by a list.
func (j *judgement) hostIn(list []hostPattern, blocks bool) bool {
	if !j.hostReadable() {
		return false
	}
	u, _ := j.url()
	hosts := []string{u.host}
	if blocks {
		hosts = blockedAs(u.host)
	}
	for _, pattern := range list {
		for _, host := range hosts {
			if pattern.covers(host) {
				return true
			}
		}
	}
	return false
}
