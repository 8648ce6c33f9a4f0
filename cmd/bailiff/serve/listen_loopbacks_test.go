package serve

import (
	"net"
	"strings"
	"testing"
)

// TestLoopbacks: the operator's listener has the port on every address that localhost may mean.
func TestLoopbacks(t *testing.T) {
	probe, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Logf("the machine has no IPv6: %v", err)
	} else {
		probe.Close()
	}
	listeners, listenErr := listenLoopbacks("127.0.0.1:0")
	if listenErr != nil {
		t.Fatal(listenErr)
	}
	if want := map[bool]int{true: 2, false: 1}[err == nil]; len(listeners) != want {
		t.Errorf("there are %d listeners, want %d", len(listeners), want)
	}
	_, port, _ := net.SplitHostPort(listeners[0].Addr().String())
	for _, listener := range listeners {
		if other, err := net.Listen("tcp", listener.Addr().String()); err == nil {
			other.Close()
			t.Errorf("another program can listen on %s", listener.Addr())
		}
		if !strings.HasSuffix(listener.Addr().String(), ":"+port) {
			t.Errorf("%s is another port than %s", listener.Addr(), port)
		}
	}
	last := listeners[len(listeners)-1]
	for _, listener := range listeners[:len(listeners)-1] {
		listener.Close()
	}
	if len(listeners) == 2 { // somebody else was first on [::1]
		if got, err := listenLoopbacks("127.0.0.1:" + port); err == nil || !strings.Contains(err.Error(), "[::1]") {
			closeAll(got)
			t.Errorf("beside a listener on %s: %v", last.Addr(), err)
		}
		free, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatalf("what was refused is still open: %v", err)
		}
		free.Close()
	}
	last.Close()
}
