package httpurl

import (
	"net/netip"
	"strings"
)

// The prefixes of IPv6 addresses that hold an IPv4 address, which routers and translators reach in their place.
var (
	compatible = netip.MustParsePrefix("::/96")          // IPv4-compatible (RFC 4291, section 2.5.5.1)
	nat64      = netip.MustParsePrefix("64:ff9b::/96")   // NAT64 (RFC 6052)
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48") // NAT64 of a network's own (RFC 8215)
	sixToFour  = netip.MustParsePrefix("2002::/16")      // 6to4 (RFC 3056)
)

// Embedded returns the IPv4 addresses that a canonical host may hold as an IPv4-compatible, NAT64 or 6to4 address; none
// for any other host. A list that blocks one of them blocks the host. A prefix of NAT64 of a network's own does not say
// how long it is, so that each place is read where its length may put the address (RFC 6052, section 2.2).
func Embedded(host string) []string {
	if strings.IndexByte(host, ':') < 0 { // no other canonical host has one
		return nil
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	b := address.As16()
	ipv4 := func(at ...int) string {
		return netip.AddrFrom4([4]byte{b[at[0]], b[at[1]], b[at[2]], b[at[3]]}).String()
	}
	switch {
	case compatible.Contains(address), nat64.Contains(address):
		return []string{ipv4(12, 13, 14, 15)}
	case localNAT64.Contains(address): // prefixes of 48, 56, 64 and 96 bits; byte 8 is none of the address
		return []string{ipv4(6, 7, 9, 10), ipv4(7, 9, 10, 11), ipv4(9, 10, 11, 12), ipv4(12, 13, 14, 15)}
	case sixToFour.Contains(address):
		return []string{ipv4(2, 3, 4, 5)}
	}
	return nil
}

// IsIPv4 reports whether a canonical host is an IPv4 address.
func IsIPv4(host string) bool { return endsInNumber(host) }
