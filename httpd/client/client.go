package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// What a client does unless its configuration says otherwise.
const (
	DefaultURL       = "http://127.0.0.1:8787"
	DefaultTimeout   = 10 * time.Second
	DefaultMaxAnswer = 1 << 20

	maxHeaderBytes = 64 << 10
	maxKeyBytes    = 4 << 10
)

// Config says which service a client asks, and as whom.
type Config struct {
	// URL is the address of the service: http:// or https://, or unix: and the path of a socket. Empty: DefaultURL.
	URL string
	// Key is the API key. Without one only public documents and gateways can be asked.
	Key string
	// Unix is the path of a socket (SVC_LISTEN_UNIX) that is connected to in place of the host in URL.
	Unix string
	// Timeout bounds a call with all its retries; what a call waits for a hold comes on top. 0: DefaultTimeout.
	Timeout time.Duration
	// MaxAnswer bounds an answer in bytes. 0: DefaultMaxAnswer.
	MaxAnswer int64
	// UserAgent names the program to the service. Empty: bailiff-client.
	UserAgent string
	// RequestID is sent with every call as X-Request-Id, which events have as requestId: at most 64 letters, digits and -_. count.
	RequestID string
}

// Client asks one service. It is safe for concurrent use.
type Client struct {
	base, key, agent string
	requestID        string
	timeout          time.Duration
	maxAnswer        int64
	http             *http.Client
}

// New returns a client, or says what of its configuration is wrong. It connects to nothing.
func New(config Config) (*Client, error) {
	base, socket, err := address(config)
	if err != nil {
		return nil, err
	}
	if len(config.Key) > maxKeyBytes || strings.ContainsFunc(config.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the API key has characters that no API key has; give it without spaces and line ends")
	}
	c := &Client{base: base, key: config.Key, agent: config.UserAgent, requestID: config.RequestID, timeout: config.Timeout, maxAnswer: config.MaxAnswer}
	if c.agent == "" {
		c.agent = "bailiff-client"
	}
	if c.timeout <= 0 {
		c.timeout = DefaultTimeout
	}
	if c.maxAnswer <= 0 {
		c.maxAnswer = DefaultMaxAnswer
	}
	c.http = &http.Client{
		Transport:     transport(socket),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// WithKey returns a client of the same service and the same connections, with another API key.
func (c *Client) WithKey(key string) *Client {
	other := *c
	other.key = key
	return &other
}

// Base is the address of the service, without a slash at the end.
func (c *Client) Base() string { return c.base }

// address reads the address of the service.
func address(config Config) (base, socket string, err error) {
	text := config.URL
	if text == "" {
		text = DefaultURL
	}
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		if config.Unix != "" && config.Unix != path {
			return "", "", fmt.Errorf("URL names the socket %s, and Unix the socket %s; give one of them", path, config.Unix)
		}
		text, config.Unix = DefaultURL, strings.TrimPrefix(path, "//")
		if !strings.HasPrefix(config.Unix, "/") {
			return "", "", fmt.Errorf("%s is not unix: and an absolute path, such as unix:/run/bailiff.sock", config.URL)
		}
	}
	base = strings.TrimSuffix(text, "/")
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", "", fmt.Errorf("%q is not the address of a service; give http:// or https:// and a host, or unix: and the path of a socket", text)
	}
	return base, config.Unix, nil
}

// transport connects to the socket, where there is one.
func transport(socket string) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one, by its documentation
	t.DisableCompression, t.MaxResponseHeaderBytes = true, maxHeaderBytes
	t.Proxy = func(request *http.Request) (*url.URL, error) {
		if request.URL.Scheme != "https" {
			return nil, nil //nolint:nilnil // no proxy
		}
		return http.ProxyFromEnvironment(request)
	}
	if socket != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	return t
}

// Do sends one request, and returns the status and the body of a 2xx. The body of the request is content as JSON, or none
// where content is nil. A 403 that is a decision comes back as a *Refused like any other. Do sends nothing twice.
func (c *Client) Do(ctx context.Context, method, path string, content any) (status int, body []byte, err error) {
	text, err := encode(content)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	status, body, header, err := c.send(ctx, call{method: method, path: path, body: text})
	if err != nil {
		return 0, nil, err
	}
	if fault := failed(status, body, header); fault != nil {
		return 0, nil, fault
	}
	return status, body, nil
}

// A call is what is sent.
type call struct {
	method, path string
	body         []byte // nil: none
	receipt      string // the attestation, which goes in place of the key
}

// send sends once, and reads the answer, whatever its status. The error is an *Unreachable, or about the request.
func (c *Client) send(ctx context.Context, what call) (status int, body []byte, header http.Header, err error) {
	var content io.Reader
	if what.body != nil {
		content = bytes.NewReader(what.body)
	}
	request, err := http.NewRequestWithContext(ctx, what.method, c.base+what.path, content)
	if err != nil {
		return 0, nil, nil, err
	}
	request.Header.Set("User-Agent", c.agent)
	if c.requestID != "" {
		request.Header.Set("X-Request-Id", c.requestID)
	}
	switch {
	case what.receipt != "":
		request.Header.Set("Svc-Receipt", what.receipt)
	case c.key != "":
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if what.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, nil, &Unreachable{Err: err}
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, c.maxAnswer+1))
	switch {
	case err != nil:
		return 0, nil, nil, &Unreachable{Err: fmt.Errorf("the answer broke off: %w", err)}
	case int64(len(body)) > c.maxAnswer:
		return 0, nil, nil, &Unreachable{Err: fmt.Errorf("the answer has more than %d bytes", c.maxAnswer)}
	}
	return response.StatusCode, body, response.Header, nil
}

// failed returns the error that an answer is, nil for a 2xx.
func failed(status int, body []byte, header http.Header) error {
	if status >= 200 && status < 300 {
		return nil
	}
	var said struct {
		Code        string          `json:"error_code"`
		Message     string          `json:"message"`
		Errors      json.RawMessage `json:"errors"`
		Diagnostics json.RawMessage `json:"diagnostics"`
	}
	if json.Unmarshal(body, &said) != nil { // the status tells what JSON does not
		said.Code, said.Message, said.Errors, said.Diagnostics = "", "", nil, nil
	}
	again := retryAfter(header)
	if status < 400 || status >= 500 {
		return &Unreachable{Err: &Status{HTTP: status, Code: said.Code, Message: said.Message}, RetryAfter: again}
	}
	details := said.Errors
	if details == nil {
		details = said.Diagnostics
	}
	return &Refused{Status: status, Code: said.Code, Message: said.Message, Details: details, RetryAfter: again}
}

// retryAfter reads a number of seconds, the only form that the service sends.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(header.Get("Retry-After"), 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// malformed is the error of an answer that cannot be one of the service.
func malformed(format string, args ...any) error {
	return &Unreachable{Err: fmt.Errorf("the answer is not one of the service: "+format, args...)}
}

// pause waits, and returns the error of a context that is over before.
func pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
