package falsify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A Mutant is one fault.
type Mutant struct {
	Name string
	What string // what the fault is, in a sentence

	every  int                        // of the answers to which it applies, each so many; 0: each
	ask    func(*exchange)            // may change the request, or send others; nil: nothing
	answer func(*exchange) (did bool) // may change the answer; nil: nothing
}

// An exchange is one request and its answer.
type exchange struct {
	p      *proxy
	method string
	path   string
	header http.Header
	sent   []byte

	status int
	back   http.Header
	body   []byte
	m      map[string]any // the body, where it is an object
}

// A proxy is between a client and a service.
type proxy struct {
	mutant *Mutant
	url    string
	client *http.Client

	mutex   sync.Mutex
	applied int
	allowed []*exchange // earlier answers with an attestation
	serial  int
}

// keptAnswers is how many answers with an attestation are kept to be shown again.
const keptAnswers = 16

// Front returns what puts a mutant in front of a service: a proxy on a port of its own of 127.0.0.1.
func Front(m Mutant) func(url string) (front string, stop func(), err error) {
	return func(url string) (string, func(), error) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", nil, err
		}
		transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
		p := &proxy{mutant: &m, url: strings.TrimSuffix(url, "/"), client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
		server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(listener) }() // until it is closed
		return "http://" + listener.Addr().String(), func() { _ = server.Close(); transport.CloseIdleConnections() }, nil
	}
}

// maxBody bounds requests and answers.
const maxBody = 8 << 20

// ServeHTTP passes a request on, and falsifies its answer.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	x := &exchange{p: p, method: r.Method, path: r.URL.RequestURI(), header: r.Header.Clone(), sent: sent}
	if p.mutant.ask != nil {
		p.mutant.ask(x)
	}
	if err := x.send(); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	p.falsify(x)
	for name, values := range x.back {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(x.status)
	_, _ = w.Write(x.body)
}

// send takes the request to the service.
func (x *exchange) send() error {
	request, err := http.NewRequest(x.method, x.p.url+x.path, bytes.NewReader(x.sent))
	if err != nil {
		return err
	}
	request.Header = x.header.Clone()
	request.Header.Del("Connection")
	response, err := x.p.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	x.status, x.back = response.StatusCode, response.Header
	x.body, err = io.ReadAll(io.LimitReader(response.Body, maxBody))
	x.m = nil
	decoder := json.NewDecoder(bytes.NewReader(x.body))
	decoder.UseNumber()
	_ = decoder.Decode(&x.m) // other bodies are passed on
	return err
}

// falsify applies the mutant, and keeps what it may need later.
func (p *proxy) falsify(x *exchange) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	kept := x.m != nil && x.token() != ""
	original := *x
	if p.mutant.answer != nil && x.m != nil {
		before := x.encoded()
		if p.mutant.answer(x) {
			if p.applied++; p.applied%max(p.mutant.every, 1) == 0 {
				x.body = x.encoded()
			} else {
				*x = original
				_ = json.Unmarshal(before, &x.m)
			}
		}
	}
	if kept {
		p.allowed = append(p.allowed, &original)
		if len(p.allowed) > keptAnswers {
			p.allowed = p.allowed[1:]
		}
	}
}

func (x *exchange) encoded() []byte {
	text, err := json.Marshal(x.m)
	if err != nil {
		return x.body
	}
	return text
}

func (x *exchange) text(name string) string {
	text, _ := x.m[name].(string)
	return text
}

// token is the attestation of an answer.
func (x *exchange) token() string { return x.text("intent_attestation") }

// decides reports whether the request asks for a decision that counts.
func (x *exchange) decides() bool { return x.path == "/v1/authorize" && x.text("policyHash") != "" }

func (x *exchange) testRuns() bool {
	return x.path == "/v1/authorize/test-run" && x.text("policyHash") != ""
}

// earlier returns an answer with another attestation, or nil.
func (x *exchange) earlier() *exchange {
	for _, other := range x.p.allowed {
		if !bytes.Equal(other.sent, x.sent) {
			return other
		}
	}
	return nil
}

// passAs makes the answer an earlier ALLOWED.
func (x *exchange) passAs(other *exchange) bool {
	if other == nil {
		return false
	}
	var m map[string]any
	if json.Unmarshal(other.body, &m) != nil {
		return false
	}
	m["policyHash"], m["request_nonce"] = x.m["policyHash"], x.m["request_nonce"]
	for _, name := range []string{"policyHash", "request_nonce"} {
		if m[name] == nil {
			delete(m, name)
		}
	}
	x.status, x.m = http.StatusOK, m
	return true
}

// answerWith replaces the answer.
func (x *exchange) answerWith(status int, m map[string]any) bool {
	x.status, x.m = status, m
	return true
}

func (p *proxy) next() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.serial++
	return fmt.Sprintf("mutant-%d", p.serial)
}
