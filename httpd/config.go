package httpd

import (
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/approve"
	"bailiff/httpd/console"
	"bailiff/httpd/peers"
	"bailiff/runtime/budget"
	"bailiff/runtime/clock"
	"bailiff/runtime/decision"
	"bailiff/runtime/gateway"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/metrics"
	"bailiff/runtime/ratelimit"
	"bailiff/runtime/service"
)

// specVersion is the version of the API's specification (specification, "Compatibility").
const specVersion = "2.0.0"

// A Check is a part that has to work for the service to decide. Anyone may read it: a reason has no secrets and no paths.
type Check struct {
	Name   string
	Ready  bool
	Reason string
}

// Config is what a server is made of. Authority, Log, Clock and Random are required.
type Config struct {
	Authority *decision.Decider
	Log       *slog.Logger
	Clock     clock.Clock
	Random    io.Reader // for the ids of requests

	Commit     string    // full id of the commit that the build is bound to, or empty
	CommitTime time.Time // of that commit, or zero
	PublicURL  string    // of the service as clients reach it, without a trailing slash; documents point there. Empty: relative
	Contact    string    // of who runs the service, for the conformance descriptor; may be empty

	Limits         Limits
	Stores         Stores         // count the requests
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed

	// Confirm has to confirm an answer before it is told, where another instance may take the ledger over; nil where none can.
	Confirm commit.Confirmer

	Ready func() []Check // whether the service can decide; it has to be quick, since anyone may ask. nil: not ready

	Gateway *gateway.Gateway // nil where the service has no gateways

	Console           *console.Console // nil where the service has no console
	AuthZENAuthorizes bool             // evaluations of AuthZEN have the effects of authorize; otherwise they are test-runs
	EnvoyAuthorizes   bool             // the same of requests of Envoy's

	Approve *approve.Pages // the approvers' pages; nil where there are none

	Bodies *budget.Budget // counts the memory of request bodies; nil: NewBodies

	Passed bool // requests come from other instances, which say who has sent them
	// Slots are the slots of the store, of which other instances have some: requests about their keys are passed on. nil where there is one log.
	Slots *slots.Ledger
	Pass  *peers.Passing // with Slots
	// Commands answer commands about approvers that another instance passes on; with Slots, nil for none.
	Commands *Commands

	Metrics  *metrics.Metrics // nil where they are not read
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

// Commands answer commands of operators that other instances pass on, as soon as [Admin.Answers] was called. The zero value answers none.
type Commands struct {
	answer atomic.Pointer[func(ctx *fasthttp.RequestCtx, path string) bool] // false: nothing was done
}

// Limits are the rate limits (specification, "Rate limits"). A zero window is no limit.
type Limits struct {
	Key      ratelimit.Window // authorize and test-run together, per API key
	IP       ratelimit.Window // everything but documents, per source, before authentication
	Holds    ratelimit.Window // reads and resolutions of holds, per API key
	Register ratelimit.Window // attempts to register an API key, per source
	Manage   ratelimit.Window // deployments, webhooks and events together, per API key
	Deploy   ratelimit.Window // policies that are compiled, per API key; the authority counts them
}

// Stores count what the limits bound, each apart from the others: clients cannot choose the keys there are, but one with
// a large network has as many sources as a store holds, and those that register are remembered for long. What is
// required is what a limit is set for.
type Stores struct {
	Sources       ratelimit.Store // of Limits.IP
	Registrations ratelimit.Store // of Limits.Register
	Keys          ratelimit.Store // of all that counts by key; and of Limits.IP, by key, where Sources is full
}

// DefaultLimits are the limits of the specification where a service is hosted, and none where it is self-hosted. That of
// deployments, webhooks and events is this implementation's own.
func DefaultLimits(environment string, hosted bool) Limits {
	if !hosted {
		return Limits{}
	}
	limits := Limits{
		Key:      ratelimit.Window{Limit: 180, Per: time.Minute},
		IP:       ratelimit.Window{Limit: 1500, Per: time.Minute},
		Holds:    ratelimit.Window{Limit: 30, Per: time.Minute},
		Register: ratelimit.Window{Limit: 5, Per: time.Hour},
		Manage:   ratelimit.Window{Limit: 120, Per: time.Minute},
		Deploy:   ratelimit.Window{Limit: 10, Per: time.Hour},
	}
	if environment == service.Test {
		limits.Key.Limit, limits.IP.Limit = 120, 1000
	}
	return limits
}

// check returns what is missing or impossible.
func (c *Config) check() error {
	if c.Authority == nil || c.Log == nil || c.Clock == nil || c.Random == nil {
		return errors.New("a server needs an authority, a log, a clock and randomness")
	}
	return c.Limits.check(&c.Stores)
}

// check refuses limits that these stores cannot count.
func (l *Limits) check(stores *Stores) error {
	for _, row := range []struct {
		window ratelimit.Window
		stores []ratelimit.Store
	}{
		{l.Key, []ratelimit.Store{stores.Keys}},
		{l.IP, []ratelimit.Store{stores.Sources, stores.Keys}},
		{l.Holds, []ratelimit.Store{stores.Keys}},
		{l.Register, []ratelimit.Store{stores.Registrations}},
		{l.Manage, []ratelimit.Store{stores.Keys}},
		{l.Deploy, nil},
	} {
		switch w := row.window; {
		case w.Limit < 0 || w.Limit > 0 && w.Per <= 0:
			return errors.New("a rate limit is a number of requests in a time, both greater than zero")
		case w.Limit > 0 && slices.Contains(row.stores, nil):
			return errors.New("a rate limit needs a store that counts")
		}
	}
	return nil
}
