package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/settings"
	api "bailiff/httpd/client"
)

// Bounds of what a client waits for and reads.
const (
	ClientTimeout  = 30 * time.Second
	maxAnswerBytes = 16 << 20
	maxAPIKeyBytes = 4 << 10
)

// ApiFlags say which service a command asks, and as whom.
type ApiFlags struct {
	URL        string `default:"http://127.0.0.1:8787" env:"SVC_API_URL" help:"Address of the service (${default}), or unix: and the path of its socket." placeholder:"URL"`
	APIKey     string `name:"api-key" help:"The API key. Others can see a command line: --api-key-file or SVC_API_KEY keep it to yourself." placeholder:"KEY"`
	APIKeyFile string `name:"api-key-file" help:"File of the API key; - is standard input." placeholder:"FILE"`
}

// Client asks the API of a service.
type Client struct{ api *api.Client }

// Client returns a client, or says what is missing for one.
func (f *ApiFlags) Client(std cli.Streams) (*Client, error) {
	key, err := f.Key(std)
	if err != nil {
		return nil, err
	}
	service, err := api.New(api.Config{URL: f.URL, Key: key, Timeout: ClientTimeout, MaxAnswer: maxAnswerBytes, UserAgent: "bailiff"})
	if err != nil {
		return nil, cli.Usage("--url: %v", err)
	}
	u, err := url.Parse(service.Base())
	if err == nil && u.Scheme == "http" && !settings.Loopback(u.Hostname()) {
		fmt.Fprintf(std.Err, "bailiff: the API key goes to %s unencrypted; use https\n", u.Host)
	}
	return &Client{service}, nil
}

// Given reports whether an API key is named at all.
func (f *ApiFlags) Given() bool {
	return f.APIKey != "" || f.APIKeyFile != "" || os.Getenv("SVC_API_KEY") != ""
}

// Key is the API key from the flag, the file or the environment, in this order.
func (f *ApiFlags) Key(std cli.Streams) (string, error) {
	key := f.APIKey
	if f.APIKeyFile != "" {
		if key != "" {
			return "", cli.Usage("give --api-key or --api-key-file, not both")
		}
		text, err := cli.ReadBounded(std, f.APIKeyFile, maxAPIKeyBytes)
		if err != nil {
			return "", err
		}
		if key = string(text); strings.TrimSpace(key) == "" { // SVC_API_KEY may be another's
			return "", cli.Usage("%s does not contain an API key", f.APIKeyFile)
		}
	}
	if key == "" {
		key = os.Getenv("SVC_API_KEY")
	}
	key = strings.TrimSpace(key)
	switch {
	case key == "":
		return "", cli.Usage("there is no API key; give --api-key-file FILE, or set SVC_API_KEY")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", cli.Usage("the API key contains characters that API keys do not have")
	}
	return key, nil
}

// refusal is an answer of the service that is not the one hoped for.
type refusal struct {
	HTTP        int
	Code        string
	Message     string
	Diagnostics json.RawMessage
}

// Error says what the service said.
func (r *refusal) Error() string {
	if r.Code == "" {
		return fmt.Sprintf("the service answered %d %s", r.HTTP, http.StatusText(r.HTTP))
	}
	return fmt.Sprintf("the service refused (%d %s): %s", r.HTTP, r.Code, strings.Map(cli.OneLine, r.Message))
}

// Call sends one request and decodes its answer into answer; nil where nothing is to come back (204). Body may be nil.
// The error of an answer that is no success is a *refusal.
func (c *Client) Call(ctx context.Context, method, path string, body, answer any) error {
	status, text, err := c.api.Do(ctx, method, path, body)
	switch {
	case err != nil:
		return clientFault(err)
	case answer == nil && status == http.StatusNoContent:
		return nil
	case answer == nil:
		return cli.Fail("the service answered %d %s, and not 204; is %s the service?", status, http.StatusText(status), c.api.Base())
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return cli.Fail("the answer can't be read; is %s the service? %v", c.api.Base(), err)
	}
	return nil
}

// clientFault says what an error of the client is to the command's user.
func clientFault(err error) error {
	var refused *api.Refused
	var status *api.Status
	var gone *api.Unreachable
	switch {
	case errors.As(err, &refused):
		return &refusal{refused.Status, refused.Code, refused.Message, refused.Details}
	case errors.As(err, &status):
		return &refusal{status.HTTP, status.Code, status.Message, nil}
	case errors.As(err, &gone):
		return cli.Fail("the service can't be reached: %v; start it, or name its address with --url or SVC_API_URL", gone.Err)
	}
	return err
}

// RefusedWith returns the refusal that an error is, nil where it is none.
func RefusedWith(err error) *refusal {
	var refused *refusal
	if errors.As(err, &refused) {
		return refused
	}
	return nil
}
