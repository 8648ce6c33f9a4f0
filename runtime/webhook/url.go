package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"bailiff/runtime/ledger"
	"bailiff/runtime/system"
	"bailiff/vm/form/httpurl"
)

// ErrURL says that a webhook cannot be registered with a URL. What wraps it is for who registers it.
var ErrURL = errors.New("webhook: the url cannot be used")

// resolveTimeout bounds how long a registration waits for the name's addresses.
const resolveTimeout = 3 * time.Second

// CheckURL returns why a URL cannot be a webhook's, or nil. It must be of https, have a host in its canonical spelling,
// neither user information nor a fragment, and lead to public addresses. With allowPrivate, http and all addresses
// pass. Every error wraps [ErrURL], and tells no address that the caller has not written: a client that registers must not learn
// the names and addresses of the network that the service is in.
//
// A name that does not exist is refused. One that cannot be looked up at the moment passes: the address of every
// connection is checked when it is made.
func CheckURL(ctx context.Context, calls system.Calls, raw string, allowPrivate bool) error {
	return checkURL(ctx, &guard{calls, allowPrivate}, raw)
}

func checkURL(ctx context.Context, g *guard, raw string) error {
	target, err := parseURL(raw, g.allowPrivate)
	if err != nil || g.allowPrivate {
		return err
	}
	ctx, cancel := g.calls.Timeout(ctx, resolveTimeout)
	defer cancel()
	_, err = g.addresses(ctx, target.Hostname())
	_, notAddress := netip.ParseAddr(target.Hostname())
	var lookup *net.DNSError
	switch {
	case errors.Is(err, errAddress) && notAddress != nil:
		return fmt.Errorf("%w: the host %.253q: %w", ErrURL, target.Hostname(), errAddress) // which one is the network's own business
	case errors.Is(err, errAddress):
		return fmt.Errorf("%w: %w", ErrURL, err)
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return fmt.Errorf("%w: the host %q does not exist", ErrURL, target.Hostname())
	}
	return nil
}

// parseURL takes a URL apart and judges all of it that can be judged without asking for addresses.
func parseURL(raw string, allowPrivate bool) (*url.URL, error) {
	if len(raw) > ledger.MaxWebhookURL {
		return nil, fmt.Errorf("%w: it has %d bytes: at most %d", ErrURL, len(raw), ledger.MaxWebhookURL)
	}
	parts, err := httpurl.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	target, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, errors.Unwrap(err))
	}
	host := target.Hostname()
	_, notAddress := netip.ParseAddr(parts.Host)
	switch {
	case strings.Contains(raw, "#"):
		return nil, fmt.Errorf("%w: a fragment (#) is never sent: leave it out", ErrURL)
	case parts.Scheme != "https" && !allowPrivate:
		return nil, fmt.Errorf("%w: it must start with https://", ErrURL)
	case target.User != nil || target.Opaque != "":
		return nil, fmt.Errorf("%w: %w", ErrURL, httpurl.ErrUserinfo)
	case strings.ToLower(host) != parts.Host:
		return nil, fmt.Errorf("%w: write the host %.253q as %q", ErrURL, host, parts.Host)
	case target.Port() == "0" || strings.HasSuffix(target.Host, ":"):
		return nil, fmt.Errorf("%w: %w", ErrURL, httpurl.ErrPort)
	case !allowPrivate && notAddress != nil && isLocalName(parts.Host):
		return nil, fmt.Errorf("%w: %q is a name of a local network, not of the Internet", ErrURL, parts.Host)
	}
	return target, nil
}

// localNames are the ends of names that mean this machine or a local network (RFC 6761, RFC 6762, RFC 8375, and
// what ICANN has reserved for private use).
var localNames = []string{".localhost", ".local", ".home.arpa", ".internal"}

// isLocalName reports whether a canonical name does not belong to the Internet. One without a dot is looked up in the
// domains of the asking machine.
func isLocalName(host string) bool {
	for _, end := range localNames {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	return !strings.Contains(host, ".")
}
