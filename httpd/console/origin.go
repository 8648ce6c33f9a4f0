package console

import (
	"net"
	"net/url"
	"strings"
)

// SameOrigin reports whether a request that changes something was sent by a page of the console itself: by what the
// browser says of the sender, Sec-Fetch-Site and Origin. One of them has to be there, and none may say otherwise. scheme and
// host are those under which the console was asked.
func SameOrigin(scheme, host, origin, fetchSite string) bool {
	if origin == "" && fetchSite == "" || fetchSite != "" && fetchSite != "same-origin" {
		return false
	}
	if origin == "" {
		return true
	}
	sender, err := url.Parse(origin)
	return err == nil && sender.Path == "" && sender.RawQuery == "" && sender.User == nil &&
		sender.Scheme == scheme && host != "" && strings.EqualFold(sender.Host, host)
}

// LoopbackHost reports whether a field Host names this machine. A page of another site whose name an attacker has pointed
// to 127.0.0.1 has that name here.
func LoopbackHost(host string) bool {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	address := net.ParseIP(name)
	return address != nil && address.IsLoopback()
}
