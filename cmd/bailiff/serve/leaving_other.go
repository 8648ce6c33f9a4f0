//go:build !linux

package serve

import (
	"errors"
	"net"
)

// stopConnecting fails where the system can't be told to connect nobody.
func stopConnecting(*net.TCPListener) error { return errors.ErrUnsupported }
