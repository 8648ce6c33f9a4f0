package policy

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/grammar"
	"bailiff/httpd"
	"bailiff/runtime/clock"
	"bailiff/runtime/decision"
	"bailiff/runtime/intent"
	"bailiff/runtime/policies"
)

type evalCommand struct {
	Policy  string `required:"" help:"The policy, signed or not." placeholder:"FILE"`
	JSON    bool   `name:"json" help:"Print the answer as the service gives it to a test-run."`
	Explain bool   `help:"List every violated rule with its line in the policy, the rest of each limit, and the smallest change that would pass."`
	Shim    bool   `help:"Decide as for an API key whose provenance is a trusted shim."`
	Base    bool   `name:"integer-amounts-base" help:"Read amounts without a point as base units, as SVC_INTEGER_AMOUNTS=base does."`
	Intent  string `arg:"" help:"File of the intent, a request body; - is standard input."`
}

// Help says what scripts branch on.
func (c *evalCommand) Help() string {
	return `Decides as a test-run does, with every counter at zero and no holds. The exit code is 0 for ALLOWED, 3 for DENIED, 4 for
PENDING, 2 for an intent that is none or a file that can't be read, and 1 for a policy that does not compile.`
}

// Run decides the intent as a test-run would. Counters start at zero, and there are no holds.
func (c *evalCommand) Run(std cli.Streams) error {
	src, policy, err := loadPolicy(std, c.Policy)
	if err != nil {
		return err
	}
	body, err := cli.ReadBounded(std, c.Intent, intent.MaxBody)
	if err != nil {
		return err
	}
	simulation, err := decision.NewSimulation(policy, intent.Options{IntegerAmountsBase: c.Base}, clock.System())
	if err != nil {
		return err
	}
	defer simulation.Close()
	// Explaining reads on behind a denial, and the message shows what was read: only who asks a test-run for it gets that.
	answer, fault := simulation.Decide(body, c.Shim, decision.Call{TestRun: true, Explain: c.Explain})
	if fault != nil {
		if _, err := std.Out.Write(httpd.AppendRefusal(nil, fault)); err != nil {
			return err
		}
		return &cli.Exit{Code: cli.ExitUsage}
	}
	if err := c.print(std, src, answer); err != nil {
		return err
	}
	switch answer.Status {
	case "DENIED":
		return &cli.Exit{Code: cli.ExitDenied}
	case "PENDING":
		return &cli.Exit{Code: cli.ExitPending}
	}
	return nil
}

// loadPolicy reads and compiles a policy. Diagnostics of one that does not compile are printed.
func loadPolicy(std cli.Streams, name string) (*grammar.Source, *policies.Policy, error) {
	src, err := cli.ReadPolicy(std, name)
	if err != nil {
		return nil, nil, err
	}
	policy, err := policies.CompilePolicy(src)
	if invalid, ok := err.(*policies.InvalidPolicy); ok { //nolint:errorlint // CompilePolicy does not wrap it
		return nil, nil, Printed(std, src, invalid.Diagnostics)
	}
	return src, policy, err
}

func (c *evalCommand) print(std cli.Streams, src *grammar.Source, answer *decision.Answer) error {
	explanation := answer.Explanation
	if c.JSON {
		_, err := std.Out.Write(httpd.AppendAnswer(nil, answer))
		return err
	}
	line := answer.Status
	if answer.Code != "" {
		line += " " + string(answer.Code)
	}
	if answer.Rule != "" {
		line += " (" + answer.Rule + ")"
	}
	if _, err := fmt.Fprintf(std.Out, "%s\n%s\n", line, answer.Message); err != nil || !c.Explain {
		return err
	}
	return printExplanation(std.Out, src, explanation)
}

// printExplanation prints what the rules made of an intent, for people.
func printExplanation(w io.Writer, src *grammar.Source, e *decision.Explanation) error {
	for _, group := range []struct {
		title    string
		findings []decision.Finding
	}{{"violated", e.Violations}, {"held by", e.Holds}, {"noted", e.Notes}} {
		if len(group.findings) > 0 {
			fmt.Fprintf(w, "\n%s:\n", group.title)
		}
		for i := range group.findings {
			printFinding(w, src, &group.findings[i])
		}
	}
	if e.Omitted > 0 {
		fmt.Fprintf(w, "and %s more\n", Count(e.Omitted, "violated rule"))
	}
	if err := printLimits(w, e.Limits); err != nil || e.Change == nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nchange: %s\n", e.Change)
	return err
}

// printFinding prints a rule with its line in the policy, and below it the rule itself.
func printFinding(w io.Writer, src *grammar.Source, f *decision.Finding) {
	fmt.Fprintf(w, "%s:%d: %s %s: %s\n", src.Name, f.Line, f.Rule, f.Code, grammar.Visible(f.Message))
	if f.Line > 0 {
		_, excerpt, _ := strings.Cut(src.Render(grammar.Diagnostic{Span: f.Span}), "\n")
		fmt.Fprint(w, excerpt)
	}
}

// printLimits prints a table of what is used of each limit.
func printLimits(w io.Writer, limits []decision.Headroom) error {
	if len(limits) == 0 {
		return nil
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nlimit\tper\tused\tof\tleft\tuntil\n")
	for i := range limits {
		h := &limits[i]
		per, used, left, until := h.Window, h.Used.Format(h.Decimals), h.Left().Format(h.Decimals), ""
		for _, group := range h.Groups {
			per += fmt.Sprintf(" %q", group.Value)
		}
		if len(h.Missing) > 0 {
			used, left = "?", "no "+strings.Join(h.Missing, ", no ")
		}
		if !h.Resets.IsZero() {
			until = h.Resets.Format(time.RFC3339)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s %s\t%s\t%s\n", h.Rule, per, used, h.Limit.Format(h.Decimals), h.Unit, left, until)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}
