package form

import (
	"strings"
	"testing"
)

// TestNormal lists texts with their normal form, "-" where they have none.
func TestNormal(t *testing.T) {
	const mixed, small = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	for form, rows := range map[Form]map[string]string{
		Text:    {"A b": "A b", "pay " + mixed + "!": "pay " + small + "!", mixed + "ff": mixed + "ff"},
		Lower:   {"Bash": "bash"},
		Address: {mixed: small, "0x12": "-"},
		Hex:     {"0xA9059CBB": "0xa9059cbb"},
		Token:   {"UsdC": "usdc", mixed: small},
		Amount: {"0.20": "0.2", "00.2": "0.2", "1": "1", "1.0": "1", "0": "0", "00": "0", "0.0": "0", "10": "10", "100.0100": "100.01",
			".5": "-", "5.": "-", "1e3": "-", "-1": "-", " 1": "-", "": "-", strings.Repeat("0", 129): "-"},
		Mailbox: {"Ann <ANN@Example.com>": "ann@example.com", " ann@x.org": "ann@x.org", "ann@bücher.example": "ann@xn--bcher-kva.example",
			"ann": "-", "a@b, c@d": "-"},
		Host:    {"EXAMPLE.com.": "example.com", "0x7f.1": "127.0.0.1", "[::ffff:127.0.0.1]": "127.0.0.1", "a b": "-"},
		URL:     {"HTTPS://Example.com:443/%7ea%2fB#x": "https://example.com/~a%2FB", "http://h": "http://h/", "ftp://h": "-"},
		Escapes: {"/%7ea%2f": "/~a%2F"},
		Path: {`\a\\b`: "/a/b", "a//b/./c/": "a/b/c", "./a": "a", "/": "/", "": "", ".": "", "/.": "/", "a": "a", "/a/b": "/a/b", "//": "/", "a/..b": "a/..b",
			"../a": "-", "a/..": "-", `a\..\b`: "-", "/x/" + mixed: "/x/" + small},
	} {
		for text, want := range rows {
			normal, ok := form.Normal(text)
			if !ok {
				if normal != text {
					t.Errorf("%s %q has no normal form and is returned as %q", form, text, normal)
				}
				normal = "-"
			}
			if normal != want {
				t.Errorf("%s %q: %q, want %q", form, text, normal, want)
			}
			if again, ok := form.Normal(normal); want != "-" && (!ok || again != normal) {
				t.Errorf("%s: the normal form %q has the normal form %q", form, normal, again)
			}
			if form.Caseless() && ok && form.Fold(normal) != normal {
				t.Errorf("%s has no case, and %q has", form, normal)
			}
		}
	}
}

// TestRule lists texts of rules as they compare with normal values.
func TestRule(t *testing.T) {
	for _, row := range []struct {
		form  Form
		where Where
		text  string
		want  string
	}{
		{Hex, Inside, "0xAB", "ab"}, {Hex, End, "AB", "ab"}, {Hex, Start, "0xAB", "0xab"}, {Hex, Start, "AB", "0xab"}, {Hex, Start, "0", "0"},
		{Hex, Inside, "0x", "0x"}, {Hex, Whole, "0xAB", "0xab"},
		{Address, Inside, "AbC", "abc"}, {Address, Whole, "none", "none"},
		{Amount, Whole, "0.20", "0.2"}, {Amount, Whole, "x", "x"}, {Amount, Start, "0.20", "0.20"},
		{Mailbox, Whole, "<Ann@X.org>", "ann@x.org"}, {Mailbox, Whole, "Ann", "ann"}, {Mailbox, End, "@X.ORG", "@x.org"}, {Mailbox, Start, "É", "é"},
		{URL, Start, "HTTPS://A.example", "https://a.example"}, {URL, Start, "HTTPS://A.example:443/%7E", "https://a.example/~"},
		{URL, Start, "A/%7e", "A/~"}, {URL, Inside, "/%2f", "/%2F"}, {URL, Whole, "http://H", "http://h/"},
		{URL, Start, "HTTP://A b/%7e", "http://a b/~"},
		{Path, Start, `.\a\\b\`, "a/b/"}, {Path, Inside, "/./b", "/b"}, {Path, Whole, "a//b", "a/b"}, {Path, Whole, "../a", "../a"},
		{Text, Inside, "Ab", "Ab"},
	} {
		if got := row.form.Rule(row.text, row.where); got != row.want {
			t.Errorf("%s %q: %q, want %q", row.form, row.text, got, row.want)
		}
	}
}

// TestRespelled says for which rules a text as sent has to be read besides.
func TestRespelled(t *testing.T) {
	for _, row := range []struct {
		form  Form
		where Where
		text  string
		want  bool
	}{
		{Text, Whole, "ABC", false}, {Text, Inside, "ABC", true}, {Text, Inside, "abc GH", false}, {Text, Start, "ABC", false},
		{Text, Start, "to 0xAb", true}, {Hex, Inside, "AB", false}, {Mailbox, Whole, "a@b.org", false}, {Mailbox, Whole, "a", true},
		{Path, Whole, "../a", true}, {Path, Inside, "a", true}, {Amount, Whole, "1", true},
	} {
		if got := row.form.Respelled(row.text, row.where); got != row.want {
			t.Errorf("%s %q at %d: %t", row.form, row.text, row.where, got)
		}
	}
	for pattern, want := range map[string]bool{
		`^(drop|delete)\s`: false, `0x[0-9A-F]{40}`: true, `0x[0-9a-fA-F]{40}`: false, `[^A]`: false, `[^a]`: true, `(?i)ABC`: false, `G.`: false, `\x41`: true,
		`0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913`: false,
	} {
		if got := Text.PatternRespelled(pattern); got != want {
			t.Errorf("%s: %t", pattern, got)
		}
	}
}
