// Package wire carries connections between the parts of a test, and fails as networks do: it holds bytes, those of one
// direction alone, or cuts connections and takes no more.
package wire

import (
	"net"
	"sync"
	"testing"
)

// A Fault is what a wire does to bytes and connections.
type Fault int

// The faults.
const (
	None     Fault = iota // bytes are carried
	Holds                 // bytes of both directions wait
	Answers               // bytes of the answering side wait; those of the side that has connected are carried
	Cut                   // connections are reset, and new ones are reset at once
	Requests              // bytes of the side that has connected wait; those of the answering side are carried
)

// A Wire leads to an address.
type Wire struct {
	listener net.Listener
	dial     func() (net.Conn, error)

	mu      sync.Mutex
	changed sync.Cond // fault is another
	fault   Fault
	open    map[net.Conn]bool
}

// New takes connections on a listener, and carries each to an address (net.Dial), until the test ends.
func New(t testing.TB, listener net.Listener, network, address string) *Wire {
	w := &Wire{listener: listener, dial: func() (net.Conn, error) { return net.Dial(network, address) }, open: map[net.Conn]bool{}}
	w.changed.L = &w.mu
	t.Cleanup(func() {
		listener.Close()
		w.Set(Cut)
	})
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go w.carry(from)
		}
	}()
	return w
}

// Address is where the wire takes connections.
func (w *Wire) Address() string { return w.listener.Addr().String() }

// Set has the wire do something else from now on.
func (w *Wire) Set(f Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = f
	w.changed.Broadcast()
	if f == Cut {
		for conn := range w.open {
			abrupt(conn)
		}
		for conn := range w.open {
			conn.Close()
		}
	}
}

// abrupt has a connection reset when it is closed: bytes that are under way are lost.
func abrupt(conn net.Conn) {
	if over, tcp := conn.(*net.TCPConn); tcp {
		_ = over.SetLinger(0)
	}
}

// keeps notes a connection, and reports false where it was cut.
func (w *Wire) keeps(conn net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault == Cut {
		abrupt(conn)
		conn.Close()
		return false
	}
	w.open[conn] = true
	return true
}

func (w *Wire) drop(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	conn.Close()
	delete(w.open, conn)
}

func (w *Wire) carry(from net.Conn) {
	if !w.keeps(from) {
		return
	}
	defer w.drop(from)
	to, err := w.dial()
	if err != nil || !w.keeps(to) {
		return
	}
	defer w.drop(to)
	var both sync.WaitGroup
	both.Go(func() { w.copies(to, from, Holds, Requests) })
	both.Go(func() { w.copies(from, to, Holds, Answers) })
	both.Wait()
}

// copies carries bytes of one direction, which some faults hold. Where one end closes, the other one is closed, too.
func (w *Wire) copies(to, from net.Conn, held ...Fault) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		w.mu.Lock()
		for w.holds(held) {
			w.changed.Wait()
		}
		w.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (w *Wire) holds(held []Fault) bool {
	for _, f := range held {
		if w.fault == f {
			return true
		}
	}
	return false
}
