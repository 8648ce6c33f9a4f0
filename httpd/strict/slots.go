package strict

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// reservedFiles of the files that the process may open, and at least a quarter, are kept for the ledger, for deliveries, for
	// the chains' nodes and for the operator (decisions, section 8).
	reservedFiles = 64
	// maxRoom is how many connections a server of httpd takes at most.
	maxRoom = 256 << 10
	// MaxPerSource is how many connections one source may have.
	MaxPerSource = 1024
)

// leastIdle is how long a connection has been idle at least before it is closed for another: a client that has just connected
// has its first request on the way. A new connection waits for as long as that at most, so it is short. endIdleEvery is how often
// an idle connection is sought while there is none.
const (
	leastIdle    = 10 * time.Millisecond
	endIdleEvery = 2 * time.Millisecond
)

// roomFor is how many connections may be open if the process may open so many files.
func roomFor(files uint64) int {
	reserved := max(reservedFiles, files/4)
	if files <= reserved {
		return 1
	}
	return int(min(files-reserved, maxRoom))
}

// Slots bounds how many connections are open at once, of all listeners that share it, and how many of one source.
type Slots struct {
	taken    chan struct{} // a token for each slot that is taken
	clock    func() time.Time
	proxies  []netip.Prefix // peers that are not sources: each means many clients
	sourceOf func(peer net.Addr) netip.Addr

	mu       sync.Mutex
	open     map[*slottedConn]struct{}
	bySource map[netip.Addr]int
}

// RoomByFiles returns how many connections may be open given the files that this process may open, and false if that is not
// known.
func RoomByFiles() (room int, known bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return roomFor(limit.Cur), true
}

// NewSlots returns slots for so many connections. sourceOf says what a peer counts as; the zero address is not counted, and
// neither is a peer in proxies.
func NewSlots(room int, clock func() time.Time, proxies []netip.Prefix, sourceOf func(peer net.Addr) netip.Addr) *Slots {
	return &Slots{
		taken: make(chan struct{}, room), clock: clock, proxies: proxies, sourceOf: sourceOf,
		open: map[*slottedConn]struct{}{}, bySource: map[netip.Addr]int{},
	}
}

// Room returns how many slots there are.
func (s *Slots) Room() int { return cap(s.taken) }

// place gives a connection the slot that was taken for it, and returns nil if its source has as many as it may have.
func (s *Slots) place(connection net.Conn) *slottedConn {
	placed := &slottedConn{Conn: connection, in: s, source: s.source(connection.RemoteAddr())}
	placed.served.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if placed.source.IsValid() {
		if s.bySource[placed.source] >= MaxPerSource {
			return nil
		}
		s.bySource[placed.source]++
	}
	s.open[placed] = struct{}{}
	return placed
}

// source is what a peer counts as; zero for a trusted proxy, and for what has no address.
func (s *Slots) source(peer net.Addr) netip.Addr {
	source := s.sourceOf(peer)
	for _, prefix := range s.proxies {
		if tcp, ok := peer.(*net.TCPAddr); ok && prefix.Contains(tcp.AddrPort().Addr().Unmap()) {
			return netip.Addr{}
		}
	}
	return source
}

// leave gives the slot of a connection back.
func (s *Slots) leave(c *slottedConn) {
	s.mu.Lock()
	delete(s.open, c)
	if c.source.IsValid() {
		if s.bySource[c.source]--; s.bySource[c.source] == 0 {
			delete(s.bySource, c.source)
		}
	}
	s.mu.Unlock()
	<-s.taken
}

// endIdle closes the connection that has waited longest for its client's next request, so that another can have its slot.
func (s *Slots) endIdle() {
	latest := s.clock().Add(-leastIdle).UnixNano()
	var longest *slottedConn
	s.mu.Lock()
	for c := range s.open {
		if since := c.idleSince.Load(); since != 0 && since <= latest {
			longest, latest = c, since-1
		}
	}
	s.mu.Unlock()
	if longest != nil {
		longest.Close()
	}
}

// A slottedConn has a slot, which it leaves when it is closed.
type slottedConn struct {
	net.Conn
	in        *Slots
	source    netip.Addr
	left      sync.Once
	served    atomic.Bool  // nothing was read since the last answer
	idleSince atomic.Int64 // when it began to wait for the next request, in Unix nanoseconds; 0 while it does not
}

// Read implements net.Conn. The first one after an answer waits for the client.
func (c *slottedConn) Read(b []byte) (int, error) {
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
func (c *slottedConn) Write(b []byte) (int, error) {
	c.served.Store(true)
	return c.Conn.Write(b)
}

// Close implements net.Conn.
func (c *slottedConn) Close() error {
	c.left.Do(func() { c.in.leave(c) })
	return c.Conn.Close()
}
