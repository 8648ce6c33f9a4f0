package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	api "bailiff/httpd/client"
)

// Bounds of what a client waits for and reads.
const (
	clientTimeout  = 30 * time.Second
	maxAnswerBytes = 16 << 20
	maxAPIKeyBytes = 4 << 10
)

// apiFlags say which service a command asks, and as whom.
type apiFlags struct {
	URL        string `default:"http://127.0.0.1:8787" env:"SVC_API_URL" help:"Address of the service (${default}), or unix: and the path of its socket." placeholder:"URL"`
	APIKey     string `name:"api-key" help:"The API key. Others can see a command line: --api-key-file or SVC_API_KEY keep it to yourself." placeholder:"KEY"`
	APIKeyFile string `name:"api-key-file" help:"File of the API key; - is standard input." placeholder:"FILE"`
}

// client asks the API of a service.
type client struct{ api *api.Client }

// client returns a client, or says what is missing for one.
func (f *apiFlags) client(std streams) (*client, error) {
	key, err := f.key(std)
	if err != nil {
		return nil, err
	}
	service, err := api.New(api.Config{URL: f.URL, Key: key, Timeout: clientTimeout, MaxAnswer: maxAnswerBytes, UserAgent: "bailiff"})
	if err != nil {
		return nil, usage("--url: %v", err)
	}
	u, err := url.Parse(service.Base())
	if err == nil && u.Scheme == "http" && !loopback(u.Hostname()) {
		fmt.Fprintf(std.err, "bailiff: the API key goes to %s unencrypted; use https\n", u.Host)
	}
	return &client{service}, nil
}

// given reports whether an API key is named at all.
func (f *apiFlags) given() bool {
	return f.APIKey != "" || f.APIKeyFile != "" || os.Getenv("SVC_API_KEY") != ""
}

// key is the API key from the flag, the file or the environment, in this order.
func (f *apiFlags) key(std streams) (string, error) {
	key := f.APIKey
	if f.APIKeyFile != "" {
		if key != "" {
			return "", usage("give --api-key or --api-key-file, not both")
		}
		text, err := readBounded(std, f.APIKeyFile, maxAPIKeyBytes)
		if err != nil {
			return "", err
		}
		if key = string(text); strings.TrimSpace(key) == "" { // SVC_API_KEY may be another's
			return "", usage("%s does not contain an API key", f.APIKeyFile)
		}
	}
	if key == "" {
		key = os.Getenv("SVC_API_KEY")
	}
	key = strings.TrimSpace(key)
	switch {
	case key == "":
		return "", usage("there is no API key; give --api-key-file FILE, or set SVC_API_KEY")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", usage("the API key contains characters that API keys do not have")
	}
	return key, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
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
	return fmt.Sprintf("the service refused (%d %s): %s", r.HTTP, r.Code, strings.Map(oneLine, r.Message))
}

// call sends one request and decodes its answer into answer; nil where nothing is to come back (204). Body may be nil.
// The error of an answer that is no success is a *refusal.
func (c *client) call(ctx context.Context, method, path string, body, answer any) error {
	status, text, err := c.api.Do(ctx, method, path, body)
	switch {
	case err != nil:
		return clientFault(err)
	case answer == nil && status == http.StatusNoContent:
		return nil
	case answer == nil:
		return fail("the service answered %d %s, and not 204; is %s the service?", status, http.StatusText(status), c.api.Base())
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fail("the answer can't be read; is %s the service? %v", c.api.Base(), err)
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
		return fail("the service can't be reached: %v; start it, or name its address with --url or SVC_API_URL", gone.Err)
	}
	return err
}

// refusedWith returns the refusal that an error is, nil where it is none.
func refusedWith(err error) *refusal {
	var refused *refusal
	if errors.As(err, &refused) {
		return refused
	}
	return nil
}
