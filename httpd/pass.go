package httpd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"net/url"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/strict"
	"bailiff/runtime/metrics"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// PassedFrom and passedTLS are the headers by which an instance that passes a request on says who has sent it: the address of the client's
// connection, and whether that has TLS. They count on the listener for instances alone (Config.Passed), and a client's are not passed on.
const (
	PassedFrom = "Bailiff-Passed-From"
	passedTLS  = "Bailiff-Passed-Tls"
)

// passedBack is in the answer of an instance that has done nothing, since it does not decide, or not yet.
const passedBack = "Bailiff-Passed-Back"

// unnamed is PassedFrom of a client that has no address, as over a Unix socket.
const unnamed = "unix"

const (
	// passTime bounds how long another instance takes to answer. The longest that it lets a client wait is holds.MaxWait.
	passTime = time.Minute
	// passIdle is how long a connection to another instance is kept that has nothing to do: shorter than the other one keeps it.
	passIdle = time.Minute
	// passConnections bounds the connections to another instance: requests that wait for holds have one each.
	passConnections = 4096
	// wholeBytes is how large an answer is that is read as a whole before any of it is told.
	wholeBytes = 64 << 10
	// passPause is the pause before an instance that can't be reached is tried again.
	passPause = 50 * time.Millisecond
)

// An Instance is another instance, which decides.
type Instance struct {
	Name string
	Peer string          // where it takes requests from others; "" where it takes none
	Gone <-chan struct{} // closed when it does not decide any more
}

// Passing passes requests on to the instance that decides, each once: what may have arrived is not sent again.
type Passing struct {
	// Owner returns the instance that decides; its Gone is nil where none is known.
	Owner func() Instance
	// Dial connects to an instance.
	Dial func(context.Context, Instance) (net.Conn, error)
	// Patience is how long a request waits for an instance that takes it.
	Patience time.Duration

	mu   sync.Mutex
	last Instance
	to   *http.Transport // last
}

// An unreachable error says that nothing was sent.
type unreachableError struct{ error }

// transport returns what connects to an instance, and ends the idle connections to the one before.
func (p *Passing) transport(to Instance) *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to == nil || p.last != to {
		if p.to != nil {
			p.to.CloseIdleConnections()
		}
		p.last, p.to = to, &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, err := p.Dial(ctx, to)
				if err != nil {
					return nil, unreachableError{err}
				}
				return conn, nil
			},
			MaxConnsPerHost: passConnections, MaxIdleConnsPerHost: passConnections, IdleConnTimeout: passIdle,
			DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
		}
	}
	return p.to
}

// place passes a request on, or has the server of this instance answer it, where that takes over in the meantime.
func (s *Standby) place(c *call) *metrics.Route {
	late := time.NewTimer(s.pass.Patience)
	defer late.Stop()
	for {
		if next := s.next.Load(); next != nil {
			c.Request.SetBodyRaw(c.input)
			next.dispatch(c.RequestCtx)
			return nil
		}
		to := s.pass.Owner()
		var pause <-chan time.Time
		if to.Gone != nil {
			if to.Peer == "" {
				s.refuse(c, "this instance waits while another one decides that takes no requests from instances; nothing was done: have SVC_PEER_LISTEN set there, too")
				return s.server.others
			}
			if s.send(c, to) {
				return s.server.others
			}
			pause = time.After(passPause)
		} else {
			pause = time.After(passPause / 10)
		}
		select {
		case <-s.over:
		case <-pause:
		case <-late.C:
			s.refuse(c, "no instance that decides can be reached; nothing was done: send the request again")
			return s.server.others
		case <-s.http.Serving().Done():
			s.refuse(c, "this instance ends, and the one that decides can't be reached; nothing was done: send the request again")
			return s.server.others
		}
	}
}

// send passes a request on to an instance, and answers it; or reports false, where nothing was sent.
func (s *Standby) send(c *call, to Instance) (answered bool) {
	ctx, cancel := context.WithTimeout(context.Background(), passTime)
	sent := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }})
	ended := make(chan struct{})
	go func() {
		select {
		case <-to.Gone:
			cancel()
		case <-ended:
		}
	}()
	end := sync.OnceFunc(func() { close(ended); cancel() })
	response, err := s.pass.transport(to).RoundTrip(c.toPass(ctx))
	if err != nil {
		defer end()
		var unreachable unreachableError
		switch {
		case sent:
			s.lose(c)
		case errors.As(err, &unreachable) || ctx.Err() != nil:
			return false
		default: // the library does not write it
			writeFailure(c.RequestCtx, schemaFailure("the target or a header has a character that can't be passed on to the instance that decides"))
		}
		return true
	}
	if response.Header.Get(passedBack) != "" {
		response.Body.Close()
		end()
		return false
	}
	s.tell(c, response, end)
	return true
}

// lose says that the outcome is not known.
func (s *Standby) lose(c *call) {
	c.forget()
	writeFailure(c.RequestCtx, &service.Failure{Code: errcode.StoreUnavailable, Message: "the instance that decides did not answer; what was asked for may or may not have been done"})
}

// hopHeaders are of one connection, and not of the request that comes over it (RFC 9110, section 7.6.1). What a client expects was done.
var hopHeaders = map[string]bool{
	fasthttp.HeaderConnection: true, "Keep-Alive": true, fasthttp.HeaderTE: true, fasthttp.HeaderUpgrade: true, fasthttp.HeaderExpect: true,
	fasthttp.HeaderTransferEncoding: true, fasthttp.HeaderContentLength: true, fasthttp.HeaderHost: true,
	PassedFrom: true, passedTLS: true, passedBack: true,
}

// A wholeBody is a body that is there. Its type hides it from the library, which would send a request again that it can rewind.
type wholeBody struct{ io.Reader }

// Close implements io.Closer.
func (wholeBody) Close() error { return nil }

// toPass returns the request as it is, with what the other instance can't see of it.
func (c *call) toPass(ctx context.Context) *http.Request {
	header := http.Header{"User-Agent": nil}
	for line := range bytes.Lines(c.Request.Header.RawHeaders()) { // the library that has read them would write some in another way
		raw, value, _ := bytes.Cut(line, []byte(":"))
		if name := textproto.CanonicalMIMEHeaderKey(string(raw)); !hopHeaders[name] && len(value) > 0 {
			header[name] = append(header[name], string(bytes.TrimSpace(value)))
		}
	}
	header[PassedFrom] = []string{unnamed}
	if at, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		header[PassedFrom] = []string{at.AddrPort().String()}
	}
	if strict.Secure(c.Conn()) {
		header[passedTLS] = []string{"1"}
	}
	request := &http.Request{
		Method: string(c.Method()), URL: &url.URL{Scheme: "http", Host: "bailiff", Opaque: string(c.Request.Header.RequestURI())},
		Host: string(c.Request.Header.Host()), Header: header, ContentLength: int64(len(c.input)),
	}
	if method := request.Method; len(c.input) > 0 || method != http.MethodGet && method != http.MethodHead {
		request.Body = wholeBody{bytes.NewReader(c.input)}
	}
	return request.WithContext(ctx)
}

// tell answers as another instance has; end ends its request.
func (s *Standby) tell(c *call, response *http.Response, end func()) {
	c.Response.Reset()
	c.SetStatusCode(response.StatusCode)
	for name, values := range response.Header {
		if hopHeaders[name] || name == fasthttp.HeaderDate {
			continue
		}
		for _, value := range values {
			c.Response.Header.Add(name, value)
		}
	}
	size := response.ContentLength
	if c.IsHead() {
		response.Body.Close()
		end()
		c.Response.SkipBody = true
		c.Response.Header.SetContentLength(int(max(size, 0)))
		return
	}
	if size < 0 || size > wholeBytes {
		c.Response.SetBodyStream(passedBody{response.Body, end}, int(size))
		return
	}
	defer end()
	defer response.Body.Close()
	body := make([]byte, size)
	if _, err := io.ReadFull(response.Body, body); err != nil {
		s.lose(c)
		return
	}
	c.Response.SetBodyRaw(body)
}

// A passedBody is the body of another instance's answer.
type passedBody struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (b passedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// takePassed makes a request that another instance has passed on that of the client who sent it there.
func (c *call) takePassed() *service.Failure {
	from := c.Request.Header.PeekAll(PassedFrom)
	if len(from) != 1 {
		return schemaFailure("requests come to this address from other instances alone")
	}
	if string(from[0]) == unnamed {
		c.SetRemoteAddr(&net.UnixAddr{})
		return nil
	}
	at, err := netip.ParseAddrPort(string(from[0]))
	if err != nil {
		return schemaFailure("the header " + PassedFrom + " has no address with a port")
	}
	c.SetRemoteAddr(net.TCPAddrFromAddrPort(at))
	return nil
}

// secure reports whether the client's connection has TLS.
func (c *call) secure() bool {
	if c.server.config.Passed {
		return string(c.Request.Header.Peek(passedTLS)) == "1"
	}
	return strict.Secure(c.Conn())
}
