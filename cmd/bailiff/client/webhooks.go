package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/settings"
	"bailiff/vm/errcode"
)

type webhooksCommand struct {
	Listen webhooksListenCommand `cmd:"" help:"Receive deliveries, verify and print them; for development."`
	List   webhooksListCommand   `cmd:"" help:"List the webhooks of an API key."`
	Add    webhooksAddCommand    `cmd:"" help:"Register a webhook; its secret is shown once."`
	Enable webhooksEnableCommand `cmd:"" help:"Enable a webhook that was disabled because its receiver failed."`
	Remove webhooksRemoveCommand `cmd:"" help:"Remove a webhook."`
}

// webhookAnswer is a webhook as the API describes it.
type webhookAnswer struct {
	ID        string   `json:"id"`
	URL       string   `json:"url"`
	Events    []string `json:"events"`
	CreatedAt any      `json:"created_at"`
	Disabled  bool     `json:"disabled"`
	Secret    string   `json:"secret"`
}

// A webhookDesk registers webhooks: over the API, for the holder of the API key, or by the admin socket, for the key of an id.
type webhookDesk interface {
	list(context.Context) (json.RawMessage, error)
	add(ctx context.Context, body any) (json.RawMessage, error)
	enable(ctx context.Context, id string) error
	remove(ctx context.Context, id string) error
}

// apiHooks is the API.
type apiHooks struct{ *Client }

const webhooksRoute = "/v1/webhooks"

func (d apiHooks) list(ctx context.Context) (raw json.RawMessage, err error) {
	err = d.Call(ctx, "GET", webhooksRoute, nil, &raw)
	return raw, err
}

func (d apiHooks) add(ctx context.Context, body any) (raw json.RawMessage, err error) {
	err = d.Call(ctx, "POST", webhooksRoute, body, &raw)
	return raw, err
}

func (d apiHooks) enable(ctx context.Context, id string) error {
	return d.Call(ctx, "POST", webhooksRoute+"/"+url.PathEscape(id)+"/enable", nil, nil)
}

func (d apiHooks) remove(ctx context.Context, id string) error {
	return d.Call(ctx, "DELETE", webhooksRoute+"/"+url.PathEscape(id), nil, nil)
}

// adminHooks is the admin socket, or the data itself.
type adminHooks struct {
	Admin
	key string
}

func (d adminHooks) list(ctx context.Context) (json.RawMessage, error) {
	return encoded(d.WebhooksOf(ctx, d.key))
}

func (d adminHooks) add(ctx context.Context, body any) (json.RawMessage, error) {
	request, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return encoded(d.AddWebhookOf(ctx, d.key, request))
}

func (d adminHooks) enable(ctx context.Context, id string) error {
	return d.EnableWebhookOf(ctx, d.key, id)
}

func (d adminHooks) remove(ctx context.Context, id string) error {
	return d.RemoveWebhookOf(ctx, d.key, id)
}

func encoded(view any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(view)
}

// webhookFlags say whose webhooks a command is about.
type webhookFlags struct {
	ApiFlags
	Key string `help:"Id of the API key, as keys list shows it: works on the service that runs on SVC_DATA_DIR, without the API key itself." placeholder:"ID"`
}

// withDesk calls use with the admin socket where --key is given, and else with the API.
func (f *webhookFlags) withDesk(std cli.Streams, use func(context.Context, webhookDesk) error) error {
	if f.Key != "" {
		return WithAdmin(std, Changes, func(ctx context.Context, a Admin) error { return use(ctx, adminHooks{a, f.Key}) })
	}
	service, err := f.Client(std)
	if err != nil {
		return err
	}
	return use(context.Background(), apiHooks{service})
}

type webhooksListCommand struct {
	webhookFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// Run lists the webhooks.
func (c *webhooksListCommand) Run(std cli.Streams) error {
	return c.withDesk(std, func(ctx context.Context, desk webhookDesk) error {
		raw, err := desk.list(ctx)
		if err != nil || c.JSON {
			return cli.OrPrint(std.Out, raw, err)
		}
		var webhooks []webhookAnswer
		if err := json.Unmarshal(raw, &webhooks); err != nil {
			return cli.Fail("the list can't be read: %v", err)
		}
		return cli.PrintTable(std.Out, "ID\tURL\tEVENTS\tCREATED\tDISABLED", webhooks, func(w webhookAnswer) string {
			return strings.Join([]string{w.ID, w.URL, strings.Join(w.Events, ","), fmt.Sprint(w.CreatedAt), fmt.Sprint(w.Disabled)}, "\t")
		})
	})
}

type webhooksAddCommand struct {
	webhookFlags
	Event  []string `help:"An event to send, such as intent.denied; all of them without. Can be given more than once." placeholder:"EVENT"`
	Format string   `default:"standard" enum:"standard,slack,ntfy,email" help:"standard: signed JSON (Standard Webhooks); slack: an incoming webhook of Slack; ntfy: a topic of ntfy; email: mailto:ADDRESS, with --key and a service that has SVC_SMTP_URL."`
	JSON   bool     `name:"json" help:"Print JSON, with the secret."`
	Target string   `arg:"" help:"Address to send to (https)."`
}

// everyEvent is what a webhook gets that asks for nothing in particular (decisions, section 5).
var everyEvent = []string{"intent.allowed", "intent.denied", "intent.pending", "hold.resolved", "hold.expired", "policy.deployed"}

// Run registers the webhook and prints its secret, the only time.
func (c *webhooksAddCommand) Run(std cli.Streams) error {
	body := map[string]any{"url": c.Target, "events": c.Event}
	if len(c.Event) == 0 {
		body["events"] = everyEvent
	}
	if c.Format != "standard" {
		body["format"] = c.Format
	}
	return c.withDesk(std, func(ctx context.Context, desk webhookDesk) error {
		raw, err := desk.add(ctx, body)
		if err != nil || c.JSON {
			return cli.OrPrint(std.Out, raw, aboutPrivate(err, c.Target))
		}
		var added webhookAnswer
		if err := json.Unmarshal(raw, &added); err != nil {
			return cli.Fail("the webhook is registered, and the answer can't be read: %v", err)
		}
		if added.Secret == "" {
			return cli.Fail("the answer contains no secret; is %s the service?", c.URL)
		}
		if c.Format != "standard" {
			return printLine(std.Out, "webhook "+added.ID+" sends to "+added.URL)
		}
		fmt.Fprintln(std.Out, added.Secret)
		fmt.Fprintf(std.Err, "webhook %s sends to %s; its secret is not shown again\n", added.ID, added.URL)
		return nil
	})
}

// aboutPrivate adds to the refusal of an address of http, or of this machine, how a service for development takes it.
func aboutPrivate(err error, target string) error {
	refused, address := RefusedWith(err), new(url.URL)
	if parsed, failed := url.Parse(target); failed == nil {
		address = parsed
	}
	if refused != nil && refused.Code == string(errcode.WebhookURL) && (address.Scheme == "http" || settings.Loopback(address.Hostname())) {
		return cli.Fail("%v; for development, start a service of your own with SVC_WEBHOOK_ALLOW_PRIVATE=true: it delivers to http and to private addresses too", err)
	}
	return err
}

type webhooksEnableCommand struct {
	webhookFlags
	ID string `arg:"" help:"The webhook's id."`
}

// Run enables the webhook; what happened while it was disabled is not delivered.
func (c *webhooksEnableCommand) Run(std cli.Streams) error {
	return c.withDesk(std, func(ctx context.Context, desk webhookDesk) error {
		if err := desk.enable(ctx, c.ID); err != nil {
			return err
		}
		fmt.Fprintln(std.Out, "enabled", c.ID)
		return nil
	})
}

type webhooksRemoveCommand struct {
	webhookFlags
	ID string `arg:"" help:"The webhook's id."`
}

// Run removes the webhook and what waits for it.
func (c *webhooksRemoveCommand) Run(std cli.Streams) error {
	return c.withDesk(std, func(ctx context.Context, desk webhookDesk) error {
		if err := desk.remove(ctx, c.ID); err != nil {
			return err
		}
		fmt.Fprintln(std.Out, "removed", c.ID)
		return nil
	})
}
