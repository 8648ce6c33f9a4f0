package webhook

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"bailiff/runtime/ledger"
	"bailiff/runtime/system"
)

func TestAddresses(t *testing.T) {
	for text, public := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "9.255.255.255": true, "11.0.0.0": true, "100.63.255.255": true, "100.128.0.0": true,
		"172.15.255.255": true, "172.32.0.0": true, "198.17.255.255": true, "198.20.0.0": true, "223.255.255.255": true,
		"2606:4700:4700::1111": true, "2001:4860:4860::8888": true, "2a00:1450::1": true, "2001:200::1": true, "::ffff:8.8.8.8": true,

		"0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "100.64.0.1": false, "100.127.255.255": false, "127.0.0.1": false,
		"127.255.255.254": false, "169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.0.0.1": false,
		"192.0.2.1": false, "192.88.99.1": false, "192.168.1.1": false, "198.18.0.1": false, "198.19.255.255": false,
		"198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "239.255.255.255": false, "240.0.0.1": false,
		"255.255.255.255": false, "168.63.129.16": false,
		"::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false,
		"::127.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b::808:808": false, "64:ff9b:1::a00:1": false, "100::1": false,
		"2001::1": false, "2001:2::1": false, "2001:10::1": false, "2001:20::1": false, "2001:db8::1": false,
		"2002:7f00:1::": false, "2002:808:808::1": false, "3fff::1": false, "5f00::1": false, "fc00::1": false,
		"fd00:ec2::254": false, "fe80::1": false, "fe80::1%eth0": false, "2606:4700::1%eth0": false, "fec0::1": false, "ff02::1": false,
		"::ffff:0:127.0.0.1": false, "4000::1": false,
	} {
		if err := checkAddress(netip.MustParseAddr(text)); (err == nil) != public || err != nil && !errors.Is(err, errAddress) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if checkAddress(netip.Addr{}) == nil {
		t.Error("no address passes")
	}
}

// A names resolves names from a table, which may change between two look-ups.
type names func(host string) ([]netip.Addr, error)

// calls are those of this machine, but for the names.
func (n names) calls() system.Calls {
	calls := system.Real(nil)
	calls.Resolve = func(_ context.Context, _, host string) ([]netip.Addr, error) { return n(host) }
	return calls
}

func table(of map[string]string) names {
	return func(host string) ([]netip.Addr, error) {
		list, known := of[strings.ToLower(host)]
		if !known {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		if list == "" {
			return nil, &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
		}
		var found []netip.Addr
		for text := range strings.SplitSeq(list, " ") {
			found = append(found, netip.MustParseAddr(text))
		}
		return found, nil
	}
}

// Where a URL passes.
const strict, private, both = 1, 2, 3

// urls are URLs, and where each passes.
var urls = map[string]int{
	"https://hooks.example.com":                both,
	"https://hooks.example.com/a/b?c=d%20e":    both,
	"HTTPS://Hooks.Example.com:8443/":          both,
	"https://8.8.8.8/":                         both,
	"https://[2606:4700::1]:444/x":             both,
	"https://xn--bcher-kva.example/":           both,
	"https://under_score.example.com":          both,
	"https://down.example.com/":                both,
	"http://hooks.example.com/":                private,
	"https://inside.example.com/":              private,
	"https://mixed.example.com/":               private,
	"https://nowhere.example.com/":             private,
	"http://127.0.0.1:8080/":                   private,
	"http://[::1]/":                            private,
	"https://localhost/":                       private,
	"https://a.localhost/":                     private,
	"https://printer.local/":                   private,
	"https://metadata.google.internal/":        private,
	"https://intranet/":                        private,
	"https://169.254.169.254/latest/meta-data": private,
	"https://127.1/":                           0,
	"https://2130706433/":                      0,
	"https://0x7f000001/":                      0,
	"https://0177.0.0.1/":                      0,
	"https://127.0.0.1./":                      0,
	"https://hooks.example.com./":              0,
	"https://[::ffff:127.0.0.1]/":              0,
	"https://[::ffff:8.8.8.8]/":                0,
	"https://[2606:4700:0::1]/":                0,
	"https://[fe80::1%25eth0]/":                0,
	"https://bücher.example/":                  0,
	"https://hooks。example。com/":               0,
	"https://hooks%2eexample.com/":             0,
	"https://user@hooks.example.com/":          0,
	"https://user:pass@hooks.example.com/":     0,
	"https://@hooks.example.com/":              0,
	"https://hooks.example.com/#fragment":      0,
	"https://hooks.example.com/#":              0,
	"https://hooks.example.com:0/":             0,
	"https://hooks.example.com:/":              0,
	"https://hooks.example.com:99999/":         0,
	"https://hooks.example.com\\@127.0.0.1/":   0,
	"https://hooks.example.com/\r\nX: y":       0,
	"https://hooks.example.com/a b":            0,
	"https://hooks.example.com/%zz":            0,
	"https:///path":                            0,
	"https:hooks.example.com":                  0,
	"//hooks.example.com/":                     0,
	"ftp://hooks.example.com/":                 0,
	"file:///etc/passwd":                       0,
	"gopher://127.0.0.1/":                      0,
	"":                                         0,
	"https://hooks.example.com/" + strings.Repeat("a", ledger.MaxWebhookURL): 0,
}

func TestCheckURL(t *testing.T) {
	resolver := table(map[string]string{
		"hooks.example.com": "8.8.8.8 2606:4700::1", "inside.example.com": "10.0.0.1", "mixed.example.com": "8.8.8.8 ::ffff:127.0.0.1",
		"down.example.com": "", "xn--bcher-kva.example": "8.8.8.8", "under_score.example.com": "8.8.8.8",
	})
	for raw, passes := range urls {
		for mode, allow := range map[int]bool{strict: false, private: true} {
			err := checkURL(t.Context(), &guard{resolver.calls(), allow}, raw)
			if (err == nil) != (passes&mode != 0) || err != nil && !errors.Is(err, ErrURL) {
				t.Errorf("%.80q, private %t: %v", raw, allow, err)
			}
			if err != nil && strings.Contains(raw, ".example") && strings.Contains(err.Error(), "10.0.0") {
				t.Errorf("%.80q: the error tells what address the name has here: %v", raw, err)
			}
		}
	}
	if err := CheckURL(t.Context(), system.Real(nil), "http://127.0.0.1/", true); err != nil {
		t.Error(err)
	}
	if err := CheckURL(t.Context(), system.Real(nil), "https://127.0.0.1/", false); !errors.Is(err, errAddress) {
		t.Error(err)
	}
}

// canReach reports whether a client reaches the server on 127.0.0.1 under a name.
func canReach(g *guard, url string) (bool, error) {
	client := g.client()
	defer client.CloseIdleConnections()
	answer, err := client.Get(url)
	if err != nil {
		return false, err
	}
	answer.Body.Close()
	return true, nil
}

// TestRebinding has a name lead to a public address when it is registered, and to this machine when it is dialled, by
// itself or among others.
func TestRebinding(t *testing.T) {
	url, got := receive(t, status(200))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	for _, later := range []string{"127.0.0.1", "::ffff:127.0.0.1", "::1", "0.0.0.0", "8.8.8.8 127.0.0.1", "127.0.0.1 8.8.8.8"} {
		asked := 0
		rebinding := names(func(host string) ([]netip.Addr, error) {
			if asked++; asked == 1 {
				return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
			}
			return table(map[string]string{host: later})(host)
		})
		g := &guard{calls: rebinding.calls()}
		if err := checkURL(t.Context(), g, "https://rebind.example.com:"+port+"/"); err != nil {
			t.Fatal(err)
		}
		if _, err := canReach(g, "http://rebind.example.com:"+port+"/"); !errors.Is(err, errAddress) {
			t.Errorf("%s: %v", later, err)
		}
	}
	none(t, got)
	// The names lead to the server indeed.
	g := &guard{table(map[string]string{"rebind.example.com": "127.0.0.1"}).calls(), true}
	if ok, err := canReach(g, "http://rebind.example.com:"+port+"/"); !ok || len(got) != 1 {
		t.Errorf("the canary does not arrive: %v", err)
	}
}

// TestControl asks the last check itself, behind a look-up that found nothing wrong.
func TestControl(t *testing.T) {
	var reached atomic.Int64
	url, _ := receive(t, func(int, http.ResponseWriter, *http.Request) { reached.Add(1) })
	address := strings.TrimPrefix(url, "http://")
	for _, allow := range []bool{false, true} {
		g := &guard{calls: system.Real(nil), allowPrivate: allow}
		dialer := net.Dialer{Control: g.control}
		connection, err := dialer.DialContext(t.Context(), "tcp", address)
		if (err == nil) != allow || err != nil && !errors.Is(err, errAddress) {
			t.Errorf("private %t: %v", allow, err)
		}
		if err == nil {
			connection.Close()
		}
	}
	if err := (&guard{}).control("tcp", "nonsense", nil); !errors.Is(err, errAddress) {
		t.Error(err)
	}
}

// TestProxy has the environment name a proxy: it is not asked.
func TestProxy(t *testing.T) {
	proxy, asked := receive(t, status(200))
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("HTTPS_PROXY", proxy)
	g := &guard{table(map[string]string{"inside.example.com": "10.0.0.1"}).calls(), false}
	if _, err := canReach(g, "http://inside.example.com/"); !errors.Is(err, errAddress) || len(asked) != 0 {
		t.Errorf("%d requests to the proxy, %v", len(asked), err)
	}
}
