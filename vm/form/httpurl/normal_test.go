package httpurl

import (
	"net/url"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
)

func TestNormal(t *testing.T) {
	for _, test := range []struct{ raw, normal, decoded string }{
		{"https://example.com/a?b=c", "https://example.com/a?b=c", "https://example.com/a?b=c"},
		{"HTTPS://Example.COM", "https://example.com/", "https://example.com/"},
		{"https://example.com.:443/a#top", "https://example.com/a", "https://example.com/a"},
		{"https://example.com:080/", "https://example.com:80/", "https://example.com:80/"},
		{"http://0x7f.1:80/", "http://127.0.0.1/", "http://127.0.0.1/"},
		{"http://[0::1]:8080", "http://[::1]:8080/", "http://[::1]:8080/"},
		{"https://example.com/%61dmin", "https://example.com/admin", "https://example.com/admin"},
		{"https://example.com/%7e%2D%5F%2e1", "https://example.com/~-_.1", "https://example.com/~-_.1"},
		{"https://example.com/a%2fb%3f", "https://example.com/a%2Fb%3F", "https://example.com/a/b?"},
		{"https://example.com//a///b", "https://example.com//a///b", "https://example.com/a/b"},
		{"https://example.com/a%2f%2Fb/", "https://example.com/a%2F%2Fb/", "https://example.com/a/b/"},
		{"https://example.com/%2561", "https://example.com/%2561", "https://example.com/%61"},
		{"https://example.com/é", "https://example.com/%C3%A9", "https://example.com/é"},
		{"https://example.com/%c3%a9", "https://example.com/%C3%A9", "https://example.com/é"},
		{"https://example.com/%ff%c3x%e2%82", "https://example.com/%FF%C3x%E2%82", "https://example.com/%FF%C3x%E2%82"},
		{"https://example.com/%zz%4", "https://example.com/%25zz%254", "https://example.com/%zz%4"},
		{"https://example.com/{a}|b", "https://example.com/%7Ba%7D%7Cb", "https://example.com/{a}|b"},
		{"https://example.com?", "https://example.com/?", "https://example.com/?"},
		{"https://example.com/?%61=%2f&é", "https://example.com/?a=%2F&%C3%A9", "https://example.com/?a=%2F&%C3%A9"},
	} {
		parsed, err := Parse(test.raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.Normal(); got != test.normal {
			t.Errorf("%q: Normal() = %q, want %q", test.raw, got, test.normal)
		}
		if got := parsed.Decoded(); got != test.decoded {
			t.Errorf("%q: Decoded() = %q, want %q", test.raw, got, test.decoded)
		}
	}
}

func TestNormalPart(t *testing.T) {
	for part, want := range map[string]string{"/admin": "/admin", "%61dmin": "admin", "%2f": "%2F", "%": "%", "a%2": "a%2", "é": "%C3%A9"} {
		if got := NormalPart(part); got != want {
			t.Errorf("NormalPart(%q) = %q, want %q", part, got, want)
		}
	}
}

func TestDotSegments(t *testing.T) {
	for _, path := range []string{
		"/..", "/.", "/a/../b", "/a/./b", "/a/..", "/%2e%2e/b", "/%2E", "/.%2e/b", "/%2e./b", "/a%2f..%2fb", "/a%2F%2e%2E", "/a%5c..", "/a%5C.%5cb", "/..%2fa",
	} {
		if parsed, err := Parse("https://example.com" + path); err != nil || !parsed.HasDotSegment() {
			t.Errorf("%q: %v; want a dot segment", path, err)
		}
	}
	for _, path := range []string{
		"", "/", "/a", "/...", "/a..b", "/..a", "/a.", "/.well-known/x", "/%2ewell-known", "/%252e%252e/", "/a?../b", "/a?/../", "/a#/../", "/%2", "/%2e%2e%2e",
	} {
		if parsed, err := Parse("https://example.com" + path); err != nil || parsed.HasDotSegment() {
			t.Errorf("%q: %v; want no dot segment", path, err)
		}
	}
}

func TestEmbedded(t *testing.T) {
	for _, test := range []struct{ host, want string }{
		{"[::10.0.0.1]", "10.0.0.1"}, {"::a00:1", "10.0.0.1"}, {"64:ff9b::10.0.0.1", "10.0.0.1"}, {"[64:ff9b::a9fe:a9fe]", "169.254.169.254"},
		{"2002:a9fe:a9fe::1", "169.254.169.254"}, {"2002:a00:1:ffff::", "10.0.0.1"},
		{"64:ff9b:1::10.0.0.1", "0.0.0.0 0.0.0.0 0.0.0.10 10.0.0.1"}, {"64:ff9b:1:a00:0:100::", "10.0.0.1 0.0.1.0 0.1.0.0 0.0.0.0"},
		{"10.0.0.1", ""}, {"example.com", ""}, {"2001:db8::a00:1", ""}, {"64:ff9b:2::a00:1", ""}, {"::ffff:10.0.0.1", ""},
	} {
		host, err := Host(test.host)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Embedded(host), " "); got != test.want {
			t.Errorf("Embedded(%q) = %q, want %q", host, got, test.want)
		}
	}
	if got := Embedded("no:host"); got != nil {
		t.Errorf("what is not a host has %q", got)
	}
}

// paths generates what follows a host, from pieces that matter to normal forms.
func paths() gopter.Gen {
	pieces := []any{"a", "/", "/", "%61", "%2f", "%2F", "%C3%A9", "%c3", "é", "%", "{", "?", "=", "%3f", "..", "%2e", "+", "%20"}
	return gen.SliceOfN(8, gen.OneConstOf(pieces...)).Map(func(parts []string) string { return "/" + strings.Join(parts, "") })
}

// normalIsItsOwn reports whether a normal form is its own, leads where the address leads, and decodes alike.
func normalIsItsOwn(normal func(URL) string) func(string) bool {
	return func(path string) bool {
		parsed, err := Parse("HTTP://Example.com:80" + path)
		if err != nil {
			return true
		}
		again, err := Parse(normal(parsed))
		if err != nil || normal(again) != normal(parsed) || again.Decoded() != parsed.Decoded() || again.HasDotSegment() != parsed.HasDotSegment() {
			return false
		}
		before, err1 := url.PathUnescape(parsed.Path)
		after, err2 := url.PathUnescape(again.Path)
		return err2 == nil && (err1 != nil || before == after)
	}
}

func TestNormalProperties(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 3000))
	properties.Property("the normal form is its own, and means the same", prop.ForAll(normalIsItsOwn(URL.Normal), paths()))
	properties.TestingRun(t)
	faulty := func(u URL) string { return strings.ReplaceAll(u.Normal(), "%2F", "/") }
	if result := prop.ForAll(normalIsItsOwn(faulty), paths()).Check(seed.Parameters(t, 3000)); result.Passed() {
		t.Error("decoding a border of segments passed as meaning the same")
	}
}

func BenchmarkNormal(b *testing.B) {
	parsed, err := Parse("https://api.example.com/v1/items?limit=10")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if parsed.Normal() != parsed.raw {
			b.Fatal("not normal")
		}
	}
}
