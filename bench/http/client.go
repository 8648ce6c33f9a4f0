package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// sampleEvery says of how many answers one has its body checked, too; the status code is checked of each.
const sampleEvery = 512

// The histograms' range: microseconds to half a minute, three significant digits.
const (
	longestMicroseconds = 30_000_000
	significantDigits   = 3
)

// bufferBytes holds any expected answer: an attestation is below 8 KiB.
const bufferBytes = 16 << 10

// expectation is what every answer of a target has to be.
type expectation struct {
	status string
	body   func([]byte) error
}

// client is one keep-alive connection with its prepared request. It is used by one goroutine.
type client struct {
	connection net.Conn
	request    []byte
	buffer     []byte
	body       []byte // of the last answer
	expect     *expectation
	count      int64 // of all answers
	latency    *hdrhistogram.Histogram
}

func dial(address string, request []byte, expect *expectation) (*client, error) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &client{
		connection: connection, request: request, buffer: make([]byte, bufferBytes), expect: expect,
		latency: hdrhistogram.New(1, longestMicroseconds, significantDigits),
	}, nil
}

// loop sends one request after the other until end, and records those answered after start. It returns at the
// first answer that is not the expected one.
func (c *client) loop(start, end time.Time) error {
	c.latency.Reset()
	if err := c.connection.SetDeadline(end.Add(stopTimeout)); err != nil {
		return err
	}
	for sent := time.Now(); sent.Before(end); {
		if err := c.exchange(); err != nil {
			return err
		}
		answered := time.Now()
		if answered.After(start) && answered.Before(end) {
			if err := c.latency.RecordValue(answered.Sub(sent).Microseconds()); err != nil {
				return err
			}
		}
		sent = answered
	}
	return nil
}

// exchange sends the request and checks its answer.
func (c *client) exchange() error {
	if _, err := c.connection.Write(c.request); err != nil {
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
func (c *client) accept(filled int) (whole bool, err error) {
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
	if c.count%sampleEvery == 0 {
		if err := c.expect.body(c.body); err != nil {
			return false, fmt.Errorf("%w: %.300s", err, c.body)
		}
	}
	c.count++
	return true, nil
}

// frame returns where the body of an answer starts and ends; the end is -1 while the headers are not complete.
func (c *client) frame(received []byte) (start, end int, err error) {
	headers := bytes.Index(received, headersEnd)
	if headers < 0 {
		return 0, -1, nil
	}
	if !bytes.HasPrefix(received, protocol) || string(received[len(protocol):len(protocol)+3]) != c.expect.status {
		return 0, 0, fmt.Errorf("expected status %s, and the answer is %.600s", c.expect.status, received)
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
