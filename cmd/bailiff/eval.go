package main

import (
	"fmt"

	"bailiff/httpd"
	"bailiff/runtime/authority"
	"bailiff/runtime/intent"
)

type evalCommand struct {
	Policy  string `required:"" help:"The policy, signed or not." placeholder:"FILE"`
	JSON    bool   `name:"json" help:"Print the answer as the service gives it."`
	Explain bool   `help:"List every rule that is violated, with its line in the policy."`
	Shim    bool   `help:"Decide as for an API key whose provenance is a trusted shim."`
	Base    bool   `name:"integer-amounts-base" help:"Read amounts without a point as base units, as SVC_INTEGER_AMOUNTS=base does."`
	Intent  string `arg:"" help:"File of the intent, a request body; - is standard input."`
}

// Run decides the intent. Counters start at zero, and there are no holds.
func (c *evalCommand) Run(std streams) error {
	policy, err := c.policy(std)
	if err != nil {
		return err
	}
	body, err := readBounded(std, c.Intent, intent.MaxBody)
	if err != nil {
		return err
	}
	answer, violations, fault := authority.Simulate(policy, body, c.Shim, intent.Options{IntegerAmountsBase: c.Base})
	if fault != nil {
		if _, err := std.out.Write(httpd.AppendFailure(nil, fault)); err != nil {
			return err
		}
		return &exit{code: exitUsage}
	}
	if err := c.print(std, answer, violations); err != nil {
		return err
	}
	switch answer.Status {
	case "DENIED":
		return &exit{code: exitDenied}
	case "PENDING":
		return &exit{code: exitPending}
	}
	return nil
}

func (c *evalCommand) policy(std streams) (*authority.Policy, error) {
	src, err := readPolicy(std, c.Policy)
	if err != nil {
		return nil, err
	}
	policy, err := authority.CompilePolicy(src)
	if invalid, ok := err.(*authority.InvalidPolicy); ok { //nolint:errorlint // CompilePolicy does not wrap it
		return nil, printed(std, src, invalid.Diagnostics)
	}
	return policy, err
}

func (c *evalCommand) print(std streams, answer *authority.Answer, violations []authority.Violation) error {
	if c.JSON {
		if _, err := std.out.Write(httpd.AppendAnswer(nil, answer)); err != nil {
			return err
		}
	} else {
		line := answer.Status
		if answer.Code != "" {
			line += " " + string(answer.Code)
		}
		if answer.Rule != "" {
			line += " (" + answer.Rule + ")"
		}
		fmt.Fprintf(std.out, "%s\n%s\n", line, answer.Message)
	}
	if c.Explain {
		for _, v := range violations {
			fmt.Fprintf(std.err, "%s:%d: %s %s: %s\n", c.Policy, v.Line, v.Rule, v.Code, v.Message)
		}
	}
	return nil
}
