package gen

import (
	"slices"
	"strconv"
	"strings"
)

// lore is what a writer of requests knows of a policy, in the form in which it asks.
type lore struct {
	policy       *Policy
	major, minor int

	chains     []string
	evm        []string            // actions of all EVM lists
	granted    map[string][]string // by chain, where chain_actions names it; "" for the others
	native     amounts
	fees       amounts
	needsFee   bool
	tokens     []token
	enriched   bool
	tools      []string
	listed     []string // tools that are allowed and that a list of their own narrows
	profile    []string // example actions of the profiles' patterns
	others     []string // actions of no section: what approvals and caps name
	mcp        []string // "server.tool" that are allowed
	denials    []rule
	allowances []rule
	caps       []capRule
	needsShim  bool
	usage      bool
}

// token is a token rule.
type token struct {
	symbol   string
	decimals int
	amounts  amounts
	pins     []string // addresses, some behind a chain: 8453:0x…
}

// pinnedOn returns the addresses that the rule pins on a chain; on any for "".
func (t *token) pinnedOn(chain string) []string {
	var pinned []string
	for _, pin := range t.pins {
		scope, address, scoped := strings.Cut(pin, ":")
		switch {
		case !scoped:
			pinned = append(pinned, pin)
		case scope == chain || chain == "":
			pinned = append(pinned, address)
		}
	}
	return pinned
}

// rule is a custom rule.
type rule struct {
	path, operator, scope string
	values                []string
}

// capRule is a cap that reads something of the request.
type capRule struct{ group, field string }

func newLore(p *Policy) *lore {
	l := &lore{policy: p}
	l.major, _ = strconv.Atoi(p.Version[:1])
	l.minor, _ = strconv.Atoi(p.Version[2:3])
	l.readEVM()
	l.readTools()
	l.readMCP()
	l.readCustom()
	l.readLimits()
	for _, section := range p.Sections {
		flag := section.Find("require_shim")
		l.needsShim = l.needsShim || flag != nil && strings.EqualFold(flag.Values[0], "true")
		for _, pattern := range p.List(section.Name, "require_approval") {
			if section.Name != "mcp" && section.Name != "git" && section.Name != "database" {
				l.others = append(l.others, example(pattern))
			}
		}
	}
	return l
}

// example returns an action that a pattern covers.
func example(pattern string) string {
	switch start, isPrefix := strings.CutSuffix(pattern, "*"); {
	case isPrefix && strings.HasPrefix(start, "mcp.") && strings.Count(start, ".") == 1:
		return start + "github.search"
	case isPrefix:
		return start + "run"
	}
	return pattern
}

func (l *lore) readEVM() {
	l.chains = l.policy.List("evm", "allowed_chains")
	global := l.policy.List("evm", "allowed_actions")
	l.evm = slices.Clone(global)
	l.granted = map[string][]string{"": global}
	if block := l.policy.Section("evm").Find("chain_actions"); block != nil {
		for _, line := range block.Block {
			l.granted[strings.TrimLeft(strings.Trim(line.Key, `"`), "0")] = line.Values
			l.evm = append(l.evm, line.Values...)
		}
	}
	l.native = newAmounts(18, l.policy.Value("evm", "max_transaction_eth"), l.policy.Value("evm", "consensus_threshold_eth"))
	l.fees = newAmounts(18, l.policy.Value("evm", "max_fee_eth"), "")
	l.needsFee = l.policy.Value("evm", "max_fee_eth")+l.policy.Value("soft_limits", "daily_fee_eth") != ""
	l.enriched = l.policy.Value("evm", "require_calldata_enrichment") == "true"
	l.needsShim = l.enriched
	for _, known := range tokens {
		key := "token." + known.symbol + "."
		if limit := l.policy.Value("evm", key+"max_transaction"); limit != "" {
			l.tokens = append(l.tokens, token{known.symbol, known.decimals,
				newAmounts(known.decimals, limit, l.policy.Value("evm", key+"consensus_threshold")), l.policy.List("evm", key+"addresses")})
		}
	}
}

func (l *lore) readTools() {
	l.tools = l.policy.List("tool_calls", "allowed")
	for _, tool := range narrowed {
		if l.policy.Section("tool_calls").has(tool.key) && slices.Contains(l.tools, tool.action) {
			l.listed = append(l.listed, tool.action)
		}
	}
	for _, key := range [][2]string{{"filesystem", "actions"}, {"git", "actions"}, {"git", "filesystem_actions"}, {"database", "actions"}} {
		for _, pattern := range l.policy.List(key[0], key[1]) {
			l.profile = append(l.profile, example(pattern))
		}
	}
	if l.policy.Section("repository") != nil {
		l.profile = append(l.profile, "bash", "file_write")
	}
}

func (l *lore) readMCP() {
	if l.policy.Section("mcp") == nil {
		return
	}
	allowed, tools := l.policy.List("mcp", "allowed_servers"), l.policy.List("mcp", "allowed_tools")
	if allowed == nil {
		allowed = servers
	}
	for _, server := range allowed {
		for _, pattern := range tools {
			name := strings.ReplaceAll(pattern, "*", "x")
			if first, tool, dotted := strings.Cut(name, "."); dotted && (first == strings.ToLower(server) || first == "x") {
				l.mcp = append(l.mcp, server+"."+tool)
			} else if !dotted {
				l.mcp = append(l.mcp, server+"."+name)
			}
		}
		if tools == nil {
			l.mcp = append(l.mcp, server+"."+mcpTools[len(server)%len(mcpTools)])
		}
	}
	if len(l.mcp) == 0 {
		l.mcp = []string{allowed[0] + ".search"}
	}
}

func (l *lore) readCustom() {
	section := l.policy.Section("custom")
	if section == nil {
		return
	}
	for _, entry := range section.Entries {
		name, operator, _ := strings.Cut(entry.Key, " ")
		if rest, attested := strings.CutPrefix(operator, "attested"); attested {
			l.needsShim = true
			operator = strings.TrimSpace(rest)
		}
		var path, scope string
		if before, after, scoped := strings.Cut(name, "[action="); scoped {
			scope, path, _ = strings.Cut(after, "]")
			name = before
		} else {
			name, path, _ = strings.Cut(name, ".")
		}
		r := rule{strings.TrimPrefix(strings.TrimPrefix(path, "."), "intent."), operator, scope, entry.Values}
		switch name {
		case "allow_only":
			l.allowances = append(l.allowances, r)
		case "deny_if", "deny_string":
			l.denials = append(l.denials, r)
		}
	}
}

func (l *lore) readLimits() {
	section := l.policy.Section("soft_limits")
	if section != nil {
		for _, entry := range section.Entries {
			switch {
			case strings.HasSuffix(entry.Key, ".group_by"):
				l.caps = append(l.caps, capRule{group: entry.Values[0]})
			case strings.HasSuffix(entry.Key, ".amount_field"):
				l.caps = append(l.caps, capRule{field: entry.Values[0]})
			case strings.HasSuffix(entry.Key, ".action"):
				l.others = append(l.others, example(entry.Values[0]))
			}
		}
	}
	l.usage = l.policy.Value("execution_limits", "max_model_spend_usd_per_task") != "" ||
		l.policy.Value("execution_limits", "max_model_tokens_per_task") != ""
}
