package httpurl

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

const (
	// maxHost is the longest canonical name, in bytes (RFC 1035, section 2.3.4, without the root's dot).
	maxHost = 253

	// maxLabel is the longest label, in bytes.
	maxLabel = 63

	// maxHostText is the longest text that is mapped: a name of 253 characters may be a longer text in UTF-8.
	maxHostText = 4 * maxHost
)

// profile maps hosts as browsers do: UTS 46 for look-up, not transitional, with underscores and with hyphens wherever
// names in use have them. What it lets through in ASCII is checked by checkName.
var profile = idna.New(
	idna.MapForLookup(),
	idna.BidiRule(),
	idna.Transitional(false),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
)

// Host returns the canonical form of a host: a name, an IPv4 address, or an IPv6 address with or without brackets.
// A host that is canonical already is returned as it is. Every error wraps errHost.
func Host(text string) (string, error) {
	switch {
	case text == "":
		return "", fmt.Errorf("%w: it is missing", errHost)
	case len(text) > maxHostText:
		return "", fmt.Errorf("%w: it is longer than %d characters", errHost, maxHost)
	case !utf8.ValidString(text):
		return "", fmt.Errorf("%w: it is not UTF-8", errHost)
	case strings.ContainsAny(text, ":[]"):
		return ipv6(text)
	}
	name, err := mapName(text)
	if err != nil {
		return "", err
	}
	name = strings.TrimSuffix(name, ".")
	if err := checkName(name); err != nil {
		return "", err
	}
	if endsInNumber(name) {
		return ipv4(name)
	}
	return name, nil
}

// mapName returns text in lower-case ASCII.
func mapName(text string) (string, error) {
	lower := strings.ToLower(text)
	ascii := isASCII(text)
	if ascii && !strings.Contains(lower, "xn--") {
		return lower, nil
	}
	if !ascii && mixesPunycode(text) {
		return "", fmt.Errorf("%w: %q has Punycode (xn--) with characters outside of ASCII in it", errHost, text)
	}
	name, err := profile.ToASCII(text)
	if err != nil {
		return "", fmt.Errorf("%w: %q is not an internationalized name: %w", errHost, text, err)
	}
	if ascii && name != lower {
		return "", fmt.Errorf("%w: %q is not the Punycode of any name", errHost, text)
	}
	return name, nil
}

// mixesPunycode reports whether a label of a name begins with xn-- and is not all ASCII once it is mapped, or is nothing else. UTS 46
// has no form for either; the library decodes the one and drops the other. Characters that mapping leaves out count here, so
// that a label with one of them is refused as well.
func mixesPunycode(text string) bool {
	for label := range strings.FieldsFuncSeq(norm.NFKC.String(text), isDot) {
		ascii := strings.ToLower(strings.Map(keepASCII, label))
		if ascii == "xn--" || strings.HasPrefix(ascii, "xn--") && ascii != strings.ToLower(label) {
			return true
		}
	}
	return false
}

// isDot reports whether r divides labels, in the normal form NFKC.
func isDot(r rune) bool { return r == '.' || r == '。' }

func keepASCII(r rune) rune {
	if r > unicode.MaxASCII {
		return -1
	}
	return r
}

// checkName checks lengths and characters of a mapped name.
func checkName(name string) error {
	if len(name) > maxHost {
		return fmt.Errorf("%w: it is longer than %d characters", errHost, maxHost)
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel {
			return fmt.Errorf("%w: %q has a label that is empty or longer than %d characters", errHost, name, maxLabel)
		}
		if i := strings.IndexFunc(label, isNoNameCharacter); i >= 0 {
			return fmt.Errorf("%w: %q holds %q; a name has letters, digits, - and _ only", errHost, name, label[i])
		}
	}
	return nil
}

// isNoNameCharacter reports whether r may not be in a canonical label.
func isNoNameCharacter(r rune) bool {
	return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_')
}

// endsInNumber reports whether the last label of a name is a number, which makes the host an IPv4 address or
// nothing (WHATWG URL standard, "ends in a number").
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// ipv4 returns the four decimal parts of an IPv4 address in any spelling. The last part fills all bytes that the
// parts before it leave.
func ipv4(name string) (string, error) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return "", fmt.Errorf("%w: %q ends in a number, but has more parts than an IPv4 address", errHost, name)
	}
	var address uint64
	for i, part := range parts {
		limit, shift := uint64(1)<<8, 8*(3-i)
		if i == len(parts)-1 {
			limit, shift = uint64(1)<<(8*(4-i)), 0
		}
		n, err := ipv4Part(part)
		if err != nil || n >= limit {
			return "", fmt.Errorf("%w: %q ends in a number, but %q is not a part of an IPv4 address", errHost, name, part)
		}
		address |= n << shift
	}
	bytes := [4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)}
	return netip.AddrFrom4(bytes).String(), nil
}

// ipv4Part reads a number in decimal, octal (leading 0) or hexadecimal (leading 0x).
func ipv4Part(part string) (uint64, error) {
	if hex, ok := strings.CutPrefix(part, "0x"); ok {
		return strconv.ParseUint(hex, 16, 64)
	}
	if len(part) > 1 && part[0] == '0' {
		return strconv.ParseUint(part, 8, 64)
	}
	return strconv.ParseUint(part, 10, 64)
}

// ipv6 returns the canonical form of an IPv6 address, or of the IPv4 address that it maps.
func ipv6(text string) (string, error) {
	bare := text
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		bare = text[1 : len(text)-1]
	}
	address, err := netip.ParseAddr(bare)
	if err != nil || !address.Is6() || address.Zone() != "" {
		return "", fmt.Errorf("%w: %q is not an IPv6 address (a zone is not allowed)", errHost, text)
	}
	return address.Unmap().String(), nil
}

// isASCII reports whether text holds ASCII only.
func isASCII(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
