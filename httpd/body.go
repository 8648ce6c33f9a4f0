package httpd

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/strict"
	"bailiff/runtime/budget"
	"bailiff/runtime/clock"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// Bodies are read when the source's limit and the key have been looked at (decisions, section 8): the HTTP library reads the
// headers and the first byte of the body, and [call.readBody] reads the rest. Memory for it is taken from a budget before it
// is allocated, and grows with what has arrived, so that announcing a large body takes none.
const (
	maxBodies         = 256 << 20 // bytes under way in all
	maxBodiesBySource = 64 << 20
	// keptForSmall is kept for bodies of at most firstBodyBytes, as most decisions have: large ones can't use it up.
	keptForSmall   = 32 << 20
	firstBodyBytes = 16 << 10
	bodyGrowth     = 4
	// keptBufferBytes bounds the memory that is used again after a request.
	keptBufferBytes = 64 << 10
	// prefetchBytes is what the HTTP library reads of a body by itself. It can't be 0.
	prefetchBytes = 1
	// A body in chunks may have firstChunks of them, and one more for each chunkBytes: each costs as much as reading some
	// hundred bytes does, so that a body of single bytes would take a second of a processor, with any key or none.
	firstChunks = 256
	chunkBytes  = 64
	// chunkLine is how many bytes the framing of each chunk may take, its extensions included, besides what the HTTP library
	// reads ahead: the library looks at each of them and keeps none, so that nothing else would bound them.
	chunkLine = 256
	// discardChunks is how much of a body is thrown away that comes in too many chunks, which no honest client sends.
	discardChunks = 256 << 10
	// retryBodies is the Retry-After of a request whose body has no room, in seconds.
	retryBodies = "1"
)

// NewBodies returns the budget of request bodies.
func NewBodies(clock clock.Clock, log *slog.Logger) *budget.Budget {
	return budget.New(budget.Options{
		Name: "request_bodies", Most: maxBodies, Share: maxBodiesBySource, Kept: keptForSmall, Clock: clock, Log: log,
	})
}

// A body has the bytes of a request's body that were read, and the memory for it.
type body struct {
	buffer []byte // of call.input; its memory is used again
	end    int    // bytes read into buffer
	passed int    // bytes that were read and thrown away
	reads  int    // of the connection; of a body in chunks each is of one chunk
	came   int    // bytes that were read from the connection for a body in chunks
	fault  error  // what is wrong with the chunks; then no more of them is read
	whole  bool   // nothing of it is left on the connection
	taken  int64  // from the budget,
	source netip.Addr
}

// errEnded says that the connection ended inside of a body.
var errEnded = errors.New("the connection ended inside of the body")

// errTrailer says that fields followed a body.
var errTrailer = errors.New("headers come behind the body; send them before it")

// errChunks says that a body comes in too many chunks.
var errChunks = fmt.Errorf("the body comes in too many chunks, of less than %d bytes each; send larger chunks, or a Content-Length", chunkBytes)

// errExtensions says that the lines in front of chunks are too long.
var errExtensions = fmt.Errorf("the lines in front of the body's chunks are longer than %d bytes; send chunks without extensions, or a Content-Length", chunkLine)

// next reads the next bytes of a body of that length (-1: in chunks) from a connection.
func (b *body) next(from net.Conn, stream io.Reader, into []byte, length int) (n int, err error) {
	if length >= 0 {
		return stream.Read(into)
	}
	if b.reads++; b.fault == nil && b.reads > firstChunks+(b.end+b.passed)/chunkBytes {
		b.fault = errChunks
	}
	if b.fault != nil {
		return 0, b.fault
	}
	kept, ok := from.(*strict.Conn)
	if !ok {
		return stream.Read(into)
	}
	room := strict.ReadBufferBytes + b.reads*chunkLine + b.end + b.passed + len(into) - b.came
	n, left, err := kept.ReadWithin(stream, into, room)
	b.came += room - left
	if err != nil && left <= 0 {
		b.fault = errExtensions
		return n, b.fault
	}
	return n, err
}

// readBody reads the body into c.input, at most so many bytes. An error says that it could not be read; what is left of the
// request is then unknown.
func (c *call) readBody(most int) (*service.Failure, error) {
	stream := c.RequestBodyStream()
	if stream == nil {
		c.input, c.body.whole = c.PostBody(), true
		return nil, nil
	}
	length := c.Request.Header.ContentLength()
	if length > most {
		return tooLarge(most), nil
	}
	bound := length
	if length < 0 { // in chunks: one byte more shows that it is too large
		bound = most + 1
	}
	if fault := c.enlarge(min(bound, firstBodyBytes)); fault != nil {
		return fault, nil
	}
	for c.body.end != length {
		if c.body.end == len(c.body.buffer) {
			if c.body.end > most {
				return tooLarge(most), nil
			}
			if fault := c.enlarge(min(bodyGrowth*c.body.end, bound)); fault != nil {
				return fault, nil
			}
		}
		n, err := c.body.next(c.Conn(), stream, c.body.buffer[c.body.end:], length)
		c.body.end += n
		if c.body.fault != nil {
			return &service.Failure{Code: errcode.BodyTooLarge, Message: c.body.fault.Error()}, nil
		}
		if err != nil && c.body.end != length {
			if err = c.endOfBody(err, length); err != nil {
				return nil, err
			}
			break
		}
	}
	c.input, c.body.whole = c.body.buffer[:c.body.end], true
	return nil, nil
}

// endOfBody returns what is wrong with a body whose reading ended with an error, nil where it just ended.
func (c *call) endOfBody(err error, length int) error {
	switch {
	case !errors.Is(err, io.EOF):
		return err
	case length >= 0 || strict.Ended(c.Conn()): // the library takes either for the end
		return errEnded
	case strict.HasTrailer(&c.Request.Header):
		return errTrailer
	}
	return nil
}

// enlarge makes room for so many bytes of the body. Old and new memory count while both are there.
func (c *call) enlarge(size int) *service.Failure {
	source := netip.Addr{}
	if size > firstBodyBytes {
		source = c.server.source(c.RequestCtx)
	}
	if err := c.server.bodies.Take(source, int64(size)); err != nil {
		return c.noRoom(err)
	}
	old := c.body.buffer[:c.body.end]
	if cap(old) < size {
		c.body.buffer = make([]byte, size)
		copy(c.body.buffer, old)
	}
	c.body.buffer = c.body.buffer[:size]
	c.giveBack()
	c.body.taken, c.body.source = int64(size), source
	return nil
}

// giveBack says that the memory of the body is not used any more.
func (c *call) giveBack() {
	c.server.bodies.Give(c.body.source, c.body.taken)
	c.body.taken = 0
}

// noRoom refuses a body for which there is no memory.
func (c *call) noRoom(err error) *service.Failure {
	c.Response.Header.Set("Retry-After", retryBodies)
	if errors.Is(err, budget.ErrShare) {
		return &service.Failure{Code: errcode.RateLimited, Message: fmt.Sprintf("the request bodies of your address that are under way take %d MiB, the most for one address; send fewer at once", c.server.bodies.Share>>20)}
	}
	return &service.Failure{Code: errcode.Overloaded, Message: fmt.Sprintf("the request bodies under way take %d MiB, the most there may be; send the request again in a second", c.server.bodies.Most>>20)}
}

func tooLarge(most int) *service.Failure {
	return &service.Failure{Code: errcode.BodyTooLarge, Message: fmt.Sprintf("the body is larger than the %d bytes that this route accepts; send a smaller one", most)}
}

// leave gets the connection past a body that was not read as a whole, so that its next request is found where it begins; or
// has it closed. A client that is still sending would see a broken connection instead of its answer: it is read until it
// pauses.
func (c *call) leave() {
	if c.body.whole {
		return
	}
	stream, length := c.RequestBodyStream(), c.Request.Header.ContentLength()
	if stream == nil {
		return
	}
	connection := c.Conn() // the call may be another's when the timer runs out
	pause := time.AfterFunc(strict.DiscardPause, func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) })
	err := c.skip(stream, length, pause)
	if !pause.Stop() || err != nil { // the deadline may have been set
		c.SetConnectionClose()
	}
	var network net.Error
	if c.body.fault != nil {
		strict.Discard(connection, discardChunks)
	} else if err != nil && !errors.Is(err, errLeft) && !(errors.As(err, &network) && network.Timeout()) {
		refuseUnread(c.RequestCtx, err)
	}
}

// errLeft says that so much of a body is left that it is not read.
var errLeft = errors.New("the rest of the body is not read")

// skip reads the rest of a body and throws it away, until it does not go on before the pause.
func (c *call) skip(stream io.Reader, length int, pause *time.Timer) error {
	if cap(c.body.buffer) < prefetchBytes {
		c.body.buffer = make([]byte, 4<<10)
	}
	scratch := c.body.buffer[:cap(c.body.buffer)]
	for c.body.end+c.body.passed != length {
		n, err := c.body.next(c.Conn(), stream, scratch, length)
		c.body.passed += n
		switch {
		case c.body.end+c.body.passed == length:
		case err != nil:
			return c.endOfBody(err, length)
		case c.body.passed > strict.DiscardBytes || !pause.Reset(strict.DiscardPause):
			return errLeft
		}
	}
	return nil
}

// dropBody ends the use of the body's memory.
func (c *call) dropBody() {
	c.giveBack()
	if cap(c.body.buffer) > keptBufferBytes {
		c.body.buffer = nil
	}
	c.input, c.body = nil, body{buffer: c.body.buffer[:0]}
}

// awaitBody is called when a request's headers have come, before its body is read.
func awaitBody(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	strict.MarkEnd(header)
	return fasthttp.RequestConfig{MaxRequestBodySize: prefetchBytes}
}
