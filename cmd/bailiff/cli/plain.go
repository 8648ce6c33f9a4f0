package cli

import (
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Plain returns what an error says to a user: what happened to what, without the names of the packages and system calls
// that it came through.
func Plain(err error) string {
	switch e := err.(type) { //nolint:errorlint // the causes have their turn below
	case *Exit:
		return e.Message
	case *fs.PathError:
		return e.Path + ": " + Plain(e.Err)
	case *os.LinkError:
		return e.New + ": " + Plain(e.Err)
	case *os.SyscallError:
		return Plain(e.Err)
	case *url.Error:
		return Plain(e.Err)
	case *net.DNSError:
		return e.Name + ": " + e.Err
	case *net.OpError:
		if e.Addr == nil {
			return Plain(e.Err)
		}
		return e.Addr.String() + ": " + Plain(e.Err)
	}
	text := err.Error()
	for _, cause := range causes(err) {
		text = strings.Replace(text, cause.Error(), Plain(cause), 1)
	}
	return WithoutLayer(text)
}

// causes are the errors that an error wraps.
func causes(err error) []error {
	switch e := err.(type) { //nolint:errorlint // this is what unwraps
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			return []error{cause}
		}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// Layers begin the texts of errors with the package that they are from.
var Layers = []string{
	"address: ", "amount: ", "grammar: ", "intent: ", "ledger: ", "limit: ", "pebble: ", "state: ", "vm: ", "webhook: ",
	"invalid: ", "asn1: ", "http: ", "json: ", "tls: ", "x509: ",
}

// WithoutLayer returns a text without the layers that it begins with.
func WithoutLayer(text string) string {
	for {
		at := slices.IndexFunc(Layers, func(layer string) bool { return strings.HasPrefix(text, layer) })
		if at < 0 {
			return text
		}
		text = text[len(Layers[at]):]
	}
}

// Plainf is fmt.Sprintf with errors in plain words.
func Plainf(format string, arguments ...any) string {
	said := slices.Clone(arguments)
	for i, argument := range said {
		if err, ok := argument.(error); ok {
			said[i] = Plain(err)
		}
	}
	return fmt.Sprintf(format, said...)
}
