package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/time/rate"

	"bailiff/runtime/budget"
	"bailiff/vm/errcode"
)

// What an upstream may take, unless the configuration says otherwise.
const (
	defaultTimeout     = 20 * time.Second // the slowest reads (logs, estimates) of common providers end within it
	defaultMaxResponse = 32 << 20         // bytes; a full block's receipts have a few million
	defaultMaxInFlight = 512
	// idleTimeout is below that of every common server, so that a connection is seldom closed under a write.
	idleTimeout = 4 * time.Second
	dialTimeout = 5 * time.Second
	// unreadBytes is how much of an answer over HTTP/2 may arrive before there is room for it.
	unreadBytes = 256 << 10
)

// An Upstream is a chain's node or bundler (SVC_RPC_URL_<chainId>, SVC_BUNDLER_URL_<chainId>).
type Upstream struct {
	Endpoint Endpoint
	Chain    uint64
	URL      string // http or https; user and password in it are sent as basic authentication. Never shown to clients
}

// An upstream has a connection pool and a bound of its own, so that one that is slow slows no other.
type upstream struct {
	transport
	// Writes have places of their own: reads are public, and however many are under way, they hold up no write.
	writes, reads chan struct{}
	answers       *budget.Budget // of all upstreams
	patience      time.Duration  // for room in it
	log           *slog.Logger
	clock         func() time.Time
	timeout       func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	failures      atomic.Uint64
	logged        *rate.Limiter // of lines in the log
}

// A transport posts a body to an upstream and reads the answer. Of the client's headers it sends nothing, and a redirect
// is an answer like any other, and is not followed.
type transport interface {
	// post returns the answer as held.read does: after the room that its caller asked for.
	post(ctx context.Context, body []byte, write bool, into *held) (status int, answer []byte, err error)
}

func (c *Config) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return defaultTimeout
}

func (c *Config) openUpstream(u Upstream) (*upstream, error) {
	where, err := url.Parse(u.URL)
	if err != nil || where.Host == "" || where.Scheme != "http" && where.Scheme != "https" || strings.Contains(where.RawQuery, " ") {
		return nil, fmt.Errorf("the upstream of /%s/%d is not an http or https URL", u.Endpoint, u.Chain)
	}
	inFlight, maxResponse := c.MaxInFlight, c.MaxResponse
	if inFlight <= 0 {
		inFlight = defaultMaxInFlight
	}
	if maxResponse <= 0 {
		maxResponse = defaultMaxResponse
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"bailiff"}}
	if user := where.User; user != nil {
		password, _ := user.Password()
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
		where.User = nil
	}
	write := &http.Request{Method: http.MethodPost, URL: where, Host: where.Host, Header: header}
	read := write.Clone(context.Background())
	// Not sent. It tells the library's transport that a read may be sent again where the upstream closed an idle connection.
	read.Header["X-Idempotency-Key"] = nil
	over := &tripper{write, read, c.pooled(2 * inFlight), maxResponse}
	opened := &upstream{
		transport: over, writes: make(chan struct{}, inFlight), reads: make(chan struct{}, inFlight),
		patience: c.holdPatience, log: c.Log.With("endpoint", u.Endpoint, "chain", u.Chain), clock: c.Calls.Clock, timeout: c.Calls.Timeout,
		logged: rate.NewLimiter(rate.Every(time.Second), 1),
	}
	if c.Transport != nil {
		over.RoundTripper = c.Transport()
		return opened, nil
	}
	if plain(where) {
		w, err := newWire(c.dial, hostPort(where), write, maxResponse)
		if err != nil {
			return nil, fmt.Errorf("the upstream of /%s/%d: no request can be made to it; look at its URL", u.Endpoint, u.Chain)
		}
		w.timers = c.Calls.Timers
		opened.transport = w
	}
	return opened, nil
}

// plain reports whether an upstream is spoken to over plain HTTP and without a proxy, for which there is a faster transport.
// The library translates names that are not ASCII.
func plain(where *url.URL) bool {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: where})
	ascii := !strings.ContainsFunc(where.Host, func(r rune) bool { return r > unicode.MaxASCII })
	return where.Scheme == "http" && proxy == nil && err == nil && ascii
}

// hostPort returns the host:port of a URL of plain HTTP.
func hostPort(where *url.URL) string {
	port := where.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(where.Hostname(), port)
}

// dial connects to an upstream.
func (c *Config) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := c.Calls.Timeout(ctx, dialTimeout)
	defer cancel()
	return c.Calls.Dial(ctx, network, address, nil)
}

func (c *Config) pooled(connections int) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            c.dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    dialTimeout,
		MaxIdleConns:           connections,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: unreadBytes},
	}
}

// An upstreamError says in words, without the upstream's address, why there is no answer.
type upstreamError struct{ reason string }

// Error returns the words.
func (e *upstreamError) Error() string { return e.reason }

func upstreamFailure(r *Request, err error) *Response {
	return rpcError(r.call.id, rpcServerError, errcode.UpstreamUnavailable, err.Error())
}

// enter takes one of the upstream's places for writes or for reads; release gives it back.
func (u *upstream) enter(ctx context.Context, write bool) (release func(), err error) {
	slots := u.reads
	if write {
		slots = u.writes
	}
	select {
	case slots <- struct{}{}:
	default:
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil, &upstreamError{"the upstream has too many requests under way; nothing was sent to it"}
		}
	}
	if ctx.Err() != nil { // both had come
		<-slots
		return nil, &upstreamError{"the upstream has too many requests under way; nothing was sent to it"}
	}
	return func() { <-slots }, nil
}

// upstreamID is the id of every request to an upstream: a connection carries one at a time.
const upstreamID = "1"

// ask sends a request upstream, made anew, and returns the answer under the client's id.
func (u *upstream) ask(ctx context.Context, r *Request, params []byte) *Response {
	const head = `{"jsonrpc":"2.0","id":` + upstreamID + `,"method":"`
	body := make([]byte, 0, len(head)+len(r.call.method)+len(params)+16)
	body = append(append(body, head...), r.call.method...)
	body = append(append(append(body, `","params":`...), params...), '}')
	into := u.hold(r)
	status, buffer, err := u.post(ctx, body, r.write, into)
	if err != nil {
		into.release()
		return u.unanswered(r, err)
	}
	name, value, err := readAnswer(buffer[into.room:])
	if err != nil || status != http.StatusOK && name != "error" {
		into.release()
		reason := fmt.Sprintf("the upstream answered with HTTP %d", status)
		if status == http.StatusOK {
			reason = "the upstream's answer is not a JSON-RPC response: " + err.Error()
		}
		return u.failed(r, reason+uncertain(r.write))
	}
	return &Response{Body: enclose(buffer, r.call.id, name, value), held: into}
}

// unanswered is the answer where the upstream gave none, or there was no room for it.
func (u *upstream) unanswered(r *Request, err error) *Response {
	var full *noRoomError
	if errors.As(err, &full) {
		return rpcError(r.call.id, rpcServerError, errcode.GatewayBusy, full.Error())
	}
	return u.failed(r, reasonOf(err, r.write))
}

// failed counts that there is no answer, and tells why: the client each time, the log once in a second.
func (u *upstream) failed(r *Request, reason string) *Response {
	u.failures.Add(1)
	if u.logged.AllowN(u.clock(), 1) {
		u.log.Warn("an upstream gave no answer", "method", r.call.method, "reason", reason)
	}
	return upstreamFailure(r, &upstreamError{reason})
}

// A tripper is a transport over one of the library's.
type tripper struct {
	write, read *http.Request // all are like these, but for their bodies
	http.RoundTripper
	maxResponse int64 // bytes
}

// post implements transport.
func (t *tripper) post(ctx context.Context, body []byte, write bool, into *held) (status int, answer []byte, err error) {
	like := t.read
	if write {
		like = t.write
	}
	request := like.WithContext(ctx)
	request.ContentLength = int64(len(body))
	taken := new(atomic.Bool)
	request.GetBody = again(body, write, taken)
	request.Body, _ = request.GetBody()
	response, err := t.RoundTrip(request) // directly: a client would follow redirects
	if err != nil && !taken.Load() && ctx.Err() == nil {
		return 0, nil, fmt.Errorf("%w: %w", errUnsent, err) // where time is over, the transport may be about to
	}
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = into.read(ctx, response.Body, response.ContentLength, t.maxResponse)
	return response.StatusCode, answer, err
}

// maxAgain bounds how often a request is sent again: where the upstream resets every stream, the library goes on until the
// time is over, as fast as it can. One broken connection takes two.
const maxAgain = 4

// errAgain says that a request is not sent again.
var errAgain = errors.New("it is not sent again")

// errUnsent says that a request ended before any of its body was sent.
var errUnsent = errors.New("nothing was sent")

// again gives a transport a body, and gives it anew so often and no more; that of a write only while none of it has been
// taken: HTTP/2 would send a write again, too, where the upstream resets its stream.
func again(body []byte, write bool, taken *atomic.Bool) func() (io.ReadCloser, error) {
	left := 1 + maxAgain
	return func() (io.ReadCloser, error) {
		if left--; left < 0 || write && taken.Load() {
			return nil, errAgain
		}
		return io.NopCloser(&given{bytes.NewReader(body), taken}), nil
	}
}

// given is a body that notes that something of it was taken.
type given struct {
	from  *bytes.Reader
	taken *atomic.Bool
}

// Read implements io.Reader.
func (g *given) Read(into []byte) (int, error) {
	g.taken.Store(true)
	return g.from.Read(into)
}

// errTooLarge says that an upstream's answer exceeds the bound.
var errTooLarge = errors.New("its answer is too large")

// An answer is a JSON-RPC response as an upstream wrote it. Members that are missing are empty.
type answer struct {
	result, failure jsontext.Value
	matched         bool // the id is that of the request
}

// readAnswer reads a JSON-RPC response: the name and the value of its one outcome, result or error. Some servers write
// both, the one that there is not as null (JSON-RPC 1.0, section 1.2).
func readAnswer(text []byte) (name string, value jsontext.Value, err error) {
	a, err := scanAnswer(text)
	if err == nil && string(a.failure) == "null" {
		a.failure = nil
	}
	switch {
	case err != nil:
		return "", nil, err
	case !a.matched || a.failure == nil && a.result == nil:
		return "", nil, errors.New("it has no id, or neither result nor error")
	case a.failure == nil:
		return "result", a.result, nil
	case a.result != nil && string(a.result) != "null":
		return "", nil, errors.New("it has two outcomes")
	case a.failure.Kind() != '{':
		return "", nil, errors.New("its error is not an object")
	}
	return "error", a.failure, nil
}

// scanAnswer takes the members out of a response, and sees to it that all of it is JSON and nothing follows.
func scanAnswer(text []byte) (a answer, err error) {
	d := openDecoder(text, jsontext.AllowDuplicateNames(true))
	defer d.close()
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return a, errors.New("it is not a JSON object")
	}
	for d.PeekKind() == '"' {
		if err := a.readMember(d, text); err != nil {
			return a, err
		}
	}
	if token, err := d.ReadToken(); err != nil || token.Kind() != '}' || len(bytes.TrimLeft(text[d.InputOffset():], " \t\r\n")) > 0 {
		return a, errNotJSON
	}
	return a, nil
}

var errNotJSON = errors.New("it is not valid JSON")

// readMember reads a member. One that tells what came of the request comes once.
func (a *answer) readMember(d *decoder, text []byte) error {
	token, err := d.ReadToken()
	if err != nil {
		return errNotJSON
	}
	key := token.String()
	start := d.InputOffset()
	if err := d.SkipValue(); err != nil {
		return errNotJSON
	}
	value := jsontext.Value(bytes.TrimLeft(text[start:d.InputOffset()], ": \t\r\n"))
	into := &a.result
	switch key {
	case "id":
		if a.matched = string(value) == upstreamID; !a.matched {
			return errors.New("its id is another request's")
		}
		return nil
	case "result":
	case "error":
		into = &a.failure
	default:
		return nil
	}
	if *into != nil {
		return errors.New("it has two outcomes")
	}
	*into = value
	return nil
}

// reasonOf says in words why there is no answer. The error itself may name the upstream's address, whose path is a
// secret with many providers.
func reasonOf(err error, write bool) string {
	var operation *net.OpError
	var untrusted *tls.CertificateVerificationError
	outcome := uncertain
	if errors.Is(err, errUnsent) {
		outcome = usedUp
	}
	switch {
	case errors.Is(err, errTooLarge):
		return "the upstream's answer is too large" + outcome(write)
	case timedOut(err):
		return "the upstream did not answer in time" + outcome(write)
	case errors.As(err, &operation) && operation.Op == "dial":
		return "the upstream can't be reached" + usedUp(write)
	case errors.As(err, &untrusted):
		return "the upstream's certificate is not to be trusted" + outcome(write)
	}
	return "the connection to the upstream failed" + outcome(write)
}

// timedOut reports whether an error says that time was over.
func timedOut(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

// uncertain and usedUp say what a failure means for a write: its attestation is gone either way.
func uncertain(write bool) string {
	if write {
		return "; the write may have arrived, and its attestation is used up"
	}
	return ""
}

func usedUp(write bool) string {
	if write {
		return "; the write was not sent, and its attestation is used up"
	}
	return ""
}
