package grammar

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

const (
	signatureHeading = "## signature"
	signatureKey     = "svc-sig: "
)

// signatureEncoding is strict: trailing bits of the last character must be zero. It skips CR and LF, which
// cannot occur within a line but at its end.
var signatureEncoding = base64.RawURLEncoding.Strict()

// Framed is the division of a policy into the bytes that are signed and the signature block.
type Framed struct {
	// Body is exactly the bytes before the line `## signature`, as received: what is signed, and what
	// PolicyHash takes. Without that line it is the whole text.
	Body []byte

	// Block is the rest, from the heading on: Body and Block make up the text. Empty if there is no heading.
	Block []byte

	// Signature is the 64 bytes of the Ed25519 signature; nil where there is none, or any error.
	Signature []byte

	// Signed reports whether there is a signature block. Nothing has been verified.
	Signed bool
}

// PolicyHash returns the policy hash of a body (Framed.Body): its SHA-256 in lower-case hex.
func PolicyHash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Split divides a policy into body and signature block. The heading is sought in the raw bytes, before
// comments are looked at. Text without one is not signed, which is no error here. If there are errors, Body
// is what they leave of it: up to the first heading that is spelt right, else the whole text.
//
// The block is the line `## signature`, then at once the line `svc-sig: ` with 86 characters of unpadded
// canonical base64url, then at most blank lines. Lines end in LF or CR LF, the last one perhaps in neither.
func Split(src *Source) (Framed, Diagnostics) {
	if found := checkSize(src); found.HasErrors() {
		return Framed{Body: src.Text}, found
	}
	heading, found := findHeading(src.Text)
	if heading < 0 {
		return Framed{Body: src.Text}, found
	}
	framed := Framed{Body: src.Text[:heading:heading], Block: src.Text[heading:], Signed: true}
	signature, more := readBlock(src.Text, heading)
	if found = append(found, more...); !found.HasErrors() {
		framed.Signature = signature
	}
	return framed, found.Sorted()
}

// Unsigned returns what there is to sign of a policy: the bytes before its signature block, or all of it where there
// is none. The block, which a new one will replace, may hold any svc-sig line or none; anything else in it is an
// error, because it would be lost. Errors leave nothing to sign.
func Unsigned(src *Source) ([]byte, Diagnostics) {
	if found := checkSize(src); found.HasErrors() {
		return nil, found
	}
	heading, found := findHeading(src.Text)
	if heading < 0 {
		return src.Text, found
	}
	_, start := cutLine(src.Text, heading)
	line, next := cutLine(src.Text, start)
	if !bytes.HasPrefix(line, []byte(strings.TrimSuffix(signatureKey, " "))) {
		next = start
	}
	found = append(found, checkTail(src.Text, next)...)
	return src.Text[:heading:heading], found.Sorted()
}

// checkTail returns an error if anything but blank lines is from start on.
func checkTail(text []byte, start int) Diagnostics {
	for start < len(text) {
		line, next := cutLine(text, start)
		if len(bytes.Trim(line, " \t")) > 0 {
			return Diagnostics{At(CodeAfterSignature, Span{start, start + len(line)}, "only blank lines may follow the signature").
				WithHint("move this above `%s` and sign the policy again", signatureHeading)}
		}
		start = next
	}
	return nil
}

// findHeading returns the offset of the first `## signature` line, or -1, and an error for every other line
// that is or resembles one.
func findHeading(text []byte) (int, Diagnostics) {
	first := -1
	var found collector
	for start := 0; start < len(text); {
		line, next := cutLine(text, start)
		span := Span{start, start + len(line)}
		switch {
		case string(line) == signatureHeading && first < 0:
			first = start
		case string(line) == signatureHeading:
			found.add(At(CodeSecondSigHead, span, "a second `%s` line", signatureHeading).
				WithHint("a file may contain only one, comments included; rename or remove the other"))
		case resemblesHeading(line):
			found.add(At(CodeOtherSigHead, span, "this resembles the signature heading, but is not spelt `%s`", signatureHeading).
				WithHint("the heading is exactly `%s`, on a line of its own; say it in other words elsewhere", signatureHeading))
		}
		start = next
	}
	return first, found.list
}

// resemblesHeading reports whether a line has `##`, and its letters and digits spell "signature", in any
// case. That covers other spacing, other punctuation, and a heading within a comment on one line.
func resemblesHeading(line []byte) bool {
	if !bytes.Contains(line, []byte("##")) {
		return false
	}
	var letters [len(signatureSection)]rune
	n := 0
	for _, r := range string(line) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		if n == len(letters) {
			return false
		}
		letters[n] = r
		n++
	}
	return bytes.EqualFold([]byte(string(letters[:n])), []byte(signatureSection))
}

// readBlock reads the block whose heading is at an offset of text.
func readBlock(text []byte, heading int) ([]byte, Diagnostics) {
	_, start := cutLine(text, heading)
	line, next := cutLine(text, start)
	span := Span{start, start + len(line)}
	encoded, ok := bytes.CutPrefix(line, []byte(signatureKey))
	if !ok {
		return nil, Diagnostics{At(CodeNoSignature, span, "`%s` must be followed by a line `%s<signature>`", signatureHeading, signatureKey).
			WithHint("sign the policy again")}
	}
	signature, err := decodeSignature(encoded)
	if err != nil {
		bad := At(CodeBadSignature, Span{span.Start + len(signatureKey), span.End}, "%v", err).WithHint("sign the policy again")
		return nil, append(checkTail(text, next), bad)
	}
	return signature, checkTail(text, next)
}

func decodeSignature(encoded []byte) ([]byte, error) {
	if want := signatureEncoding.EncodedLen(ed25519.SignatureSize); len(encoded) != want {
		return nil, fmt.Errorf("a signature has %d characters of base64url without padding, not %d", want, len(encoded))
	}
	signature, err := signatureEncoding.AppendDecode(nil, encoded)
	if err != nil || len(signature) != ed25519.SignatureSize {
		return nil, errors.New("the signature is not canonical base64url")
	}
	return signature, nil
}

// cutLine returns the line that starts at an offset, without its line end (LF or CR LF), and where the next
// one starts.
func cutLine(text []byte, start int) (line []byte, next int) {
	line, next = text[start:], len(text)
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line, next = line[:i], start+i+1
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	return line, next
}

// Join returns a body with its signature block below it, such that Split gives back both byte for byte. It
// fails for a signature that is not 64 bytes, and for a body that does not end in a line feed, holds a
// signature heading or resembles one, or gets too large.
func Join(body, signature []byte) ([]byte, error) {
	if len(signature) != ed25519.SignatureSize {
		return nil, fmt.Errorf("a signature has %d bytes, not %d", ed25519.SignatureSize, len(signature))
	}
	if !bytes.HasSuffix(body, newline) {
		return nil, errors.New("the policy must end with a line feed before it can be signed")
	}
	text := bytes.Clone(body)
	text = append(text, signatureHeading+"\n"+signatureKey...)
	text = signatureEncoding.AppendEncode(text, signature)
	text = append(text, '\n')
	framed, found := Split(NewSource("", text))
	if found.HasErrors() {
		return nil, fmt.Errorf("the policy can't be signed: %s", found[0].Message)
	}
	if !bytes.Equal(framed.Body, body) {
		return nil, errors.New("the policy has a signature block already: sign only the bytes before it")
	}
	return text, nil
}
