package oracle

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

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

// readHosts: in a blocked list `example.com` covers its subdomains, and `*.example.com` means the same; in
// `http.allowed_hosts` a name is exact, and `*.example.com` covers subdomains only (specification, tool-rules.7).
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
type urlParts struct {
	host, path, query     string
	scheme, rawHost, port string
	asks                  bool // there is a question mark
}

// readURL takes a URL apart that the decoder has accepted.
func readURL(raw string) urlParts {
	scheme, rest, _ := strings.Cut(raw, "://")
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, asks := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	u := urlParts{path: "/" + path, query: query, scheme: asciiLower(scheme), asks: asks}
	if strings.Contains(authority, "@") {
		return u // "A URL with user information is refused" (choices)
	}
	u.rawHost = authority
	if colon := strings.LastIndex(authority, ":"); colon > strings.LastIndex(authority, "]") {
		u.rawHost, u.port = authority[:colon], authority[colon+1:]
	}
	u.host = canonicalHost(u.rawHost)
	return u
}

// normalURL: "scheme and host lower case, default port and fragment dropped, empty path `/`, escapes of unreserved
// characters decoded, others in upper case". It reports false for a URL whose host cannot be read.
func normalURL(raw string) (string, bool) {
	if !strings.Contains(raw, "://") {
		return "", false
	}
	u := readURL(raw)
	return u.with(normalEscapes(u.path), normalEscapes(u.query)), u.host != ""
}

// decodedURL is what denials read besides: the path "decoded once and with runs of `/` collapsed".
func decodedURL(raw string) []string {
	u := readURL(raw)
	if u.host == "" {
		return nil
	}
	return []string{u.with(decodedPath(u.path), normalEscapes(u.query))}
}

func (u urlParts) with(path, query string) string {
	host := u.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := strings.TrimLeft(u.port, "0")
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[u.scheme] {
		host += ":" + port
	}
	if u.asks {
		query = "?" + query
	}
	return u.scheme + "://" + host + path + query
}

// escape finds a percent-escape.
var escape = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

func escaped(mark string) byte {
	value, _ := strconv.ParseUint(mark[1:], 16, 8)
	return byte(value)
}

// normalEscapes decodes the escapes of unreserved characters (RFC 3986, 2.3) and writes the others in upper case. "Characters
// that RFC 3986 has no place for (`"<>^` and the backquote, braces, `|`, everything outside of ASCII, and a `%` that begins no
// escape) are written as escapes" (choices).
func normalEscapes(text string) string {
	all := ""
	for i, piece := range strings.Split(text, "%") {
		switch {
		case i == 0:
		case escape.MatchString("%" + piece): // the pieces have no % of their own
			all += "%"
		default:
			all += "%25"
		}
		all += piece
	}
	return escapesOfPart(all)
}

// escapesOfPart is normalEscapes for a part, which may end within an escape.
func escapesOfPart(text string) string {
	written := ""
	for i := 0; i < len(text); i++ {
		switch mark := escape.FindStringIndex(text[i:]); {
		case mark != nil && mark[0] == 0:
			written += normalEscape(text[i : i+len("%20")])
			i += len("20")
		case text[i] >= 0x80 || strings.IndexByte("\"<>^`{|}", text[i]) >= 0:
			written += fmt.Sprintf("%%%02X", text[i])
		default:
			written += text[i : i+1]
		}
	}
	return written
}

func normalEscape(mark string) string {
	c := escaped(mark)
	if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
		return string(rune(c))
	}
	return strings.ToUpper(mark)
}

// decodedPath is a path decoded once, with runs of `/` collapsed.
func decodedPath(path string) string {
	path = escape.ReplaceAllStringFunc(path, func(mark string) string { return string([]byte{escaped(mark)}) })
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// dotSegment reports whether a URL's path has "a dot segment, plain or encoded (`..`, `%2e`, `.%2e`, with `/`, `%2f` or
// `%5c` as border)".
func dotSegment(path string) bool {
	decoded := strings.NewReplacer("%2e", ".", "%2f", "/", "%5c", "/").Replace(strings.ToLower(path))
	for _, segment := range strings.Split(decoded, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// lowerOrigin writes the scheme and the host of the beginning of a URL in lower case, and drops a default port that ends
// at a border.
func lowerOrigin(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || asciiLower(scheme) != "http" && asciiLower(scheme) != "https" {
		return text
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		return asciiLower(text)
	}
	authority := asciiLower(rest[:end])
	u := readURL(asciiLower(scheme) + "://" + authority)
	if u.host == "" {
		return asciiLower(scheme) + "://" + authority + rest[end:]
	}
	return strings.TrimSuffix(u.with("/", ""), "/") + rest[end:]
}

// embedded are the prefixes of IPv6 addresses whose last or, for 6to4, next 32 bits are an IPv4 address: IPv4-compatible
// (RFC 4291, 2.5.5.1), NAT64 (RFC 6052, 2.1 and RFC 8215) and 6to4 (RFC 3056, 2).
var embedded = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// blockedAs returns a host and what it counts as in lists that block: "An IPv4 address inside an IPv4-compatible, NAT64 or
// 6to4 literal counts as that address in lists that block." `::` and `::1` are not IPv4-compatible addresses.
func blockedAs(host string) []string {
	all := []string{host}
	address, err := netip.ParseAddr(host)
	if err != nil || !address.Is6() || host == "::" || host == "::1" {
		return all
	}
	bytes := address.As16()
	for _, form := range embedded {
		if form.prefix.Contains(address) {
			all = append(all, netip.AddrFrom4([4]byte(bytes[form.at:form.at+4])).String())
		}
	}
	return all
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

// mixedPunycode reports whether a label has the prefix of Punycode and characters that are not of ASCII, or the prefix alone, which
// "is no name" (choices, "Hosts, paths, commands").
func mixedPunycode(name string) bool {
	for _, label := range regexp.MustCompile("[.。]").Split(norm.NFKC.String(name), -1) {
		plain := regexp.MustCompile("[^[:ascii:]]").ReplaceAllString(label, "")
		if len(plain) >= 4 && strings.EqualFold(plain[:4], "xn--") && (plain != label || len(plain) == 4) {
			return true
		}
	}
	return false
}

// canonicalHost: "Hosts: lower-cased, IDNA to ASCII, one trailing dot dropped, IP literals canonical (decimal, octal,
// hex spellings; IPv4-mapped IPv6 unmapped)". It is "" for what is no host. IPv6 has no brackets in this form.
func canonicalHost(name string) string {
	if strings.ContainsAny(name, "[]:") {
		return canonicalIPv6(name)
	}
	ascii, err := mapping.ToASCII(name)
	if err != nil || mixedPunycode(name) {
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
