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

type webhooksListCommand struct {
	ApiFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// Run lists the webhooks.
func (c *webhooksListCommand) Run(std cli.Streams) error {
	service, err := c.Client(std)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := service.Call(context.Background(), "GET", "/v1/webhooks", nil, &raw); err != nil || c.JSON {
		return cli.OrPrint(std.Out, raw, err)
	}
	var webhooks []webhookAnswer
	if err := json.Unmarshal(raw, &webhooks); err != nil {
		return cli.Fail("the list can't be read: %v", err)
	}
	return cli.PrintTable(std.Out, "ID\tURL\tEVENTS\tCREATED\tDISABLED", webhooks, func(w webhookAnswer) string {
		return strings.Join([]string{w.ID, w.URL, strings.Join(w.Events, ","), fmt.Sprint(w.CreatedAt), fmt.Sprint(w.Disabled)}, "\t")
	})
}

type webhooksAddCommand struct {
	ApiFlags
	Event  []string `help:"An event to send, such as intent.denied; all of them without. Can be given more than once." placeholder:"EVENT"`
	JSON   bool     `name:"json" help:"Print JSON, with the secret."`
	Target string   `arg:"" help:"Address to send to (https)."`
}

// everyEvent is what a webhook gets that asks for nothing in particular (decisions, section 5).
var everyEvent = []string{"intent.allowed", "intent.denied", "intent.pending", "hold.resolved", "hold.expired", "policy.deployed"}

// Run registers the webhook and prints its secret, the only time.
func (c *webhooksAddCommand) Run(std cli.Streams) error {
	service, err := c.Client(std)
	if err != nil {
		return err
	}
	body := map[string]any{"url": c.Target, "events": c.Event}
	if len(c.Event) == 0 {
		body["events"] = everyEvent
	}
	var raw json.RawMessage
	if err := service.Call(context.Background(), "POST", "/v1/webhooks", body, &raw); err != nil || c.JSON {
		return cli.OrPrint(std.Out, raw, aboutPrivate(err, c.Target))
	}
	var added webhookAnswer
	if err := json.Unmarshal(raw, &added); err != nil {
		return cli.Fail("the webhook is registered, and the answer can't be read: %v", err)
	}
	if added.Secret == "" {
		return cli.Fail("the answer contains no secret; is %s the service?", service.api.Base())
	}
	fmt.Fprintln(std.Out, added.Secret)
	fmt.Fprintf(std.Err, "webhook %s sends to %s; its secret is not shown again\n", added.ID, added.URL)
	return nil
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
	ApiFlags
	ID string `arg:"" help:"The webhook's id."`
}

// Run enables the webhook; what happened while it was disabled is not delivered.
func (c *webhooksEnableCommand) Run(std cli.Streams) error {
	service, err := c.Client(std)
	if err != nil {
		return err
	}
	if err := service.Call(context.Background(), "POST", "/v1/webhooks/"+url.PathEscape(c.ID)+"/enable", nil, nil); err != nil {
		return err
	}
	fmt.Fprintln(std.Out, "enabled", c.ID)
	return nil
}

type webhooksRemoveCommand struct {
	ApiFlags
	ID string `arg:"" help:"The webhook's id."`
}

// Run removes the webhook and what waits for it.
func (c *webhooksRemoveCommand) Run(std cli.Streams) error {
	service, err := c.Client(std)
	if err != nil {
		return err
	}
	if err := service.Call(context.Background(), "DELETE", "/v1/webhooks/"+url.PathEscape(c.ID), nil, nil); err != nil {
		return err
	}
	fmt.Fprintln(std.Out, "removed", c.ID)
	return nil
}
