package gen

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalPath returns the path of a tool with slashes, without empty and `.` segments. One that keeps `..` has no normal
// form, and one beside a URL is that URL's.
func normalPath(s *site, text string) (string, bool) {
	if s.intent.member("url") != nil || !s.isTool() {
		return "", false
	}
	text = strings.ReplaceAll(foldLiterals(text), `\`, "/")
	var kept []string
	for segment := range strings.SplitSeq(text, "/") {
		switch segment {
		case "", ".":
		case "..":
			return "", false
		default:
			kept = append(kept, segment)
		}
	}
	normal := strings.Join(kept, "/")
	if strings.HasPrefix(text, "/") {
		normal = "/" + normal
	}
	return normal, normal != ""
}

// isTool reports whether the policy judges the request as a tool's.
func (s *site) isTool() bool {
	writer := Writer{lore: s.lore, lower: s.action, action: s.action}
	return !writer.isEVM() && !strings.HasPrefix(s.action, "mcp.") && s.action != "model.inference"
}

// otherPath returns a path with backslashes, empty and `.` segments.
func otherPath(_ *site, r *Rand, text string) string {
	var b strings.Builder
	if !strings.HasPrefix(text, "/") {
		b.WriteString(r.Pick("", "", "./", `.\`, ".//"))
	}
	for _, c := range text {
		if c == '/' {
			b.WriteString(r.Pick("/", "/", "//", "/./", `\`, `\\`, `/.\`))
		} else {
			b.WriteRune(c)
		}
	}
	b.WriteString(r.Pick("", "", "/", "/.", `\`))
	return otherLiterals(r, b.String())
}

// urlParts are the parts of a URL in normal spelling: the query with its question mark.
type urlParts struct{ scheme, host, port, path, query string }

var urlText = regexp.MustCompile(`^([A-Za-z]+)://([^/?#@\\]*)(/[^?#\\]*)?(\?[^#\\]*)?(#[^\\]*)?$`)

// splitURL returns the parts of a URL in normal spelling, whatever its own.
func splitURL(text string) (u urlParts, ok bool) {
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f || c == utf8.RuneError }) {
		return u, false
	}
	m := urlText.FindStringSubmatch(text)
	if m == nil {
		return u, false
	}
	u.scheme = strings.ToLower(m[1])
	host, port, _ := cutPort(m[2])
	u.port = strings.TrimLeft(port, "0")
	if u.scheme == "https" && u.port == "443" || u.scheme == "http" && u.port == "80" {
		u.port = ""
	}
	if u.host, ok = normalHost(host); !ok || u.scheme != "http" && u.scheme != "https" || strings.Trim(u.port, "0123456789") != "" {
		return u, false
	}
	u.path, u.query = normalEscapes(foldLiterals(m[3])), normalEscapes(foldLiterals(m[4]))
	if u.path == "" {
		u.path = "/"
	}
	for segment := range strings.SplitSeq(u.path, "/") {
		if segment == "." || segment == ".." {
			return u, false
		}
	}
	return u, u.query != "?"
}

// cutPort cuts the port off an authority.
func cutPort(authority string) (host, port string, has bool) {
	at := strings.LastIndexByte(authority, ':')
	if at < 0 || strings.HasSuffix(authority, "]") {
		return authority, "", false
	}
	return authority[:at], authority[at+1:], true
}

func normalURL(_ *site, text string) (string, bool) {
	u, ok := splitURL(text)
	if !ok {
		return "", false
	}
	if u.port != "" {
		u.port = ":" + u.port
	}
	return u.scheme + "://" + u.host + u.port + u.path + u.query, true
}

// otherURL returns a URL with another case of scheme and host, the default port, a fragment, an empty path, and
// escapes of characters that need none.
func otherURL(_ *site, r *Rand, text string) string {
	u, _ := splitURL(text)
	port := map[string]string{"https": ":443", "http": ":80"}[u.scheme]
	switch {
	case u.port != "":
		port = ":" + u.port
	case r.Chance(70):
		port = ""
	}
	path := otherEscapes(r, otherLiterals(r, u.path))
	if u.path == "/" && r.Chance(50) {
		path = ""
	}
	return otherCase(nil, r, u.scheme) + "://" + otherHost(r, u.host) + port + path + otherEscapes(r, otherLiterals(r, u.query)) + r.Pick("", "", "#top", "#")
}

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

var escape = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

// normalEscapes decodes the escapes of unreserved characters, and puts the others into upper case.
func normalEscapes(text string) string {
	return escape.ReplaceAllStringFunc(text, func(triplet string) string {
		var c byte
		if _, err := fmt.Sscanf(triplet, "%%%02x", &c); err == nil && strings.IndexByte(unreserved, c) >= 0 {
			return string(rune(c))
		}
		return strings.ToUpper(triplet)
	})
}

// otherEscapes escapes some unreserved characters, and puts some escapes into lower case.
func otherEscapes(r *Rand, text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '%' && escape.MatchString(text[i:min(i+3, len(text))]):
			b.WriteString(r.Pick(text[i:i+3], strings.ToLower(text[i:i+3])))
			i += 2
		case strings.IndexByte(unreserved, c) >= 0 && r.N(12) == 0:
			fmt.Fprintf(&b, r.Pick("%%%02x", "%%%02X"), c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

var asciiName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z]([a-z0-9-]*[a-z0-9])?$`)

// normalHost returns a name in lower case and ASCII without a trailing dot, or an IP address as it is usually written.
func normalHost(text string) (string, bool) {
	name := strings.ToLower(text)
	if inner, bracketed := strings.CutPrefix(name, "["); bracketed {
		address, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		switch {
		case err != nil || address.Zone() != "":
			return "", false
		case address.Is4In6():
			return address.Unmap().String(), true
		}
		return "[" + address.String() + "]", true
	}
	name = strings.TrimSuffix(name, ".")
	if address, err := netip.ParseAddr(name); err == nil && address.Is4() {
		return name, true
	}
	name = eachLabel(strings.ReplaceAll(norm.NFC.String(name), "。", "."), umlaut, ascii)
	return name, asciiName.MatchString(name)
}

// The one label of this package's hosts that is not ASCII, in both spellings.
const umlaut, ascii = "bücher", "xn--bcher-kva"

// eachLabel replaces the labels of a name that are one text by another.
func eachLabel(name, label, by string) string {
	labels := strings.Split(name, ".")
	for i := range labels {
		if labels[i] == label {
			labels[i] = by
		}
	}
	return strings.Join(labels, ".")
}

// otherHost returns a name with capitals, in Unicode, with a trailing dot; an IP address in one of its other spellings.
func otherHost(r *Rand, text string) string {
	if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return otherIP(r, address)
	}
	other := otherName(r, text)
	return other + r.Pick("", "", ".")
}

func otherName(r *Rand, text string) string {
	if unicode := eachLabel(text, ascii, umlaut); unicode != text {
		return r.Pick(unicode, strings.ToUpper(unicode), norm.NFD.String(unicode), strings.ToUpper(text), strings.ReplaceAll(unicode, ".", "。"))
	}
	return r.Pick(text, strings.ToUpper(text), mixCase(r, text))
}

func otherIP(r *Rand, address netip.Addr) string {
	if !address.Is4() {
		return r.Pick("["+strings.ToUpper(address.String())+"]", "["+address.StringExpanded()+"]")
	}
	b := address.As4()
	whole := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	return r.Pick(fmt.Sprint(whole), fmt.Sprintf("0x%x", whole), fmt.Sprintf("%#o.%d.%#x.%d", b[0], b[1], b[2], b[3]),
		fmt.Sprintf("%d.%d", b[0], whole&0xffffff), fmt.Sprintf("[::ffff:%s]", address), fmt.Sprintf("[::FFFF:%x:%x]", whole>>16, whole&0xffff),
		address.String()+".", fmt.Sprintf("0%o.%d.%d", b[0], b[1], whole&0xffff))
}

var bareAddress = regexp.MustCompile(`^[^\s@<>,;:()"\[\]\\.][^\s@<>,;:()"\[\]\\]*@[^\s@<>,;:()"\[\]\\]+$`)

// normalRecipient returns the bare address of a recipient of email, and an address on a chain in lower case. Elsewhere
// `to` is a text.
func normalRecipient(s *site, text string) (string, bool) {
	if s.action != "email.send" {
		return foldLiterals(text), true
	}
	text = strings.TrimSpace(text)
	if start := strings.LastIndexByte(text, '<'); start >= 0 && strings.HasSuffix(text, ">") && strings.Trim(text[:start], "AnExampleg ") == "" {
		text = text[start+1 : len(text)-1]
	}
	if !bareAddress.MatchString(text) || strings.Contains(text, "..") {
		return "", false
	}
	local, domain, _ := strings.Cut(norm.NFC.String(strings.ToLower(text)), "@")
	if strings.HasSuffix(domain, ".") || strings.HasSuffix(local, ".") {
		return "", false
	}
	domain, ok := normalHost(domain)
	return local + "@" + domain, ok && !strings.HasPrefix(domain, "[") && strings.Contains(domain, ".")
}

// otherRecipient returns an address with capitals, white space, a name or angle brackets, and its domain in Unicode.
func otherRecipient(s *site, r *Rand, text string) string {
	if s.action != "email.send" {
		return otherLiterals(r, text)
	}
	local, domain, _ := strings.Cut(text, "@")
	local = norm.NFC.String(r.Pick(local, strings.ToUpper(local), mixCase(r, local)))
	if r.Chance(40) {
		local = norm.NFD.String(local)
	}
	address := local + "@" + strings.ReplaceAll(otherName(r, domain), "。", ".")
	return r.Pick(address, "<"+address+">", "Ann <"+address+">", `"Example, Ann" <`+address+">", " "+address, address+"  ", "Ann Example  <"+address+">")
}
