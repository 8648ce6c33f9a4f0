package match

import (
	"strings"
	"testing"
)

// TestValidate holds which entries each kind of set may have.
func TestValidate(t *testing.T) {
	stars := strings.Repeat("a*", MaxStars)
	for name, test := range map[string]struct {
		validate  func(*Entry) error
		good, bad []Entry
	}{
		"texts": {ValidateText,
			[]Entry{{Text: "a"}, {Text: "A " + strings.ToUpper(someAddress)}, {Text: someAddress, Fold: true}, {Text: "Pay " + someAddress, Fold: true}},
			[]Entry{{Text: "a", Fold: true}, {Text: "0xA" + someAddress[3:], Fold: true}, {Text: someAddress + "0", Fold: true}}},
		"hosts": {ValidateHost,
			[]Entry{{Text: "a"}, {Text: ".a"}, {Text: "a.b"}, {Text: ".a.b"}, {Text: "@[`{"}},
			[]Entry{{Text: "."}, {Text: ".."}, {Text: "..a"}, {Text: "a."}, {Text: "Ab"}, {Text: "aZ"}, {Text: "A"}, {Text: "a", Fold: true}}},
		"paths": {ValidatePath,
			[]Entry{{Text: "/"}, {Text: "/a"}, {Text: "a"}, {Text: "a/b"}, {Text: "**/a"}, {Text: "**/a/b"}, {Text: "/a/*/b"}, {Text: "*"}},
			[]Entry{{Text: "a", Fold: true}, {Text: "/", Fold: true}, {Text: "//"}, {Text: "/a/"}, {Text: "a//b"}, {Text: "**/"}, {Text: "**//a"}, {Text: "**"},
				{Text: "a/**"}, {Text: "a/**/b"}, {Text: "**/**/b"}, {Text: "//a"}}},
		"globs": {ValidateGlob,
			[]Entry{{Text: "a"}, {Text: "*"}, {Text: stars}},
			[]Entry{{Text: "a", Fold: true}, {Text: stars + "*"}, {Text: "*" + stars}}},
	} {
		for _, e := range test.good {
			if err := test.validate(&e); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, e := range test.bad {
			if err := test.validate(&e); err == nil {
				t.Errorf("%s: %+v is accepted", name, e)
			}
		}
	}
}

// TestTooManyStars holds the message for a pattern with more stars than it may have.
func TestTooManyStars(t *testing.T) {
	if err := ValidateGlob(&Entry{Text: strings.Repeat("*", MaxStars+1)}); err == nil || err.Error() != `"*****************" has 17 stars: at most 16` {
		t.Error(err)
	}
}

// TestAddresses holds what an address literal is: 0x and exactly 40 hex digits, with none beside it.
func TestAddresses(t *testing.T) {
	const digits = "0123456789abcdefABCDEF0123456789abcdef01"
	for text, want := range map[string][]int32{
		"": nil, "0x": nil, "0x" + digits: {0}, "0X" + digits: {0}, "0x" + digits[1:]: nil, "0x" + digits + "0": nil, "00x" + digits: nil, "F0x" + digits: nil, "g0x" + digits: {1}, "x0x" + digits + "g": {1},
		"1x" + digits: nil, "0y" + digits: nil, "0x" + digits[1:] + "g": nil, "0x" + digits[1:] + "`": nil, "0x" + digits[1:] + "G": nil, "0x" + digits[1:] + "/": nil,
		"0x" + digits[1:] + ":": nil, "0x" + digits[1:] + "@": nil, "0x" + digits + "0x" + digits: nil, "0x" + digits + " 0x" + digits: {0, 43}, "0x0x" + digits: {2}, "0x10x" + digits: nil, "0xg" + digits[1:]: nil, "0xg" + digits: nil,
		"0x" + digits + digits + " 0x" + digits: {83}, "0x" + digits + "x": {0}, "0x" + digits + ",0x" + digits[1:]: {0},
	} {
		got := Addresses(text)
		if len(got) != len(want) || len(got) > 0 && (got[0] != want[0] || got[len(got)-1] != want[len(want)-1]) {
			t.Errorf("%q has addresses at %v, want %v", text, got, want)
		}
		lowered := []byte(text)
		for _, at := range want {
			copy(lowered[at:], strings.ToLower(text[at:at+AddressLength]))
		}
		if got := LowerAddresses(text); got != string(lowered) {
			t.Errorf("%q is lowered to %q, want %q", text, got, lowered)
		}
	}
	for c := range 256 {
		b, small, capital := byte(c), byte(c), byte(c)
		if strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZ", b) >= 0 {
			small = b + 'a' - 'A'
		}
		if strings.IndexByte("abcdefghijklmnopqrstuvwxyz", b) >= 0 {
			capital = b - 'a' + 'A'
		}
		if lower(b) != small || upper(b) != capital || isHex(b) != (strings.IndexByte("0123456789abcdefABCDEF", b) >= 0) {
			t.Errorf("byte %#x: lower %#x, upper %#x, hex %v", b, lower(b), upper(b), isHex(b))
		}
	}
}

// TestEqualBesideAddresses holds that of two addresses in one entry each ignores case, and the text around them does not.
func TestEqualBesideAddresses(t *testing.T) {
	text := "from " + someAddress + " to " + someAddress + " now"
	e := newEntries([]Entry{{Text: text, Fold: true}})[0]
	if e.suffixes(text[1:]) || e.suffixes("") || !e.suffixes(text) {
		t.Error("a text that is too short ends with the entry")
	}
	for i := range text {
		changed := text[:i] + strings.ToUpper(text[i:i+1]) + text[i+1:]
		inAddress := i >= 5 && i < 47 || i >= 51 && i < 93
		if got := e.equal(changed); got != (inAddress || changed == text) {
			t.Errorf("%q is equal: %v", changed, got)
		}
		other := text[:i] + "!" + text[i+1:]
		if e.equal(other) || e.suffixes(other) || e.suffixes("x"+changed) != e.equal(changed) {
			t.Errorf("%q or %q is judged wrongly", other, changed)
		}
	}
}
