package strict

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestDraining closes a listener while clients are connected that have not been accepted yet: each is accepted, and no other client
// is connected meanwhile.
func TestDraining(t *testing.T) {
	defer func(usual time.Duration) { acceptTime = usual }(acceptTime)
	acceptTime = 2 * time.Second
	listener, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	probe, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	if err := stopConnecting(probe.(drainingListener).TCPListener); errors.Is(err, unix.EPERM) {
		t.Skipf("this system lets only root filter a socket's packets: %v", err)
	}
	var waiting []net.Conn
	for range 20 {
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		waiting = append(waiting, c)
	}
	var closing sync.WaitGroup
	closing.Go(func() {
		time.Sleep(acceptTime / 5)
		if c, err := net.DialTimeout("tcp", listener.Addr().String(), acceptTime/5); err == nil {
			c.Close()
			t.Error("a client was connected to a listener that is being closed")
		}
		for {
			c, err := listener.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("accept: %v", err)
				}
				return
			}
			_, _ = io.WriteString(c, "x") // a client that misses it is reported below
			c.Close()
		}
	})
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	closing.Wait()
	for i, c := range waiting {
		if got, err := io.ReadAll(c); string(got) != "x" {
			t.Errorf("client %d: %q, %v", i, got, err)
		}
	}
}
