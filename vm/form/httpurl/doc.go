// Package httpurl takes web addresses apart, brings hosts into one canonical form, and matches entries of host lists.
//
// What a rule judges must be what a client connects to. Browsers, curl and language libraries differ in what they
// make of odd addresses, so the package reads those that all of them read alike, and refuses the rest:
//
//   - The scheme is http or https, in any case, followed by "//" and a host.
//   - There is no backslash, white space or control character anywhere, whether of ASCII or of Unicode, and the text
//     is UTF-8.
//   - There is no user information ("user@"). RFC 9110, section 4.2.4, tells recipients to take it for an error in
//     what comes from untrusted sources: http://good.example@evil.example/ goes to evil.example.
//   - A port is up to 65535, in digits.
//   - Path and query are those of the text: nothing is decoded, encoded or resolved. An empty path is "/". The
//     fragment is never sent, and dropped.
//
// [URL.Normal] is the one form of all spellings that mean the same; [URL.HasDotSegment] finds the paths that clients
// resolve before they send them, which are refused where an address is judged.
//
// A host becomes canonical in these steps, which are those of the WHATWG URL standard, except that more is refused:
//
//   - IDNA (UTS 46, not transitional) maps it to lower-case ASCII: case, full-width letters and dots, soft hyphens. A
//     label that is Punycode already must be what IDNA itself would write.
//   - One dot at the end goes. Labels have 1 to 63 characters, all together at most 253, of letters, digits, "-" and
//     "_", which names in use do have. Everything else is refused: percent signs, commas, empty labels.
//   - Where the last label is a number the host is an IPv4 address, in any spelling that clients take: decimal, octal
//     (a leading 0), hexadecimal (0x), with one to four parts. It is written in four decimal parts.
//   - An IPv6 address is written as in RFC 5952, without brackets. Zones are refused; an address that maps an IPv4
//     address is written as that.
package httpurl
