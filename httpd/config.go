package httpd

import (
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"time"

	"bailiff/runtime/authority"
	"bailiff/runtime/gateway"
	"bailiff/runtime/limit"
	"bailiff/runtime/metrics"
)

// Config is what a server is made of. Authority, Log, Clock and Random are required.
type Config struct {
	Authority *authority.Authority
	Log       *slog.Logger
	Clock     authority.Clock
	Random    io.Reader // for the ids of requests

	Commit    string // full id of the commit that the build is bound to, or empty
	PublicURL string // of the service as clients reach it, without a trailing slash; documents point there. Empty: relative

	Limits         Limits
	Store          limit.Store    // counts the requests; required where a limit is set
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed

	Gateway *gateway.Gateway // nil where the service has no gateways

	Metrics  *metrics.Metrics // nil where nobody reads them
	Timeouts Timeouts
}

// Timeouts bound how long clients may take. What is zero is set to its default.
type Timeouts struct {
	Transfer time.Duration // to send a request, headers and body, and to read the answer; 15 seconds
	Idle     time.Duration // between requests of a connection; 2 minutes
}

// The default timeouts.
const (
	transferTimeout = 15 * time.Second
	idleTimeout     = 2 * time.Minute
)

func (t Timeouts) orDefault() Timeouts {
	if t.Transfer == 0 {
		t.Transfer = transferTimeout
	}
	if t.Idle == 0 {
		t.Idle = idleTimeout
	}
	return t
}

// Limits are the rate limits ("Limits" of the specification). A zero window is no limit.
type Limits struct {
	Key      limit.Window // authorize and test-run together, per API key
	IP       limit.Window // everything but documents, per source, before authentication
	Holds    limit.Window // reads and resolutions of holds, per API key
	Register limit.Window // attempts to register an API key, per source
	Manage   limit.Window // deployments, webhooks and events together, per API key
}

// DefaultLimits are the limits of the specification where a service is hosted, and none where it is self-hosted. That of
// deployments, webhooks and events is this implementation's own.
func DefaultLimits(environment string, hosted bool) Limits {
	if !hosted {
		return Limits{}
	}
	limits := Limits{
		Key:      limit.Window{Limit: 180, Per: time.Minute},
		IP:       limit.Window{Limit: 1500, Per: time.Minute},
		Holds:    limit.Window{Limit: 30, Per: time.Minute},
		Register: limit.Window{Limit: 5, Per: time.Hour},
		Manage:   limit.Window{Limit: 120, Per: time.Minute},
	}
	if environment == authority.Test {
		limits.Key.Limit, limits.IP.Limit = 120, 1000
	}
	return limits
}

// check returns what is missing or impossible.
func (c *Config) check() error {
	if c.Authority == nil || c.Log == nil || c.Clock == nil || c.Random == nil {
		return errors.New("a server needs an authority, a log, a clock and randomness")
	}
	for _, w := range []limit.Window{c.Limits.Key, c.Limits.IP, c.Limits.Holds, c.Limits.Register, c.Limits.Manage} {
		switch {
		case w.Limit < 0 || w.Limit > 0 && w.Per <= 0:
			return errors.New("a rate limit is a number of requests in a time, both greater than zero")
		case w.Limit > 0 && c.Store == nil:
			return errors.New("a rate limit needs a store that counts")
		}
	}
	return nil
}
