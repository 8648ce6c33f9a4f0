package gen

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/leanovate/gopter"
)

// focus is one kind of request with the fields that it may have and whose values have a form, or hold texts that have
// one.
type focus struct {
	fields []string
	grants func(*builder)
}

var anyKind = []string{"action", "chainId", "task_id", "agentId", "context", "arguments.q", "metadata.arguments.q", "metadata.wallet", "metadata.orders.asset", "metadata.n"}

var focuses = []focus{
	{append([]string{"token", "token", "token", "targetAddress", "targetAddress", "amount", "amount", "amount", "to", "calldata", "calldata", "maxFee", "amount_unit"}, anyKind...), (*builder).grantEVM},
	{append([]string{"path", "path", "cwd", "url", "url", "host", "query", "to", "to", "command"}, anyKind...), (*builder).grantTools},
	{append([]string{"metadata.serverId", "metadata.toolName"}, anyKind...), (*builder).grantMCP},
}

// NewFocused makes the batch of a seed with n requests, which tries how values are spelled: the policy grants nearly
// everything of a kind, and a few rules, caps and groups are about fields that have a form. Each request has what
// one of the rules is about.
func NewFocused(seed int64, n int) *Batch {
	r := NewRand(seed)
	b := &builder{r: r, major: 2, minor: 3 + r.N(2), density: 60}
	b.policy = &Policy{Version: fmt.Sprintf("2.%d.0", b.minor)}
	f := One(r, focuses)
	f.grants(b)
	s := b.section("custom")
	used := map[string]bool{}
	for range 1 + r.N(3) {
		if r.Chance(70) {
			s.Entries = append(s.Entries, b.focusedDenial(One(r, f.fields)))
		} else {
			b.focusedAllowance(s, One(r, f.fields), used)
		}
	}
	b.focusedLimits(f.fields)
	batch := &Batch{Seed: seed, Policy: b.policy}
	writer := NewWriter(b.policy)
	for range n {
		batch.Cases = append(batch.Cases, writer.focusedCase(r))
	}
	return batch
}

// FocusedBatches is Batches for those of NewFocused.
func FocusedBatches(n int) gopter.Gen {
	return func(p *gopter.GenParameters) *gopter.GenResult {
		return gopter.NewGenResult(NewFocused(p.NextInt64(), n), shrinkBatch)
	}
}

func (b *builder) grantEVM() {
	s := b.section("evm")
	s.list("allowed_chains", []string{"1", "10", "8453"})
	s.list("allowed_actions", []string{"wallet.transfer", "contract.call", "token.approve", "Swap", "erc4337.userop"})
	s.scalar("max_transaction_eth", "2")
	b.density = 100
	b.tokenRules(s)
	b.density = 60
	if b.from(2, 4) && b.may() {
		s.scalar("max_fee_eth", "0.05")
	}
}

func (b *builder) grantTools() {
	s := b.section("tool_calls")
	s.list("allowed", []string{"bash", "file_write", "file_read", "web_fetch", "http", "email.send", "deploy"})
	switch b.r.N(6) {
	case 0:
		s.list("email.allowed_recipients", b.r.Some(3, mailbox...))
	case 1:
		s.list("email.blocked_recipients", b.r.Some(2, mailbox[:5]...))
	case 2:
		s.list("http.allowed_hosts", b.r.Some(3, hosts...))
	case 3:
		s.list("web_fetch.blocked_domains", b.r.Some(3, domains...))
	case 4:
		s.list("file_write.blocked_paths", b.r.Some(3, paths...))
	}
}

func (b *builder) grantMCP() {
	s := b.section("mcp")
	s.list("allowed_servers", []string{"github", "jira", "Files"})
}

// focusedDenial makes a rule about one field, or a text that is sought everywhere.
func (b *builder) focusedDenial(path string) Entry {
	value, operator := customValue(b.r, path), One(b.r, denyOperators)
	if b.r.Chance(20) {
		return Entry{Key: "deny_string", Values: []string{value}, Scalar: true}
	}
	if operator == "matches" {
		value = customPattern(b.r, path)
	}
	return Entry{Key: "deny_if." + path + " " + operator, Values: []string{value}, Scalar: true}
}

func (b *builder) focusedAllowance(s *Section, path string, used map[string]bool) {
	if used[path] {
		return
	}
	used[path] = true
	operator := One(b.r, allowOperators)
	values := unique([]string{customValue(b.r, path), customValue(b.r, path), customValue(b.r, path)})
	if operator == " matches" {
		values = []string{customPattern(b.r, path), customPattern(b.r, path)}
	}
	s.list("allow_only."+path+operator, unique(values))
}

// focusedLimits counts by the fields, and asks for an approval now and then.
func (b *builder) focusedLimits(fields []string) {
	s := b.section("soft_limits")
	for _, name := range []string{"one", "other"}[:b.r.N(3)] {
		key := "cap." + name + "."
		s.scalar(key+"max_count", "5")
		s.scalar(key+"window", b.r.Pick("day", "task"))
		s.scalar(key+"action", "*")
		s.scalar(key+"group_by", One(b.r, fields))
	}
	if b.r.Chance(25) || len(s.Entries) == 0 {
		s.scalar("daily_evm_limit_eth", "100")
	}
	if b.r.Chance(25) {
		s.list("require_approval", b.r.Some(2, actionPatterns...))
	}
}

// focusedCase makes a request without slips that has what some rules are about.
func (w *Writer) focusedCase(r *Rand) *Case {
	w.r, w.slips, w.shim = r, 0, false
	w.action = w.pickAction()
	w.lower = strings.ToLower(w.action)
	w.request, w.intent = object(""), object("intent")
	w.envelope()
	w.fields()
	w.metadata()
	w.request.Kids = append(w.request.Kids, w.intent)
	if w.intent.member("url") == nil && !w.isEVM() && r.Chance(20) {
		w.intent.text(r.Pick("host", "query"), r.Pick(One(r, hostTexts), anAddress(r)))
	}
	for _, rule := range slices.Concat(w.lore.allowances, w.lore.denials) {
		if r.Chance(60) {
			w.aim(rule)
		}
	}
	return &Case{w.request, w.shim}
}

// pools are the texts that fields may have, for those where not any text will do.
var pools = map[string][]string{
	"targetAddress": addresses, "token": append(addresses[:4:4], symbolTexts...), "to": append(addresses[:4:4], recipientTexts...),
	"amount": amountTexts, "maxFee": {"0.01", "0.05", "0"}, "path": pathTexts, "command": {"ls", "rm -rf /", "git status", "cast send " + addresses[1], "cast send " + addresses[5]},
	"host":     hostTexts,
	"cwd":      {"/workspace/repo", "/work/x", "/home/bob", "/etc"},
	"url":      {"https://api.example.com/v1/x", "https://api.example.com/", "http://good.test/", "https://8.8.8.8/", "https://bücher.example/a%2Fb", "https://api.example.com/admin?q=abc"},
	"calldata": {"0xa9059cbb", "0x095ea7b3", "0xdeadbeef", "0x23b872ddffffffff", "0x"},
}

// aim gives the request a value that a rule is about, whatever its case, where it can have one.
func (w *Writer) aim(rule rule) {
	if rule.path == "" {
		w.aimText(rule)
		return
	}
	field, _, deeper := strings.Cut(rule.path, ".")
	var fitting []string
	for _, text := range append(pools[field], rule.values...) {
		if meets(rule, text) {
			fitting = append(fitting, text)
		}
	}
	switch {
	case field == "action" || field == "chainId" || len(fitting) == 0:
	case deeper && strings.HasPrefix(rule.path, "metadata.orders.") && w.r.Chance(60):
		w.listOfObjects(rule)
	case deeper:
		w.intent.set(rule.path, Quote(One(w.r, fitting)))
	case field == "agentId" || field == "context":
		w.request.drop(field)
		w.request.text(field, One(w.r, fitting))
	case field == "path" && w.intent.member("paths") != nil:
		w.addPath(One(w.r, fitting))
	case w.intent.member(field) != nil || field == "task_id":
		w.intent.drop(field)
		w.intent.text(field, One(w.r, fitting))
	}
}

// aimText gives some field of the request, or its metadata, a value in which a text is found.
func (w *Writer) aimText(rule rule) {
	contains := rule
	contains.operator = "contains"
	for _, field := range w.r.Some(4, "token", "targetAddress", "to", "amount", "path", "url", "calldata") {
		if (w.intent.member(field) != nil || field == "path" && w.intent.member("paths") != nil) && w.r.Chance(70) {
			contains.path = field
			w.aim(contains)
		}
	}
	if w.r.Chance(30) {
		w.intent.text("metadata.said", "… "+rule.values[0]+" …")
	}
}

// meets reports whether a text is what a rule is about but for its case.
func meets(rule rule, text string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc(rule.values, func(value string) bool {
		value = strings.ToLower(value)
		switch rule.operator {
		case "contains":
			return strings.Contains(lower, value)
		case "starts_with", "prefix":
			return strings.HasPrefix(lower, value)
		case "ends_with":
			return strings.HasSuffix(lower, value)
		case "matches":
			pattern, err := regexp.Compile("(?i)" + value)
			return err == nil && pattern.MatchString(text)
		}
		return lower == value
	})
}
