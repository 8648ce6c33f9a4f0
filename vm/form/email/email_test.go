package email

import (
	"net/mail"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// long is the longest address that is read.
var long = strings.Repeat("a", 64) + "@" + strings.Repeat("b.", 127) + "c"

// addresses are texts and the address each means, "" for none.
var addresses = []struct{ text, want string }{
	{"ann@example.com", "ann@example.com"},
	{"Ann@Example.COM", "ann@example.com"},
	{"Ann <ann@example.com>", "ann@example.com"},
	{"Ann Lee <ANN@example.com>", "ann@example.com"},
	{"<ann@example.com>", "ann@example.com"},
	{"  ann@example.com ", "ann@example.com"},
	{`"Lee, Ann" <ann@example.com>`, "ann@example.com"},
	{`"bob@evil.org" <ann@example.com>`, "ann@example.com"},
	{`"a\"b" <ann@example.com>`, "ann@example.com"},
	{`"(x)" <ann@example.com>`, "ann@example.com"},
	{"=?utf-8?q?J=C3=B6rg?= <j@example.com>", "j@example.com"},
	{"a.b+tag@sub.example.com", "a.b+tag@sub.example.com"},
	{"!#$%&'*+-/=?^_`{|}~@x", "!#$%&'*+-/=?^_`{|}~@x"},
	{"ann@localhost", "ann@localhost"},
	{"JÖRG@MÜNCHEN.example", "jörg@münchen.example"},
	{"ann@xn--mnchen-3ya.example", "ann@xn--mnchen-3ya.example"},
	{"аnn@example.com", "аnn@example.com"}, // a Cyrillic а stays what it is
	{long, long},

	{"", ""}, {" ", ""}, {"@", ""}, {"ann", ""}, {"ann@", ""}, {"@example.com", ""}, {"0x4e59b44847b379578588920ca78fbf26c0b4956c", ""},
	{".ann@example.com", ""}, {"ann.@example.com", ""}, {"a..b@example.com", ""}, {"ann@example..com", ""}, {"ann@.com", ""},
	{"ann@example.com.", ""}, {"Ann ann@example.com", ""}, {"ann@example.com Ann", ""}, {"Ann <ann@example.com> x", ""},
	{"Ann <ann@example.com", ""}, {"ann@example.com>", ""}, {"<<ann@example.com>>", ""}, {"<>", ""}, {"Ann <ann>", ""},
	// Several addresses, or one that hides another.
	{"ann@example.com, bob@evil.org", ""}, {"ann@example.com,", ""}, {"ann@example.com;bob@evil.org", ""},
	{"ann@example.com bob@evil.org", ""}, {"ann@example.com@evil.org", ""}, {"ann@example.com <bob@evil.org>", ""},
	{"<ann@example.com> <bob@evil.org>", ""}, {"team: ann@example.com;", ""}, {"team: ann@example.com, bob@evil.org;", ""},
	{"team:;", ""}, {"mailto:ann@example.com", ""}, {"ann@example.com%0abob", "ann@example.com%0abob"},
	// Comments, routes, literals, white space within.
	{"ann@example.com (Ann)", ""}, {"ann(bob@evil.org)@example.com", ""}, {"(c)ann@example.com", ""}, {"Ann (x) <ann@example.com>", ""},
	{"<@evil.org:ann@example.com>", ""}, {"@evil.org,@a.b:ann@example.com", ""}, {"ann@[127.0.0.1]", ""}, {"ann@[IPv6:::1]", ""},
	{"ann @example.com", ""}, {"ann@ example.com", ""}, {"< ann@example.com>", ""}, {"<ann@example.com >", ""}, {"ann@exam ple.com", ""},
	{`"ann"@example.com`, ""}, {`Ann <"ann"@example.com>`, ""}, {`ann@"example.com"`, ""}, {`"Ann" <ann."x"@example.com>`, ""},
	// Quoted local parts that mean something, quotes that do not close, backslashes.
	{`"a b"@example.com`, ""}, {`"ann@evil.org"@example.com`, ""}, {`"ann,bob"@example.com`, ""}, {`""@example.com`, ""},
	{`"ann@example.com`, ""}, {`ann"@example.com`, ""}, {`a"n"n@example.com`, ""}, {`"a".b@example.com`, ""}, {`a\@b@example.com`, ""},
	{`"Ann" x" <ann@example.com>`, ""},
	// Invisible characters, and those that would make another mailbox.
	{"ann@example.com\n", ""}, {"ann@example.com\r\nBcc: bob@evil.org", ""}, {"ann\x00@example.com", ""}, {"\tann@example.com", ""},
	{"an\u034fn@example.com", ""}, {"ann@exam\ufe0fple.com", ""}, {"\u3164ann@example.com", ""}, {"\u2764\ufe0f <ann@example.com>", "ann@example.com"},
	{"an\u200bn@example.com", ""}, {"\u202eann@example.com", ""}, {"ann\u00a0@example.com", ""}, {"ann\u0085@example.com", ""},
	{"ann\xff@example.com", ""}, {"an\u00ad@example.com", ""}, {"\u212aate@example.com", ""}, {"\u0130nfo@example.com", ""},
	{"jose\u0301@example.com", "jos\u00e9@example.com"}, {"JOSE\u0301@example.com", "jos\u00e9@example.com"}, {"jos\u00e9@example.com", "jos\u00e9@example.com"},
	{"<jose\u0301@example.com>", "jos\u00e9@example.com"}, {"a\u037eb@example.com", ""}, {"a\u1fefb@example.com", ""},
	{"a" + long, ""}, {"Ann <" + long + ">", ""}, {strings.Repeat("Ⱥ", 158) + "@x", ""},
}

func TestParse(t *testing.T) {
	for _, a := range addresses {
		got, ok := Parse(a.text)
		if got != a.want || ok != (a.want != "") {
			t.Errorf("%q: %q, %v, want %q", a.text, got, ok, a.want)
		}
	}
}

// entries are entries of lists with the pattern, or a part of the error.
var entries = []struct{ text, want, fault string }{
	{"ann@example.com", "ann@example.com", ""},
	{"*@Example.com", "*@example.com", ""},
	{"*@*.example.com", "*@*.example.com", ""},
	{"*@*", "*@*", ""},
	{"billing+*@example.com", "billing+*@example.com", ""},
	{"Jörg@MÜNCHEN.example", "jörg@münchen.example", ""},
	{long, long, ""},
	{"", "", "is empty"},
	{"*", "", "*@example.com"},
	{"example.com", "", "has no @: write an address, or *@example.com"},
	{"**", "", "has no @"},
	{"a@b@c", "", "more than one @"},
	{"Ann <ann@example.com>", "", "write the bare address"},
	{"@example.com", "", "around the @"},
	{"ann@", "", "around the @"},
	{"ann@example.com.", "", "between the dots"},
	{".*@example.com", "", "between the dots"},
	{"a b@example.com", "", "without spaces"},
	{"(x)@example.com", "", "without spaces, quotes, comments"},
	{`"a"@example.com`, "", "quotes"},
	{"a@[127.0.0.1]", "", "brackets"},
	{"ann@exam\u200bple.com", "", "can't match"},
	{"ann@example.com\n", "", "can't match"},
	{"ann\xff@example.com", "", "can't match"},
	{"\u212aate@example.com", "", "plain small letters"},
	{"jose\u0301@example.com", "jos\u00e9@example.com", ""},
	{"an\u034fn@example.com", "", "not shown"},
	{"*\u1fef@example.com", "", "plain small letters"},
	{"a" + long, "", "longer than 320 bytes"},
}

func TestEntry(t *testing.T) {
	for _, e := range entries {
		got, err := Entry(e.text)
		switch {
		case e.fault == "" && (err != nil || got != e.want):
			t.Errorf("%q: %q, %v", e.text, got, err)
		case e.fault != "" && (err == nil || got != "" || !strings.Contains(err.Error(), e.fault)):
			t.Errorf("%q: %q, %v; want an error with %q", e.text, got, err, e.fault)
		}
	}
}

// unsound says what is wrong with an address that parse made of text, or returns "".
func unsound(parse func(string) (string, bool), text string) string {
	address, ok := parse(text)
	if !ok {
		return ""
	}
	local, domain, _ := strings.Cut(address, "@")
	parsed, err := mail.ParseAddress(text)
	again, fixed := parse(address)
	entry, entryErr := Entry(address)
	switch {
	case err != nil:
		return "net/mail refuses the text"
	case norm.NFC.String(strings.ToLower(parsed.Address)) != address || len(text) > maxLength:
		return "net/mail reads " + parsed.Address
	case local == "" || domain == "" || strings.ContainsAny(address, " \"(),:;<>[\\]") || strings.Contains(domain, "@"):
		return "is no bare address"
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }):
		return "hides characters"
	case !strings.Contains(text, `"`) && !strings.Contains(norm.NFC.String(strings.ToLower(text)), address):
		return "does not stand in the text"
	case !fixed || again != address:
		return "is read again as " + again
	case entryErr != nil || entry != address:
		return "is no entry"
	}
	return ""
}

// FuzzParse: what is read is what net/mail reads, a bare address that is in the text, is read again as itself, and
// can be in a list.
func FuzzParse(f *testing.F) {
	for _, a := range addresses {
		f.Add(a.text)
	}
	for _, e := range entries {
		f.Add(e.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if problem := unsound(Parse, text); problem != "" {
			address, _ := Parse(text)
			t.Fatalf("%q as %q: %s", text, address, problem)
		}
		if pattern, err := Entry(text); err == nil {
			if again, err := Entry(pattern); err != nil || again != pattern {
				t.Fatalf("entry %q becomes %q, then %q: %v", text, pattern, again, err)
			}
		}
	})
}

// TestUnsoundCanary plants readers that are less careful and expects the seeds to find them out.
func TestUnsoundCanary(t *testing.T) {
	careless := map[string]func(string) (string, bool){
		"the last word": func(text string) (string, bool) {
			words := strings.Fields(strings.Trim(text, "<>"))
			return words[len(words)-1], true
		},
		"net/mail alone": func(text string) (string, bool) {
			parsed, err := mail.ParseAddress(text)
			if err != nil {
				return "", false
			}
			return strings.ToLower(parsed.Address), true
		},
	}
	for name, parse := range careless {
		found := false
		for _, a := range addresses {
			found = found || strings.TrimSpace(strings.Trim(a.text, "<>")) != "" && unsound(parse, a.text) != ""
		}
		if !found {
			t.Errorf("nobody noticed %s", name)
		}
	}
}

func TestAllocations(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		if _, ok := Parse("ann.lee+x@example.com"); !ok {
			t.Error("refused")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
