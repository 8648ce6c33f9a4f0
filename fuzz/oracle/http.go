package oracle

import (
	"strings"

	"bailiff/runtime/code"
	"bailiff/runtime/intent"
)

// web judges `http` and `web_fetch`: "`http.blocked_methods` (`http` only), `http.allowed_methods` (which `web_fetch`
// can't satisfy), `http.allowed_hosts` (a missing `url` is denied), method rules, `web_fetch.blocked_domains`."
func (j *judgement) web() {
	tools := j.p.tools
	method := ""
	if j.action == "http" {
		method = j.in.Text(intent.Method) // a 400 without
	}
	if method != "" && methodListed(tools.list("http.blocked_methods"), method) {
		j.deny("tool_calls.http.blocked_methods", code.ToolCallNotAllowed)
	}
	if tools.has("http.allowed_methods") && !methodListed(tools.list("http.allowed_methods"), method) {
		j.deny("tool_calls.http.allowed_methods", code.ToolCallNotAllowed)
	}
	if tools.has("http.allowed_hosts") && !j.hostIn(j.p.hosts) {
		j.deny("tool_calls.http.allowed_hosts", code.ToolCallNotAllowed)
	}
	j.methodRules(method)
	if tools.has("web_fetch.blocked_domains") && (!j.hostReadable() || j.hostIn(j.p.domains)) {
		j.deny("tool_calls.web_fetch.blocked_domains", code.BlockedDomain)
	}
}

func methodListed(list []string, method string) bool {
	for _, each := range list {
		if strings.ToUpper(each) == method {
			return true
		}
	}
	return false
}

// methodRules: "A method rule with `deny: true` denies its method; `require_query_matches` has to match the whole raw
// query without `?`, and an empty query, or one of more than 4 KiB, never does."
func (j *judgement) methodRules(method string) {
	rule := "http.method_rules." + method + "."
	if method != "" && j.p.tools.flag(rule+"deny") {
		j.deny("tool_calls."+rule+"deny", code.ToolCallNotAllowed)
	}
	pattern := j.p.patterns.queries[method]
	if pattern == nil {
		return
	}
	query := readURL(j.in.Text(intent.URL)).query
	if query == "" || len(query) > maxSubject || !pattern.MatchString(query) {
		j.deny("tool_calls."+rule+"require_query_matches", code.ToolCallNotAllowed)
	}
}

// hostReadable reports whether the URL is there and has a host.
func (j *judgement) hostReadable() bool {
	return j.in.Has(intent.URL) && readURL(j.in.Text(intent.URL)).host != ""
}

// hostIn reports whether the host of the URL is covered by a list.
func (j *judgement) hostIn(list []hostPattern) bool {
	if !j.hostReadable() {
		return false
	}
	host := readURL(j.in.Text(intent.URL)).host
	for _, pattern := range list {
		if pattern.covers(host) {
			return true
		}
	}
	return false
}
