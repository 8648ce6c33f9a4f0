//go:build unix

package gateway

import (
	"errors"
	"net"
	"syscall"
)

// prober returns what reports whether a connection that is idle is still open and silent. One that the other side has
// closed reads as ended, and one on which something came unasked is out of step: neither is used again.
func prober(connection net.Conn) (alive func() bool) {
	never := func() bool { return false }
	raw, ok := connection.(syscall.Conn)
	if !ok {
		return never
	}
	inner, err := raw.SyscallConn()
	if err != nil {
		return never
	}
	var one [1]byte
	silent := false
	look := func(fd uintptr) bool {
		_, fault := syscall.Read(int(fd), one[:])
		silent = errors.Is(fault, syscall.EAGAIN)
		return true
	}
	return func() bool { return inner.Read(look) == nil && silent }
}
