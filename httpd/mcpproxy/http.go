package mcpproxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"bailiff/runtime/jcs"
)

// A Handler is a streamable HTTP listener in front of one server. It serves only requests that name this machine and do
// not come from a web page of another, and hands a client's credentials to its own upstream only: redirects are not
// followed, and the service never sees them.
type Handler struct {
	guard    *Guard
	upstream *url.URL
	path     string
	client   *http.Client
	sessions sessions
}

// NewHandler returns a handler in front of the server at upstream, which is at the same path.
func NewHandler(g *Guard, upstream *url.URL) (*Handler, error) {
	if upstream.Scheme != "http" && upstream.Scheme != "https" || upstream.Host == "" || upstream.User != nil || upstream.Fragment != "" {
		return nil, fmt.Errorf("the server's address is %q; expected: http:// or https://, a host and a path, without a user", upstream.Redacted())
	}
	path := upstream.Path
	if path == "" {
		path = "/"
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true, // what is judged is what is sent
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Handler{guard: g, upstream: upstream, path: path, client: &http.Client{Transport: transport, CheckRedirect: stay}}, nil
}

// Path is where clients find the server on this listener.
func (h *Handler) Path() string { return h.path }

// maxErrorBody bounds what is passed on of an answer that is not a JSON-RPC message.
const maxErrorBody = 64 << 10

// ServeHTTP serves one request of a client.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !localHost(r.Host):
		http.Error(w, "the Host is not this machine; allowed: a loopback address, localhost", http.StatusForbidden)
	case !localOrigins(r.Header.Values("Origin")):
		http.Error(w, "the Origin is not a page of this machine", http.StatusForbidden)
	case r.URL.Path != h.path || r.URL.RawQuery != "":
		http.Error(w, "the server is at "+h.path+", without a query", http.StatusNotFound)
	case repeated(r.Header):
		http.Error(w, "a header of the protocol comes twice; send each once", http.StatusBadRequest)
	case r.Method == http.MethodPost:
		h.post(w, r)
	case r.Method == http.MethodGet, r.Method == http.MethodDelete:
		h.stream(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "the method is not one of the transport", http.StatusMethodNotAllowed)
	}
}

// localHost reports whether a Host or the host of an Origin is this machine.
func localHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// localOrigins reports whether every Origin is a page of this machine. Programs send none.
func localOrigins(origins []string) bool {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !localHost(u.Host) {
			return false
		}
	}
	return true
}

// requestHeaders are the headers of a client that reach the server, besides Mcp-Param-….
var requestHeaders = []string{"Accept", "Authorization", "Content-Type", "User-Agent", "Traceparent", "Tracestate", "Baggage", headerMethod, headerName, headerRevision, headerSession, headerEvent}

// responseHeaders are the headers of the server that reach the client.
var responseHeaders = []string{"Content-Type", "Cache-Control", "Www-Authenticate", "Retry-After", "Allow", headerRevision, headerSession}

// repeated reports whether a header on which readers may differ comes twice.
func repeated(header http.Header) bool {
	for name, values := range header {
		if len(values) > 1 && (strings.HasPrefix(name, "Mcp-") || contains(requestHeaders, name) && name != "Accept") {
			return true
		}
	}
	return false
}

// post serves one message of a client.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	m, status, err := readBody(w, r)
	if err != nil {
		h.guard.Log("a client's message was refused: %v", err)
		answer(w, status, unreadable(err).fault(nil))
		return
	}
	if bad := m.checkHeaders(r.Header.Get); bad != nil {
		h.guard.Log("a client's message was refused: %s", bad.code)
		answer(w, http.StatusBadRequest, bad.fault(m.rawID))
		return
	}
	x := &exchange{h: h, w: w, r: r, m: m, session: h.sessions.of(h, r, m)}
	v := x.session.fromClient(r.Context(), m, x.listTools)
	switch {
	case v.answer != nil:
		answer(w, refusalStatus(r, v.refused), v.answer)
	case v.forward == nil && m.method == "notifications/cancelled":
		w.WriteHeader(http.StatusAccepted) // what was being judged has ended
	case v.forward == nil:
		answer(w, http.StatusBadRequest, v.refused.fault(nil))
	default:
		x.forward(v.forward)
	}
}

// refusalStatus is the status of a refusal: a JSON-RPC response has 200, but for methods that are not there in the newer
// revision.
func refusalStatus(r *http.Request, refused *refusal) int {
	if refused.rpc == jsonrpc.CodeMethodNotFound && r.Header.Get(headerRevision) >= modernRevision {
		return http.StatusNotFound
	}
	if refused.code == string(codeHeader) {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// answer writes a message of the proxy's own.
func answer(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// readBody reads the message of a POST.
func readBody(w http.ResponseWriter, r *http.Request) (m *message, status int, err error) {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := parameters["charset"]; err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") || r.Header.Get("Content-Encoding") != "" {
		return nil, http.StatusUnsupportedMediaType, errors.New("the body is not plain application/json in UTF-8")
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage+1))
	if err != nil {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the message has more than %d bytes, or broke off", maxMessage)
	}
	if m, err = readMessage(text, true); err != nil {
		return nil, http.StatusBadRequest, err
	}
	for name := range r.Header {
		if strings.HasPrefix(name, headerParam) {
			if m.paramHeaders == nil {
				m.paramHeaders = map[string]string{}
			}
			m.paramHeaders[name] = r.Header.Get(name)
		}
	}
	return m, 0, nil
}

// An exchange is one request of a client and what the server answers.
type exchange struct {
	h       *Handler
	w       http.ResponseWriter
	r       *http.Request
	m       *message // nil for GET and DELETE
	session *session
}

// upstreamRequest makes a request to the server with what a client's headers may say.
func (x *exchange) upstreamRequest(ctx context.Context, method string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, x.h.upstream.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range x.r.Header {
		if contains(requestHeaders, name) || strings.HasPrefix(name, headerParam) {
			request.Header[name] = values
		}
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "") // rather than Go's
	}
	if body == nil {
		request.Body = nil
	}
	return request, nil
}

// forward sends a message to the server and passes its answer on.
func (x *exchange) forward(text []byte) {
	defer x.session.leave(x.m.id)
	request, err := x.upstreamRequest(x.r.Context(), http.MethodPost, text)
	if err != nil {
		x.gone(err)
		return
	}
	response, err := x.h.client.Do(request)
	if err != nil {
		x.gone(err)
		return
	}
	defer response.Body.Close()
	x.pass(response)
}

// gone answers a request that the server did not.
func (x *exchange) gone(err error) {
	x.h.guard.Log("the server cannot be reached, or broke off: %v", err)
	r := refuse(codeServerGone, "the server cannot be reached, or broke off before it answered; what it did is not known")
	r.status = statusError
	if x.m == nil || x.m.kind != isRequest || x.session.end(x.m.id) == nil {
		http.Error(x.w, r.text(), http.StatusBadGateway)
		return
	}
	answer(x.w, http.StatusBadGateway, r.fault(x.m.rawID))
}

// pass passes an answer of the server on.
func (x *exchange) pass(response *http.Response) {
	if response.Header.Get("Content-Encoding") != "" || response.StatusCode/100 == 3 {
		x.gone(fmt.Errorf("it answers %d with the encoding %q", response.StatusCode, response.Header.Get("Content-Encoding")))
		return
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode == http.StatusOK && kind == "text/event-stream" {
		x.remember(response)
		x.events(response.Body)
		return
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxMessage+1))
	if err != nil || len(text) > maxMessage {
		x.gone(fmt.Errorf("its answer broke off, or has more than %d bytes", maxMessage))
		return
	}
	shown, err := x.body(response, text)
	if err != nil {
		x.gone(err)
		return
	}
	x.remember(response)
	x.w.WriteHeader(response.StatusCode)
	_, _ = x.w.Write(shown)
}

// remember passes the headers on, and keeps the session that an answer to initialize begins.
func (x *exchange) remember(response *http.Response) {
	for _, name := range responseHeaders {
		if values := response.Header[name]; len(values) > 0 {
			x.w.Header()[name] = values
		}
	}
	if id := response.Header.Get(headerSession); id != "" && x.m != nil && x.m.method == "initialize" && response.StatusCode == http.StatusOK {
		x.h.sessions.put(id, x.session)
	}
	if x.r.Method == http.MethodDelete && response.StatusCode/100 == 2 {
		x.h.sessions.remove(x.r.Header.Get(headerSession), x.session.principal)
	}
}

// body is what a client gets of a body that is not a stream of events.
func (x *exchange) body(response *http.Response, text []byte) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	m, err := readMessage(text, false)
	if err == nil && m.kind == isResponse {
		if m.id != "" {
			if shown, _ := x.session.fromServer(m); shown != nil {
				return shown, nil
			}
			return nil, errors.New("it answers what it was not asked")
		}
		return x.lostError(m), nil // an error about a message whose id the server could not read
	}
	if response.StatusCode/100 == 2 {
		return nil, errors.Join(errors.New("its answer is not a JSON-RPC response"), err)
	}
	if len(text) > maxErrorBody || x.withholds(text) {
		return nil, nil
	}
	return text, nil
}

// listTools asks the server for a page of its tools, as the client that called one.
func (x *exchange) listTools(ctx context.Context, params jsontext.Value) (jsontext.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	id := jcs.AppendString(nil, "bailiff-"+rand.Text())
	request, err := x.upstreamRequest(ctx, http.MethodPost, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"tools/list","params":%s}`, id, params))
	if err != nil {
		return nil, err
	}
	for name := range request.Header {
		if strings.HasPrefix(name, headerParam) || name == headerName {
			request.Header.Del(name)
		}
	}
	if x.r.Header.Get(headerMethod) != "" {
		request.Header.Set(headerMethod, "tools/list")
	}
	response, err := x.h.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %d", response.StatusCode)
	}
	return readAnswer(response, id)
}

// readAnswer reads the result of one request, from a body or a stream of events.
func readAnswer(response *http.Response, id []byte) (jsontext.Value, error) {
	key, _ := idKey(id)
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "text/event-stream" {
		text, err := io.ReadAll(io.LimitReader(response.Body, maxMessage+1))
		if err != nil {
			return nil, err
		}
		m, err := readMessage(text, false)
		if err != nil || m.id != key {
			return nil, errors.New("the server's answer cannot be read")
		}
		return resultOf(m)
	}
	var result jsontext.Value
	err := eachEvent(response.Body, func(e *event) error {
		if m, err := readMessage(e.data, false); err == nil && m.kind == isResponse && m.id == key {
			if result, err = resultOf(m); err != nil {
				return err
			}
			return io.EOF
		}
		return nil
	})
	if result == nil {
		return nil, errors.Join(errors.New("the server's stream ended without an answer"), err)
	}
	return result, nil
}

// principalOf tells clients apart by their credentials, without keeping them.
func principalOf(r *http.Request) string {
	sum := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	return hex.EncodeToString(sum[:])
}
