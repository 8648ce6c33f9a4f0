// Package port finds loopback ports for servers that have to be told theirs before they listen.
package port

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports from which Free draws. They are below those that Linux, macOS and Windows give to outgoing connections and to
// listeners on port 0, so that none of these takes one between Free and the start of the server.
const (
	lowest  = 12_000
	highest = 30_000
)

// attempts is how many ports Free tries.
const attempts = 100

// Free returns a TCP port of 127.0.0.1 on which nothing listens, or an error where it found none.
func Free() (string, error) {
	var last error
	for range attempts {
		port := strconv.Itoa(lowest + rand.IntN(highest-lowest))
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			last = errors.Join(last, err)
			continue
		}
		return port, listener.Close()
	}
	return "", fmt.Errorf("found no free port between %d and %d in %d attempts: %w", lowest, highest, attempts, last)
}

// FreeAddress is Free with the host: 127.0.0.1:PORT.
func FreeAddress() (string, error) {
	port, err := Free()
	return net.JoinHostPort("127.0.0.1", port), err
}

// Closed returns an address of this machine where nothing listens.
func Closed(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
