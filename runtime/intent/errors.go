package intent

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bailiff/vm/errcode"
	"bailiff/vm/slot"
)

// maxMessage bounds the text of an error in bytes: a refused body may be 100 kB of hostile text, and neither an
// answer nor a log line should carry it on.
const maxMessage = 300

// maxQuoted bounds what one message repeats of the request, in bytes before quoting.
const maxQuoted = 48

// An Error says why a body is no valid intent. It answers as HTTP 400 or, for a body that is too large, 413.
type Error struct {
	// Code is errcode.ValidationSchema, errcode.ValidationChain or errcode.BodyTooLarge.
	Code errcode.Code
	// Field is the path of the offending field ("intent.method"); "" where the fault lies with the whole body.
	Field string
	// Message names the fault, its place, and the remedy, in at most 300 bytes of printable text.
	Message string
	// Rest are the faults after this one, in the order of the checks: with it at most MaxFaults. It is nil where the body
	// could not be read.
	Rest []Error
	// Read says that the body could be read, and that all of its faults are here.
	Read bool
}

// MaxFaults is how many faults of a body are reported. A body with more of them is the work of a program that needs
// mending in another place.
const MaxFaults = 20

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// fault notes a fault of the field f, NoField where it is of no field by itself. What the field lacks then follows from it, so
// the checks after that leave it alone.
func (in *Intent) fault(f slot.Field, err *Error) {
	if f != slot.NoField {
		in.atFault |= 1 << f
	}
	if len(in.faults) < MaxFaults {
		in.faults = append(in.faults, *err)
	}
}

// faulty reports whether a fault of the field f was found.
func (in *Intent) faulty(f slot.Field) bool { return in.atFault&(1<<f) != 0 }

// faultsOf returns the answer to faults: the first, with those after it.
func faultsOf(faults []Error) *Error {
	first := faults[0]
	first.Rest, first.Read = slices.Clone(faults[1:]), true
	return &first
}

// refuse returns an error about field. The message names the field first.
func refuse(c errcode.Code, field, problem string) *Error {
	field = printable(field, 2*maxQuoted)
	message := problem
	if field != "" {
		message = field + ": " + problem
	}
	return &Error{Code: c, Field: field, Message: clip(message, maxMessage)}
}

// invalid returns an error about field with the code of the schema.
func invalid(field, problem string) *Error { return refuse(errcode.ValidationSchema, field, problem) }

// quote returns text between quotes, shortened, and with everything but printable ASCII escaped.
func quote(text string) string {
	short := clip(text, maxQuoted)
	if len(short) < len(text) {
		return strconv.QuoteToASCII(short) + "…"
	}
	return strconv.QuoteToASCII(text)
}

// printable returns text, shortened, with everything but printable ASCII escaped. Quotes and backslashes stay as they
// are: texts of other packages bring quotes of their own, and what a message quotes should be escaped once.
func printable(text string, limit int) string {
	quoted := strconv.QuoteToASCII(clip(text, limit))
	return clip(unescaper.Replace(quoted[1:len(quoted)-1]), limit)
}

// unescaper takes back what strconv does to printable ASCII.
var unescaper = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// clip returns the first limit bytes of text, without half a character at the end.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
