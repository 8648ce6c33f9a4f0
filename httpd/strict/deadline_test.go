package strict

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

const testRound = 20 * time.Millisecond

// far is a deadline that is kept, and not set.
const far = (farRounds + 2) * testRound

// accepted returns both ends of a connection whose deadlines are kept.
func accepted(t *testing.T, round time.Duration) (ours *Conn, theirs net.Conn, listener *deadlineListener) {
	t.Helper()
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener = newDeadlineListener(below, round)
	theirs, err = net.Dial("tcp", below.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close() // may have been closed by the test
		theirs.Close()
		_ = listener.Listener.Close()
	})
	return c.(*Conn), theirs, listener
}

// readFor reports how long a read waits until its deadline.
func readFor(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	begun := time.Now()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the read ended with %v", err)
	}
	return time.Since(begun)
}

// TestPipelined holds that requests which come together are known from those that were waited for.
func TestPipelined(t *testing.T) {
	ours, theirs, _ := accepted(t, testRound)
	for range 2 {
		if _, err := theirs.Write([]byte("requests")); err != nil {
			t.Fatal(err)
		}
		if _, err := ours.Read(make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
		for i, want := range []bool{false, true, true} {
			if got := Pipelined(ours); got != want {
				t.Errorf("request %d after a read: %v, want %v", i, got, want)
			}
		}
	}
	if Pipelined(theirs) {
		t.Error("a connection of another kind is not looked at")
	}
}

// TestDeadlineKept has reads and writes fail by deadlines that are far away when they are set, not before these, and
// by near ones. Without looking, far ones never come: so it is the rounds that this sees.
func TestDeadlineKept(t *testing.T) {
	ours, _, listener := accepted(t, testRound)
	for listener.now.Load() == 0 { // before the first round all deadlines are set
		time.Sleep(time.Millisecond)
	}
	for name, in := range map[string]time.Duration{"far": far, "near": testRound} {
		if err := ours.SetReadDeadline(time.Now().Add(in)); err != nil {
			t.Fatal(err)
		}
		ours.read.mu.Lock()
		kept := ours.read.at != 0
		ours.read.mu.Unlock()
		if kept != (in == far) {
			t.Errorf("%s: kept: %v", name, kept)
		}
		if waited := readFor(t, ours); waited < in-time.Millisecond {
			t.Errorf("%s: the read failed after %v", name, waited)
		}
		if err := ours.SetReadDeadline(time.Now().Add(far)); err != nil { // opens it again
			t.Fatal(err)
		}
	}
	if err := ours.SetWriteDeadline(time.Now().Add(far)); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for { // the other end does not read
		if _, err := ours.Write(make([]byte, 1<<20)); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) < far-time.Millisecond {
				t.Errorf("the write failed after %v: %v", time.Since(begun), err)
			}
			break
		}
	}

	early, _, _ := accepted(t, time.Hour)
	if err := early.SetReadDeadline(time.Now().Add(far)); err != nil {
		t.Fatal(err)
	}
	readFor(t, early)
}

// TestDeadlineMoved moves deadlines before they come, takes one back, and puts a far one in the place of one that was set,
// and of one that has passed.
func TestDeadlineMoved(t *testing.T) {
	ours, theirs, _ := accepted(t, testRound)
	for range 10 {
		if err := ours.SetReadDeadline(time.Now().Add(far)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(far / 3)
	}
	for _, in := range []time.Time{time.Now().Add(testRound), time.Now().Add(100 * far), {}} {
		if err := ours.SetDeadline(in); err != nil {
			t.Fatal(err)
		}
	}
	if err := ours.SetReadDeadline(time.Now().Add(testRound)); err != nil {
		t.Fatal(err)
	}
	if err := ours.SetReadDeadline(time.Now().Add(100 * far)); err != nil {
		t.Fatal(err)
	}
	readLate := func() {
		t.Helper()
		time.AfterFunc(2*far, func() { _, _ = io.WriteString(theirs, "x") })
		if _, err := ours.Read(make([]byte, 1)); err != nil {
			t.Errorf("the read ended before its deadline: %v", err)
		}
	}
	readLate()
	if err := ours.SetReadDeadline(time.Now().Add(far)); err != nil {
		t.Fatal(err)
	}
	readFor(t, ours)
	if err := ours.SetReadDeadline(time.Now().Add(100 * far)); err != nil {
		t.Fatal(err)
	}
	readLate()
}

// TestDeadlinesEnd has the rounds end with the last connection, the listener being closed, whichever comes first.
func TestDeadlinesEnd(t *testing.T) {
	for name, steps := range map[string]func(*deadlineListener, *Conn){
		"listener first":   func(l *deadlineListener, c *Conn) { l.Close(); c.Close() },
		"connection first": func(l *deadlineListener, c *Conn) { c.Close(); c.Close(); l.Close() },
	} {
		ours, _, listener := accepted(t, testRound)
		select {
		case <-listener.ended:
			t.Errorf("%s: ended too early", name)
		default:
		}
		steps(listener, ours)
		select {
		case <-listener.ended:
		case <-time.After(5 * time.Second):
			t.Errorf("%s: not ended", name)
		}
	}
}

// A told is a connection that knows its last deadlines. To be told that one has passed takes it a while.
type told struct {
	net.Conn
	mu    sync.Mutex
	last  time.Time
	begun chan struct{}
}

func (c *told) SetWriteDeadline(t time.Time) error {
	if t.Equal(longAgo) {
		close(c.begun)
		time.Sleep(testRound)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = t
	return nil
}

func (c *told) SetReadDeadline(t time.Time) error { return c.SetWriteDeadline(t) }
func (c *told) Close() error                      { return nil }

// TestDeadlineMovedWhileLookedAt moves a deadline that has passed while somebody looks at it: the new one holds.
func TestDeadlineMovedWhileLookedAt(t *testing.T) {
	for name, of := range map[string]func(*Conn) func(time.Time) error{
		"read":  func(c *Conn) func(time.Time) error { return c.SetReadDeadline },
		"write": func(c *Conn) func(time.Time) error { return c.SetWriteDeadline },
	} {
		listener := &deadlineListener{round: testRound, first: time.Now(), connections: map[*Conn]struct{}{}}
		listener.now.Store(1)
		below := &told{begun: make(chan struct{})}
		c := &Conn{Conn: below, kept: listener}
		listener.connections[c] = struct{}{}
		set := of(c)
		if err := set(time.Now().Add(far)); err != nil {
			t.Fatal(err)
		}
		looked := make(chan struct{})
		go func() {
			defer close(looked)
			listener.look(int64(2 * far))
		}()
		<-below.begun
		if err := set(listener.first.Add(4 * far)); err != nil {
			t.Fatal(err)
		}
		<-looked
		if !below.last.IsZero() {
			t.Errorf("%s: the connection below was last told %v", name, below.last)
		}
	}
}

// A late is a listener that is closed while it accepts.
type late struct {
	net.Listener
	accepting, closed chan struct{}
	accepted          net.Conn
}

func (l *late) Accept() (net.Conn, error) {
	close(l.accepting)
	<-l.closed
	return l.accepted, nil
}

func (l *late) Close() error { return nil }

// TestAcceptedLate has a connection accepted when the listener has just been closed: its deadlines are not watched any
// more, so it is refused, and nothing is ended twice.
func TestAcceptedLate(t *testing.T) {
	ours, theirs := net.Pipe()
	below := &late{accepting: make(chan struct{}), closed: make(chan struct{}), accepted: ours}
	listener := newDeadlineListener(below, testRound)
	go func() {
		<-below.accepting
		_ = listener.Close()
		close(below.closed)
	}()
	c, err := listener.Accept()
	if err == nil {
		_ = c.Close()
	}
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepted: %v", err)
	}
	if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the other end: %v", err)
	}
}
