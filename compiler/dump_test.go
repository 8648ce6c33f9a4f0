package compiler

import (
	"fmt"
	"strings"
)

// dump returns a typed policy as text, one line for each part that is there.
func dump(p *Policy) string {
	d := new(dumper)
	d.line("version", p.Version.Text)
	if e := p.EVM; e != nil {
		d.list("evm.allowed_chains", e.AllowedChains)
		d.list("evm.allowed_actions", e.AllowedActions)
		for _, line := range e.ChainActions {
			d.list("evm.chain_actions "+line.Chain.Text, &line.Actions)
		}
		d.limit("evm.max_transaction_eth", e.MaxTransaction)
		d.limit("evm.consensus_threshold_eth", e.Consensus)
		if e.RequireHold != nil {
			d.line("evm.consensus_require_hold", e.RequireHold.On)
		}
		for _, token := range e.Tokens {
			d.count("evm.token."+token.Symbol+".decimals", token.Decimals)
			d.limit("evm.token."+token.Symbol+".max_transaction", token.MaxTransaction)
			d.list("evm.token."+token.Symbol+".addresses", token.Addresses)
		}
	}
	if t := p.ToolCalls; t != nil {
		d.list("tool_calls.allowed", t.Allowed)
		d.list("tool_calls.bash.blocked_commands", t.BlockedCommands)
		d.list("tool_calls.web_fetch.blocked_domains", t.BlockedDomains)
		d.list("tool_calls.file_write.blocked_paths", t.BlockedPaths)
	}
	if c := p.Custom; c != nil {
		d.custom(c)
	}
	if l := p.ExecutionLimits; l != nil {
		d.count("execution_limits.max_tool_calls_per_task", l.CallsPerTask)
		d.count("execution_limits.max_tool_calls_per_hour", l.CallsPerHour)
	}
	return d.String()
}

type dumper struct{ strings.Builder }

func (d *dumper) line(name string, value any) { fmt.Fprintf(d, "%s = %v\n", name, value) }

func (d *dumper) list(name string, l *List) {
	if l != nil {
		d.line(name, fmt.Sprintf("%q", l.texts()))
	}
}

func (d *dumper) limit(name string, l *Limit) {
	if l != nil {
		d.line(name, fmt.Sprintf("%s (%s of 10^-%d)", l.Amount.Format(l.Decimals), l.Amount, l.Decimals))
	}
}

func (d *dumper) count(name string, c *Count) {
	if c != nil {
		d.line(name, c.N)
	}
}

func (d *dumper) custom(c *Custom) {
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
		d.line(name, fmt.Sprintf("%q", a.texts()))
	}
}
