package oracle

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"bailiff/grammar"
)

// A hostPattern is one entry of a list of hosts.
type hostPattern struct {
	host       string // canonical
	exact      bool   // covers the host itself
	subdomains bool   // covers what is below it
}

func (h hostPattern) covers(host string) bool {
	return h.exact && host == h.host || h.subdomains && strings.HasSuffix(host, "."+h.host)
}

// readHosts: "`example.com` in a blocked list covers its subdomains, and `*.example.com` there means the same; in
// `http.allowed_hosts` a name is exact, and `*.example.com` covers subdomains only" (decisions, section 2,
// "Matching").
func (p *Policy) readHosts(*grammar.File) error {
	for _, entry := range p.tools.list("web_fetch.blocked_domains") {
		host := canonicalHost(strings.TrimPrefix(entry, "*."))
		if host == "" {
			return fmt.Errorf("oracle: %q is no host", entry)
		}
		p.domains = append(p.domains, hostPattern{host, true, true})
	}
	for _, entry := range p.tools.list("http.allowed_hosts") {
		name, wild := strings.CutPrefix(entry, "*.")
		host := canonicalHost(name)
		if host == "" {
			return fmt.Errorf("oracle: %q is no host", entry)
		}
		p.hosts = append(p.hosts, hostPattern{host, !wild, wild})
	}
	return nil
}

// urlParts are the parts of a URL: the canonical host, "" where it cannot be read; the path as written, "/" where it
// is empty; the query as written, without its question mark.
type urlParts struct{ host, path, query string }

// readURL takes a URL apart that the decoder has accepted.
func readURL(raw string) urlParts {
	_, rest, _ := strings.Cut(raw, "://")
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if strings.Contains(authority, "@") {
		return urlParts{path: "/" + path, query: query} // "A URL with user information is refused" (choices)
	}
	name := authority
	if colon := strings.LastIndex(authority, ":"); colon > strings.LastIndex(authority, "]") {
		name = authority[:colon] // the port
	}
	return urlParts{canonicalHost(name), "/" + path, query}
}

// mapping is "UTS 46 without transitional processing; underscores pass" (choices).
var mapping = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.StrictDomainName(false),
	idna.CheckHyphens(false))

var (
	// lastNumber finds the names that URLs read as IPv4 addresses: those whose last label is a number (WHATWG URL,
	// 3.5, "ends in a number").
	lastNumber = regexp.MustCompile(`(^|\.)([0-9]+|0x[0-9a-f]*)$`)
	// hostName is a name of labels of letters, digits, "-" and "_", at most 63 of them each (RFC 1035, 2.3.4).
	hostName = regexp.MustCompile(`^[-_0-9a-z]{1,63}(\.[-_0-9a-z]{1,63})*$`)
)

// canonicalHost: "Hosts: lower-cased, IDNA to ASCII, one trailing dot dropped, IP literals canonical (decimal, octal,
// hex spellings; IPv4-mapped IPv6 unmapped)". It is "" for what is no host. IPv6 has no brackets in this form.
func canonicalHost(name string) string {
	if strings.ContainsAny(name, "[]:") {
		return canonicalIPv6(name)
	}
	ascii, err := mapping.ToASCII(name)
	if err != nil {
		return ""
	}
	if !strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) && ascii != strings.ToLower(name) {
		return "" // Punycode that IDNA does not write
	}
	ascii = strings.TrimSuffix(ascii, ".")
	if len(ascii) > 253 || !hostName.MatchString(ascii) {
		return ""
	}
	if lastNumber.MatchString(ascii) {
		return canonicalIPv4(ascii)
	}
	return ascii
}

// canonicalIPv6 reads an address with both brackets or none.
func canonicalIPv6(name string) string {
	if len(name) > 2 && name[0] == '[' && name[len(name)-1] == ']' {
		name = name[1 : len(name)-1]
	}
	address, err := netip.ParseAddr(name)
	if err != nil || !address.Is6() || address.Zone() != "" {
		return ""
	}
	return address.Unmap().String()
}

// canonicalIPv4 reads one to four numbers with dots between, of which the last fills the bytes that are left.
func canonicalIPv4(name string) string {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return ""
	}
	address := uint64(0)
	for i, part := range parts {
		value, ok := ipNumber(part)
		room := uint64(1) << 8
		if i == len(parts)-1 {
			room = 1 << (8 * (5 - len(parts)))
		}
		if !ok || value >= room {
			return ""
		}
		address = address*room + value
	}
	return netip.AddrFrom4([4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)}).String()
}

// ipNumber reads a decimal, octal (0…) or hexadecimal (0x…) number.
func ipNumber(part string) (uint64, bool) {
	base := 10
	if digits, hex := strings.CutPrefix(part, "0x"); hex {
		part, base = digits, 16
	} else if len(part) > 1 && part[0] == '0' {
		part, base = part[1:], 8
	}
	value, err := strconv.ParseUint(part, base, 64)
	return value, err == nil && !strings.ContainsAny(part, "+_")
}
