package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestWire: a wire carries bytes, holds those of both directions or of one, carries them when that ends, and cuts.
func TestWire(t *testing.T) {
	echo, came := echoing(t)
	w := New(t, listen(t), "tcp", echo.Addr().String())
	conn := dial(t, w)
	answered := func(within time.Duration) bool {
		_ = conn.SetReadDeadline(time.Now().Add(within))
		_, err := io.ReadFull(conn, make([]byte, 1))
		if err != nil && !os.IsTimeout(err) {
			t.Fatal(err)
		}
		return err == nil
	}
	send := func(b byte) {
		if _, err := conn.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	send(1)
	if <-came; !answered(20 * time.Second) {
		t.Fatal("nothing is carried")
	}
	w.Set(Holds)
	if send(2); answered(50*time.Millisecond) || len(came) != 0 {
		t.Error("bytes pass a wire that holds them")
	}
	w.Set(Answers)
	if <-came; answered(50 * time.Millisecond) {
		t.Error("an answer passes")
	}
	w.Set(None)
	if !answered(20 * time.Second) {
		t.Error("an answer that was held is lost")
	}
	w.Set(Requests)
	if send(4); answered(50*time.Millisecond) || len(came) != 0 {
		t.Error("a request passes")
	}
	w.Set(None)
	if <-came; !answered(20 * time.Second) {
		t.Error("a request that was held is lost")
	}
	w.Set(Cut)
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection that was cut: %v", err)
	}
	late, err := net.Dial("tcp", w.Address()) // which may be told of it already
	if err == nil {
		_ = late.SetReadDeadline(time.Now().Add(20 * time.Second))
		_, err = late.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection over a wire that is cut: %v", err)
	}
	w.Set(None)
	conn = dial(t, w)
	send(3)
	if <-came; !answered(20 * time.Second) {
		t.Error("nothing is carried after a cut")
	}
}

// echoing sends each byte back that comes to it, and tells it.
func echoing(t *testing.T) (echo net.Listener, came chan byte) {
	t.Helper()
	echo, came = listen(t), make(chan byte, 10)
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				one := make([]byte, 1)
				for {
					if _, err := io.ReadFull(conn, one); err != nil {
						conn.Close()
						return
					}
					came <- one[0]
					_, _ = conn.Write(one)
				}
			}()
		}
	}()
	return echo, came
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func dial(t *testing.T, w *Wire) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", w.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
