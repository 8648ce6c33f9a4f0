package strict

import (
	"context"
	"net"
	"time"
)

// AcceptTime is how long a closed listener continues to accept clients that the kernel has connected already.
const AcceptTime = 50 * time.Millisecond

var acceptTime = AcceptTime // tests on a busy machine wait longer

// A drainingListener resets no client when it is closed. The kernel connects clients before they are accepted, and resets
// them, requests and all, when their listener is closed first. So Close stops new connections, then gives Accept the time to
// return those that are waiting.
type drainingListener struct{ *net.TCPListener }

// Listen listens for clients at an address, with a listener that drains when it is closed. It does without Multipath TCP, whose
// sockets take no filter.
func Listen(address string) (net.Listener, error) {
	var plain net.ListenConfig
	plain.SetMultipathTCP(false)
	listener, err := plain.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	return drainingListener{listener.(*net.TCPListener)}, nil
}

// Close implements net.Listener. Where the system has no such filter, or not for this user, it ends at once.
func (l drainingListener) Close() error {
	if stopConnecting(l.TCPListener) == nil {
		time.Sleep(acceptTime)
	}
	return l.TCPListener.Close()
}
