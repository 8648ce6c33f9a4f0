package simulate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"bailiff/runtime/system"
)

// A network has hosts, which answer requests, and parts them from the service.
type network struct {
	k     *kernel
	hosts map[string]*host // by address
}

// A host answers requests of HTTP.
type host struct {
	name   string
	parted bool // nothing reaches it, and nothing comes from it
	fails  int  // how many of the next answers are lost: the request has come, and the connection breaks
	answer func(request *http.Request, body []byte) (status int, answer string)
}

// add adds a host of a name, and returns it.
func (n *network) add(name string, answer func(*http.Request, []byte) (int, string)) *host {
	h := &host{name: name, answer: answer}
	n.hosts[fmt.Sprintf("192.0.2.%d", len(n.hosts)+1)] = h
	return h
}

// calls returns the calls of the machine for a life.
func (n *network) calls(l *life, now func() time.Time) system.Calls {
	return system.Calls{
		Clock: now, Random: l, Timers: l.timers, Go: l.goes("the service works"),
		Dial: func(ctx context.Context, _, address string, _ system.Control) (net.Conn, error) {
			return n.dial(ctx, l, address)
		},
		Resolve: func(_ context.Context, _, name string) ([]netip.Addr, error) {
			for address, h := range n.hosts {
				if h.name == name {
					return []netip.Addr{netip.MustParseAddr(address)}, nil
				}
			}
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		},
	}
}

// dial connects, which takes one step. To a host behind a partition it waits until ctx ends.
func (n *network) dial(ctx context.Context, l *life, address string) (net.Conn, error) {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	to := n.hosts[name]
	for _, h := range n.hosts { // a gateway's upstream is dialled by its name
		if h.name == name {
			to = h
		}
	}
	if to == nil {
		return nil, fmt.Errorf("no route to %s", address)
	}
	open := make(chan struct{})
	n.k.post(&event{name: "connect to " + to.name, life: l, held: func() bool { return to.parted }, run: func() { close(open) }})
	select {
	case <-open:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.ended:
		return nil, errOver
	}
	return &conn{n: n, life: l, host: to, came: make(chan struct{}, 1)}, nil
}

// A conn is a connection of the service to a host.
type conn struct {
	n    *network
	life *life
	host *host

	mu      sync.Mutex
	written bytes.Buffer // not a whole request yet
	answers bytes.Buffer // not read yet
	err     error        // of reads, once there is nothing to read
	expiry  system.Timer
	came    chan struct{} // one token: there is something to read
}

// Write implements net.Conn. A request that is whole is on its way.
func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	c.written.Write(b)
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(c.written.Bytes())))
	if err != nil {
		return len(b), nil // not yet
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return len(b), nil
	}
	c.written.Reset()
	c.n.k.post(&event{name: "a request reaches " + c.host.name, life: c.life, held: func() bool { return c.host.parted }, run: func() { c.arrive(request, body) }})
	return len(b), nil
}

// arrive has the host answer, and the answer on its way.
func (c *conn) arrive(request *http.Request, body []byte) {
	if c.life.over {
		c.fail(errOver)
		return
	}
	status, answer := c.host.answer(request, body)
	if c.host.fails > 0 {
		c.host.fails--
		c.n.k.note("the answer of %s is lost", c.host.name)
		c.fail(errReset)
		return
	}
	text := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\n\r\n%s", status, strings.ReplaceAll(http.StatusText(status), "\r", ""), len(answer), answer)
	c.n.k.post(&event{name: "an answer of " + c.host.name, life: c.life, held: func() bool { return c.host.parted }, run: func() {
		c.mu.Lock()
		c.answers.WriteString(text)
		c.mu.Unlock()
		c.wake()
	}})
}

var errReset = errors.New("the connection was reset")

func (c *conn) fail(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.mu.Unlock()
	c.wake()
}

func (c *conn) wake() {
	select {
	case c.came <- struct{}{}:
	default:
	}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	for {
		c.mu.Lock()
		if c.answers.Len() > 0 {
			n, _ := c.answers.Read(b)
			c.mu.Unlock()
			return n, nil
		}
		err := c.err
		c.mu.Unlock()
		if err != nil {
			c.wake() // for others that read
			return 0, err
		}
		select {
		case <-c.came:
		case <-c.life.ended:
			return 0, errOver
		}
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.fail(net.ErrClosed)
	return nil
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(at time.Time) error {
	if c.expiry != nil {
		c.expiry.Stop()
		c.expiry = nil
	}
	if !at.IsZero() {
		c.expiry = c.life.timers(at.Sub(c.life.now()), func() { c.fail(os.ErrDeadlineExceeded) })
	}
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(at time.Time) error { return c.SetDeadline(at) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return &net.TCPAddr{} }
