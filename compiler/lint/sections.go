package lint

import (
	"slices"
	"sort"
	"strings"

	"bailiff/compiler"
	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/compiler/sections"
	"bailiff/grammar"
	"bailiff/vm/form/command"
	"bailiff/vm/match"
	"bailiff/vm/slot"
)

// usualDecimals are the decimals of well-known tokens on Ethereum, by symbol in upper case. Some have others elsewhere.
var usualDecimals = map[string]uint64{
	"USDC": 6, "USDT": 6, "EURC": 6, "PYUSD": 6, "USDC.E": 6, "USDBC": 6,
	"WBTC": 8, "CBBTC": 8, "TBTC": 18,
	"GUSD": 2,
	"DAI":  18, "USDS": 18, "USDE": 18, "FRAX": 18, "LUSD": 18, "WETH": 18, "STETH": 18, "WSTETH": 18, "RETH": 18, "CBETH": 18,
	"UNI": 18, "LINK": 18, "AAVE": 18, "MKR": 18, "CRV": 18, "LDO": 18, "ENS": 18, "ARB": 18, "OP": 18, "SHIB": 18, "PEPE": 18,
}

// An actionIndex holds action patterns in lower case, for asking whether another one has anything in common with them.
type actionIndex struct {
	exact, open []string // sorted; of the open ones the text in front of the star
	any         bool
}

func newActionIndex(patterns ...[]string) *actionIndex {
	index := new(actionIndex)
	for _, list := range patterns {
		for _, pattern := range list {
			index.add(pattern)
		}
	}
	index.sort()
	return index
}

// add adds a pattern; sort is due afterwards.
func (x *actionIndex) add(pattern string) {
	if start, open := strings.CutSuffix(pattern, "*"); open {
		x.open = append(x.open, start)
	} else {
		x.exact = append(x.exact, pattern)
	}
}

func (x *actionIndex) sort() {
	slices.Sort(x.exact)
	slices.Sort(x.open)
}

// overlaps reports whether any action is covered by the pattern and by one of the index.
func (x *actionIndex) overlaps(pattern string) bool {
	start, open := strings.CutSuffix(pattern, "*")
	if x.any || x.begins(start) {
		return true
	}
	if open {
		return startsAny(x.exact, start) || startsAny(x.open, start)
	}
	_, found := slices.BinarySearch(x.exact, start)
	return found
}

// begins reports whether an open pattern of the index covers all that starts so.
func (x *actionIndex) begins(text string) bool {
	if len(x.open) == 0 {
		return false
	}
	for n := 0; n <= len(text); n++ {
		if _, found := slices.BinarySearch(x.open, text[:n]); found {
			return true
		}
	}
	return false
}

// startsAny reports whether one of sorted texts starts with start.
func startsAny(sorted []string, start string) bool {
	i := sort.SearchStrings(sorted, start)
	return i < len(sorted) && strings.HasPrefix(sorted[i], start)
}

// grantable returns what actions of some classes can pass: those of evm, of tools, or of all kinds.
func grantable(p *compiler.Policy, evm, tools, others bool) *actionIndex {
	index := new(actionIndex)
	if evm && p.EVM != nil {
		for _, action := range p.EVM.Actions() {
			index.add(strings.ToLower(action.Text))
		}
	}
	if tools {
		index.any = p.PassesTools()
		if p.ToolCalls != nil {
			for _, tool := range p.ToolCalls.Allowed.Texts() {
				index.add(strings.ToLower(tool))
			}
		}
		for _, pattern := range p.Profiles.Granted() {
			index.add(pattern)
		}
	}
	if others {
		index.add(slot.ModelAction)
		if p.MCP.Grants() {
			index.add(slot.MCPPrefix + "*")
		}
	}
	index.sort()
	return index
}

// lintApprovals warns of approvals of what is never granted.
func (c *linter) lintApprovals() {
	p := c.policy
	lint := func(section string, list *frame.List, granted *actionIndex) {
		if list == nil {
			return
		}
		for _, pattern := range list.Items {
			if !granted.overlaps(pattern.Text) {
				c.add(grammar.At(codes.ApprovalUnused, pattern.Span, "nothing that `%s` covers is granted to intents of `## %s`, so nothing is ever held", frame.Shorten(pattern.Text), section).
					WithHint("it holds nothing until that is granted; compare it with the names that are"))
			}
		}
	}
	for _, section := range []string{"custom", "soft_limits", "execution_limits"} {
		if controls := c.policy.ControlsOf(section); controls != nil {
			lint(section, controls.Approval, grantable(p, true, true, true))
		}
	}
	if p.EVM != nil {
		lint("evm", p.EVM.Approval, grantable(p, true, false, false))
	}
	if p.ToolCalls != nil {
		lint("tool_calls", p.ToolCalls.Approval, grantable(p, false, true, false))
	}
}

// lintContents warns of texts that files must not contain, which a request does not show, and of an exception to an
// approval that is not asked for.
func (c *linter) lintContents() {
	t, custom := c.policy.ToolCalls, c.policy.Custom
	if t.Email.Exempt != nil && !frame.IsOn(t.Email.Approval) {
		c.add(grammar.At(codes.ListUnused, t.Email.Exempt.Span, "`email.require_approval` is not true, so this does nothing").
			WithHint("write `email.require_approval: true`, or remove it"))
	}
	if custom == nil || !slices.ContainsFunc(t.Allowed.Texts(), func(tool string) bool { return strings.EqualFold(tool, "file_write") }) {
		return
	}
	plain := func(d sections.Denial) bool { // quotes say that it is meant so
		return d.IsString() && !strings.ContainsAny(c.file.Source.Slice(d.Value.Span)[:1], `"'`)
	}
	if at := slices.IndexFunc(custom.Denials, plain); at >= 0 {
		c.add(grammar.At(codes.ContentsUnseen, custom.Denials[at].Value.Span, "a request to write a file does not show what will be in it, so this is not sought there").
			WithHint("name the files that are not meant, `file_write.blocked_paths: …`; if the rest of a request is meant, put the text between quotes"))
	}
}

// lintSpend notes a budget in USD on the tools of coding agents, whose hooks know tokens and no prices.
func (c *linter) lintSpend() {
	limits, tools := c.policy.ExecutionLimits, c.policy.ToolCalls.Allowed.Texts()
	if limits == nil || limits.SpendPerTask == nil || !slices.ContainsFunc(tools, func(tool string) bool {
		return strings.EqualFold(tool, "bash") || strings.EqualFold(tool, "file_write")
	}) {
		return
	}
	c.add(grammar.At(codes.SpendOfHooks, limits.SpendPerTask.Span, "hooks of coding agents know what a task used in tokens, not in USD, so this denies their calls").
		WithHint("for coding agents write `max_model_tokens_per_task: …` in its place"))
}

// runsOthers are programs that run what their arguments, files or settings name, beside interpreters. Those of the first
// list do so behind any of their words, those of the second by another first argument.
var (
	runsAnything = strings.Fields("find awk gawk mawk nawk sed tar rsync gdb strace ltrace vi vim nvim ex ed emacs less more man crontab at batch stdbuf ionice taskset chrt unshare nsenter runuser setpriv prlimit systemd-run expect")
	runsOthers   = strings.Fields("git npm npx yarn pnpm bun deno node nodejs python python2 python3 perl ruby php lua Rscript java go cargo make cmake ninja gradle mvn ant bazel just task docker podman nerdctl kubectl helm terraform ansible ansible-playbook pip pip3 pipx uv poetry apt apt-get dpkg rpm yum dnf brew psql mysql sqlite3 scp sftp socat nc ncat tclsh osascript pwsh powershell direnv rake bundle composer")
)

// lintListed warns of allowed commands that run others, and of those that are blocked.
func (c *linter) lintListed(t *sections.ToolCalls) {
	if t.ListedCommands == nil {
		return
	}
	for _, item := range t.ListedCommands.Items {
		words := strings.Fields(command.ShowListed(item.Text))
		name := words[0][strings.LastIndexByte(words[0], '/')+1:]
		if slices.Contains(runsAnything, name) || slices.Contains(runsOthers, name) && (len(words) == 1 || strings.HasPrefix(words[1], "-")) {
			c.add(grammar.At(codes.RunsOthers, item.Span, "`%s` runs what its arguments or settings name, and this allows it with any", frame.Shorten(name)).
				WithHint("list more words of the intended command, such as `git status`; or allow a script that runs it and that the agent cannot write"))
		}
	}
	blocked := t.BlockedCommands.Texts()
	c.allowedDead(t.ListedCommands, sections.KeyCommands.Name, func(listed string) (by string, ok bool) {
		i := slices.IndexFunc(blocked, func(text string) bool { return strings.Contains(strings.ToLower(command.ShowListed(listed)), text) })
		if i < 0 {
			return "", false
		}
		return blocked[i], true
	})
}

// lintSoftLimits warns of soft limits that only inform, and of caps on what is never granted.
func (c *linter) lintSoftLimits() {
	s := c.policy.SoftLimits
	if s == nil {
		return
	}
	if !c.policy.Version.AtLeast(2, 0) {
		c.add(grammar.At(codes.Informational, s.Span, "under version %s soft limits only inform, and deny nothing", c.policy.Version.Text).
			WithHint("write `version: 2.0.0` to have them enforced"))
	}
	c.lintWei(s.DailyEVM)
	c.lintWei(s.DailyFee)
	for _, limit := range s.DailyToken {
		c.lintTokenAmount(limit.Most)
	}
	granted := grantable(c.policy, true, true, true)
	for _, one := range s.Caps {
		if !granted.overlaps(one.Action.Text) {
			c.add(grammar.At(codes.CapUnused, one.Action.Item.Span, "nothing that `%s` covers is granted, so cap `%s` counts nothing", frame.Shorten(one.Action.Text), one.Name).
				WithHint("it counts nothing until that is granted; compare it with the names that are"))
		}
	}
	if s.DailyCalls != nil && !grantsTools(c.policy) {
		c.unusedLimit(s.DailyCalls.Span)
	}
	for _, limit := range []*frame.Limit{s.DailyEVM, s.DailyFee} {
		if limit != nil && c.policy.EVM == nil {
			c.add(grammar.At(codes.LimitUnused, limit.Span, "there is no `## evm`, so this limit adds nothing up").
				WithHint("it counts nothing until `## evm` grants actions"))
		}
	}
}

// lintMCP warns of patterns that do nothing, or too much.
func (c *linter) lintMCP() {
	m := c.policy.MCP
	if !m.Grants() {
		c.add(grammar.At(codes.BlockedOnly, m.BlockedTools.Span, "nothing grants an MCP tool, and this never does").
			WithHint("to grant MCP tools, add `allowed_servers` or `allowed_tools`; as it is, all are denied"))
	}
	for _, list := range []*frame.List{m.AllowedTools, m.BlockedTools, m.Approval} {
		if list != nil {
			c.lintToolPrefix(list)
		}
	}
	c.lintServers(m)
	if m.AllowedTools != nil && m.AllowedServers == nil {
		for _, pattern := range m.AllowedTools.Items {
			if strings.Trim(pattern.Text, "*.") == "" {
				c.add(grammar.At(codes.GrantsEverything, pattern.Span, "`%s` grants every tool of every MCP server", pattern.Text).
					WithHint("name the servers, `allowed_servers: …`, or the tools that are meant"))
			}
		}
	}
	if m.Approval == nil {
		return
	}
	blocked := frame.NewGlobIndex(match.Unbounded, m.BlockedTools.Texts())
	for _, pattern := range m.Approval.Items {
		if _, covered := blocked.CoversTool(pattern.Text); covered || !mayGrant(m, pattern.Text) {
			c.add(grammar.At(codes.ApprovalUnused, pattern.Span, "nothing that `%s` covers is granted, so nothing is ever held", frame.Shorten(pattern.Text)).
				WithHint("it holds nothing until that is granted; compare it with the names that are"))
		}
	}
}

// mayGrant reports whether anything that a pattern covers can be granted. Of patterns with stars it looks at no more than
// whether anything is granted at all.
func mayGrant(m *sections.MCP, pattern string) bool {
	server, tool, dotted := strings.Cut(pattern, ".")
	if !m.Grants() || !dotted || strings.Contains(pattern, "*") {
		return m.Grants()
	}
	granted := frame.NewGlobIndex(match.Dotted, m.AllowedTools.Texts())
	_, byBoth := granted.Covers(pattern, false)
	_, byTool := granted.Covers(tool, false)
	return (m.AllowedServers == nil || slices.Contains(m.AllowedServers.Texts(), server)) && (m.AllowedTools == nil || byBoth || byTool)
}

// lintToolPrefix warns of patterns that are written like actions.
func (c *linter) lintToolPrefix(list *frame.List) {
	for _, pattern := range list.Items {
		if rest, ok := strings.CutPrefix(pattern.Text, slot.MCPPrefix); ok && strings.Contains(rest, ".") {
			c.add(grammar.At(codes.ActionPrefix, pattern.Span, "patterns do not have the action's `mcp.`; this one is about a server called `mcp`").
				WithHint("write `%s`", rest).WithFix(pattern.Span, rest))
		}
	}
}
