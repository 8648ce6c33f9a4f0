package httpurl

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What can be wrong with a web address. Errors about the host wrap errHost and say more.
var (
	errScheme    = errors.New("not a web address: it must start with http:// or https://")
	errCharacter = errors.New("a web address can't hold a backslash, white space, a control character or invalid UTF-8: percent-encode it")
	ErrUserinfo  = errors.New("a web address with user information before an @ hides where it leads: leave it out")
	ErrPort      = errors.New("the port of a web address must be a number up to 65535")
	errHost      = errors.New("the host is not valid")
)

// A URL is a web address taken apart.
type URL struct {
	Scheme string // "http" or "https"
	Host   string // canonical, as Host returns it; IPv6 addresses without brackets
	Port   string // decimal, without leading zeros; empty where it is the scheme's own
	Path   string // as written; "/" where empty
	Query  string // as written, without the "?"

	SentHost string // the host as written

	raw string // all of it
}

// Parse takes raw apart. The errors are errCharacter, errScheme, [ErrUserinfo], [ErrPort] and errHost.
func Parse(raw string) (URL, error) {
	if !utf8.ValidString(raw) || strings.ContainsFunc(raw, isForbidden) {
		return URL{}, errCharacter
	}
	scheme, rest, found := strings.Cut(raw, "://")
	scheme = strings.ToLower(scheme)
	if !found || scheme != "http" && scheme != "https" {
		return URL{}, errScheme
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path := rest, "/"
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		authority, path = rest[:slash], rest[slash:]
	}
	host, port, err := parseAuthority(authority, scheme)
	if err != nil {
		return URL{}, err
	}
	sent, _ := splitPort(authority)
	return URL{Scheme: scheme, Host: host, Port: port, Path: path, Query: query, SentHost: sent, raw: raw}, nil
}

// parseAuthority returns the canonical host and the port, which is empty where it is the scheme's own.
func parseAuthority(authority, scheme string) (host, port string, err error) {
	if strings.Contains(authority, "@") {
		return "", "", ErrUserinfo
	}
	host, port = splitPort(authority)
	if port, err = canonicalPort(port, scheme); err != nil {
		return "", "", err
	}
	if strings.Contains(host, ":") && host[0] != '[' {
		return "", "", ErrPort
	}
	host, err = Host(host)
	return host, port, err
}

// splitPort cuts an authority at the colon in front of its port; brackets protect the colons of IPv6 addresses.
func splitPort(authority string) (host, port string) {
	colon := strings.LastIndexByte(authority, ':')
	if colon < 0 || strings.IndexByte(authority[colon:], ']') >= 0 {
		return authority, ""
	}
	return authority[:colon], authority[colon+1:]
}

// canonicalPort returns port without leading zeros, or empty where it is absent or the scheme's own.
func canonicalPort(port, scheme string) (string, error) {
	if port == "" {
		return "", nil
	}
	if strings.Trim(port, "0123456789") != "" {
		return "", ErrPort
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", ErrPort
	}
	if scheme == "http" && n == 80 || scheme == "https" && n == 443 {
		return "", nil
	}
	return strconv.FormatUint(n, 10), nil
}

// isForbidden reports whether r may not be anywhere in a web address.
func isForbidden(r rune) bool {
	return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r)
}
