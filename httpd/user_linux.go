package httpd

import (
	"errors"
	"fmt"
	"net"

	"github.com/prometheus/procfs"
)

// errNoUser says that the kernel lists no socket at the other end of a connection.
var errNoUser = errors.New("the kernel does not say which user of this machine made the connection")

// established is the state of a connection that both ends have open (TCP_ESTABLISHED in linux/tcp.h).
const established = 1

// userOf returns the user who made a connection on this machine, as the kernel knows it (proc_pid_net(5), tcp).
func userOf(conn net.Conn) (string, error) {
	there, ok1 := conn.RemoteAddr().(*net.TCPAddr)
	here, ok2 := conn.LocalAddr().(*net.TCPAddr)
	if !ok1 || !ok2 {
		return "", errNoUser
	}
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return "", err
	}
	// A socket of IPv6 may have an IPv4 address.
	for _, list := range []func() (procfs.NetTCP, error){proc.NetTCP, proc.NetTCP6} { //nolint:staticcheck // netlink, which it points to, is not in every kernel
		sockets, err := list()
		if err != nil {
			continue // a kernel without IPv6
		}
		for _, s := range sockets {
			// A socket that its program has closed has no owner, and is listed as root's.
			if s.St == established && s.Inode != 0 && s.LocalPort == uint64(there.Port) && s.RemPort == uint64(here.Port) && s.LocalAddr.Equal(there.IP) && s.RemAddr.Equal(here.IP) {
				return fmt.Sprintf("uid %d", s.UID), nil
			}
		}
	}
	return "", errNoUser
}
