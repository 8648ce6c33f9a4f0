package httpd

import (
	"net"
	"net/netip"
	"testing"

	"github.com/valyala/fasthttp"
)

// TestUsersAreSources holds that users of the machine are sources of their own, which no address of a client can be.
func TestUsersAreSources(t *testing.T) {
	seen := map[netip.Addr]UnixPeer{}
	for _, peer := range []UnixPeer{0, 1, 255, 256, 1000, 1 << 31, UnknownPeer} {
		source := SourceOf(peer)
		if before, twice := seen[source]; twice || !source.IsValid() {
			t.Errorf("%v counts as %v, as %v does", peer, source, before)
		}
		if !netip.MustParsePrefix("100::/8").Contains(source) {
			t.Errorf("%v counts as %v, which may be a client's", peer, source)
		}
		seen[source] = peer
	}
}

// peered is a connection of a user.
type peered struct {
	net.Conn
	peer UnixPeer
}

func (p peered) RemoteAddr() net.Addr { return p.peer }

// TestUsersAreNoProxies holds that a user of the machine can't name another source, even where every address may.
func TestUsersAreNoProxies(t *testing.T) {
	s := &Server{config: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("::/0"), netip.MustParsePrefix("0.0.0.0/0")}}}
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	var ctx fasthttp.RequestCtx
	ctx.Init2(peered{near, 1000}, nil, false)
	ctx.Request.Header.Set("X-Forwarded-For", "198.51.100.7")
	if got := s.source(&ctx); got != SourceOf(UnixPeer(1000)) {
		t.Errorf("the source is %v", got)
	}
}
