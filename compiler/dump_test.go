package compiler

import (
	"fmt"
	"strings"

	"bailiff/compiler/frame"
	"bailiff/compiler/sections"
)

// dump returns a typed policy as text, one line for each part that is there.
func dump(p *Policy) string {
	d := new(dumper)
	d.line("version", p.Version.Text)
	if p.EVM != nil {
		d.evm(p.EVM)
	}
	if p.ToolCalls != nil {
		d.tools(p.ToolCalls)
	}
	if p.Custom != nil {
		d.custom(p.Custom)
	}
	if p.MCP != nil {
		d.mcp(p.MCP)
	}
	if p.SoftLimits != nil {
		d.soft(p.SoftLimits)
	}
	if l := p.ExecutionLimits; l != nil {
		d.count("execution_limits.max_tool_calls_per_task", l.CallsPerTask)
		d.count("execution_limits.max_tool_calls_per_hour", l.CallsPerHour)
		d.limit("execution_limits.max_model_spend_usd_per_task", l.SpendPerTask)
		d.count("execution_limits.max_model_tokens_per_task", l.TokensPerTask)
		d.Said("execution_limits", &l.Controls)
	}
	d.profiles(&p.Profiles)
	return d.String()
}

func (d *dumper) evm(e *sections.EVM) {
	d.list("evm.allowed_chains", e.AllowedChains)
	d.list("evm.allowed_actions", e.AllowedActions)
	for _, line := range e.ChainActions {
		d.list("evm.chain_actions "+line.Chain.Text, &line.Actions)
	}
	d.limit("evm.max_transaction_eth", e.MaxTransaction)
	d.limit("evm.max_fee_eth", e.MaxFee)
	d.flag("evm.paymaster_fees counts", e.PaymasterFees)
	d.limit("evm.consensus_threshold_eth", e.Consensus)
	d.flag("evm.consensus_require_hold", e.RequireHold)
	for _, token := range e.Tokens {
		d.count("evm.token."+token.Symbol+".decimals", token.Decimals)
		d.limit("evm.token."+token.Symbol+".max_transaction", token.MaxTransaction)
		d.limit("evm.token."+token.Symbol+".consensus_threshold", token.Consensus)
		d.list("evm.token."+token.Symbol+".addresses", token.Addresses)
	}
	d.flag("evm.require_calldata_enrichment", e.Enrichment)
	d.flag("evm.calldata_unknown_selector allows", e.UnknownSelector)
	d.Said("evm", &e.Controls)
}

func (d *dumper) tools(t *sections.ToolCalls) {
	d.list("tool_calls.allowed", t.Allowed)
	d.list("tool_calls.bash.blocked_commands", t.BlockedCommands)
	d.list("tool_calls.web_fetch.blocked_domains", t.BlockedDomains)
	d.list("tool_calls.bash.allowed_commands", t.ListedCommands)
	d.list("tool_calls.bash.require_approval", t.HeldCommands)
	d.list("tool_calls.file_write.blocked_paths", t.Write.Blocked)
	d.list("tool_calls.file_write.allowed_paths", t.Write.Allowed)
	d.list("tool_calls.file_read.blocked_paths", t.Read.Blocked)
	d.list("tool_calls.file_read.allowed_paths", t.Read.Allowed)
	d.flag("tool_calls.email.require_approval", t.Email.Approval)
	d.list("tool_calls.email.approval_exempt_recipients", t.Email.Exempt)
	d.list("tool_calls.email.allowed_recipients", t.Email.Allowed)
	d.list("tool_calls.email.blocked_recipients", t.Email.Blocked)
	d.list("tool_calls.http.blocked_methods", t.HTTP.BlockedMethods)
	d.list("tool_calls.http.allowed_methods", t.HTTP.AllowedMethods)
	d.list("tool_calls.http.allowed_hosts", t.HTTP.AllowedHosts)
	for _, rule := range t.HTTP.Rules {
		name := "tool_calls.http.method_rules." + rule.Method
		d.flag(name+".deny", rule.Deny)
		if rule.Query != nil {
			d.line(name+".require_query_matches", fmt.Sprintf("%q", rule.Query.Pattern.Text))
		}
	}
	d.Said("tool_calls", &t.Controls)
}

func (d *dumper) mcp(m *sections.MCP) {
	d.list("mcp.allowed_servers", m.AllowedServers)
	d.list("mcp.blocked_tools", m.BlockedTools)
	d.list("mcp.allowed_tools", m.AllowedTools)
	d.Said("mcp", &m.Controls)
	r := &m.Response
	d.list("mcp.response.web_fetch_tools", r.WebFetchTools)
	d.list("mcp.response.http_tools", r.HTTPTools)
	d.text("mcp.response.deterministic_ruleset", r.Ruleset)
	d.list("mcp.response.block_classes", r.BlockClasses)
	d.list("mcp.response.redact_classes", r.RedactClasses)
	d.flag("mcp.response.scanner.required", r.Scanner.Required)
	d.text("mcp.response.scanner.profile", r.Scanner.Profile)
	d.list("mcp.response.scanner.classes", r.Scanner.Classes)
	d.limit("mcp.response.scanner.min_confidence", r.Scanner.Confidence)
	d.list("mcp.response.observe_classes", r.ObserveClasses)
	if r.ObserveUntil != nil {
		d.line("mcp.response.observe_until", r.ObserveUntil.Time)
	}
}

func (d *dumper) soft(s *sections.SoftLimits) {
	d.limit("soft_limits.daily_evm_limit_eth", s.DailyEVM)
	d.limit("soft_limits.daily_fee_eth", s.DailyFee)
	d.count("soft_limits.daily_tool_calls", s.DailyCalls)
	for _, one := range s.Caps {
		name := "soft_limits.cap." + one.Name
		d.count(name+".max_count", one.Count)
		d.limit(name+".max_sum_usd", one.SumUSD)
		d.text(name+".window", one.Window)
		d.text(name+".action", one.Action)
		d.text(name+".group_by", one.Group)
		d.text(name+".amount_field", one.Amount)
	}
	d.Said("soft_limits", &s.Controls)
}

type dumper struct{ strings.Builder }

func (d *dumper) line(name string, value any) { fmt.Fprintf(d, "%s = %v\n", name, value) }

func (d *dumper) list(name string, l *frame.List) {
	if l != nil {
		d.line(name, fmt.Sprintf("%q", l.Texts()))
	}
}

func (d *dumper) Said(section string, c *frame.Controls) {
	d.list(section+".require_approval", c.Approval)
	d.flag(section+".require_shim", c.Shim)
}

func (d *dumper) text(name string, t *frame.Text) {
	if t != nil {
		d.line(name, fmt.Sprintf("%q", t.Text))
	}
}

func (d *dumper) limit(name string, l *frame.Limit) {
	if l != nil {
		d.line(name, fmt.Sprintf("%s (%s of 10^-%d)", l.Amount.Format(l.Decimals), l.Amount, l.Decimals))
	}
}

func (d *dumper) count(name string, c *frame.Count) {
	if c != nil {
		d.line(name, c.N)
	}
}

func (d *dumper) custom(c *sections.Custom) {
	for _, denial := range c.Denials {
		d.line("custom deny "+denial.Path+" "+denial.Operator.String(), fmt.Sprintf("%q", denial.Value.Text))
	}
	for _, a := range c.Allowances {
		name := "custom allow_only " + a.Path + " " + a.Operator.String()
		if a.Scope != "" {
			name += " for " + a.Scope
		}
		if a.Attested {
			name += " attested"
		}
		d.line(name, fmt.Sprintf("%q", a.Texts()))
	}
	d.text("custom.response.deny_string", c.ResponseDeny)
	d.Said("custom", &c.Controls)
}
