package strict

import (
	"bytes"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// ReadBufferBytes bounds a request's headers. An attestation takes up to 8 KiB of them, and proxies add theirs.
	ReadBufferBytes = 32 << 10
	// DiscardBytes is how much of a body that is too large is read and thrown away before the connection is closed, until the
	// client pauses for DiscardPause: while it is still sending it would see a broken connection instead of the answer.
	DiscardBytes = 16 << 20
	// DiscardPause is described with DiscardBytes.
	DiscardPause = 100 * time.Millisecond
)

// nameBytes are the characters of header names (RFC 9110, section 5.6.2).
var nameBytes = func() (all [256]bool) {
	for c := range all {
		all[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), byte(c)) >= 0
	}
	return all
}()

// Framing says in words why two readers could see the request end, or a header begin, in two places (RFC 9112, sections
// 2.2, 5.1, 5.2 and 6.3), and is empty for a request that all readers cut alike. last reports whether the client asks for the
// connection to be closed after the answer (RFC 9112, section 9.6): fasthttp sees that only if the option is the only one
// of the last field Connection, in lower case.
func Framing(header *fasthttp.RequestHeader) (ambiguous string, last bool) {
	lengths, encodings := 0, 0
	for line := range bytes.Lines(header.RawHeaders()) {
		switch {
		case len(line) < 2 || line[len(line)-2] != '\r':
			return "a line of the headers ends without a carriage return", true
		case len(line) == 2:
			continue // the end of the headers
		case line[0] == ' ' || line[0] == '\t':
			return "a header goes on in a second line; write it in one", true
		}
		colon := 0
		for colon < len(line) && nameBytes[line[colon]] {
			colon++
		}
		if colon == 0 || line[colon] != ':' {
			return "the name of a header has a character that names don't have", true
		}
		switch name := line[:colon]; {
		case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
			lengths++
		case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
			encodings++
			if !bytes.EqualFold(bytes.TrimSpace(line[colon+1:]), []byte("chunked")) {
				return "the request has a Transfer-Encoding other than chunked; send it as it is", true
			}
		case len(name) == len("Connection") && bytes.EqualFold(name, []byte("Connection")):
			last = last || hasClose(line[colon+1:])
		}
	}
	if lengths+encodings > 1 {
		return "the request has both Content-Length and Transfer-Encoding, or one of them twice; send one", true
	}
	return "", last
}

// hasClose reports whether the option close is among those of a field Connection. Their case does not count (RFC 9110,
// section 7.6.1).
func hasClose(options []byte) bool {
	for len(options) > 0 {
		var option []byte
		option, options, _ = bytes.Cut(options, []byte(","))
		if bytes.EqualFold(bytes.TrimSpace(option), []byte("close")) {
			return true
		}
	}
	return false
}

// endOfHeaders is a header that is added after those of a request in chunks before its body is read. fasthttp takes the fields
// of a trailer, which have not been checked by [Framing], for headers (against RFC 9110, section 6.5.1): they come after this one.
const endOfHeaders = "Bailiff-End-Of-Headers"

// MarkEnd is called when a request's headers have come.
func MarkEnd(header *fasthttp.RequestHeader) {
	if header.ContentLength() == -1 { // chunks
		header.Add(endOfHeaders, "")
	}
}

// HasTrailer reports whether a request whose end of headers was marked has fields in a trailer.
func HasTrailer(header *fasthttp.RequestHeader) bool {
	marked := false
	for name := range header.All() {
		switch {
		case marked && string(name) != fasthttp.HeaderConnection: // is kept apart, and refused in a trailer
			return true
		case string(name) == endOfHeaders:
			marked = true
		}
	}
	return false
}

// OtherVersion reports whether a request is neither HTTP/1.1 nor HTTP/1.0. fasthttp would read it as HTTP/1.1.
func OtherVersion(header *fasthttp.RequestHeader) bool {
	version := header.Protocol()
	return string(version) != "HTTP/1.1" && string(version) != "HTTP/1.0"
}

// Discard reads at most so many bytes on behalf of a client that is still sending, until it pauses: then it is waiting for the
// answer.
func Discard(connection net.Conn, most int) {
	buffer := make([]byte, ReadBufferBytes)
	pause := time.AfterFunc(DiscardPause, func() { _ = connection.SetReadDeadline(longAgo) })
	defer pause.Stop()
	for read := 0; read < most; {
		n, err := connection.Read(buffer)
		if err != nil || !pause.Reset(DiscardPause) {
			return
		}
		read += n
	}
}
