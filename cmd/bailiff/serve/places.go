package serve

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bailiff/httpd"
	"bailiff/runtime/authority"
	"bailiff/runtime/clock"
)

// Of the files that the process may open, at least these and a quarter stay for the record, for deliveries, for the
// chains' nodes and for the operator; maxPlaces is how many connections a server of httpd takes at most, and
// maxPerSource how many of them one source may have (decisions, section 8).
const (
	reservedFiles = 64
	maxPlaces     = 256 << 10
	maxPerSource  = 1024
)

// leastIdle is how long a connection has been idle at least before it is closed for another: a client that has just connected
// has its first request on the way. A new connection waits for as long as that at most, so it is short. endIdleEvery is how often
// an idle connection is sought while there is none.
const (
	leastIdle    = 10 * time.Millisecond
	endIdleEvery = 2 * time.Millisecond
)

// placesFor is how many connections may be open where the process may open so many files.
func placesFor(files uint64) int {
	reserved := max(reservedFiles, files/4)
	if files <= reserved {
		return 1
	}
	return int(min(files-reserved, maxPlaces))
}

// places bounds how many connections are open at once, of all listeners that share it, and how many of one source. It is
// nil where nothing does.
type places struct {
	slots   chan struct{}
	clock   clock.Clock
	proxies []netip.Prefix // peers that are no sources: each stands for many clients

	mu       sync.Mutex
	open     map[*placedConn]struct{}
	bySource map[netip.Addr]int
}

// newPlaces bounds connections by the files that this process may open.
func newPlaces(clock clock.Clock, proxies []netip.Prefix) *places {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil
	}
	return placesOf(placesFor(limit.Cur), clock, proxies)
}

// placesOf has room for so many connections.
func placesOf(room int, clock clock.Clock, proxies []netip.Prefix) *places {
	return &places{
		slots: make(chan struct{}, room), clock: clock, proxies: proxies,
		open: map[*placedConn]struct{}{}, bySource: map[netip.Addr]int{},
	}
}

// holdWaits is how many of the connections may wait for holds: a quarter, so that the others stay free for requests.
func (p *places) holdWaits() int {
	if p == nil {
		return authority.MaxHoldWaits
	}
	return min(authority.MaxHoldWaits, max(1, cap(p.slots)/4))
}

// place gives a connection the place that was taken for it, and returns nil where its source has as many as it may have.
func (p *places) place(connection net.Conn) *placedConn {
	placed := &placedConn{Conn: connection, in: p, source: p.sourceOf(connection.RemoteAddr())}
	placed.served.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	if placed.source.IsValid() {
		if p.bySource[placed.source] >= maxPerSource {
			return nil
		}
		p.bySource[placed.source]++
	}
	p.open[placed] = struct{}{}
	return placed
}

// sourceOf is what a peer counts as; zero for a trusted proxy, and for what has no address.
func (p *places) sourceOf(peer net.Addr) netip.Addr {
	source := httpd.SourceOf(peer)
	for _, prefix := range p.proxies {
		if tcp, ok := peer.(*net.TCPAddr); ok && prefix.Contains(tcp.AddrPort().Addr().Unmap()) {
			return netip.Addr{}
		}
	}
	return source
}

// leave gives the place of a connection back.
func (p *places) leave(c *placedConn) {
	p.mu.Lock()
	delete(p.open, c)
	if c.source.IsValid() {
		if p.bySource[c.source]--; p.bySource[c.source] == 0 {
			delete(p.bySource, c.source)
		}
	}
	p.mu.Unlock()
	<-p.slots
}

// endIdle closes the connection that has waited longest for its client's next request, so that another can have its place.
func (p *places) endIdle() {
	latest := p.clock().Add(-leastIdle).UnixNano()
	var longest *placedConn
	p.mu.Lock()
	for c := range p.open {
		if since := c.idleSince.Load(); since != 0 && since <= latest {
			longest, latest = c, since-1
		}
	}
	p.mu.Unlock()
	if longest != nil {
		longest.Close()
	}
}

// A placedConn has a place, which it leaves when it is closed.
type placedConn struct {
	net.Conn
	in        *places
	source    netip.Addr
	left      sync.Once
	served    atomic.Bool  // nothing was read since the last answer
	idleSince atomic.Int64 // when it began to wait for the next request, in Unix nanoseconds; 0 while it does not
}

// Read implements net.Conn. The first one after an answer waits for the client.
func (c *placedConn) Read(b []byte) (int, error) {
	if !c.served.Load() {
		return c.Conn.Read(b)
	}
	c.idleSince.Store(c.in.clock().UnixNano())
	n, err := c.Conn.Read(b)
	c.idleSince.Store(0)
	if n > 0 {
		c.served.Store(false)
	}
	return n, err
}

// Write implements net.Conn.
func (c *placedConn) Write(b []byte) (int, error) {
	c.served.Store(true)
	return c.Conn.Write(b)
}

// Close implements net.Conn.
func (c *placedConn) Close() error {
	c.left.Do(func() { c.in.leave(c) })
	return c.Conn.Close()
}
