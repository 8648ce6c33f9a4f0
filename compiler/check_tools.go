package compiler

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/form"
	"bailiff/vm/form/command"
	"bailiff/vm/form/email"
	"bailiff/vm/form/fspath"
	"bailiff/vm/form/httpurl"
	"bailiff/vm/slot"
)

// readTools reads one entry of `## tool_calls`, and reports whether it knows the key.
func (c *checker) readTools(row *Key, entry *grammar.Entry) bool {
	t := c.policy.ToolCalls
	switch row.Name {
	case "allowed":
		t.Allowed = c.actions(entry.Span, entry.Value)
	case nameBlockedCommands:
		t.BlockedCommands = c.blocked(entry, CodeBlockedCommand, command.Entry)
	case "web_fetch.blocked_domains":
		t.BlockedDomains = c.blocked(entry, CodeBlockedDomain, blockedDomain)
	case nameListedCommands:
		t.ListedCommands = c.blocked(entry, CodeAllowedCommand, listedCommand)
	case nameHeldCommands:
		t.HeldCommands = c.blocked(entry, CodeBlockedCommand, command.Entry)
	case "file_write.blocked_paths":
		t.Write.Blocked = c.blocked(entry, CodeBlockedPath, blockedPath)
	case "file_write.allowed_paths":
		t.Write.Allowed = c.blocked(entry, CodeAllowedPath, allowedPath)
	case "file_read.blocked_paths":
		t.Read.Blocked = c.blocked(entry, CodeBlockedPath, blockedPath)
	case "file_read.allowed_paths":
		t.Read.Allowed = c.blocked(entry, CodeAllowedPath, allowedPath)
	case "email.require_approval":
		t.Email.Approval = c.boolean(entry)
	case "email.approval_exempt_recipients":
		t.Email.Exempt = c.blocked(entry, CodeRecipient, recipient)
	case "email.allowed_recipients":
		t.Email.Allowed = c.blocked(entry, CodeRecipient, recipient)
	case "email.blocked_recipients":
		t.Email.Blocked = c.blocked(entry, CodeRecipient, recipient)
	default:
		return c.readHTTP(row, entry)
	}
	return true
}

// readHTTP reads one entry about typed HTTP, and reports whether it knows the key.
func (c *checker) readHTTP(row *Key, entry *grammar.Entry) bool {
	h := &c.policy.ToolCalls.HTTP
	switch row.Name {
	case "http.allowed_methods":
		h.AllowedMethods = c.choices(row, entry)
	case "http.blocked_methods":
		h.BlockedMethods = c.choices(row, entry)
	case "http.allowed_hosts":
		h.AllowedHosts = c.blocked(entry, CodeAllowedHost, allowedHost)
	case "http.method_rules.<METHOD>.deny":
		if rule := c.methodRule(row, entry); rule != nil {
			rule.Deny = c.boolean(entry)
		}
	case "http.method_rules.<METHOD>.require_query_matches":
		if rule := c.methodRule(row, entry); rule != nil && c.queryPattern(entry.Value) {
			rule.Query = &Query{Span: entry.Span, Pattern: Item{entry.Value.Text, entry.Value.Span}}
		}
	default:
		return false
	}
	return true
}

// methodRule returns the rule of the method that a key names, a new one where it has none yet.
func (c *checker) methodRule(row *Key, entry *grammar.Entry) *MethodRule {
	name := entry.Key.Segments[2]
	named := *row
	named.Name, named.Values = "http.method_rules", slot.Methods()
	if !c.choice(&named, grammar.Item{Text: name.Text, Span: name.Span}) {
		return nil
	}
	h := &c.policy.ToolCalls.HTTP
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
		c.add(grammar.At(CodeEmptyValue, value.Span, "the empty pattern matches the empty query only, and that is denied").
			WithHint("write what queries have to look like, such as `q=[a-z]+`"))
		return false
	}
	return c.pattern(value.Text, value.Span, form.Escapes)
}

// blocked reads a list of things that are blocked, held or allowed. What parse returns for an item is what the machine seeks.
func (c *checker) blocked(entry *grammar.Entry, code grammar.Code, parse func(string) ([]string, error)) *List {
	list := &List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.list(entry) {
		c.literals(item.Text, item.Span)
		if code == CodeBlockedCommand {
			c.lintCommand(item)
			c.lintCommandWords(item)
		}
		needles, err := parse(item.Text)
		if err != nil {
			c.add(problemWith(code, item.Span, err))
			continue
		}
		before := len(list.Items)
		for _, needle := range needles {
			if !seen[needle] {
				seen[needle] = true
				list.Items = append(list.Items, Item{needle, item.Span})
			}
		}
		if len(list.Items) == before {
			c.repeatedCase(item, command.ShowListed(needles[0]))
		}
	}
	return list
}

// problemWith turns the error of a leaf package into a diagnostic.
func problemWith(code grammar.Code, span grammar.Span, err error) grammar.Diagnostic {
	var host *httpurl.EntryError
	if !errors.As(err, &host) {
		return grammar.At(code, span, "%s", err)
	}
	d := grammar.At(code, span, "%s", host.Problem)
	if network, err := netip.ParsePrefix(host.Entry); err == nil && !network.IsSingleIP() {
		return d.WithHint("an entry is one address or one name, and `%s` would block itself alone; list each address that is meant", network.Addr())
	}
	if host.Fix != "" {
		d = d.WithHint("write `%s`", shorten(host.Fix)).WithFix(span, host.Fix)
	}
	return d
}

// blockedPath reads an entry of a list of blocked paths.
func blockedPath(text string) ([]string, error) {
	if strings.Count(text, "*") > vm.MaxStars {
		return nil, fmt.Errorf("a blocked path has at most %d stars: write the directory above", vm.MaxStars)
	}
	return fspath.ParseEntry(text)
}

func listedCommand(text string) ([]string, error) {
	beginning, err := command.ListedEntry(text)
	return []string{beginning}, err
}

// allowedPath reads an entry of a list of allowed paths.
func allowedPath(text string) ([]string, error) {
	if strings.Count(text, "*") > vm.MaxStars {
		return nil, fmt.Errorf("an allowed path has at most %d stars: write the directory above", vm.MaxStars)
	}
	pattern, err := fspath.AllowedEntry(text)
	return []string{pattern}, err
}

func blockedDomain(text string) ([]string, error) {
	host, err := httpurl.BlockedEntry(text)
	return []string{host}, err
}

func allowedHost(text string) ([]string, error) {
	pattern, err := httpurl.AllowedEntry(text)
	return []string{pattern}, err
}

// recipient reads an entry of a list of recipients. Its domain is in ASCII, as those of intents are.
func recipient(text string) ([]string, error) {
	pattern, err := email.Entry(text)
	if err == nil {
		pattern, err = asciiDomain(pattern)
	}
	if err == nil && strings.Count(pattern, "*") > vm.MaxStars {
		err = fmt.Errorf("a recipient has at most %d stars: write fewer", vm.MaxStars)
	}
	return []string{pattern}, err
}

// asciiDomain puts the domain of a recipient's pattern into ASCII.
func asciiDomain(pattern string) (string, error) {
	at := strings.Index(pattern, "@") + 1
	for strings.HasPrefix(pattern[at:], "*.") {
		at += len("*.")
	}
	domain := pattern[at:]
	if !strings.ContainsFunc(domain, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return pattern, nil
	}
	host, err := httpurl.Host(domain)
	if err != nil {
		return "", fmt.Errorf("recipient %q: %q is no domain: write it out, with a star only in front, as in *@*.example.com", pattern, domain)
	}
	return pattern[:at] + host, nil
}

// finishTools checks what concerns several entries of `## tool_calls`.
func (c *checker) finishTools() {
	t := c.policy.ToolCalls
	if t == nil || t.Allowed != nil || c.lost("tool_calls", "allowed") || c.policy.Profiles.declared() {
		return
	}
	c.add(grammar.At(CodeToolsGrantNothing, t.Span, "`## tool_calls` has no `allowed`, so it grants nothing").
		WithHint("name the tools: `allowed: bash, web_fetch`"))
}
