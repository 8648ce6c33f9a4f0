package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// A wire is the transport to an upstream over plain HTTP/1.1: a node on the same machine or in the same network. It
// writes and reads where it is called, instead of handing both to goroutines of a connection as http.Transport does, and
// so saves two wake-ups a request: most of what a read costs over the direct call.
//
// A connection that the upstream has closed meanwhile is found before a request is written to it. Where one breaks
// all the same, a read is sent again on a fresh one; a write never is.
type wire struct {
	address string // host:port
	dialer  net.Dialer
	mu      sync.Mutex
	idle    []*wireConn // the one that was used last is last
}

// maxHeaderBytes bounds the header of an answer.
const maxHeaderBytes = 64 << 10

// A wireConn is one connection of a wire.
type wireConn struct {
	net.Conn
	limit  io.LimitedReader // bounds the header of an answer, not its body
	reader *bufio.Reader
	writer *bufio.Writer
	expiry *time.Timer // closes it when it has been idle for too long
}

// RoundTrip implements http.RoundTripper. The context's deadline holds until the body has been read.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	_, replayable := r.Header["X-Idempotency-Key"]
	for {
		c, reused, err := w.take(ctx)
		if err != nil {
			return nil, err
		}
		response, err := w.exchange(c, r)
		if err == nil {
			return response, nil
		}
		_ = c.Close()
		if !reused || !replayable || ctx.Err() != nil {
			return nil, err
		}
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
}

// take returns a connection that was idle and still lives, or a new one.
func (w *wire) take(ctx context.Context) (c *wireConn, reused bool, err error) {
	for {
		c := w.pop()
		if c == nil {
			break
		}
		if c.expiry.Stop() && alive(c.Conn) {
			return c, true, nil
		}
		_ = c.Close()
	}
	connection, err := w.dialer.DialContext(ctx, "tcp", w.address)
	if err != nil {
		return nil, false, err
	}
	c = &wireConn{Conn: connection, writer: bufio.NewWriter(connection)}
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

// push keeps a connection for the next request.
func (w *wire) push(c *wireConn) {
	if c.SetDeadline(time.Time{}) != nil { // that of the request is over
		_ = c.Close()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c.expiry = time.AfterFunc(idleTimeout, func() { w.expire(c) })
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

// exchange writes a request and reads the header of its answer.
func (w *wire) exchange(c *wireConn, r *http.Request) (*http.Response, error) {
	deadline, _ := r.Context().Deadline() // none: the zero time, which is none
	if err := c.SetDeadline(deadline); err != nil {
		return nil, err
	}
	c.writer.Reset(c.Conn)
	if err := r.Write(c.writer); err != nil {
		return nil, err
	}
	if err := c.writer.Flush(); err != nil {
		return nil, err
	}
	c.limit.N = maxHeaderBytes
	response, err := http.ReadResponse(c.reader, r)
	for err == nil && response.StatusCode < 200 && response.StatusCode != http.StatusSwitchingProtocols { // RFC 9110, section 15.2
		response, err = http.ReadResponse(c.reader, r)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the header of the answer: %w", err)
	}
	c.limit.N = 1<<63 - 1 // the body's bound is for whoever reads it
	response.Body = &wireBody{response.Body, w, c, !response.Close && response.ProtoAtLeast(1, 1) && response.StatusCode >= 200, false}
	return response, nil
}

// A wireBody is the body of an answer. When it was read to its end, its connection is kept.
type wireBody struct {
	io.ReadCloser
	wire  *wire
	conn  *wireConn
	keep  bool // the upstream keeps the connection
	ended bool
}

// Read implements io.Reader.
func (b *wireBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err == io.EOF
	return n, err
}

// Close gives the connection back or closes it. What was not read is not waited for.
func (b *wireBody) Close() error {
	if b.conn == nil {
		return nil
	}
	c := b.conn
	b.conn = nil
	if b.ended && b.keep && c.reader.Buffered() == 0 {
		b.wire.push(c)
		return nil
	}
	return c.Close()
}
