//go:build unix

package gateway

import (
	"errors"
	"net"
	"syscall"
)

// alive reports whether an idle connection is still open and silent. One that the other side has closed reads as ended,
// and one on which something came unasked is out of step: neither is used again.
func alive(connection net.Conn) bool {
	raw, ok := connection.(syscall.Conn)
	if !ok {
		return false
	}
	inner, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	var one [1]byte
	open := false
	err = inner.Read(func(fd uintptr) bool {
		_, fault := syscall.Read(int(fd), one[:])
		open = errors.Is(fault, syscall.EAGAIN)
		return true
	})
	return err == nil && open
}
