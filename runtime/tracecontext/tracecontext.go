// Package tracecontext reads the header traceparent (W3C Trace Context, section 3.2), by which a request says to which trace
// it belongs.
//
// It promises that a header which it accepts is in the form of version 00, and of the length of that form.
package tracecontext

import (
	"encoding/hex"
	"strings"
)

// length is the length of a traceparent of version 00, in bytes.
const length = len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")

// A Parent is what a traceparent says.
type Parent struct {
	Trace [16]byte // trace-id
	Span  [8]byte  // parent-id
	Flags byte     // trace-flags
}

// WellFormed reports whether text is a traceparent of version 00. Others are ignored, as the recommendation asks for.
func WellFormed(text string) bool {
	_, ok := Parse(text)
	return ok
}

// Parse reads a traceparent of version 00.
func Parse(text string) (p Parent, ok bool) {
	if len(text) != length || !strings.HasPrefix(text, "00-") || text[35] != '-' || text[52] != '-' || strings.ContainsAny(text, "ABCDEF") {
		return Parent{}, false
	}
	var flags [1]byte
	for _, part := range [...]struct {
		into []byte
		text string
	}{{p.Trace[:], text[3:35]}, {p.Span[:], text[36:52]}, {flags[:], text[53:]}} {
		if _, err := hex.Decode(part.into, []byte(part.text)); err != nil {
			return Parent{}, false
		}
	}
	p.Flags = flags[0]
	if p.Trace == [16]byte{} || p.Span == [8]byte{} {
		return Parent{}, false
	}
	return p, true
}
