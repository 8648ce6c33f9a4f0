package serve

import (
	"net"

	"golang.org/x/sys/unix"

	"bailiff/httpd"
)

// peerOf names the user at the other end of a connection, as the kernel knows it (unix(7), SO_PEERCRED).
func peerOf(connection *net.UnixConn) httpd.UnixPeer {
	raw, err := connection.SyscallConn()
	if err != nil {
		return httpd.UnknownPeer
	}
	peer := httpd.UnknownPeer
	_ = raw.Control(func(fd uintptr) {
		if credentials, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			peer = httpd.UnixPeer(credentials.Uid)
		}
	})
	return peer
}
