//go:build !linux

package strict

import (
	"errors"
	"net"
)

// stopConnecting fails: this system has no such filter.
func stopConnecting(*net.TCPListener) error { return errors.ErrUnsupported }
