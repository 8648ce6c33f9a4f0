package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/grammar"
	"bailiff/runtime/clock"
	"bailiff/runtime/events"
	"bailiff/runtime/ledger"
)

type eventsCommand struct {
	List   eventsListCommand   `cmd:"" default:"withargs" help:"Print events (the default)."`
	Verify eventsVerifyCommand `cmd:"" help:"Verify the whole record against a signed checkpoint, without a service."`
	Read   eventsReadCommand   `cmd:"" help:"Print the events in files that retention has exported."`

	Export       eventsExportCommand       `cmd:"" help:"Export the evidence for one event, as a bundle that proves it without the service."`
	VerifyBundle eventsVerifyBundleCommand `cmd:"" name:"verify-bundle" help:"Verify the evidence for one event, without a service."`
}

type eventsListCommand struct {
	ApiFlags
	KeyID    string        `name:"key-id" help:"Of all keys' events, those of this key; without an API key only." placeholder:"ID"`
	Follow   bool          `short:"f" help:"Go on with what happens from now on."`
	From     string        `aliases:"since" help:"Only events from then on: RFC 3339, or a duration ago such as 2h." placeholder:"TIME"`
	To       string        `help:"Only events before then: RFC 3339, or a duration ago such as 1h." placeholder:"TIME"`
	Agent    string        `help:"Only decisions about this agent." placeholder:"ID"`
	Task     string        `help:"Only decisions about this task." placeholder:"ID"`
	Action   string        `help:"Only decisions about this action, in any case." placeholder:"ACTION"`
	Decision string        `help:"Only ALLOWED, DENIED, PENDING or TEST_RUN, in any case." placeholder:"DECISION"`
	Rule     string        `help:"Only decisions by this rule, such as tool_calls.allowed." placeholder:"RULE"`
	JSON     bool          `name:"json" xor:"form" help:"Print one JSON object a line, in the form of the API."`
	CSV      bool          `name:"csv" xor:"form" help:"Print comma-separated values (RFC 4180) with a line of names first. A value that a spreadsheet would take for a formula begins with an apostrophe."`
	Every    time.Duration `default:"1s" help:"With --follow, how often to ask (${default})." placeholder:"DURATION"`
}

// Help says whose events are shown.
func (c *eventsListCommand) Help() string {
	return `With an API key, that key's events, from the service at --url. Without, the events of all keys, from the service that
runs on SVC_DATA_DIR (default: data) or, where none does, from the data there.`
}

// EventsPage is a page of events, each as the service wrote it.
type EventsPage struct {
	Events []json.RawMessage `json:"events"`
	Next   string            `json:"next"`
	More   bool              `json:"more"`
	// Dropped is the place up to which retention has dropped events that were asked for.
	Dropped uint64 `json:"dropped"`
}

// leastEvery is how often the service is asked for new events at most.
const leastEvery = 10 * time.Millisecond

// pager fetches a page.
type pager func(context.Context, events.Query) (EventsPage, error)

// Run prints the events, page by page.
func (c *eventsListCommand) Run(std cli.Streams) error {
	query, err := c.query(clock.System()())
	switch {
	case err != nil:
		return err
	case c.Every < leastEvery:
		return cli.Usage("--every %s: at least %s", c.Every, leastEvery)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !c.Given() {
		return c.runLocal(ctx, std, query)
	}
	if c.KeyID != "" {
		return cli.Usage("--key-id goes without an API key, whose events are its own anyway")
	}
	service, err := c.Client(std)
	if err != nil {
		return err
	}
	return c.show(ctx, std, query, func(ctx context.Context, query events.Query) (page EventsPage, err error) {
		err = service.Call(ctx, "GET", "/v1/events?"+EncodeQuery(query).Encode(), nil, &page)
		return page, err
	})
}

// runLocal prints the events of all keys, or of one.
func (c *eventsListCommand) runLocal(ctx context.Context, std cli.Streams, query events.Query) error {
	return WithAdmin(std, MustExist, func(_ context.Context, a Admin) error {
		if _, remote := a.(*remoteAdmin); c.Follow && !remote {
			return cli.Fail("no service runs on this data, so nothing will happen; leave --follow out")
		}
		return c.show(ctx, std, query, func(ctx context.Context, query events.Query) (EventsPage, error) {
			view, err := a.EventsOf(ctx, c.KeyID, query)
			if err != nil {
				return EventsPage{}, err
			}
			page := EventsPage{Next: view.Next, More: view.More, Dropped: view.Dropped}
			for i := range view.Events {
				raw, err := json.Marshal(&view.Events[i])
				if err != nil {
					return page, err
				}
				page.Events = append(page.Events, raw)
			}
			return page, nil
		})
	})
}

// show prints pages until there are no more or, where they are followed, a signal comes.
func (c *eventsListCommand) show(ctx context.Context, std cli.Streams, query events.Query, fetch pager) error {
	print := printer(std.Out, c.JSON, c.CSV)
	for {
		page, err := fetch(ctx, query)
		if err != nil {
			return ended(ctx, err)
		}
		if page.Dropped != 0 {
			fmt.Fprintf(std.Err, "events up to record %d were exported and dropped by retention; bailiff events read prints exported files\n", page.Dropped)
		}
		for _, event := range page.Events {
			if err := print(event); err != nil {
				return err
			}
		}
		if !query.Continue(page.Next) {
			return cli.Fail("the page's cursor %.40q can't be read", page.Next)
		}
		switch {
		case page.More:
		case !c.Follow || !pause(ctx, c.Every):
			return nil
		}
	}
}

// ended turns the error of a call that a signal broke off into none: --follow ends so.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// pause waits, and reports whether to go on.
func pause(ctx context.Context, length time.Duration) bool {
	timer := time.NewTimer(max(length, 100*time.Millisecond))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// decisions are the decisions that can be asked for.
var decisions = []ledger.Decision{ledger.Allowed, ledger.Denied, ledger.Pending, ledger.TestRun}

// EventsAtOnce is the size of a page.
const EventsAtOnce = 1000

// query is what the flags ask for.
func (c *eventsListCommand) query(now time.Time) (events.Query, error) {
	query := events.Query{Rule: c.Rule, Agent: c.Agent, Task: c.Task, Action: c.Action, Limit: EventsAtOnce}
	var err error
	if c.Decision != "" {
		if query.Decision, err = parseDecision(c.Decision); err != nil {
			return query, err
		}
	}
	for flag, part := range map[string]struct {
		text string
		into *time.Time
	}{"--from": {c.From, &query.From}, "--to": {c.To, &query.To}} {
		if part.text == "" {
			continue
		}
		if *part.into, err = ParseMoment(flag, part.text, now); err != nil {
			return query, err
		}
	}
	if !query.To.IsZero() && !query.From.Before(query.To) {
		return query, cli.Usage("--from %s is not before --to %s: no event is between them", c.From, c.To)
	}
	return query, nil
}

// parseDecision reads the name of a decision, in any case.
func parseDecision(text string) (ledger.Decision, error) {
	var names []string
	for _, decision := range decisions {
		if strings.EqualFold(decision.String(), text) {
			return decision, nil
		}
		names = append(names, decision.String())
	}
	return ledger.NoDecision, cli.Usage("--decision %s: give one of %s", grammar.Visible(text), strings.Join(names, ", "))
}

// EncodeQuery is a query as the routes take it.
func EncodeQuery(query events.Query) url.Values {
	values := url.Values{"limit": {strconv.Itoa(query.Limit)}}
	if next := query.Cursor(); next != "0" {
		values.Set("after", next)
	}
	if !query.From.IsZero() {
		values.Set("from", query.From.UTC().Format(time.RFC3339Nano))
	}
	if !query.To.IsZero() {
		values.Set("to", query.To.UTC().Format(time.RFC3339Nano))
	}
	if query.Decision != ledger.NoDecision {
		values.Set("decision", query.Decision.String())
	}
	for name, text := range map[string]string{"rule": query.Rule, "agent": query.Agent, "task": query.Task, "action": query.Action} {
		if text != "" {
			values.Set(name, text)
		}
	}
	return values
}

// ParseMoment reads a time, or how long ago it was, of a flag.
func ParseMoment(flag, text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, cli.Usage("%s %s: give a time such as 2026-11-05T08:00:00Z, or a duration such as 2h", flag, text)
	}
	return at, nil
}
