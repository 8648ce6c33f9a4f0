package gen

import (
	"slices"
	"strings"
)

// narrowed are the tools that lists and rules of their own narrow, by the beginning of their keys.
var narrowed = []struct{ action, key string }{
	{"bash", "bash.require_approval"}, {"bash", "bash.allowed_commands"}, {"file_read", "file_read."}, {"file_write", "file_write.allowed_paths"},
	{"bash", "bash.blocked_commands"}, {"file_write", "file_write.blocked_paths"}, {"web_fetch", "web_fetch.blocked_domains"},
	{"http", "web_fetch.blocked_domains"}, {"http", "http.allowed_hosts"}, {"web_fetch", "http.allowed_hosts"},
	{"http", "http.allowed_methods"}, {"http", "http.blocked_methods"},
	{"http", "http.method_rules"}, {"http", "http.method_rules"},
	{"email.send", "email.blocked_recipients"}, {"email.send", "email.allowed_recipients"},
}

func (b *builder) addTools() {
	s := b.section("tool_calls")
	s.list("allowed", b.r.Some(8, toolActions...))
	defer b.allowNarrowed(s)
	b.maybeList(s, "bash.blocked_commands", 4, commands)
	b.maybeList(s, "web_fetch.blocked_domains", 4, domains)
	b.maybeList(s, "file_write.blocked_paths", 4, paths[:len(paths)-2+b.r.N(3)])
	b.maybeList(s, "email.blocked_recipients", 2, mailbox[:5])
	b.maybeList(s, "email.allowed_recipients", 4, mailbox)
	b.maybeFlag(s, "email.require_approval")
	if b.from(2, 4) {
		b.maybeList(s, "bash.require_approval", 3, commands)
		b.maybeList(s, "bash.allowed_commands", 6, allowedCommands)
		b.maybeList(s, "email.approval_exempt_recipients", 3, mailbox)
		b.maybeList(s, "file_read.blocked_paths", 3, paths[:len(paths)-2])
		b.maybeList(s, "file_read.allowed_paths", 4, allowedPaths)
		b.maybeList(s, "file_write.allowed_paths", 4, allowedPaths)
	}
	if b.from(2, 0) {
		b.maybeList(s, "http.allowed_hosts", 4, hosts)
		if b.r.Chance(b.density / 2) {
			s.list("http.allowed_methods", b.r.Some(7, methods...))
		}
		if b.r.Chance(b.density / 2) {
			s.list("http.blocked_methods", b.r.Some(2, methods...))
		}
	}
	if b.from(2, 1) {
		b.methodRules(s)
	}
	b.common(s, append([]string{"Bash", "deploy", "email.send"}, actionPatterns...))
}

// has reports whether a key of the section begins so.
func (s *Section) has(beginning string) bool {
	return s != nil && slices.ContainsFunc(s.Entries, func(e Entry) bool { return strings.HasPrefix(e.Key, beginning) })
}

// allowNarrowed mostly allows the tools that a list narrows, since the list does nothing without.
func (b *builder) allowNarrowed(s *Section) {
	allowed := s.Find("allowed")
	for _, tool := range narrowed {
		if s.has(tool.key) && b.r.Chance(60) {
			allowed.Values = unique(append(allowed.Values, tool.action))
		}
	}
}

func (b *builder) methodRules(s *Section) {
	for _, method := range b.r.Some(3, methods...) {
		key := "http.method_rules." + method + "."
		if b.r.Chance(b.density) {
			s.scalar(key+"require_query_matches", b.r.Pick(queryPatterns...))
		}
		if b.r.Chance(b.density / 3) {
			s.scalar(key+"deny", b.r.Pick("true", "false"))
		}
	}
}

// queryPatterns are expressions for a whole query, each of which goodQueries has an answer to.
var queryPatterns = []string{"q=[a-z]+", "(page=[0-9]{1,3}&?)+", ".*", "x=1|y=2"}

var goodQueries = map[string]string{"q=[a-z]+": "q=abc", "(page=[0-9]{1,3}&?)+": "page=1&page=22", ".*": "any=%20", "x=1|y=2": "y=2"}
