// Package system is the only way in which packages with state or secrets reach the machine: clock, timers, randomness, connections,
// names and goroutines. The service makes one [Calls] and hands it to them; a test or a simulator makes another one. tidy_test.go
// forbids these packages to reach the machine in other ways.
package system

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"

	"bailiff/runtime/clock"
)

// Calls are the functions by which a package reaches the machine. They may be called at the same time.
type Calls struct {
	Clock  clock.Clock
	Random io.Reader // never fails
	// Dial connects to an address. It gives up when ctx ends. control, which may be nil, sees each address that a name led to just
	// before the connection is made, and refuses it with an error, as in [net.Dialer].
	Dial func(ctx context.Context, network, address string, control Control) (net.Conn, error)
	// Resolve returns the addresses of a name, as [net.Resolver.LookupNetIP] does.
	Resolve func(ctx context.Context, network, host string) ([]netip.Addr, error)
	// Go starts a task in the background.
	Go func(task func())
	// Timers start timers; nil are the machine's.
	Timers Timers
}

// Timeout is [context.WithTimeout] by the timers of c.
func (c *Calls) Timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return c.Timers.Timeout(ctx, c.Clock, d)
}

// A Control checks an address before a connection to it is made.
type Control func(network, address string, c syscall.RawConn) error

// Go starts a task in a goroutine. It is the Go of [Real], and what a package starts tasks by that was given no other.
func Go(task func()) { go task() }

// Real returns the calls of this machine, with a clock that its caller has made.
func Real(c clock.Clock) Calls {
	return Calls{
		Clock: c, Random: rand.Reader, Resolve: net.DefaultResolver.LookupNetIP,
		Dial: func(ctx context.Context, network, address string, control Control) (net.Conn, error) {
			dialer := net.Dialer{Control: control}
			return dialer.DialContext(ctx, network, address)
		},
		Go: Go,
	}
}
