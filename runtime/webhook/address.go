package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"bailiff/runtime/system"
)

// errAddress says that an address is not one of the public Internet.
var errAddress = errors.New("webhook: not a public address")

// refused4 is what of IPv4 is not reached: the registry of special-purpose addresses (RFC 6890) and what came to it,
// multicast and the reserved end.
var refused4 = prefixes(
	"0.0.0.0/8",        // this network; 0.0.0.0 is the machine itself
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared by carriers (RFC 6598)
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // the host of Azure's virtual machines
	"169.254.0.0/16",   // link-local, and the metadata of clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.52.193.0/24",  // multicast relays (RFC 7450)
	"192.88.99.0/24",   // relays of 6to4
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, and broadcast
)

// global6 is what of IPv6 is handed out to the public. Loopback, unspecified, link-local, unique-local, multicast, and
// what embeds an IPv4 address for a translator (NAT64) lie outside.
var global6 = netip.MustParsePrefix("2000::/3")

// refused6 is what of global6 is not reached.
var refused6 = prefixes(
	"2001::/23",     // protocol assignments: Teredo, benchmarks, ORCHID
	"2001:db8::/32", // documentation
	"2002::/16",     // 6to4, which embeds an IPv4 address
	"3fff::/20",     // documentation
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// checkAddress returns an error that wraps errAddress for an address that is not one of the public Internet. An IPv4
// address in the form of IPv6 is judged as what it is.
func checkAddress(a netip.Addr) error {
	plain := a.Unmap()
	refused := refused4
	if plain.Is6() {
		refused = refused6
		if plain.Zone() != "" || !global6.Contains(plain) {
			return fmt.Errorf("%w: %s", errAddress, a)
		}
	}
	for _, p := range refused {
		if p.Contains(plain) {
			return fmt.Errorf("%w: %s, of %s", errAddress, a, p)
		}
	}
	if !plain.IsValid() {
		return fmt.Errorf("%w: none", errAddress)
	}
	return nil
}

// A guard makes connections to public addresses only.
type guard struct {
	calls        system.Calls
	allowPrivate bool
}

// addresses returns the addresses of a host. A name of which one address is not public is refused as a whole: who
// controls it plays with addresses.
func (g *guard) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	var found []netip.Addr
	var err error
	if literal, parseErr := netip.ParseAddr(host); parseErr == nil {
		found = []netip.Addr{literal}
	} else if found, err = g.calls.Resolve(ctx, "ip", host); err != nil {
		return nil, err
	}
	for i, a := range found {
		found[i] = a.Unmap() // resolvers give IPv4 addresses in either form
		if g.allowPrivate {
			continue
		}
		if err := checkAddress(a); err != nil {
			return nil, fmt.Errorf("the host %.253q: %w", host, err)
		}
	}
	return found, nil
}

// connectTimeout bounds the wait for one address. A receiver may have several.
const connectTimeout = 4 * time.Second

// dial connects to the first address of a host that answers.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	found, err := g.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	err = fmt.Errorf("the host %.253q has no address", host)
	for _, a := range found {
		var connection net.Conn
		if connection, err = g.connect(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			return connection, nil
		}
	}
	return nil, err
}

func (g *guard) connect(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := g.calls.Timeout(ctx, connectTimeout)
	defer cancel()
	return g.calls.Dial(ctx, network, address, g.control)
}

// control is asked about every connection just before it is made. It has the last word: what was resolved before does
// not count.
func (g *guard) control(_, address string, _ syscall.RawConn) error {
	if g.allowPrivate {
		return nil
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q", errAddress, address)
	}
	return checkAddress(to.Addr())
}

// client returns the client of all deliveries.
func (g *guard) client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            g.dial,
			Proxy:                  nil, // one would connect in our place, unguarded
			TLSHandshakeTimeout:    requestTimeout,
			MaxIdleConnsPerHost:    2,
			MaxIdleConns:           256,
			IdleConnTimeout:        30 * time.Second,
			MaxResponseHeaderBytes: 32 << 10,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
