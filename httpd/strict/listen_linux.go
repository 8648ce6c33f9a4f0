package strict

import (
	"net"

	"golang.org/x/sys/unix"
)

// withoutSYN is a filter that drops whatever asks for a connection (RFC 9293, 3.1: bit 1 of the octet 13 of a TCP header
// is SYN), and leaves what completes one. Who asks is not refused, and asks again after a second: by then the listener
// is closed, or its successor there.
var withoutSYN = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 13},
	{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 1 << 1, Jf: 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	{Code: unix.BPF_RET | unix.BPF_K, K: 1<<32 - 1},
}

// stopConnecting makes the kernel connect no more clients, while those that are connected can still be accepted.
func stopConnecting(listener *net.TCPListener) error {
	raw, err := listener.SyscallConn()
	if err != nil {
		return err
	}
	filter := unix.SockFprog{Len: uint16(len(withoutSYN)), Filter: &withoutSYN[0]}
	var fault error
	err = raw.Control(func(fd uintptr) {
		fault = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &filter)
	})
	if err != nil {
		return err
	}
	return fault
}
