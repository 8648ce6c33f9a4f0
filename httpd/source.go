package httpd

import (
	"bytes"
	"net"
	"net/netip"

	"github.com/valyala/fasthttp"
)

// networkBits is how much of an IPv6 address names a source: a site has a /64 of its own (decisions, section 3).
const networkBits = 64

// source is the address that a request's limits count by: the socket's or, where a trusted proxy is behind it, the
// right-most hop of X-Forwarded-For that is no trusted proxy. It is the zero address where there is none.
func (s *Server) source(ctx *fasthttp.RequestCtx) netip.Addr {
	peer := socketAddress(ctx.RemoteAddr())
	if len(s.config.TrustedProxies) > 0 && s.trusts(peer) {
		peer = s.forwardedFor(ctx, peer)
	}
	return network(peer)
}

// forwardedFor walks the hops from the right. Where one can't be read, nobody knows who is behind the proxy that named
// it, and it is the proxy that counts.
func (s *Server) forwardedFor(ctx *fasthttp.RequestCtx, peer netip.Addr) netip.Addr {
	lines := ctx.Request.Header.PeekAll("X-Forwarded-For")
	for i := len(lines) - 1; i >= 0; i-- {
		for line := lines[i]; line != nil; {
			hop := line
			if comma := bytes.LastIndexByte(line, ','); comma >= 0 {
				line, hop = line[:comma], line[comma+1:]
			} else {
				line = nil
			}
			address, ok := hopAddress(string(bytes.TrimSpace(hop)))
			if !ok {
				return peer
			}
			if peer = address; !s.trusts(peer) {
				return peer
			}
		}
	}
	return peer
}

// hopAddress reads a hop, which some proxies write with a port.
func hopAddress(hop string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(hop); err == nil {
		return plain(address), true
	}
	withPort, err := netip.ParseAddrPort(hop)
	return plain(withPort.Addr()), err == nil
}

func (s *Server) trusts(address netip.Addr) bool {
	for _, prefix := range s.config.TrustedProxies {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// socketAddress is the address of a connection's other end; zero for one that has none, such as a Unix socket's.
func socketAddress(of net.Addr) netip.Addr {
	if tcp, ok := of.(*net.TCPAddr); ok {
		return plain(tcp.AddrPort().Addr())
	}
	return netip.Addr{}
}

// plain is an address in its one spelling.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

// network is what an address counts as.
func network(address netip.Addr) netip.Addr {
	if !address.Is6() {
		return address
	}
	prefix, err := address.Prefix(networkBits)
	if err != nil {
		return address
	}
	return prefix.Addr()
}
