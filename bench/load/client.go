// Package load sends requests to a server over kept connections and records how long their answers take: in a closed loop, in which
// each client waits for its answer, or in an open one, which makes requests when they are due.
package load

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// sampleEvery says of how many answers one has its body checked, too; the status code is checked of each.
const sampleEvery = 512

// The histograms' range: microseconds to ten minutes, three significant digits.
const (
	longestMicroseconds = 600_000_000
	significantDigits   = 3
)

// BufferBytes holds any expected answer: an attestation is below 8 KiB.
const BufferBytes = 16 << 10

// A Shot is a request, and the answers that are expected to it.
type Shot struct {
	Request []byte
	Status  string             // of each answer
	Body    func([]byte) error // of some; nil where the status says enough
	// Other takes an answer with another status; without it such an answer ends the loop.
	Other   func(status string, body []byte)
	Latency *hdrhistogram.Histogram // in microseconds, of the answers with the expected status
}

// Render returns the bytes of a request with a body of JSON.
func Render(path, address, apiKey, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, address, apiKey, len(body), body)
}

// NewHistogram returns a histogram of latencies in microseconds.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, longestMicroseconds, significantDigits)
}

// record records a latency. One beyond the histogram's range counts as its longest.
func (s *Shot) record(took time.Duration) error {
	return s.Latency.RecordValue(min(took.Microseconds(), longestMicroseconds))
}

// Client is one keep-alive connection, with the request that it sends. It is used by one goroutine.
type Client struct {
	*Shot
	connection net.Conn // raw, or TLS over it
	raw        *wire
	tls        *tls.Config
	buffer     []byte
	body       []byte // of the last answer
	count      int64  // of all answers
	other      bool   // the last answer had another status
}

// Dial connects to an address, by TLS where there is a configuration of it.
func Dial(address string, secure *tls.Config, shot *Shot) (*Client, error) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &Client{Shot: shot, connection: connection, raw: &wire{Conn: connection}, tls: secure, buffer: make([]byte, BufferBytes)}
	if secure != nil {
		c.connection = tls.Client(c.raw, secure)
	}
	return c, nil
}

// A wire is a connection that another than the runtime may take over.
type wire struct {
	net.Conn
	socket io.ReadWriter // whatever has taken it over; nil: nothing has
}

func (w *wire) Read(b []byte) (int, error) {
	if w.socket != nil {
		return w.socket.Read(b)
	}
	return w.Conn.Read(b)
}

func (w *wire) Write(b []byte) (int, error) {
	if w.socket != nil {
		return w.socket.Write(b)
	}
	return w.Conn.Write(b)
}

// Close closes the connection.
func (c *Client) Close() error { return c.connection.Close() }

// Peer is the address that the client is connected to.
func (c *Client) Peer() net.Addr { return c.connection.RemoteAddr() }

// Answer is the body of the last answer. It is good until the next one.
func (c *Client) Answer() []byte { return c.body }

// Count is how many answers the client has had.
func (c *Client) Count() int64 { return c.count }

// Loop sends one request after the other until end, and records those answered after start. It returns at the first answer that is
// not the expected one. Answers may take so much longer.
func (c *Client) Loop(start, end time.Time, patience time.Duration) error {
	c.Latency.Reset()
	if err := c.connection.SetDeadline(end.Add(patience)); err != nil {
		return err
	}
	for sent := time.Now(); sent.Before(end); {
		if err := c.Exchange(); err != nil {
			return err
		}
		answered := time.Now()
		if answered.After(start) && answered.Before(end) {
			if err := c.record(answered.Sub(sent)); err != nil {
				return err
			}
		}
		sent = answered
	}
	return nil
}

// Exchange sends the request and checks its answer.
func (c *Client) Exchange() error {
	if _, err := c.connection.Write(c.Request); err != nil {
		return err
	}
	for filled, whole := 0, false; !whole; {
		n, err := c.connection.Read(c.buffer[filled:])
		if err != nil {
			return fmt.Errorf("the answer ends after %d bytes: %w", filled, err)
		}
		filled += n
		if whole, err = c.accept(filled); err != nil {
			return err
		}
	}
	return nil
}

var (
	protocol      = []byte("HTTP/1.1 ")
	contentLength = []byte("\r\nContent-Length: ")
	headersEnd    = []byte("\r\n\r\n")
)

// accept looks at an answer of which so many bytes have been read, and counts and checks it when it is whole. An answer
// is expected to be as small as the buffer, to have a Content-Length, and to be followed by nothing.
func (c *Client) accept(filled int) (whole bool, err error) {
	start, end, err := c.frame(c.buffer[:filled])
	switch {
	case err != nil:
		return false, err
	case end < 0 || filled < end:
		if filled == len(c.buffer) {
			return false, io.ErrShortBuffer
		}
		return false, nil
	case filled > end:
		return false, fmt.Errorf("%d bytes follow the answer", filled-end)
	}
	c.body = c.buffer[start:end]
	status := string(c.buffer[len(protocol) : len(protocol)+3])
	if c.other = status != c.Status; c.other {
		c.Other(status, c.body)
	} else if c.Body != nil && c.count%sampleEvery == 0 {
		if err := c.Body(c.body); err != nil {
			return false, fmt.Errorf("%w: %.300s", err, c.body)
		}
	}
	c.count++
	return true, nil
}

// frame returns where the body of an answer starts and ends; the end is -1 while the headers are not complete.
func (c *Client) frame(received []byte) (start, end int, err error) {
	headers := bytes.Index(received, headersEnd)
	if headers < 0 {
		return 0, -1, nil
	}
	if !bytes.HasPrefix(received, protocol) || c.Other == nil && string(received[len(protocol):len(protocol)+3]) != c.Status {
		return 0, 0, fmt.Errorf("expected status %s, and the answer is %.600s", c.Status, received)
	}
	start = headers + len(headersEnd)
	_, rest, found := bytes.Cut(received[:start], contentLength)
	digits, _, _ := bytes.Cut(rest, headersEnd[:2])
	length, err := strconv.Atoi(string(digits))
	if !found || err != nil || length < 0 {
		return 0, 0, fmt.Errorf("the answer has no Content-Length: %.600s", received)
	}
	return start, start + length, nil
}
