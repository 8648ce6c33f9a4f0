package main

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
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

var noLog = slog.New(slog.NewTextHandler(io.Discard, nil))

// TestSteadyListener: a want of files or memory passes by, and every other error is the end, which gives the place back.
func TestSteadyListener(t *testing.T) {
	for _, shortage := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		l := steady(newScript(shortage, shortage, nil), make(places, 1), time.Now, noLog)
		connection, err := l.Accept()
		if err != nil {
			t.Fatalf("after %v: %v", shortage, err)
		}
		connection.Close()
	}
	for _, p := range []places{nil, make(places, 1)} {
		l := steady(newScript(syscall.EINVAL, syscall.EMFILE, nil), p, time.Now, noLog)
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

// TestPlaces: no more connections are accepted than there are places, over all listeners that share them, and whoever closes
// one twice gives one place back.
func TestPlaces(t *testing.T) {
	shared := make(places, 2)
	a, b := steady(newScript(nil, nil, nil), shared, time.Now, noLog), steady(newScript(nil), shared, time.Now, noLog)
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
			t.Fatal("there was no place")
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

// TestSteadyListenerCloses while it waits for a place, and while it waits for files.
func TestSteadyListenerCloses(t *testing.T) {
	full := make(places, 1)
	full <- struct{}{}
	var shortage []error
	for range 20 {
		shortage = append(shortage, syscall.EMFILE)
	}
	for name, l := range map[string]*steadyListener{"place": steady(newScript(nil), full, time.Now, noLog), "files": steady(newScript(shortage...), nil, time.Now, noLog)} {
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

func TestPlacesFor(t *testing.T) {
	for files, want := range map[uint64]int{1: 1, 64: 1, 65: 1, 120: 56, 1024: 768, 65536: 49152, 1 << 40: 256 << 10} {
		if got := placesFor(files); got != want {
			t.Errorf("%d files: %d connections, want %d", files, got, want)
		}
	}
}
