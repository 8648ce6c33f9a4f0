package compiler

import (
	"math/big"
	"regexp"
	"slices"
	"strings"

	"bailiff/runtime/intent"
	"bailiff/vm"
	"bailiff/vm/command"
	"bailiff/vm/pathname"
	"bailiff/vm/weburl"
)

// The naive evaluator reads the typed policy the way the decisions tell it, with strings, maps and rationals, and
// knows nothing of programs. What it and the machine say of an intent has to be the same.

type naiveRun struct {
	p    *Policy
	in   *intent.Intent
	from intent.Provenance
	hold string
}

// naive returns "allowed", "pending rule", "denied rule CODE" or "rejected field CODE".
func naive(p *Policy, in *intent.Intent, from intent.Provenance) string {
	n := &naiveRun{p: p, in: in, from: from}
	for _, judge := range []func() string{n.validate, n.denials, n.section, n.allowances, n.limits} {
		if verdict := judge(); verdict != "" {
			return verdict
		}
	}
	if n.hold != "" {
		return "pending " + n.hold
	}
	return "allowed"
}

func (n *naiveRun) value(path string) vm.Value {
	v, err := n.in.Value(path, n.from)
	if err != nil {
		panic(err)
	}
	if v.Kind == vm.Null {
		v.Kind = vm.Missing
	}
	return v
}

func (n *naiveRun) has(path string) bool { return n.value(path).Kind != vm.Missing }

func (n *naiveRun) kind() string {
	lower := strings.ToLower(n.in.Text(intent.Action))
	switch {
	case strings.HasPrefix(lower, "mcp."):
		return "mcp"
	case lower == "model.inference":
		return "model"
	case slices.Contains([]string{"wallet.transfer", "contract.call", "token.approve", "erc4337.userop"}, lower):
		return "evm"
	}
	if n.p.EVM != nil {
		for _, item := range n.p.EVM.actions() {
			if strings.ToLower(item.Text) == lower {
				return "evm"
			}
		}
	}
	return "tool"
}

func (n *naiveRun) validate() string {
	if n.kind() == "evm" {
		if !n.has("chainId") {
			return "rejected chainId VALIDATION_ERROR_SCHEMA"
		}
		return ""
	}
	for _, name := range []string{"targetAddress", "token", "amount", "amount_unit", "calldata"} {
		if n.has(name) {
			return "rejected " + name + " VALIDATION_ERROR_SCHEMA"
		}
	}
	return ""
}

var addressLiteral = regexp.MustCompile(`0x[0-9a-fA-F]{40}([^0-9a-fA-F]|$)`)

// fold puts the addresses in a text into lower case.
func fold(text string) string {
	for at := 0; ; {
		found := addressLiteral.FindStringIndex(text[at:])
		if found == nil {
			return text
		}
		text = text[:at+found[0]] + strings.ToLower(text[at+found[0]:at+found[0]+42]) + text[at+found[0]+42:]
		at += found[0] + 42
	}
}

// holds compares one text with one value of a rule. The second result is false where nobody can say.
func holds(op Operator, text, want string, whole bool) (yes, known bool) {
	if op == Matches {
		if len(text) > 4096 {
			return false, false
		}
		want = regexp.MustCompile(`0x[0-9a-fA-F]{40}`).ReplaceAllString(want, `(?i:$0)`)
		if whole {
			want = `^(?:` + want + `)$`
		}
		return regexp.MustCompile(want).MatchString(text), true
	}
	text, want = fold(text), fold(want)
	return map[Operator]bool{
		Equals: text == want, Contains: strings.Contains(text, want),
		StartsWith: strings.HasPrefix(text, want), EndsWith: strings.HasSuffix(text, want),
	}[op], true
}

func elements(v vm.Value) []vm.Value {
	if v.Kind == vm.List {
		return v.Elems
	}
	return []vm.Value{v}
}

func hasText(v vm.Value) bool { return v.Kind == vm.String || v.Kind == vm.Number || v.Kind == vm.Bool }

func (n *naiveRun) denials() string {
	if n.p.Custom == nil {
		return ""
	}
	for _, d := range n.p.Custom.Denials {
		if d.Path == "" {
			if strings.Contains(fold(n.value("@text").Text), fold(d.Value.Text)) {
				return "denied custom.deny_string CUSTOM_RULE"
			}
			continue
		}
		if n.deniedBy(d) {
			return "denied custom.deny_if." + d.Path + " CUSTOM_RULE"
		}
	}
	return ""
}

func (n *naiveRun) deniedBy(d Denial) bool {
	v := n.value(d.Path)
	if d.Operator == NotEquals {
		for _, e := range elements(v) {
			if yes, _ := holds(Equals, e.Text, d.Value.Text, false); !hasText(e) || !yes {
				return true
			}
		}
		return len(elements(v)) == 0
	}
	for _, e := range elements(v) {
		if !hasText(e) {
			continue
		}
		if yes, known := holds(d.Operator, e.Text, d.Value.Text, false); yes || !known {
			return true
		}
	}
	return false
}

func (n *naiveRun) section() string {
	kind, evm, tools := n.kind(), n.p.EVM, n.p.ToolCalls
	if kind == "evm" && evm == nil {
		return "denied evm.allowed_actions ACTION_NOT_ALLOWED"
	}
	if evm != nil && n.has("chainId") && !slices.Contains(evm.AllowedChains.texts(), n.value("chainId").Text) {
		return "denied evm.allowed_chains CHAIN_NOT_ALLOWED"
	}
	switch {
	case kind == "evm":
		return n.evm()
	case kind == "mcp":
		return "denied mcp.allowed_tools TOOL_CALL_NOT_ALLOWED"
	case kind == "tool" && tools != nil:
		return n.tool()
	case kind == "tool" && evm != nil:
		return "denied tool_calls.allowed TOOL_CALL_NOT_ALLOWED"
	}
	return ""
}

func (n *naiveRun) evm() string {
	granted, rule := n.p.EVM.AllowedActions.texts(), "evm.allowed_actions"
	for _, line := range n.p.EVM.ChainActions {
		if line.Chain.Text == n.value("chainId").Text {
			granted, rule = line.Actions.texts(), "evm.chain_actions"
		}
	}
	if !slices.Contains(granted, n.in.Text(intent.Action)) {
		return "denied " + rule + " ACTION_NOT_ALLOWED"
	}
	var verdict string
	switch {
	case n.has("token"):
		verdict = n.token()
	case strings.ToLower(n.in.Text(intent.Action)) == "token.approve":
		return "denied evm.token TOKEN_NOT_ALLOWED"
	default:
		verdict = n.native()
	}
	if verdict == "" {
		verdict = n.callData()
	}
	return verdict
}

var plainDecimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// units returns an amount in base units, or nil.
func units(v vm.Value, decimals int) *big.Int {
	text := v.Text
	if v.BaseUnits {
		decimals = 0
	}
	_, fraction, _ := strings.Cut(text, ".")
	if v.Kind != vm.String || !plainDecimal.MatchString(text) || len(fraction) > decimals || len(text) > 128 {
		return nil
	}
	r, _ := new(big.Rat).SetString(text)
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)))
	if !r.IsInt() || r.Num().BitLen() > 256 {
		return nil
	}
	return r.Num()
}

func baseUnits(l *Limit) *big.Int {
	if l == nil {
		return new(big.Int)
	}
	n, _ := new(big.Int).SetString(l.Amount.String(), 10)
	return n
}

func (n *naiveRun) native() string {
	const rule = "denied evm.max_transaction_eth "
	if !n.has("amount") {
		if n.p.Version.AtLeast(2, 1) {
			return rule + "AMOUNT_REQUIRED"
		}
		return ""
	}
	amount := units(n.value("amount"), 18)
	switch {
	case amount == nil:
		return rule + "AMOUNT_INVALID"
	case amount.Cmp(baseUnits(n.p.EVM.MaxTransaction)) > 0:
		return rule + "AMOUNT_EXCEEDED"
	}
	if l := n.p.EVM.Consensus; l != nil && amount.Cmp(baseUnits(l)) >= 0 && (n.p.EVM.RequireHold == nil || n.p.EVM.RequireHold.On) {
		n.hold = "evm.consensus_threshold_eth"
	}
	return ""
}

func (n *naiveRun) token() string {
	name, target := strings.ToLower(n.value("token").Text), n.value("targetAddress").Text
	for _, token := range n.p.EVM.Tokens {
		byAddress := slices.Contains(token.Addresses.texts(), name)
		if !byAddress && strings.ToLower(token.Symbol) != name {
			continue
		}
		pins := token.Addresses.texts()
		if byAddress {
			pins = []string{name}
		}
		foreign := pins == nil && slices.ContainsFunc(n.p.EVM.Tokens, func(other *Token) bool { return slices.Contains(other.Addresses.texts(), target) })
		if foreign || pins != nil && !slices.Contains(pins, target) {
			return "denied evm.token." + token.Symbol + ".addresses TOKEN_NOT_ALLOWED"
		}
		return tokenVerdict(token, n.value("amount"))
	}
	return "denied evm.token TOKEN_NOT_ALLOWED"
}

func tokenVerdict(token *Token, v vm.Value) string {
	amount := units(v, int(token.Decimals.N))
	switch {
	case amount == nil:
		return "denied evm.token." + token.Symbol + ".max_transaction TOKEN_AMOUNT_INVALID"
	case amount.Cmp(baseUnits(token.MaxTransaction)) > 0:
		return "denied evm.token." + token.Symbol + ".max_transaction TOKEN_AMOUNT_EXCEEDED"
	}
	return ""
}

func (n *naiveRun) callData() string {
	for _, token := range n.p.EVM.Tokens {
		if n.has("@calldata.amount") && slices.Contains(token.Addresses.texts(), n.value("targetAddress").Text) {
			return tokenVerdict(token, n.value("@calldata.amount"))
		}
	}
	return ""
}

func (n *naiveRun) tool() string {
	t := n.p.ToolCalls
	if !slices.Contains(t.Allowed.texts(), n.in.Text(intent.Action)) {
		return "denied tool_calls.allowed TOOL_CALL_NOT_ALLOWED"
	}
	switch strings.ToLower(n.in.Text(intent.Action)) {
	case "bash":
		forms, err := command.Read(n.in.Text(intent.Command))
		if t.BlockedCommands != nil && (!n.has("command") || err != nil || anyOf(forms.All(), t.BlockedCommands, func(form, entry string) bool { return strings.Contains(fold(form), fold(entry)) })) {
			return "denied tool_calls.bash.blocked_commands BLOCKED_COMMAND"
		}
	case "web_fetch", "http":
		url, has := n.in.WebURL()
		if t.BlockedDomains != nil && (!has || anyOf([]string{url.Host}, t.BlockedDomains, func(host, entry string) bool { return weburl.Blocked(entry, host) })) {
			return "denied tool_calls.web_fetch.blocked_domains BLOCKED_DOMAIN"
		}
	case "file_write":
		clean, suspicious := pathname.Clean(n.in.Text(intent.Path))
		if t.BlockedPaths != nil && (!n.has("path") || suspicious || anyOf([]string{clean}, t.BlockedPaths, func(path, entry string) bool { return pathname.Match(entry, path) })) {
			return "denied tool_calls.file_write.blocked_paths BLOCKED_PATH"
		}
	}
	return ""
}

func anyOf(texts []string, list *List, test func(text, entry string) bool) bool {
	for _, text := range texts {
		for _, entry := range list.texts() {
			if test(text, entry) {
				return true
			}
		}
	}
	return false
}

func (n *naiveRun) allowances() string {
	if n.p.Custom == nil {
		return ""
	}
	for _, a := range n.p.Custom.Allowances {
		action, scope := strings.ToLower(n.in.Text(intent.Action)), strings.ToLower(a.Scope)
		start, open := strings.CutSuffix(scope, "*")
		inScope := scope == "" || scope == action || open && strings.HasPrefix(action, start)
		switch {
		case !inScope:
		case a.Attested && n.from != intent.Shim:
			return "denied custom.allow_only." + a.Path + " PROVENANCE_REQUIRED"
		case !n.allowedBy(a):
			return "denied custom.allow_only." + a.Path + " NOT_ON_ALLOWLIST"
		}
	}
	return ""
}

func (n *naiveRun) allowedBy(a *Allowance) bool {
	all := elements(n.value(a.Path))
	for _, e := range all {
		listed := slices.ContainsFunc(a.Values, func(want Item) bool {
			yes, known := holds(a.Operator, e.Text, want.Text, true)
			return yes && known
		})
		if !hasText(e) || !listed {
			return false
		}
	}
	return len(all) > 0
}

func (n *naiveRun) limits() string {
	l := n.p.ExecutionLimits
	if l != nil && l.CallsPerTask != nil && (n.kind() == "tool" || n.kind() == "mcp") && !n.has("task_id") {
		return "denied execution_limits.max_tool_calls_per_task TASK_ID_REQUIRED"
	}
	return ""
}
