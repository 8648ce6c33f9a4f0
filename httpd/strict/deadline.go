package strict

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// deadlineRound is how often the deadlines of connections are checked.
	deadlineRound = time.Second
	// farRounds is how many rounds ahead a deadline has to be to be kept. What is nearer is the operating system's.
	farRounds = 4
)

// A deadlineListener enforces the deadlines of its connections with one timer per round instead of one per request. A server
// sets three deadlines for each request, and hardly any is ever reached; a timer of the runtime would cost a twentieth of the
// time of a test-run. So a deadline may be late by a round, but never early. One that is near, or that has passed, is set on
// the connection itself.
type deadlineListener struct {
	net.Listener
	round time.Duration
	first time.Time    // when the first round was; to be read once now is not 0
	now   atomic.Int64 // nanoseconds from first to the last round, and one more; 0 before the first
	over  atomic.Bool  // nothing more is read

	mu          sync.Mutex
	connections map[*Conn]struct{}
	closed      bool
	ended       chan struct{} // closed when the listener is closed and no connection is left
}

// newDeadlineListener wraps a listener. Its rounds end when it and all of its connections are closed.
func newDeadlineListener(listener net.Listener, round time.Duration) *deadlineListener {
	d := &deadlineListener{
		Listener: listener, round: round,
		connections: map[*Conn]struct{}{}, ended: make(chan struct{}),
	}
	go d.run()
	return d
}

// Accept implements net.Listener.
func (d *deadlineListener) Accept() (net.Conn, error) {
	accepted, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: accepted, kept: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed { // it came at the last moment, and no round would look at its deadlines
		_ = accepted.Close()
		return nil, net.ErrClosed
	}
	d.connections[c] = struct{}{}
	return c, nil
}

// endReading makes every read fail from now on: requests that have not arrived as a whole no longer do.
func (d *deadlineListener) endReading() {
	d.over.Store(true)
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.connections {
		_ = c.SetReadDeadline(longAgo) // it fails where the connection is closed already
	}
}

// Close implements net.Listener. It is called once.
func (d *deadlineListener) Close() error {
	err := d.Listener.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.endWithoutConnections()
	return err
}

func (d *deadlineListener) remove(c *Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, open := d.connections[c]; !open {
		return
	}
	delete(d.connections, c)
	d.endWithoutConnections()
}

func (d *deadlineListener) endWithoutConnections() {
	if d.closed && len(d.connections) == 0 {
		close(d.ended)
	}
}

func (d *deadlineListener) run() {
	rounds := time.NewTicker(d.round)
	defer rounds.Stop()
	for {
		select {
		case <-d.ended:
			return
		case now := <-rounds.C:
			if d.first.IsZero() {
				d.first = now
			}
			d.look(d.since(now))
		}
	}
}

// since is a time as now has it.
func (d *deadlineListener) since(t time.Time) int64 { return int64(t.Sub(d.first)) + 1 }

// look makes every read and write fail whose deadline has passed.
func (d *deadlineListener) look(now int64) {
	d.now.Store(now)
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.connections {
		c.read.look(now, c.Conn.SetReadDeadline)
		c.write.look(now, c.Conn.SetWriteDeadline)
	}
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// A Conn is a connection that a [Server] accepted. Its deadlines may be set by several goroutines, as those of any net.Conn.
type Conn struct {
	net.Conn
	kept        *deadlineListener
	read, write deadline
	ended       bool // a read came to the end; only the reader looks
	early       [1]byte
	hasEarly    bool // early was read while the client was watched
	answered    bool // a request was handled since the last read; only the reader looks
	bounded     bool // no more than room is read; see ReadWithin
	room        int  // bytes
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	c.answered = false
	if c.hasEarly && len(b) > 0 {
		c.hasEarly = false
		return copy(b, c.early[:]), nil
	}
	if c.bounded {
		if c.room <= 0 {
			return 0, errNoRoom
		}
		b = b[:min(len(b), c.room)]
	}
	n, err := c.Conn.Read(b)
	c.room -= n
	if err == io.EOF { //nolint:errorlint // connections return it as it is, and this is done for each request
		c.ended = true
	}
	return n, err
}

// errNoRoom says that as much was read as ReadWithin was to read.
var errNoRoom = errors.New("more bytes came from the connection than it was to read")

// ReadWithin reads from a stream that reads from the connection, and has at most room bytes read from the connection for it.
// It returns how many of these bytes are left; with an error, none left means that the room was used up.
func (c *Conn) ReadWithin(stream io.Reader, into []byte, room int) (n, left int, err error) {
	c.bounded, c.room = true, room
	n, err = stream.Read(into)
	c.bounded = false
	return n, c.room, err
}

// Watch returns a context that ends when ctx ends or the client closes its connection, so that a request stops waiting for an
// answer that cannot be delivered. Until stop is called nothing else may read; what came meanwhile is read first afterwards.
func Watch(ctx context.Context, conn net.Conn) (watched context.Context, stop func()) {
	c, ok := conn.(*Conn)
	if !ok {
		return ctx, func() {}
	}
	watched, gone := context.WithCancel(ctx)
	_ = c.SetReadDeadline(time.Time{}) // that of the request, which has been read
	read := make(chan struct{})
	go func() {
		defer close(read)
		n, err := c.Conn.Read(c.early[:])
		c.hasEarly = n > 0
		if n == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
			gone()
		}
	}()
	return watched, func() {
		c.interrupt()
		<-read
		gone()
		_ = c.SetReadDeadline(time.Time{}) // until the server sets that of the next request
	}
}

// interrupt makes a read that is under way fail.
func (c *Conn) interrupt() {
	c.read.mu.Lock()
	defer c.read.mu.Unlock()
	c.read.at, c.read.set = 0, true
	_ = c.Conn.SetReadDeadline(longAgo) // it fails where the connection is closed already
}

// Pipelined notes that a request of a connection is handled, and reports whether it came together with the one before.
func Pipelined(conn net.Conn) bool {
	c, ok := conn.(*Conn)
	if !ok {
		return false
	}
	after := c.answered
	c.answered = true
	return after
}

// Ended reports whether a read of a connection came to its end.
func Ended(c net.Conn) bool {
	kept, ok := c.(*Conn)
	return !ok || kept.ended
}

// A deadline is one of a connection's two. Its lock is held while the connection below is told, so that a look that has
// seen one passed can't end the one that was just put in its place.
type deadline struct {
	mu  sync.Mutex
	at  int64 // as the listener's now; 0 where it is not kept
	set bool  // the connection below has one
}

// look makes what waits fail if a deadline that is kept has passed.
func (d *deadline) look(now int64, set func(time.Time) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at != 0 && d.at <= now {
		d.at, d.set = 0, true
		_ = set(longAgo) // it fails where the connection is closed already
	}
}

// move keeps a deadline that is far away, and sets any other. Its caller has the lock.
func (d *deadline) move(of *deadlineListener, t time.Time, set func(time.Time) error) error {
	now := of.now.Load()
	if now == 0 || of.since(t) < now+farRounds*int64(of.round) {
		d.at, d.set = 0, true
		return set(t)
	}
	d.at = of.since(t)
	if d.set {
		d.set = false
		return set(time.Time{})
	}
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.read.mu.Lock()
	defer c.read.mu.Unlock()
	if c.kept.over.Load() {
		t = longAgo
	}
	return c.read.move(c.kept, t, c.Conn.SetReadDeadline)
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.write.mu.Lock()
	defer c.write.mu.Unlock()
	return c.write.move(c.kept, t, c.Conn.SetWriteDeadline)
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.kept.remove(c)
	return c.Conn.Close()
}
