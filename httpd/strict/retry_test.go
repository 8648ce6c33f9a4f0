package strict

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// script is a listener whose Accept returns what a test has written down, and then waits for its end.
type script struct {
	net.Listener
	faults []error // nil is a connection
	over   chan struct{}
}

func newScript(faults ...error) *script { return &script{faults: faults, over: make(chan struct{})} }

func (s *script) Accept() (net.Conn, error) {
	if len(s.faults) == 0 {
		<-s.over
		return nil, net.ErrClosed
	}
	fault := s.faults[0]
	s.faults = s.faults[1:]
	if fault != nil {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", fault)}
	}
	near, far := net.Pipe()
	far.Close()
	return near, nil
}

func (s *script) Close() error   { close(s.over); return nil }
func (s *script) Addr() net.Addr { return &net.TCPAddr{} }

// slotsOf has room for so many connections, whose sources are their addresses.
func slotsOf(room int, clock func() time.Time, proxies []netip.Prefix) *Slots {
	return NewSlots(room, clock, proxies, func(peer net.Addr) netip.Addr {
		if tcp, ok := peer.(*net.TCPAddr); ok {
			return tcp.AddrPort().Addr().Unmap()
		}
		return netip.Addr{}
	})
}

var noLog = slog.New(slog.NewTextHandler(io.Discard, nil))

// TestRetryingListener: a want of files or memory passes by, and every other error is the end, which gives the slot back.
func TestRetryingListener(t *testing.T) {
	for _, shortage := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		l := newRetryingListener(newScript(shortage, shortage, nil), slotsOf(1, time.Now, nil), time.Now, noLog)
		connection, err := l.Accept()
		if err != nil {
			t.Fatalf("after %v: %v", shortage, err)
		}
		connection.Close()
	}
	for _, p := range []*Slots{nil, slotsOf(1, time.Now, nil)} {
		l := newRetryingListener(newScript(syscall.EINVAL, syscall.EMFILE, nil), p, time.Now, noLog)
		if _, err := l.Accept(); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("the error is %v", err)
		}
		if connection, err := l.Accept(); err != nil {
			t.Error(err)
		} else {
			connection.Close()
		}
	}
}

// TestSlots: no more connections are accepted than there are slots, over all listeners that share them, and closing one twice
// gives one slot back.
func TestSlots(t *testing.T) {
	shared := slotsOf(2, time.Now, nil)
	a, b := newRetryingListener(newScript(nil, nil, nil), shared, time.Now, noLog), newRetryingListener(newScript(nil), shared, time.Now, noLog)
	var open []net.Conn
	for _, l := range []net.Listener{a, b} {
		connection, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, connection)
	}
	accepted := make(chan net.Conn, 2)
	go func() {
		for range 2 {
			connection, _ := a.Accept()
			accepted <- connection
		}
	}()
	waits := func() {
		t.Helper()
		select {
		case <-accepted:
			t.Fatal("there was no slot")
		case <-time.After(50 * time.Millisecond):
		}
	}
	waits()
	open[1].Close()
	open[1].Close()
	third := <-accepted
	waits()
	third.Close()
	<-accepted
}

// TestRetryingListenerCloses while it waits for a slot, and while it waits for files.
func TestRetryingListenerCloses(t *testing.T) {
	full := slotsOf(1, time.Now, nil)
	full.taken <- struct{}{}
	var shortage []error
	for range 20 {
		shortage = append(shortage, syscall.EMFILE)
	}
	for name, l := range map[string]*retryingListener{"slot": newRetryingListener(newScript(nil), full, time.Now, noLog), "files": newRetryingListener(newScript(shortage...), nil, time.Now, noLog)} {
		ended := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		time.Sleep(20 * time.Millisecond)
		if err := errors.Join(l.Close(), l.Close()); err != nil {
			t.Error(err)
		}
		select {
		case err := <-ended:
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s: Accept does not end", name)
		}
	}
}

// connect connects to a listener, and returns both ends.
func connect(t *testing.T, l net.Listener) (far, near net.Conn) {
	t.Helper()
	accepted := make(chan net.Conn, 1)
	go func() {
		connection, _ := l.Accept()
		accepted <- connection
	}()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return far, <-accepted
}

// exclaim answers each exclamation mark, as a server answers requests.
func exclaim(c net.Conn) {
	for b := make([]byte, 1); ; {
		if _, err := c.Read(b); err != nil {
			c.Close()
			return
		}
		if b[0] == '!' {
			c.Write(b)
		}
	}
}

// hungUp reports whether the other end has closed a connection.
func hungUp(c net.Conn) bool {
	c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}

// TestIdleSoonEnds: where idle connections take all slots, a new one waits for a hundredth of a second at most, and
// a connection is not closed for another before that.
func TestIdleSoonEnds(t *testing.T) {
	var now atomic.Int64
	clock := func() time.Time { return time.Unix(0, now.Load()) }
	now.Store(int64(time.Hour))
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := slotsOf(1, clock, nil)
	l := newRetryingListener(inner, p, clock, noLog)
	defer l.Close()
	far, near := connect(t, l)
	go exclaim(near)
	for idle := false; !idle; time.Sleep(time.Millisecond) {
		idle = near.(*slottedConn).idleSince.Load() != 0
	}
	now.Add(int64(9 * time.Millisecond))
	p.endIdle()
	if len(p.taken) != 1 {
		t.Error("a connection was closed that had hardly connected")
	}
	now.Add(int64(time.Millisecond))
	p.endIdle()
	if len(p.taken) != 0 || !hungUp(far) {
		t.Error("an idle connection keeps its slot")
	}
}

// TestLongestIdleEnds: where no slot is free the connection ends that has waited longest for a request, never one with a
// request under way.
func TestLongestIdleEnds(t *testing.T) {
	var now atomic.Int64
	clock := func() time.Time { return time.Unix(0, now.Load()) }
	now.Store(int64(time.Hour))
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newRetryingListener(inner, slotsOf(4, clock, nil), clock, noLog)
	defer l.Close()
	var far []net.Conn
	for range 3 { // the first is idle before it asks anything, the second has asked half, the third was answered
		now.Add(int64(time.Second))
		c, near := connect(t, l)
		far = append(far, c)
		go exclaim(near)
	}
	ask := func(c net.Conn, text string) {
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	ask(far[1], "?")
	ask(far[2], "!")
	if _, err := far[2].Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_, last := connect(t, l) // the fourth: from now on a slot has to be made
	go exclaim(last)
	time.Sleep(50 * time.Millisecond)
	now.Add(int64(10 * time.Second))
	next := make(chan net.Conn, 1)
	go func() {
		connection, _ := l.Accept()
		next <- connection
	}()
	if !hungUp(far[0]) {
		t.Error("the connection that is idle longest stays")
	}
	if hungUp(far[1]) || hungUp(far[2]) {
		t.Error("a connection ended that is not idle longest")
	}
	c, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go exclaim(<-next)
	ask(c, "!")
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Errorf("who came last is not served: %v", err)
	}
}

// TestPerSource: one source has 1,024 connections at most, a trusted proxy as many as there are slots.
func TestPerSource(t *testing.T) {
	for _, row := range []struct {
		proxies []netip.Prefix
		want    int
	}{{nil, MaxPerSource}, {[]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, MaxPerSource + 10}} {
		p := slotsOf(2*MaxPerSource, time.Now, row.proxies)
		var placed []*slottedConn
		for range MaxPerSource + 10 {
			p.taken <- struct{}{}
			if c := p.place(addressed{}); c != nil {
				placed = append(placed, c)
			} else {
				<-p.taken
			}
		}
		if len(placed) != row.want {
			t.Errorf("one source has %d connections, want %d", len(placed), row.want)
		}
		for _, c := range placed {
			c.Close()
		}
		p.taken <- struct{}{}
		if p.place(addressed{}) == nil || len(p.taken) != 1 {
			t.Error("slots are not given back")
		}
	}
}

// addressed is a connection of which only the other end is known.
type addressed struct{ net.Conn }

func (addressed) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }
func (addressed) Close() error         { return nil }

func TestRoomFor(t *testing.T) {
	for files, want := range map[uint64]int{1: 1, 64: 1, 65: 1, 120: 56, 1024: 768, 65536: 49152, 1 << 40: 256 << 10} {
		if got := roomFor(files); got != want {
			t.Errorf("%d files: %d connections, want %d", files, got, want)
		}
	}
}
