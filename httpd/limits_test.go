package httpd

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/valyala/fasthttp"

	"bailiff/runtime/accounts"
	"bailiff/runtime/ratelimit"
	"bailiff/runtime/service"
)

// bashIntent is a valid body of authorize.
var bashIntent = `{"framework":"custom","agentId":"a","txCommit":"` + strings.Repeat("ab", 32) + `","intent":{"action":"bash","command":"ls"}}`

// TestDefaultLimits asks once more than the specification lets through ("Limits").
func TestDefaultLimits(t *testing.T) {
	for _, x := range []struct {
		environment, limit, request string
		window                      ratelimit.Window
	}{
		{service.Production, "key", "POST /v1/authorize\nAuthorization: Bearer $agent\n\n" + bashIntent, ratelimit.Window{Limit: 180, Per: time.Minute}},
		{service.Test, "key", "POST /v1/authorize/test-run\nAuthorization: Bearer $agent\n\n" + bashIntent, ratelimit.Window{Limit: 120, Per: time.Minute}},
		{service.Production, "ip", "POST /v1/authorize\n\n{}", ratelimit.Window{Limit: 1500, Per: time.Minute}},
		{service.Test, "ip", "POST /v1/authorize\n\n{}", ratelimit.Window{Limit: 1000, Per: time.Minute}},
		{service.Production, "holds", "GET /v1/holds/x\nAuthorization: Bearer $agent", ratelimit.Window{Limit: 30, Per: time.Minute}},
		{service.Test, "manage", "GET /v1/events\nAuthorization: Bearer $agent", ratelimit.Window{Limit: 120, Per: time.Minute}},
		{service.Production, "register", "POST /v1/keys/register\n\n{}", ratelimit.Window{Limit: 5, Per: time.Hour}},
	} {
		w := newWorld(t)
		config := w.config(w.authority("", false))
		config.Limits = DefaultLimits(x.environment, true)
		w.serve(config)
		w.createKey("agent", accounts.NewKey{})
		raw := w.request(x.request)
		for i := range x.window.Limit {
			if response, body := w.send(raw); response.StatusCode == 429 {
				t.Fatalf("%s %s: request %d is refused: %s", x.environment, x.limit, i+1, body)
			}
		}
		w.now = w.now.Add(x.window.Per - time.Second)
		if response, body := w.send(raw); response.StatusCode != 429 || !strings.Contains(body, "limit "+x.limit) || response.Header.Get("Retry-After") != "1" {
			t.Errorf("%s %s: one request too many is answered %d %q %s", x.environment, x.limit, response.StatusCode, response.Header, body)
		}
		w.now = w.now.Add(time.Second)
		if response, body := w.send(raw); response.StatusCode == 429 {
			t.Errorf("%s %s: a window later it is still refused: %s", x.environment, x.limit, body)
		}
	}
	if DefaultLimits(service.Production, false) != (Limits{}) {
		t.Error("a self-hosted service has limits that nobody set")
	}
}

// TestAdmitsBetween: a key's limit counts a decision after its body was validated and before its policy is looked for.
func TestAdmitsBetween(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("", false))
	config.Limits = Limits{Key: ratelimit.Window{Limit: 1, Per: time.Minute}}
	w.serve(config)
	w.createKey("agent", accounts.NewKey{})
	for i, x := range []struct {
		body   string
		status int
	}{{"{}", 400}, {bashIntent, 409}, {bashIntent, 429}, {"{}", 400}} { // 409: the key has no policy
		if response, body := w.send(w.request("POST /v1/authorize\nAuthorization: Bearer $agent\n\n" + x.body)); response.StatusCode != x.status {
			t.Errorf("request %d is answered %d, want %d: %s", i+1, response.StatusCode, x.status, body)
		}
	}
}

// TestFloodOfSources fills the store of sources, as a flood from many networks does: who has a good key goes on, by the
// same limit and however often, and no others do. Registrations have a store of their own, and so have keys.
func TestFloodOfSources(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("", false))
	full := ratelimit.NewMemory(1)
	if _, err := full.Take("ip:2001:db8:1:2::", ratelimit.Window{Limit: 1, Per: time.Hour}, w.now); err != nil {
		t.Fatal(err)
	}
	config.Stores.Sources = full
	config.Limits = Limits{IP: ratelimit.Window{Limit: 3, Per: time.Minute}, Key: ratelimit.Window{Limit: 100, Per: time.Minute}}
	w.serve(config)
	w.createKey("agent", accounts.NewKey{})
	for _, x := range []struct {
		request string
		status  int
	}{
		{"POST /v1/authorize\nAuthorization: Bearer $agent\n\n" + bashIntent, 409}, // there is no policy: it was let through
		{"GET /v1/events\nAuthorization: Bearer $agent", 200},
		{"POST /v1/authorize\nAuthorization: Bearer $agent\n\n{}", 400}, // what is malformed counts, too
		{"GET /v1/events\nAuthorization: Bearer $agent", 429},
		{"POST /v1/authorize\n\n" + bashIntent, 503},
		{"POST /v1/authorize\nAuthorization: Bearer sk_svc_" + strings.Repeat("0", 64) + "\n\n" + bashIntent, 503},
		{"GET /v1/webhooks\nAuthorization: Bearer $agent", 503}, // the key lacks the scope
		{"POST /v1/keys/register\n\n{}", 503},
		{"GET /healthz", 200},
	} {
		if response, body := w.send(w.request(x.request)); response.StatusCode != x.status {
			t.Errorf("%s is answered %d, want %d: %s", x.request, response.StatusCode, x.status, body)
		}
	}

	config.Stores = Stores{ratelimit.NewMemory(10), full, ratelimit.NewMemory(10)}
	config.Limits.Register = ratelimit.Window{Limit: 3, Per: time.Hour}
	w.serve(config)
	for request, status := range map[string]int{
		"POST /v1/keys/register\n\n{}":                 503,
		"GET /v1/events\nAuthorization: Bearer $agent": 200,
		"POST /v1/authorize\n\n" + bashIntent:          401,
	} {
		if response, body := w.send(w.request(request)); response.StatusCode != status {
			t.Errorf("no room for registrations: %s is answered %d, want %d: %s", request, response.StatusCode, status, body)
		}
	}
}

// TestRateLimitFields reads the fields as structured fields: a list of the limits' names, with numbers.
func TestRateLimitFields(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("", false))
	config.Limits = Limits{Key: ratelimit.Window{Limit: 7, Per: 90 * time.Second}, IP: ratelimit.Window{Limit: 1 << 40, Per: time.Hour}}
	w.serve(config)
	w.createKey("agent", accounts.NewKey{})
	response, _ := w.send(w.request("POST /v1/authorize\nAuthorization: Bearer $agent\n\n" + bashIntent))
	for name, want := range map[string][2]map[string]int64{
		"RateLimit-Policy": {{"q": 1 << 40, "w": 3600}, {"q": 7, "w": 90}},
		"RateLimit":        {{"r": 1<<40 - 1, "t": 3600}, {"r": 6, "t": 90}},
	} {
		list, err := httpsfv.UnmarshalList(response.Header.Values(name))
		if err != nil || len(list) != 2 {
			t.Fatalf("%s: %q %v", name, response.Header.Values(name), err)
		}
		for i, policy := range []string{"ip", "key"} {
			item, ok := list[i].(httpsfv.Item)
			if !ok || item.Value != policy {
				t.Errorf("%s: item %d is %v, want %q", name, i, item.Value, policy)
			}
			for parameter, value := range want[i] {
				if got, _ := item.Params.Get(parameter); got != value {
					t.Errorf("%s of %s: %s is %v, want %d", name, policy, parameter, got, value)
				}
			}
		}
	}
}

// TestSource finds who a request comes from.
func TestSource(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, x := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"a socket", "192.0.2.1", nil, "192.0.2.1"},
		{"a header of a stranger", "192.0.2.1", []string{"198.51.100.1"}, "192.0.2.1"},
		{"a proxy", "10.0.0.1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"what the client claims before", "10.0.0.1", []string{"203.0.113.9, 198.51.100.1"}, "198.51.100.1"},
		{"two proxies", "10.0.0.1", []string{"203.0.113.9, 198.51.100.1,10.2.3.4"}, "198.51.100.1"},
		{"two lines", "10.0.0.1", []string{"203.0.113.9", "198.51.100.1", "10.2.3.4"}, "198.51.100.1"},
		{"proxies only", "10.0.0.1", []string{"10.1.1.1, 10.2.3.4"}, "10.1.1.1"},
		{"no header", "10.0.0.1", nil, "10.0.0.1"},
		{"an empty header", "10.0.0.1", []string{""}, "10.0.0.1"},
		{"nonsense at the right", "10.0.0.1", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		{"nonsense behind a proxy", "10.0.0.1", []string{"198.51.100.1, unknown, 10.2.3.4"}, "10.2.3.4"},
		{"a comma too many", "10.0.0.1", []string{"198.51.100.1,"}, "10.0.0.1"},
		{"a port", "10.0.0.1", []string{"198.51.100.1:4711"}, "198.51.100.1"},
		{"a port of IPv6", "10.0.0.1", []string{"[2001:db8:1:2:3::1]:4711"}, "2001:db8:1:2::"},
		{"IPv6", "2001:db8:1:2:ffff::1", nil, "2001:db8:1:2::"},
		{"IPv6 of the same site", "2001:db8:1:2::", nil, "2001:db8:1:2::"},
		{"IPv6 with a zone", "fe80::1%eth0", nil, "fe80::"},
		{"IPv4 in IPv6", "::ffff:192.0.2.1", nil, "192.0.2.1"},
		{"a proxy by IPv4 in IPv6", "::ffff:10.0.0.1", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"a proxy by IPv6", "fd00::1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"leading zeros", "10.0.0.1", []string{"198.051.100.001"}, "10.0.0.1"},
	} {
		s := &Server{config: Config{TrustedProxies: trusted}}
		peer := netip.MustParseAddr(x.peer)
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: peer.AsSlice(), Zone: peer.Zone(), Port: 1}, nil)
		for _, line := range x.forwarded {
			ctx.Request.Header.Add("X-Forwarded-For", line)
		}
		if got := s.source(&ctx).String(); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
		s.config.TrustedProxies = nil
		if got := s.source(&ctx); got != network(plain(peer)) {
			t.Errorf("%s: without trusted proxies %s", x.name, got)
		}
	}
}
