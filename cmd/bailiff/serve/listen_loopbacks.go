package serve

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// loopbacks are the addresses that localhost means. A browser tries either first.
var loopbacks = [...]string{"127.0.0.1", "::1"}

// loopbackTries is how many ports are drawn until one is free on both addresses.
const loopbackTries = 20

// listenLoopbacks listens on the port of an address on both loopback addresses, of which the first has to be there: what does
// not listen on one of them leaves it to any other user of the machine, whose page a browser would show under the same name.
// A port that is 0 is drawn.
func listenLoopbacks(address string) (listeners []net.Listener, err error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	for range loopbackTries {
		if listeners, err = listenBoth(port); err == nil || port != "0" || !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return listeners, err
}

func listenBoth(port string) (listeners []net.Listener, err error) {
	for _, host := range loopbacks {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
		switch {
		case err == nil:
			listeners = append(listeners, listener)
			_, port, _ = net.SplitHostPort(listener.Addr().String())
		case len(listeners) > 0 && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)):
			// The machine has no IPv6, so no program can listen there.
		default:
			return nil, errors.Join(fmt.Errorf("it needs the port on 127.0.0.1 and on [::1], which browsers take for the same name: %w", err), closeAll(listeners))
		}
	}
	return listeners, nil
}

func closeAll(listeners []net.Listener) error {
	var faults []error
	for _, listener := range listeners {
		faults = append(faults, listener.Close())
	}
	return errors.Join(faults...)
}
