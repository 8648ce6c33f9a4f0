package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"bailiff/runtime/system"
)

// A wire is the transport to an upstream over plain HTTP/1.1: a node on the same machine or in the same network. It
// writes and reads where it is called, instead of handing both to goroutines of a connection as http.Transport does, and
// so saves two wake-ups a request. What it sends is made beforehand but for the length and the body, and goes out in one
// write; the usual answer is read without the library's help, any other one with it.
//
// A connection that the upstream has closed meanwhile is found before a request is written to it. Where one breaks
// all the same, a read is sent again on a fresh one; a write never is.
type wire struct {
	address     string // host:port
	dial        func(ctx context.Context, network, address string) (net.Conn, error)
	before      []byte // of every request, up to the length of its body
	after       []byte // the rest of the header
	maxResponse int64  // bytes
	timers      system.Timers
	mu          sync.Mutex
	idle        []*wireConn // the one that was used last is last
}

const (
	maxHeaderBytes = 64 << 10 // bounds the header of an answer
	maxKeptBytes   = 64 << 10 // bounds what a connection keeps of a request's memory
)

// A wireConn is one connection of a wire.
type wireConn struct {
	net.Conn
	limit   io.LimitedReader // bounds the header of an answer, not its body
	reader  *bufio.Reader
	alive   func() bool  // whether it may be used again; asked while nothing is under way
	request []byte       // memory that is used again
	expiry  system.Timer // closes it when it has been idle for too long
}

// newWire returns a wire to the host of a request that means all: they differ in their bodies only.
func newWire(dial func(ctx context.Context, network, address string) (net.Conn, error), address string, like *http.Request, maxResponse int64) (*wire, error) {
	var text bytes.Buffer
	if err := like.Write(&text); err != nil {
		return nil, err
	}
	const field = "\r\nContent-Length: " // from the line's start: an address may hold the name, but no line ends
	before, after, found := bytes.Cut(text.Bytes(), []byte(field+"0"))
	if !found {
		return nil, errors.New("the request has no length")
	}
	return &wire{
		address: address, dial: dial, before: append(slices.Clone(before), field...), after: after,
		maxResponse: maxResponse,
	}, nil
}

// post implements transport. The context's deadline holds until the answer has been read.
func (w *wire) post(ctx context.Context, body []byte, write bool, into *held) (status int, answer []byte, err error) {
	for {
		c, reused, err := w.take(ctx)
		if err != nil {
			return 0, nil, err
		}
		h, err := w.exchange(c, body)
		if err == nil {
			return w.finish(ctx, c, h, into)
		}
		_ = c.Close()
		if !reused || write || timedOut(err) {
			return 0, nil, err
		}
	}
}

// take returns a connection that was idle and still lives, or a new one. It has the context's deadline.
func (w *wire) take(ctx context.Context) (c *wireConn, reused bool, err error) {
	deadline, _ := ctx.Deadline() // none: the zero time, which is none
	for c := w.pop(); c != nil; c = w.pop() {
		if c.expiry.Stop() && c.SetDeadline(deadline) == nil && c.alive() {
			return c, true, nil
		}
		_ = c.Close()
	}
	connection, err := w.dial(ctx, "tcp", w.address)
	if err != nil {
		return nil, false, err
	}
	if err := connection.SetDeadline(deadline); err != nil {
		_ = connection.Close()
		return nil, false, err
	}
	c = &wireConn{Conn: connection, alive: prober(connection)}
	c.limit.R = connection
	c.reader = bufio.NewReader(&c.limit)
	return c, false, nil
}

func (w *wire) pop() *wireConn {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.idle) == 0 {
		return nil
	}
	last := len(w.idle) - 1
	c := w.idle[last]
	w.idle = w.idle[:last]
	return c
}

// push keeps a connection for the next request, which will set a deadline of its own.
func (w *wire) push(c *wireConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.expiry == nil {
		c.expiry = w.timers.AfterFunc(idleTimeout, func() { w.expire(c) })
	} else {
		c.expiry.Reset(idleTimeout)
	}
	w.idle = append(w.idle, c)
}

func (w *wire) expire(c *wireConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.idle, c); i >= 0 {
		w.idle = slices.Delete(w.idle, i, i+1)
		_ = c.Close()
	}
}

// A header is what the header of an answer says. The usual one has no reader of its own for the body.
type header struct {
	status int
	length int64     // of the body; -1 where it does not say
	keep   bool      // the upstream keeps the connection
	body   io.Reader // the library's; nil: the connection's, as long as length says
}

// exchange writes a request and reads the header of its answer.
func (w *wire) exchange(c *wireConn, body []byte) (header, error) {
	text := strconv.AppendInt(append(c.request[:0], w.before...), int64(len(body)), 10)
	text = append(append(text, w.after...), body...)
	if c.request = text; cap(text) > maxKeptBytes {
		c.request = nil
	}
	if _, err := c.Write(text); err != nil {
		return header{}, err
	}
	c.limit.N = maxHeaderBytes
	if _, err := c.reader.Peek(1); err != nil {
		return header{}, fmt.Errorf("waiting for the answer: %w", err)
	}
	come, _ := c.reader.Peek(c.reader.Buffered())
	if end, length := usualHeader(come); end > 0 {
		_, err := c.reader.Discard(end)
		return header{status: http.StatusOK, length: int64(length), keep: true}, err
	}
	return readHeader(c.reader)
}

// readHeader reads any header. What goes before the answer (RFC 9110, section 15.2) is passed over.
func readHeader(reader *bufio.Reader) (header, error) {
	for {
		r, err := http.ReadResponse(reader, nil) //nolint:bodyclose // that would wait for what is not read; the connection is closed
		if err != nil {
			return header{}, fmt.Errorf("reading the header of the answer: %w", err)
		}
		if r.StatusCode >= 200 || r.StatusCode == http.StatusSwitchingProtocols {
			keep := !r.Close && r.ProtoAtLeast(1, 1) && r.StatusCode >= 200
			return header{r.StatusCode, r.ContentLength, keep, r.Body}, nil
		}
	}
}

// finish reads the body of an answer, and keeps its connection or closes it. It does not wait for an unread rest.
func (w *wire) finish(ctx context.Context, c *wireConn, h header, into *held) (status int, answer []byte, err error) {
	c.limit.N = 1<<63 - 1 // the body has a bound of its own
	if h.body == nil {
		h.body = c.reader
	}
	answer, err = into.read(ctx, h.body, h.length, w.maxResponse)
	if err == nil && h.keep && c.reader.Buffered() == 0 {
		w.push(c)
	} else {
		_ = c.Close()
	}
	return h.status, answer, err
}

// usualHeader reads the header of an answer as nearly all upstreams write it: HTTP/1.1 and status 200, a length, and
// nothing on the connection but that it is kept. It returns where the header ends and how long the body is; end is 0
// for every other header, and for one that has not come as a whole.
func usualHeader(text []byte) (end, length int) {
	head, _, found := bytes.Cut(text, []byte("\r\n\r\n"))
	first, rest, _ := bytes.Cut(head, []byte("\r\n"))
	if !found || !bytes.HasPrefix(first, []byte("HTTP/1.1 200 ")) || bytes.ContainsAny(first, "\r\n") {
		return 0, 0
	}
	length = -1
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found || !usualField(name, bytes.Trim(value, " \t"), &length) {
			return 0, 0
		}
	}
	if length < 0 {
		return 0, 0
	}
	return len(head) + len("\r\n\r\n"), length
}

// usualField looks at a field, which may tell the length, and reports whether it leaves the answer a usual one.
func usualField(name, value []byte, length *int) bool {
	for _, c := range name {
		if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	for _, c := range value {
		if c < ' ' || c > '~' {
			return false
		}
	}
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		n, err := strconv.ParseUint(string(value), 10, 31)
		if err != nil || *length >= 0 {
			return false
		}
		*length = int(n)
	case bytes.EqualFold(name, []byte("Connection")):
		return bytes.EqualFold(value, []byte("keep-alive"))
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		return false
	}
	return len(name) > 0
}
