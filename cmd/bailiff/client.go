package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Bounds of what a client waits for and reads.
const (
	clientTimeout  = 30 * time.Second
	maxAnswerBytes = 16 << 20
	maxAPIKeyBytes = 4 << 10
)

// apiFlags say which service a command asks, and as whom.
type apiFlags struct {
	URL        string `default:"http://127.0.0.1:8787" env:"SVC_API_URL" help:"Address of the service (${default})." placeholder:"URL"`
	APIKey     string `name:"api-key" help:"The API key. Others can see a command line: --api-key-file or SVC_API_KEY keep it to yourself." placeholder:"KEY"`
	APIKeyFile string `name:"api-key-file" help:"File of the API key; - is standard input." placeholder:"FILE"`
}

// client asks the API of a service.
type client struct {
	base, key string
	http      *http.Client
}

// client returns a client, or says what is missing for one.
func (f *apiFlags) client(std streams) (*client, error) {
	key, err := f.key(std)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(f.URL, "/")
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usage("--url %s: it has to be http:// or https:// and a host", f.URL)
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		fmt.Fprintf(std.err, "bailiff: the API key goes to %s unencrypted; use https\n", u.Host)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{base, key, &http.Client{Timeout: clientTimeout, CheckRedirect: stay}}, nil
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
			return "", usage("%s holds no API key", f.APIKeyFile)
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
		return "", usage("the API key holds characters that no API key has")
	}
	return key, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// refusal is an answer of the service that is not the one hoped for.
type refusal struct {
	HTTP        int             `json:"-"`
	Code        string          `json:"error_code"`
	Message     string          `json:"message"`
	Diagnostics json.RawMessage `json:"diagnostics"`
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
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fail("the service can't be reached: %v", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return fail("the answer broke off, so nobody knows whether it was done: %v", err)
	}
	if response.StatusCode >= 300 {
		refused := &refusal{HTTP: response.StatusCode}
		_ = json.Unmarshal(text, refused) // what is no JSON is told by its status
		return refused
	}
	if answer == nil && response.StatusCode == http.StatusNoContent {
		return nil
	}
	if answer == nil {
		return fail("the service answered %d %s, and not 204; is %s the service?", response.StatusCode, http.StatusText(response.StatusCode), c.base)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fail("the answer can't be read; is %s the service? %v", c.base, err)
	}
	return nil
}

// refusedWith returns the refusal that an error is, nil where it is none.
func refusedWith(err error) *refusal {
	var refused *refusal
	if errors.As(err, &refused) {
		return refused
	}
	return nil
}
