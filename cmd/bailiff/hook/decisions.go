package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	cmdclient "bailiff/cmd/bailiff/client"
	"bailiff/cmd/bailiff/policy"
	"bailiff/runtime/clock"
	"bailiff/runtime/hook/setup"
)

type hookLogCommand struct {
	cmdclient.ApiFlags
	AgentID string `name:"agent-id" help:"Only decisions about this agent." placeholder:"ID"`
	Since   string `default:"24h" help:"From when on: RFC 3339, or a duration (${default})." placeholder:"TIME"`
	Last    int    `short:"n" default:"20" help:"How many decisions, the last ones (${default})." placeholder:"N"`
	Session string `help:"Only this session." placeholder:"ID"`
	LogFile string `name:"log" help:"The adapter's log of calls of which the service has no record (default: bailiff/hook.log in your state folder)." placeholder:"FILE"`
	Summary bool   `help:"What they come to: how many calls each rule denied and, in OBSERVE mode, would have denied."`
	JSON    bool   `name:"json" help:"Print one JSON object a line."`
}

// Help says where the decisions come from.
func (c *hookLogCommand) Help() string {
	return `Asks the service for the key's events; without a key, for those of the key of a hook that is installed. At the end comes
what the adapter did without the service, from its own log: calls that ran without a decision, and denials. After a day in
OBSERVE mode, --summary says what would have been denied: change the policy where that is wrong, and start the service without
SVC_MODE.`
}

// Run prints the last decisions, or what they come to, and what the adapter did without the service.
func (c *hookLogCommand) Run(std cli.Streams) error {
	since, err := cmdclient.ParseMoment("--since", c.Since, clock.System()())
	switch {
	case err != nil:
		return err
	case c.Last < 1:
		return cli.Usage("-n %d: at least 1", c.Last)
	}
	last, tally, err := c.decisions(std, since)
	if err != nil {
		if !c.Summary {
			_ = c.printUnasked(std, since) // what there is without the service
		}
		return err
	}
	switch {
	case c.Summary && c.JSON:
		return cli.PrintJSON(std.Out, tally.report(since))
	case c.Summary:
		return tally.print(std, since)
	case len(last) == 0 && !c.JSON:
		about := cmp.Or(c.AgentID, "this key")
		if c.Session != "" {
			about += " in session " + c.Session
		}
		fmt.Fprintln(std.Out, cli.Plainf("No decision about %s since %s.", about, since.Format(time.RFC3339)))
	}
	for _, event := range last {
		line := string(event.raw)
		if !c.JSON {
			line = event.String()
		}
		fmt.Fprintln(std.Out, strings.Map(cli.OneLine, line))
	}
	return c.printUnasked(std, since)
}

// decisions fetches the decisions that are asked for: the last ones, and what all of them come to.
func (c *hookLogCommand) decisions(std cli.Streams, since time.Time) (last []*hookEvent, sum *tally, err error) {
	service, err := c.service(std)
	if err != nil {
		return nil, nil, err
	}
	sum = newTally()
	err = decisionsOf(context.Background(), service, since, func(event *hookEvent) bool {
		if event.Decision == "TEST_RUN" || c.AgentID != "" && event.AgentID != c.AgentID || !event.of(c.Session) {
			return true
		}
		sum.add(event)
		if last = append(last, event); len(last) > c.Last {
			last = last[1:]
		}
		return true
	})
	return last, sum, err
}

// printUnasked prints what the adapter noted on this machine: calls of which the service has no record.
func (c *hookLogCommand) printUnasked(std cli.Streams, since time.Time) error {
	name := hookLogFile(c.LogFile)
	if name == "" || cli.IsMissing(name) {
		return nil
	}
	text, err := cli.ReadFile(name, 2*maxHookLog)
	if err != nil {
		return err
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		var entry hookEntry
		at := time.Time{}
		if json.Unmarshal([]byte(line), &entry) == nil {
			at, _ = time.Parse(time.RFC3339, entry.Time)
		}
		if at.Before(since) || c.Session != "" && entry.Session != c.Session {
			continue
		}
		if line = strings.TrimSuffix(line, "\n"); !c.JSON {
			line = entry.String()
		}
		if lines = append(lines, line); len(lines) > c.Last {
			lines = lines[1:]
		}
	}
	for _, line := range lines {
		fmt.Fprintln(std.Out, strings.Map(cli.OneLine, line))
	}
	return nil
}

// String is a decision for people: when, what, about what, why, and in which session.
func (e *hookEvent) String() string {
	what := e.Decision
	if e.Observed {
		what = "WOULD BE DENIED"
	}
	parts := []string{e.Timestamp.Format(time.RFC3339), fmt.Sprintf("%-15s", what)}
	for _, part := range []string{e.AgentID, e.Action, e.Code, e.Rule, e.Message, cmdclient.Named("hold", e.HoldID), cmdclient.Named("session", e.session())} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "  ")
}

// String is an entry of the adapter's log for people.
func (e *hookEntry) String() string {
	what := "denied without the service"
	if e.FailOpen {
		what = "RAN WITHOUT A DECISION"
	}
	parts := []string{e.Time, what}
	for _, part := range []string{e.Adapter, e.Tool, e.Reason, cmdclient.Named("session", e.Session)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "  ")
}

// service returns a client with the key that was given or, without one, with that of a hook that is installed.
func (c *hookLogCommand) service(std cli.Streams) (*cmdclient.Client, error) {
	if c.Given() {
		return c.Client(std)
	}
	for _, name := range setup.Names() {
		for _, scope := range setup.Scopes {
			files, err := readSettingsFiles(setup.Find(name), scope)
			if err != nil {
				continue // it has no such settings, or another one's hook will do
			}
			for _, file := range files {
				if r, err := receiptOf(file); err == nil && r.KeyFile != "" {
					return serviceOf(std, r)
				}
			}
		}
	}
	return nil, cli.Usage("no hook is installed here; give --api-key-file FILE, or set SVC_API_KEY")
}

// A tally counts decisions.
type tally struct {
	decisions, observed int
	rows                map[[2]string]*tallyRow
}

// A tallyRow is what one rule did to one kind of call.
type tallyRow struct {
	Rule    string `json:"rule"`
	Action  string `json:"action"`
	Denied  int    `json:"denied"`
	Would   int    `json:"would_be_denied"` // OBSERVE let them pass
	Held    int    `json:"held"`
	Example string `json:"example"` // the message about the last one
}

func newTally() *tally { return &tally{rows: map[[2]string]*tallyRow{}} }

func (t *tally) add(event *hookEvent) {
	t.decisions++
	held := event.Decision == "PENDING"
	if !event.Observed && !held && event.Decision != "DENIED" {
		return
	}
	rule := event.Rule
	if rule == "" {
		rule = event.Code
	}
	key := [2]string{rule, event.Action}
	row := t.rows[key]
	if row == nil {
		row = &tallyRow{Rule: rule, Action: event.Action}
		t.rows[key] = row
	}
	switch {
	case event.Observed:
		row.Would++
		t.observed++
	case held:
		row.Held++
	default:
		row.Denied++
	}
	row.Example = event.Message
}

// tallyReport is a tally as JSON.
type tallyReport struct {
	Since     time.Time   `json:"since"`
	Decisions int         `json:"decisions"`
	Observed  int         `json:"would_be_denied"`
	Rules     []*tallyRow `json:"rules"`
}

// report sorts the rows, those first that stop most.
func (t *tally) report(since time.Time) tallyReport {
	rows := []*tallyRow{}
	for _, row := range t.rows {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b *tallyRow) int {
		if d := b.Denied + b.Would + b.Held - a.Denied - a.Would - a.Held; d != 0 {
			return d
		}
		return strings.Compare(a.Rule+a.Action, b.Rule+b.Action)
	})
	return tallyReport{since.UTC(), t.decisions, t.observed, rows}
}

// print prints the tally for people.
func (t *tally) print(std cli.Streams, since time.Time) error {
	report := t.report(since)
	fmt.Fprintf(std.Out, "%s since %s", policy.Count(report.Decisions, "decision"), report.Since.Format(time.RFC3339))
	if report.Observed > 0 {
		fmt.Fprintf(std.Out, "; OBSERVE mode let %s pass that the policy would have denied", policy.Count(report.Observed, "call"))
	}
	fmt.Fprintln(std.Out, ".")
	if len(report.Rules) == 0 {
		return nil
	}
	return cli.PrintTable(std.Out, "RULE\tACTION\tDENIED\tWOULD BE\tHELD\tTHE LAST", report.Rules, func(r *tallyRow) string {
		return fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%s", r.Rule, r.Action, r.Denied, r.Would, r.Held, r.Example)
	})
}
