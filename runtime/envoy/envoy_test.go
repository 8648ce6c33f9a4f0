package envoy_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"path"
	"strings"
	"testing"

	"bailiff/fuzz/kit/seed"
	"bailiff/runtime/envoy"
	"bailiff/runtime/intent"
)

// TestBody: method, host and target are where the policy finds them; the service's own reader takes the request.
func TestBody(t *testing.T) {
	for _, c := range []struct{ host, target, agent, url, id string }{
		{"shop.example", "/envoy/https/orders/7?q=a%2Fb&q=2", "", "https://shop.example/orders/7?q=a%2Fb&q=2", "envoy"},
		{"Shop.Example.:8443", "/envoy/http/", "spiffe://x/agent-1", "http://Shop.Example.:8443/", "spiffe://x/agent-1"},
		{"[::1]:80", "/envoy/http/a;v=1/b%20c", "", "http://[::1]:80/a;v=1/b%20c", "envoy"},
		{"h", "/envoy/http/%C3%A9?/../x", "", "http://h/%C3%A9?/../x", "envoy"},
	} {
		request := envoy.Request{Method: "PUT", Host: c.host, Target: c.target, Agent: c.agent}
		body, err := request.Body()
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		var read struct {
			Framework, AgentID string
			Intent             map[string]string
		}
		if err := json.Unmarshal(body, &read); err != nil || read.Framework != "envoy" || read.AgentID != c.id ||
			len(read.Intent) != 3 || read.Intent["action"] != "http" || read.Intent["method"] != "PUT" || read.Intent["url"] != c.url {
			t.Errorf("%+v: %s %v", c, body, err)
		}
		if _, err := intent.NewDecoder(intent.Options{}).Decode(body); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// attacks are paths that some upstream resolves to another one, or that come from a host that is not one.
var attacks = []string{
	"/a/../b", "/a/./b", "/..", "/a/..", "/.", "/%2e%2e/b", "/a/%2E./b", "/.%2e/b", "/a/..;/b", "/a/..;x=1/b", "/a/.;/b", "/;/b", "/a/;x/b", // dot segments
	"/a%2fb", "/a%2Fb", "/a%5cb", "/a%5Cb", `/a\b`, "/a//b", "//b", "//evil.example/", "/a/..%2fb", "/..%5c..%5cb", // slashes
	"/%252e%252e/b", "/a%252fb", "/%25252e", "/%2%65", "/%%32%65", "/%25%32%65%25%32%65/b", // escapes of escapes
	"/%61", "/a%7Eb", "/%c3%a9", "/a%2d", // not in normal form
	"/%C0%AE%C0%AE/b", "/%C0%AF", "/%E0%80%AF", "/%FF", "/%F0%82%82%AC", // overlong, or not UTF-8
	"/a%", "/a%2", "/a%zz", "/a%u002e", "/\xc3\xa9", "/a b", "/a\tb", "/a\x00b", "/%00", "/a%0d%0aX: 1", "/%7F", // malformed, or controls
	"/a%3Fx=1", "/a%3fx=1", "/a%23b", "/a%3B/b", "/a#b", "/a?x#b", // hidden structure
	"http://evil.example/", "https://evil.example/a", "*", "", "evil.example:443", "@evil.example/", ":80/", // other forms of targets
	`/"a"`, "/<a>", "/{a}", "/a|b", "/a^b", "/`a`",
}

// badHosts would make another address of what follows, or are hosts only to some readers.
var badHosts = []string{
	"", "user@shop.example", "user:pw@shop.example", "shop.example@evil.example", "shop.example/evil", "shop.example?x", "shop.example#x", `shop.example\@evil.example`,
	"shop.example,evil.example", "shop.example evil.example", " shop.example", "shop.example:80:90", "shop.example:99999", "shop.example:8a", "shop..example", ".shop.example",
	"sh%6Fp.example", "sh\xc3\xb6p.example", "shop.example\r\nX: y", "[::1", "::1", "[fe80::1%25eth0]", "*", "..", "shop.example..",
}

func TestRefused(t *testing.T) {
	for _, scheme := range []string{"/envoy/http", "/envoy/https"} {
		for _, target := range attacks {
			refuse(t, envoy.Request{Method: "GET", Host: "shop.example", Target: scheme + target})
		}
		for _, host := range badHosts {
			refuse(t, envoy.Request{Method: "GET", Host: host, Target: scheme + "/a"})
		}
	}
	for _, target := range []string{"/envoy/", "/envoy/http", "/envoy/ftp/a", "/envoy/HTTP/a", "/envoy//a", "/envoy/httpsx/a", "/a", "/envoy", "", "/ENVOY/http/a"} {
		refuse(t, envoy.Request{Method: "GET", Host: "shop.example", Target: target})
	}
	refuse(t, envoy.Request{Method: "GET", Host: "shop.example", Target: "/envoy/http/a", Agent: "a\xff"})
	refuse(t, envoy.Request{Method: "G\xff", Host: "shop.example", Target: "/envoy/http/a"})
}

// refuse fails where a request has a body, or its error repeats a part of the request.
func refuse(t *testing.T, r envoy.Request) {
	t.Helper()
	if body, err := r.Body(); err == nil {
		if _, err := intent.NewDecoder(intent.Options{}).Decode(body); err == nil {
			t.Errorf("%+q is taken: %s", r, body)
		}
	}
}

// upstreams are ways in which a server may read a path before it looks for what it serves.
var upstreams = map[string]func(string) string{
	"as it is":         func(p string) string { return p },
	"cleaned":          path.Clean,
	"decoded, cleaned": func(p string) string { return path.Clean(decode(p)) },
	"decoded twice":    func(p string) string { return path.Clean(decode(decode(p))) },
	"backslashes":      func(p string) string { return path.Clean(strings.ReplaceAll(decode(p), `\`, "/")) },
	"parameters cut":   func(p string) string { return path.Clean(cutParameters(decode(p))) },
	"decoded after":    func(p string) string { return path.Clean(decode(cutParameters(p))) },
	"by RFC 3986": func(p string) string {
		base := url.URL{Scheme: "http", Host: "h", Path: "/"}
		return base.JoinPath(p).Path
	},
	"up to a zero byte": func(p string) string { before, _, _ := strings.Cut(decode(p), "\x00"); return path.Clean(before) },
	"up to a question":  func(p string) string { before, _, _ := strings.Cut(decode(p), "?"); return path.Clean(before) },
}

func decode(p string) string {
	decoded, err := url.PathUnescape(p)
	if err != nil {
		return p
	}
	return decoded
}

func cutParameters(p string) string {
	segments := strings.Split(p, "/")
	for i, segment := range segments {
		segments[i], _, _ = strings.Cut(segment, ";")
	}
	return strings.Join(segments, "/")
}

// under reports whether a path is within the folder /public as an upstream reads it.
func under(p string) bool { return p == "/public" || strings.HasPrefix(p, "/public/") }

// TestUpstreams makes paths of the pieces of attacks. Where one begins with /public/ and is taken, all upstreams stay in that folder.
func TestUpstreams(t *testing.T) {
	random := rand.New(rand.NewPCG(uint64(seed.Value(t)), 19))
	pieces := []string{"/", "a", "..", ".", "%2e", "%2E", "%2f", "%5c", `\`, ";", ";x=1", "%25", "2e", "%252e", "%00", "%3f", "%C3%A9", "secret", "?", "~", "%20", "%C0%AE", "//"}
	taken, caught := 0, map[string]int{}
	for range 30_000 {
		target := "/public/"
		for range 1 + random.IntN(6) {
			target += pieces[random.IntN(len(pieces))]
		}
		p, _, _ := strings.Cut(target, "?")
		request := envoy.Request{Method: "GET", Host: "h", Target: "/envoy/http" + target}
		_, err := request.Body()
		if err == nil {
			taken++
		}
		for name, read := range upstreams {
			if under(read(p)) {
				continue
			}
			caught[name]++
			if err == nil {
				t.Errorf("%q is taken, and read as %q by an upstream (%s)", target, read(p), name)
			}
		}
	}
	if taken < 1000 || len(caught) != len(upstreams)-1 { // all but the one that takes it as it is
		t.Errorf("%d are taken; led out of the folder: %v", taken, caught)
	}
}

func FuzzBody(f *testing.F) {
	for _, target := range attacks {
		f.Add("shop.example", target)
	}
	for _, host := range badHosts {
		f.Add(host, "/public/a")
	}
	f.Fuzz(func(t *testing.T, host, target string) {
		request := envoy.Request{Method: "GET", Host: host, Target: "/envoy/https" + target}
		body, err := request.Body()
		if err != nil {
			return
		}
		if _, err := intent.NewDecoder(intent.Options{}).Decode(body); err != nil {
			return
		}
		p, _, _ := strings.Cut(target, "?")
		for name, read := range upstreams {
			if strings.HasPrefix(p, "/public/") && !under(read(p)) {
				t.Errorf("%q is taken, and read as %q (%s)", target, read(p), name)
			}
		}
		var read struct{ Intent struct{ URL string } }
		if err := json.Unmarshal(body, &read); err != nil {
			t.Fatal(err)
		}
		if parsed, err := url.Parse(read.Intent.URL); err != nil || !strings.EqualFold(parsed.Host, host) || parsed.User != nil {
			t.Errorf("another reader of %q finds the host %q, %v", read.Intent.URL, parsed.Host, err)
		}
	})
}
