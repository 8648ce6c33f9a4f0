// Package peers is how an instance asks other instances of its store: it connects to them, passes requests on, and asks questions about
// their slots, each once. What may have arrived is not sent again.
package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/runtime/ledger/slots"
)

// The headers of requests between instances. They count on the listener for instances alone, and a client's are not passed on.
const (
	// From is the address of the client's connection, and TLS is there where that has TLS.
	From = "Bailiff-Passed-From"
	TLS  = "Bailiff-Passed-Tls"
	// Signs names the keys with which an instance that passes a request on signs.
	Signs = "Bailiff-Passed-Signs"
	// Claims are the claims of an attestation, in base64url, for that instance to sign.
	Claims = "Bailiff-Passed-Claims"
	// Back is in the answer of an instance that has done nothing, since it does not decide, or not yet.
	Back = "Bailiff-Passed-Back"
)

// Unnamed is From of a client that has no address, as over a Unix socket.
const Unnamed = "unix"

const (
	// Time bounds how long another instance takes to answer. The longest that it lets a client wait is holds.MaxWait.
	Time = time.Minute
	// idle is how long a connection to another instance is kept that has nothing to do: shorter than the other one keeps it.
	idle = time.Minute
	// goneGrace is how long the answer of an instance may be under way that has decided, and does not any more.
	goneGrace = 500 * time.Millisecond
	// passGrace is how much longer another instance may take to answer when this one ends.
	passGrace = 5 * time.Second
	// Share is which part of the connections to another instance one source may have: requests that wait for holds have one each.
	Share = 2
	// Root is where an instance takes questions of others about a slot of its own, whose number follows.
	Root = "/slots/"
	// Commands is where an instance takes commands of another one's operator that are for the instance with the approvers' pages; the path of the
	// admin socket follows.
	Commands = "/commands"
	// answerBytes bounds an answer, which may have all keys of a slot, or groups of the log.
	answerBytes = 1 << 30
	// questionShare is which part of the connections to another instance there may be for questions besides.
	questionShare = 4
)

// An Instance is another instance, which decides.
type Instance struct {
	Name string
	Peer string          // where it takes requests from others; "" where it takes none
	Gone <-chan struct{} // closed when it does not decide any more
}

// Passing passes requests on to the instance that decides, each once: what may have arrived is not sent again.
type Passing struct {
	// Owner returns the instance that decides for the keys of a slot; its Gone is nil where none is known.
	Owner func(slot int) Instance
	// Dial connects to an instance.
	Dial func(context.Context, Instance) (net.Conn, error)
	// Patience is how long a request waits for an instance that takes it, and for a connection to it.
	Patience time.Duration
	// Connections is how many connections to an instance there may be; more requests wait.
	Connections int
	// Sign makes attestations of decisions of the other instance, with the keys that Pair names ([attest.Signer]). nil: the other instance does.
	Sign func(dst, claims []byte) ([]byte, error)
	Pair string

	mu       sync.Mutex
	to       map[peerName]*peer
	bySource map[passedSource]int
}

// A passedSource is who has sent requests that are under way to an instance.
type passedSource struct {
	address netip.Addr
	to      string
}

// A peerName is the name of an instance, and where it takes requests from others.
type peerName struct {
	name, address string
	questions     bool // a question has a connection even where requests have all of theirs, which may wait for its answer
}

// A peer is another instance, as this one is connected to it.
type peer struct {
	*http.Transport
	gone <-chan struct{} // closed when it does not decide any more what it did
}

// Enter counts a request of a source to an instance, which leave takes back, and reports false where the source has its share of the
// connections. Clients without an address are not counted.
func (p *Passing) Enter(address netip.Addr, to string) (leave func(), ok bool) {
	if !address.IsValid() {
		return func() {}, true
	}
	source := passedSource{address, to}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bySource[source] >= max(1, p.Connections/Share) {
		return nil, false
	}
	if p.bySource == nil {
		p.bySource = map[passedSource]int{}
	}
	p.bySource[source]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.bySource[source]--; p.bySource[source] == 0 {
			delete(p.bySource, source)
		}
	}, true
}

// Renew has later requests use new connections, as with another certificate.
func (p *Passing) Renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.to {
		p.drop(name)
	}
}

// drop ends the idle connections to an instance. The caller has the lock.
func (p *Passing) drop(name peerName) {
	p.to[name].CloseIdleConnections()
	delete(p.to, name)
}

// An UnreachableError says that nothing was sent.
type UnreachableError struct{ error }

// Unwrap returns why.
func (e UnreachableError) Unwrap() error { return e.error }

// Transport returns what connects to an instance, and ends the idle connections to those that do not decide any more what they did: their
// machine may be gone.
func (p *Passing) Transport(to Instance, questions bool) *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, known := range p.to {
		select {
		case <-known.gone:
			p.drop(name)
		default:
		}
	}
	name, most := peerName{to.Name, to.Peer, questions}, p.Connections
	if questions {
		most = max(1, most/questionShare)
	}
	if p.to[name] == nil {
		if p.to == nil {
			p.to = map[peerName]*peer{}
		}
		p.to[name] = &peer{gone: to.Gone, Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, err := p.Dial(ctx, to)
				if err != nil {
					return nil, UnreachableError{err}
				}
				return conn, nil
			},
			MaxConnsPerHost: most, MaxIdleConnsPerHost: most, IdleConnTimeout: idle,
			DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
		}}
	}
	return p.to[name].Transport
}

// Reach returns nil where an instance answers that it is alive.
func (p *Passing) Reach(ctx context.Context, to Instance) error {
	request := (&http.Request{
		Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "bailiff", Path: "/healthz"}, Host: "bailiff", Header: http.Header{From: {Unnamed}},
	}).WithContext(ctx)
	response, err := p.Transport(to, true).RoundTrip(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	return errors.Join(err, response.Body.Close())
}

// Once sends a request to an instance, once, and reports whether it may have arrived. ctx is the request's, which cancel ends where no
// connection is free within Patience.
func (p *Passing) Once(ctx context.Context, cancel func(), to Instance, questions bool, request *http.Request) (response *http.Response, sent bool, err error) {
	var began atomic.Bool
	late := time.AfterFunc(p.Patience, func() {
		if !began.Load() {
			cancel()
		}
	})
	defer late.Stop()
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { began.Store(true) }})
	response, err = p.Transport(to, questions).RoundTrip(request.WithContext(traced))
	return response, began.Load(), err
}

// Ask takes a question about a slot to the instance that has it, once ([slots.Options.Remote]).
func (p *Passing) Ask(ctx context.Context, slot int, question []byte) (answer []byte, err error) {
	status, answer, err := p.send(ctx, slot, http.MethodPost, Root+strconv.Itoa(slot), question)
	if err == nil && status != http.StatusOK {
		return nil, fmt.Errorf("asking for slot %d: the answer is %d %s", slot, status, http.StatusText(status))
	}
	return answer, err
}

// Command takes a command of this instance's operator to the instance that has the first slot, and with it the approvers' pages, once. path is that of
// the admin socket, and status that of the answer. An error that wraps [slots.ErrElsewhere] says that nothing was done.
func (p *Passing) Command(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error) {
	return p.send(ctx, 0, method, Commands+path, body)
}

// send sends a request to the instance that has a slot, once.
func (p *Passing) send(ctx context.Context, slot int, method, path string, body []byte) (status int, answer []byte, err error) {
	to := p.Owner(slot)
	if to.Gone == nil || to.Peer == "" {
		return 0, nil, fmt.Errorf("%w: no instance is known that has slot %d", slots.ErrElsewhere, slot)
	}
	ctx, cancel := context.WithTimeout(ctx, Time)
	defer cancel()
	go Follow(ctx, cancel, to, nil)
	request := &http.Request{
		Method: method, URL: &url.URL{Scheme: "http", Host: "bailiff", Path: path}, Host: "bailiff",
		Header: http.Header{From: {Unnamed}}, Body: Body{bytes.NewReader(body)}, ContentLength: int64(len(body)),
	}
	response, sent, err := p.Once(ctx, cancel, to, true, request)
	if err != nil && !sent {
		return 0, nil, fmt.Errorf("%w: %s can't be reached: %v", slots.ErrElsewhere, to.Name, err) //nolint:errorlint // nothing was sent
	}
	if err != nil {
		return 0, nil, fmt.Errorf("asking %s: %w", to.Name, err)
	}
	defer response.Body.Close()
	if response.Header.Get(Back) != "" {
		return 0, nil, fmt.Errorf("%w: %s does not have slot %d", slots.ErrElsewhere, to.Name, slot)
	}
	answer, err = io.ReadAll(io.LimitReader(response.Body, answerBytes+1))
	if err == nil && len(answer) > answerBytes {
		err = errors.New("it is too large")
	}
	if err != nil {
		return 0, nil, fmt.Errorf("the answer of %s: %w", to.Name, err)
	}
	return response.StatusCode, answer, nil
}

// Follow cancels a request when its instance does not decide any more, or some time after this instance began to end.
func Follow(ctx context.Context, cancel func(), to Instance, ending <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-to.Gone:
		pause(ctx, nil, goneGrace)
	case <-ending:
		pause(ctx, to.Gone, passGrace)
	}
	cancel()
}

// pause waits for a time, or until ctx ends or before is closed.
func pause(ctx context.Context, before <-chan struct{}, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-before:
	case <-timer.C:
	}
}

// A Body is a body that is there, or an empty one. Its type hides it from the library, which would send a request again that it can
// rewind, or that has no body and a method that only reads, as decisions for Envoy may have.
type Body struct{ io.Reader }

// Close implements io.Closer.
func (Body) Close() error { return nil }
