package httpurl

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
	"bailiff/vm/match"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		raw  string
		want URL
	}{
		{"http://example.com", URL{Scheme: "http", Host: "example.com", Port: "", Path: "/", Query: ""}},
		{"HTTPS://Example.COM./A%2fb/../c?q=1?&r#f?x", URL{Scheme: "https", Host: "example.com", Port: "", Path: "/A%2fb/../c", Query: "q=1?&r", SentHost: "Example.COM."}},
		{"http://example.com?a@b", URL{Scheme: "http", Host: "example.com", Port: "", Path: "/", Query: "a@b"}},
		{"http://evil.example#@good.example/", URL{Scheme: "http", Host: "evil.example", Port: "", Path: "/", Query: "", SentHost: "evil.example"}},
		{"http://evil.example/@good.example", URL{Scheme: "http", Host: "evil.example", Port: "", Path: "/@good.example", Query: "", SentHost: "evil.example"}},
		{"http://example.com:80/", URL{Scheme: "http", Host: "example.com", Port: "", Path: "/", Query: ""}},
		{"https://example.com:0443/", URL{Scheme: "https", Host: "example.com", Port: "", Path: "/", Query: ""}},
		{"https://example.com:80/", URL{Scheme: "https", Host: "example.com", Port: "80", Path: "/", Query: ""}},
		{"https://example.com:/", URL{Scheme: "https", Host: "example.com", Port: "", Path: "/", Query: ""}},
		{"http://[::1]:8080/x", URL{Scheme: "http", Host: "::1", Port: "8080", Path: "/x", Query: "", SentHost: "[::1]"}},
		{"http://[::ffff:127.0.0.1]/", URL{Scheme: "http", Host: "127.0.0.1", Port: "", Path: "/", Query: "", SentHost: "[::ffff:127.0.0.1]"}},
		{"http://2130706433/", URL{Scheme: "http", Host: "127.0.0.1", Port: "", Path: "/", Query: "", SentHost: "2130706433"}},
		{"http://example.com/日本?x=é", URL{Scheme: "http", Host: "example.com", Port: "", Path: "/日本", Query: "x=é"}},
		{"http://example.com//x", URL{Scheme: "http", Host: "example.com", Port: "", Path: "//x", Query: ""}},
	} {
		test.want.raw = test.raw
		if _, authority, _ := strings.Cut(test.raw, "://"); test.want.SentHost == "" {
			test.want.SentHost = authority[:len("example.com")]
			if !strings.HasPrefix(authority, "example.com") {
				t.Errorf("the row of %q does not say how its host was sent", test.raw)
			}
		}
		if got, err := Parse(test.raw); err != nil || got != test.want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", test.raw, got, err, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct {
		raw  string
		want error
	}{
		{"", errScheme}, {"example.com", errScheme}, {"//example.com", errScheme}, {"ftp://example.com", errScheme},
		{"javascript:alert(1)", errScheme}, {"file:///etc/passwd", errScheme}, {"http:/example.com", errScheme},
		{"http:example.com", errScheme}, {"view-source:http://example.com", errScheme}, {"httpſ://example.com", errScheme},
		{"http://", errHost}, {"http:///example.com", errHost}, {"http://?x", errHost}, {"http://#", errHost}, {"http://:80/", errHost},
		{"http://good.example@evil.example/", ErrUserinfo}, {"http://@evil.example/", ErrUserinfo}, {"http://a:b@c/", ErrUserinfo},
		{"http://a@b@c/", ErrUserinfo}, {"http://good.example:80@evil.example", ErrUserinfo},
		{`http://good.example\@evil.example/`, errCharacter}, {`http:\\example.com`, errCharacter}, {`http://example.com/a\b`, errCharacter},
		{" http://example.com", errCharacter}, {"http://example.com ", errCharacter}, {"http://example.com/a b", errCharacter},
		{"ht\ttp://example.com", errCharacter}, {"http://exa\nmple.com", errCharacter}, {"http://example.com/\x00", errCharacter},
		{"http://example.com/\x7f", errCharacter}, {"http://example.com/\u0085", errCharacter}, {"http://example.com/\u2028", errCharacter},
		{"http://example.com/\u3000", errCharacter}, {"http://example.com/\xff", errCharacter},
		{"http://example.com:x/", ErrPort}, {"http://example.com:65536/", ErrPort}, {"http://example.com:-1/", ErrPort},
		{"http://example.com:+80/", ErrPort}, {"http://example.com:80:80/", ErrPort}, {"http://::1/", ErrPort}, {"http://[::1]:99999/", ErrPort},
		{"http://ex%61mple.com/", errHost}, {"http://%65vil.example/", errHost}, {"http://[::1/", errHost}, {"http://[fe80::1%25eth0]/", errHost},
		{"http://[127.0.0.1]/", errHost}, {"http://[::1]x/", errHost}, {"http://a..b/", errHost}, {"http://a,b/", errHost}, {"http://256.1/", errHost},
	} {
		if got, err := Parse(test.raw); !errors.Is(err, test.want) {
			t.Errorf("Parse(%q) = %+v, %v; want %v", test.raw, got, err, test.want)
		}
	}
}

func TestHost(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"example.com", "example.com"}, {"EXAMPLE.com.", "example.com"}, {"localhost", "localhost"}, {"a_b.example", "a_b.example"},
		{"_dmarc.example", "_dmarc.example"}, {"r3---sn-apo3.example", "r3---sn-apo3.example"}, {"com", "com"},
		{"bücher.example", "xn--bcher-kva.example"}, {"BÜCHER.example", "xn--bcher-kva.example"}, {"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"ｘｎ－－ｂｃｈｅｒ－ｋｖａ.example", "xn--bcher-kva.example"}, {"XN--BCHER-KVA.example", "xn--bcher-kva.example"}, {"bu\u0308cher.example", "xn--bcher-kva.example"}, {"faß.example", "xn--fa-hia.example"},
		{"ｅｖｉｌ．ｅｘａｍｐｌｅ", "evil.example"}, {"evil。example", "evil.example"}, {"evil｡example", "evil.example"}, {"evil.example。", "evil.example"},
		{"ev\u00adil.example", "evil.example"}, {"ev\u200bil.example", "evil.example"}, {"ⓔⓥⓘⓛ.example", "evil.example"}, {"\u212aevin.example", "kevin.example"},
		{"127.0.0.1", "127.0.0.1"}, {"127.0.0.1.", "127.0.0.1"}, {"127.1", "127.0.0.1"}, {"127.0.1", "127.0.0.1"}, {"2130706433", "127.0.0.1"},
		{"017700000001", "127.0.0.1"}, {"0x7f.1", "127.0.0.1"}, {"0X7F000001", "127.0.0.1"}, {"0177.0.0.01", "127.0.0.1"}, {"127.0x000001", "127.0.0.1"},
		{"１２７.0.0.1", "127.0.0.1"}, {"①②⑦.0.0.1", "127.0.0.1"}, {"127。0。0。1", "127.0.0.1"}, {"0", "0.0.0.0"}, {"4294967295", "255.255.255.255"},
		{"1.2.3.4.example", "1.2.3.4.example"}, {"0xg", "0xg"}, {"1.a1", "1.a1"}, {"00000000000000000177.1", "127.0.0.1"},
		{"::1", "::1"}, {"[::1]", "::1"}, {"[0:0:0:0:0:0:0:1]", "::1"}, {"[2001:DB8::0:1]", "2001:db8::1"},
		{"[::ffff:127.0.0.1]", "127.0.0.1"}, {"[::ffff:7f00:1]", "127.0.0.1"}, {"::FFFF:7F00:1", "127.0.0.1"}, {"[::127.0.0.1]", "::7f00:1"},
		{strings.Repeat("a", 63) + ".example", strings.Repeat("a", 63) + ".example"},
	} {
		if got, err := Host(test.text); err != nil || got != test.want {
			t.Errorf("Host(%q) = %q, %v; want %q", test.text, got, err, test.want)
		}
	}
	for _, text := range []string{
		"", ".", "..", "a..b", ".a", "a..", "a b", "a\tb", "a/b", "a?b", "a#b", "a@b", "a,b", "a*b", "*", "*.a", "a%2eb", "a％2eb", "a!b", "a\x00b", "a\\b",
		"256.0.0.1", "1.2.3.256", "1.2.3.4.5", "08.0.0.1", "0x", "1.0x", "0x100000000", "4294967296", "1.16777216", "a.1", "foo.0x1", "99999999999999999999",
		"[", "]", "[]", "[::1", "::1]", "[[::1]]", "::g", "1:2", "fe80::1%eth0", "[fe80::1%25eth0]", "[1.2.3.4]", "[::ffff:127.0.0.1%1]", ":::",
		"xn--", "xn--a", "xn--bücher-kva.example", "xn--bücher-", "ｘn--ü", "é.xn--", "é.ｘｎ－－。", "xn\u00ad--ü-", "xn--example-", "xn--bcher-kva-", "xn--bcher-KVB.example", "xn--0", "xn--ls8h=", "ev\u200dil.example", "ev\u200cil.example", "\u0301a.example",
		"\ufffd", "a\xff", "⒈com.⑴", "evil\u2024\u3000example", "אa.example", "\u202eevil.example",
		strings.Repeat("a", 64), strings.Repeat("a.", 127) + "aa", strings.Repeat("a", 5000), "xn--" + strings.Repeat("a", 900),
	} {
		if got, err := Host(text); !errors.Is(err, errHost) {
			t.Errorf("Host(%q) = %q, %v; want an error", text, got, err)
		}
	}
}

func TestEntries(t *testing.T) {
	for _, test := range []struct{ text, blocked, allowed string }{
		{"example.com", "example.com", "example.com"},
		{"*.Example.COM.", "example.com", "*.example.com"},
		{"*.bücher.example", "xn--bcher-kva.example", "*.xn--bcher-kva.example"},
		{"0x7f.1", "127.0.0.1", "127.0.0.1"},
		{"[::1]", "::1", "::1"},
		{"::ffff:127.0.0.1", "127.0.0.1", "127.0.0.1"},
		{"*.com", "com", "*.com"},
	} {
		blocked, err1 := BlockedEntry(test.text)
		allowed, err2 := AllowedEntry(test.text)
		if blocked != test.blocked || allowed != test.allowed || err1 != nil || err2 != nil {
			t.Errorf("%q: blocked %q, %v, allowed %q, %v; want %q, %q", test.text, blocked, err1, allowed, err2, test.blocked, test.allowed)
		}
	}
	for _, test := range []struct{ text, problem, fix string }{
		{"*", "bare *", ""},
		{"", "missing", ""},
		{"example.com:443", "ports", "example.com"},
		{"example.com:*", "ports", "example.com"},
		{"*.example.com:443", "ports", "*.example.com"},
		{"[::1]:80", "ports", "[::1]"},
		{"10.0.0.0/8", "networks", "10.0.0.0"},
		{"2001:db8::/32", "networks", "2001:db8::"},
		{"https://example.com/x", "scheme", "example.com"},
		{"https://example.com:8443", "scheme", "example.com"},
		{"https://[::1]:80/x", "scheme", "[::1]"},
		{"example.com/admin", "paths", "example.com"},
		{"user@example.com", "user information", "example.com"},
		{".example.com", "start with a dot", "*.example.com"},
		{"*example.com", "only match subdomains", "*.example.com"},
		{"example.*", "only match subdomains", ""},
		{"*.*.example.com", "only match subdomains", "*.example.com"},
		{"a.*.example.com", "only match subdomains", ""},
		{"*.127.0.0.1", "no subdomains", "127.0.0.1"},
		{"*.", "missing", ""},
		{"exa mple.com", "holds", ""},
		{"ex%61mple.com", "holds", ""},
	} {
		for _, read := range []func(string) (string, error){BlockedEntry, AllowedEntry} {
			_, err := read(test.text)
			var entry *EntryError
			if !errors.As(err, &entry) || !strings.Contains(entry.Problem, test.problem) || entry.Fix != test.fix {
				t.Fatalf("%q: %v; want a problem with %q and the fix %q", test.text, err, test.problem, test.fix)
			}
			if said := err.Error(); !strings.Contains(said, entry.Problem) || strings.Contains(said, "; write ") != (entry.Fix != "") || !strings.HasSuffix(said, entry.Fix+`"`) && entry.Fix != "" {
				t.Errorf("%q: %s", test.text, said)
			}
			if entry.Fix != "" {
				if _, err := read(entry.Fix); err != nil {
					t.Errorf("%q: the fix %q is no entry: %v", test.text, entry.Fix, err)
				}
			}
		}
	}
}

func TestMatching(t *testing.T) {
	for _, test := range []struct {
		entry, host      string
		blocked, allowed bool
	}{
		{"example.com", "example.com", true, true},
		{"example.com", "a.example.com", true, false},
		{"example.com", "a.b.example.com", true, false},
		{"example.com", "notexample.com", false, false},
		{"example.com", "example.com.evil.example", false, false},
		{"example.com", "com", false, false},
		{"*.example.com", "example.com", true, false},
		{"*.example.com", "a.example.com", true, true},
		{"*.example.com", "a.b.example.com", true, true},
		{"*.example.com", "notexample.com", false, false},
		{"127.0.0.1", "127.0.0.1", true, true},
		{"127.0.0.1", "0x7f.1", true, true},
		{"127.0.0.1", "[::ffff:7f00:1]", true, true},
		{"127.0.0.1", "127.0.0.2", false, false},
		{"0.0.1", "127.0.0.1", false, false},
		{"::1", "[0::1]", true, true},
	} {
		entry, err1 := BlockedEntry(test.entry)
		pattern, err2 := AllowedEntry(test.entry)
		host, err3 := Host(test.host)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if got := match.CoversHost(entry, host); got != test.blocked {
			t.Errorf("blocked(%q, %q) = %v", entry, host, got)
		}
		if got := allowed(pattern, host); got != test.allowed {
			t.Errorf("allowed(%q, %q) = %v", pattern, host, got)
		}
	}
}

// allowed reports whether a pattern covers a host, in the way in which the compiler writes it down.
func allowed(pattern, host string) bool {
	if domain, ok := strings.CutPrefix(pattern, wildcard); ok {
		return match.CoversHost("."+domain, host)
	}
	return host == pattern
}

// texts generates hosts from pieces that matter to Host.
func texts() gopter.Gen {
	pieces := []any{"a", "B", ".", ".", "-", "_", "1", "0", "0x", "7f", "ü", "Ü", "ß", "。", "\u00ad", "１", "xn--", "xn--bcher-kva", ":", "[", "]", "::", "ffff", "%", "\u200d", "א", "256"}
	return gen.SliceOfN(8, gen.OneConstOf(pieces...)).Map(func(parts []string) string { return strings.Join(parts, "") })
}

// idempotent reports whether a canonical host is its own canonical form, whatever host canonicalises.
func idempotent(canonical func(string) (string, error)) func(string) bool {
	return func(text string) bool {
		once, err := canonical(text)
		if err != nil {
			return true
		}
		twice, err := canonical(once)
		return err == nil && once == twice
	}
}

// sprint is a shorter name for the long table of spellings.
var sprint = fmt.Sprintf

// addresses generates numbers, each an IPv4 address.
func addresses() gopter.Gen { return gen.UInt32() }

func TestProperties(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 3000))
	properties.Property("the canonical form is its own", prop.ForAll(idempotent(Host), texts()))
	properties.Property("ASCII case does not matter", prop.ForAll(func(text string) bool {
		lower, err1 := Host(text)
		upper, err2 := Host(upperASCII(text))
		return lower == upper && (err1 == nil) == (err2 == nil)
	}, texts()))
	properties.Property("every spelling of an IPv4 address is one host", prop.ForAll(func(n uint32) bool {
		bytes := [4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
		want := netip.AddrFrom4(bytes).String()
		for _, spelling := range spellings(n, bytes) {
			if got, err := Host(spelling); err != nil || got != want {
				t.Logf("%q: %q, %v; want %q", spelling, got, err, want)
				return false
			}
		}
		return true
	}, addresses()))
	properties.Property("net/url finds the same host", prop.ForAll(func(host, rest string) bool {
		return agreesWithGo(Parse, "http://"+host+"/"+rest)
	}, texts(), texts()))
	properties.TestingRun(t)
}

// TestPropertiesCanFail shows that the properties notice a canonical form that is none.
func TestPropertiesCanFail(t *testing.T) {
	faulty := func(text string) (string, error) { return strings.TrimSuffix(text, "a"), nil }
	if result := prop.ForAll(idempotent(faulty), texts()).Check(seed.Parameters(t, 3000)); result.Passed() {
		t.Error("dropping one letter at the end passed as idempotent")
	}
	hostAfterFragment := func(raw string) (URL, error) { return Parse(strings.ReplaceAll(raw, "#", "a")) }
	if !agreesWithGo(Parse, "http://a#b/") || agreesWithGo(hostAfterFragment, "http://a#b/") {
		t.Error("taking a fragment for a part of the host passed as agreeing with net/url")
	}
}

// agreesWithGo reports whether net/url, where it can read an address that parse reads, finds the same host and query.
func agreesWithGo(parse func(string) (URL, error), raw string) bool {
	ours, err := parse(raw)
	if err != nil {
		return true
	}
	theirs, err := url.Parse(raw)
	if err != nil {
		return true
	}
	host, err := Host(theirs.Hostname())
	return err == nil && host == ours.Host && theirs.RawQuery == ours.Query && theirs.Scheme == ours.Scheme
}

// spellings returns some of the ways to write the IPv4 address n.
func spellings(n uint32, b [4]byte) []string {
	return []string{
		sprint("%d", n), sprint("0x%x", n), sprint("0X%08X", n), sprint("0%o", n), sprint("%d.%d", b[0], n&0xffffff),
		sprint("0x%x.%d.%d", b[0], b[1], n&0xffff), sprint("0%o.0x%x.%d.0%o", b[0], b[1], b[2], b[3]),
		sprint("[::ffff:%x:%x]", n>>16, n&0xffff), sprint("%d。%d．%d｡%d.", b[0], b[1], b[2], b[3]),
	}
}

func upperASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, text)
}

func FuzzParse(f *testing.F) {
	for _, raw := range []string{"http://example.com/a?b#c", "http://a@b", "http://[::1]:80/", "http://0x7f.1", "http://bücher.example:8080//x", "http://xn--bcher-kva/"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !agreesWithGo(Parse, raw) {
			t.Fatalf("%q: net/url reads another host, query or scheme", raw)
		}
		parsed, err := Parse(raw)
		if err != nil {
			return
		}
		if !idempotent(Host)(parsed.Host) || parsed.Path[0] != '/' || strings.ContainsAny(parsed.Query, "# \\") {
			t.Fatalf("%q: %+v", raw, parsed)
		}
	})
}

func FuzzEntry(f *testing.F) {
	for _, text := range []string{"example.com", "*.example.com", "*", "[::1]:80", "10.0.0.0/8", "0x7f.1", "a@b", "ü.example", "https://x/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !idempotent(Host)(text) || !idempotent(BlockedEntry)(text) || !idempotent(AllowedEntry)(text) {
			t.Fatalf("%q: not idempotent", text)
		}
		if entry, err := BlockedEntry(text); err == nil && !(match.CoversHost(entry, entry) && !match.CoversHost(entry, "x"+entry)) {
			t.Fatalf("%q does not match itself, or more", entry)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("https://api.example.com/v1/items?limit=10"); err != nil {
			b.Fatal(err)
		}
	}
}
