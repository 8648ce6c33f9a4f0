package serve

import (
	"context"
	"net"
	"time"
)

// leaveTime is how long a listener that is closed goes on to accept whom the kernel has connected already.
var leaveTime = 50 * time.Millisecond // tests on a busy machine wait longer

// A leavingListener resets nobody for whom there is room when it is closed. The kernel connects clients before they are
// accepted, and a listener that ends takes those who still wait with it, requests and all. So first it takes no new ones,
// then it gives Accept the time to come to the end of those who wait.
type leavingListener struct{ *net.TCPListener }

// listenTCP listens for clients at an address, without Multipath TCP, whose sockets take no filter.
func listenTCP(address string) (net.Listener, error) {
	var plain net.ListenConfig
	plain.SetMultipathTCP(false)
	listener, err := plain.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	return leavingListener{listener.(*net.TCPListener)}, nil
}

// Close implements net.Listener. Where the system has no such filter, or not for this user, it ends at once.
func (l leavingListener) Close() error {
	if stopConnecting(l.TCPListener) == nil {
		time.Sleep(leaveTime)
	}
	return l.TCPListener.Close()
}
