package gen

import "strings"

// customPaths are what custom rules look at: metadata most of all.
var customPaths = []string{"metadata.env", "metadata.team", "metadata.tags", "metadata.a.b", "metadata.a.c", "metadata.n", "intent.metadata.env",
	"metadata.customer.id", "metadata.wallet", "metadata.orders.asset", "arguments.q", "arguments.opts.mode", "metadata.arguments.q", "agentId", "framework", "task_id", "context", "request_nonce"}

// fieldPaths are fields that only some actions have.
var fieldPaths = []string{"command", "path", "cwd", "url", "host", "query", "method", "to", "token", "targetAddress", "amount", "chainId", "action",
	"calldata", "amount_unit", "metadata.serverId", "metadata.toolName"}

var denyOperators = []string{"equals", "not_equals", "contains", "starts_with", "prefix", "ends_with", "matches"}
var allowOperators = []string{"", "", "", " equals", " contains", " starts_with", " prefix", " ends_with", " matches"}

// patterns are expressions, each of which goodTexts has an answer to.
var patterns = []string{"[a-z]+", "OPS-[0-9]{1,3}", "(?i)prod|dev", "x{2,4}", "dev|1", "[^x]*"}

var goodTexts = map[string]string{"[a-z]+": "dev", "OPS-[0-9]{1,3}": "OPS-42", "(?i)prod|dev": "PROD", "x{2,4}": "xxx", "dev|1": "1", "[^x]*": "日本"}

func (b *builder) addCustom() {
	s := b.section("custom")
	for range b.r.N(2 + b.density/30) {
		s.Entries = append(s.Entries, DenyRule(b.r))
	}
	used := map[string]bool{}
	for range b.r.N(2 + b.density/30) {
		b.allowOnly(s, used)
	}
	if len(s.Entries) == 0 {
		s.Entries = append(s.Entries, DenyRule(b.r))
	}
	b.common(s, actionPatterns)
}

// DenyRule makes one entry of `## custom` that denies: it is good in every version.
func DenyRule(r *Rand) Entry {
	if r.Chance(25) {
		text := r.Pick("prod", "rm -rf", "BEGIN PRIVATE KEY", "to "+One(r, addresses), "日本", "it's")
		if r.Chance(60) {
			text = r.Pick(addressPart(r), anAddress(r), customValue(r, One(r, fieldPaths)))
		}
		return Entry{Key: "deny_string", Values: []string{text}, Scalar: true}
	}
	path := One(r, customPaths)
	if r.Chance(50) {
		path = One(r, fieldPaths)
	}
	operator, value := One(r, denyOperators), customValue(r, path)
	switch {
	case operator == "not_equals":
		// A missing value is not equal, so this one denies most requests: it stays rare.
		operator = r.Pick("equals", "not_equals")
	case operator == "matches":
		value = customPattern(r, path)
	}
	return Entry{Key: "deny_if." + path + " " + operator, Values: []string{value}, Scalar: true}
}

// allowOnly adds a rule whose path and scope no other has, since lines for the same two must agree.
func (b *builder) allowOnly(s *Section, used map[string]bool) {
	path, scope, operator := One(b.r, customPaths), "", ""
	if b.from(2, 0) {
		if b.r.Chance(40) {
			scope = b.r.Pick(actionPatterns...)
			if b.r.Chance(50) {
				path = One(b.r, fieldPaths)
			}
		}
		operator = One(b.r, allowOperators)
	}
	id := strings.TrimPrefix(path, "intent.") + "\x00" + strings.ToLower(scope)
	if used[id] {
		return
	}
	used[id] = true
	key := "allow_only"
	if scope != "" {
		key += "[action=" + scope + "]"
	}
	key += "." + path
	if b.from(2, 0) && strings.HasPrefix(strings.TrimPrefix(path, "intent."), "metadata.") && b.r.Chance(20) {
		key += " attested"
	}
	values := []string{}
	for range 1 + b.r.N(3) {
		values = append(values, customValue(b.r, path))
	}
	if operator == " matches" {
		values = []string{customPattern(b.r, path), customPattern(b.r, path)}[:1+b.r.N(2)]
	}
	s.list(key+operator, unique(values))
}

func unique(values []string) []string {
	var kept []string
	seen := map[string]bool{}
	for _, value := range values {
		if !seen[value] {
			kept = append(kept, value)
		}
		seen[value] = true
	}
	return kept
}
