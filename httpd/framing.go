package httpd

import (
	"bytes"
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

const (
	// So much of a body that is too large is read and thrown away before the connection is closed, until the client
	// pauses for so long: while it is still sending it would see a broken connection instead of the answer.
	discardBytes = 16 << 20
	discardPause = 100 * time.Millisecond
	// discardChunks is how much of a body is thrown away that comes in too many chunks: nobody who means well sends one.
	discardChunks = 256 << 10
)

// nameBytes are the characters of header names (RFC 9110, section 5.6.2).
var nameBytes = func() (all [256]bool) {
	for c := range all {
		all[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), byte(c)) >= 0
	}
	return all
}()

// framing says in words why two readers could see the request end, or a header begin, in two places (RFC 9112, sections
// 2.2, 5.1, 5.2 and 6.3), and is empty for a request that all read alike. last reports whether the client asks for the
// connection to be closed behind the answer (RFC 9112, section 9.6): fasthttp sees that where the option is the only one
// of the last field Connection, in lower case.
func framing(header *fasthttp.RequestHeader) (ambiguous string, last bool) {
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

// endOfHeaders is a header that is put behind those of a request in chunks before its body is read. Fields of a trailer,
// which nobody has held to the rules above, then stand behind it: fasthttp takes them for headers (against RFC 9110,
// section 6.5.1).
const endOfHeaders = "Bailiff-End-Of-Headers"

// markEnd is called when a request's headers have come.
func markEnd(header *fasthttp.RequestHeader) {
	if header.ContentLength() == -1 { // chunks
		header.Add(endOfHeaders, "")
	}
}

// hasTrailer reports whether a request whose end of headers was marked has fields in a trailer.
func hasTrailer(header *fasthttp.RequestHeader) bool {
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

// otherVersion reports whether a request is of a version that is not spoken here. It would be read as HTTP/1.1 reads it.
func otherVersion(header *fasthttp.RequestHeader) bool {
	version := header.Protocol()
	return string(version) != "HTTP/1.1" && string(version) != "HTTP/1.0"
}

// refuseUnread answers a request that could not be read as a whole.
func refuseUnread(ctx *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.Is(err, errTrailer):
		writeFailure(ctx, schemaFailure(err.Error()))
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		discard(ctx.Conn(), discardBytes)
		writeFailure(ctx, &service.Failure{Code: errcode.BodyTooLarge, Message: "the body is larger than this route accepts"})
	case errors.As(err, &small):
		writeFailure(ctx, statusFailure(fasthttp.StatusRequestHeaderFieldsTooLarge, "the headers are larger than 32 KiB"))
	case errors.As(err, &network) && network.Timeout():
		writeFailure(ctx, statusFailure(fasthttp.StatusRequestTimeout, "the request did not arrive in time"))
	default:
		writeFailure(ctx, schemaFailure("the request is not well-formed HTTP"))
	}
	ctx.SetConnectionClose()
}

// discard reads at most so many bytes on behalf of a client that is still sending, until it pauses: then it is waiting for the
// answer.
func discard(connection net.Conn, most int) {
	buffer := make([]byte, readBufferBytes)
	pause := time.AfterFunc(discardPause, func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) })
	defer pause.Stop()
	for read := 0; read < most; {
		n, err := connection.Read(buffer)
		if err != nil || !pause.Reset(discardPause) {
			return
		}
		read += n
	}
}
