package httpd

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"

	"github.com/valyala/fasthttp"

	"bailiff/httpd/peers"
	"bailiff/httpd/strict"
	"bailiff/runtime/service"
)

// networkBits is how much of an IPv6 address names a source: a site has a /64 of its own (decisions, section 3).
const networkBits = 64

// source is the address that a request's limits count by: the socket's or, where a trusted proxy is behind it, the
// right-most hop of X-Forwarded-For that is no trusted proxy. It is the zero address where there is none.
func (s *Server) source(ctx *fasthttp.RequestCtx) netip.Addr {
	peer := socketAddress(ctx.RemoteAddr())
	if _, user := ctx.RemoteAddr().(UnixPeer); user { // no proxy, though every address were trusted
		return peer
	}
	if len(s.config.TrustedProxies) > 0 && s.trusts(peer) {
		peer = s.forwardedFor(ctx, peer)
	}
	return network(peer)
}

// SourceOf is what the other end of a connection counts as where no proxy is trusted; zero for one without an address.
func SourceOf(peer net.Addr) netip.Addr { return network(socketAddress(peer)) }

// forwardedFor walks the hops from the right. Where one can't be read, it is unknown who is behind the proxy that named
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

// A UnixPeer is the other end of a connection over a Unix socket: the id of its user. It is a source like an address.
type UnixPeer uint32

// UnknownPeer is a user that the system does not name. (uid_t)-1 is no user's id.
const UnknownPeer UnixPeer = 1<<32 - 1

// Network implements net.Addr.
func (p UnixPeer) Network() string { return "unix" }

// String implements net.Addr.
func (p UnixPeer) String() string {
	if p == UnknownPeer {
		return "an unknown user"
	}
	return "uid " + strconv.FormatUint(uint64(p), 10)
}

// address is what limits count a user by: a network of 0100::/8, which the IETF keeps, so that no client has it.
func (p UnixPeer) address() netip.Addr {
	name := [16]byte{0: 0x01, 2: 'u', 3: 'i'}
	binary.BigEndian.PutUint32(name[4:8], uint32(p))
	return netip.AddrFrom16(name)
}

// socketAddress is the address of a connection's other end; zero for one that has none, such as the admin socket's.
func socketAddress(of net.Addr) netip.Addr {
	switch peer := of.(type) {
	case *net.TCPAddr:
		return plain(peer.AddrPort().Addr())
	case UnixPeer:
		return peer.address()
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

// takePassed makes a request that another instance has passed on that of the client who sent it there.
func takePassed(ctx *fasthttp.RequestCtx) *service.Failure {
	from := ctx.Request.Header.PeekAll(peers.From)
	if len(from) != 1 {
		return schemaFailure("requests come to this address from other instances alone")
	}
	if string(from[0]) == peers.Unnamed {
		ctx.SetRemoteAddr(&net.UnixAddr{})
		return nil
	}
	at, err := netip.ParseAddrPort(string(from[0]))
	if err != nil {
		return schemaFailure("the header " + peers.From + " has no address with a port")
	}
	ctx.SetRemoteAddr(net.TCPAddrFromAddrPort(at))
	return nil
}

// secure reports whether the client's connection has TLS.
func (s *Server) secure(ctx *fasthttp.RequestCtx) bool {
	if s.config.Passed {
		return string(ctx.Request.Header.Peek(peers.TLS)) == "1"
	}
	return strict.Secure(ctx.Conn())
}
