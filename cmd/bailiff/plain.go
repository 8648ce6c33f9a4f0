package main

import (
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
)

// plain returns what an error says to a user: what happened to what, without the names of the packages and system calls
// that it came through.
func plain(err error) string {
	switch e := err.(type) { //nolint:errorlint // the causes have their turn below
	case *exit:
		return e.message
	case *fs.PathError:
		return e.Path + ": " + plain(e.Err)
	case *os.LinkError:
		return e.New + ": " + plain(e.Err)
	case *os.SyscallError:
		return plain(e.Err)
	case *url.Error:
		return plain(e.Err)
	case *net.DNSError:
		return e.Name + ": " + e.Err
	case *net.OpError:
		if e.Addr == nil {
			return plain(e.Err)
		}
		return e.Addr.String() + ": " + plain(e.Err)
	}
	text := err.Error()
	for _, cause := range causes(err) {
		text = strings.Replace(text, cause.Error(), plain(cause), 1)
	}
	return withoutLayer(text)
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

// layers begin the texts of errors with the package that they are from.
var layers = []string{
	"address: ", "amount: ", "grammar: ", "intent: ", "ledger: ", "limit: ", "pebble: ", "state: ", "vm: ", "webhook: ",
	"invalid: ", "asn1: ", "http: ", "json: ", "tls: ", "x509: ",
}

// withoutLayer returns a text without the layers that it begins with.
func withoutLayer(text string) string {
	for {
		at := slices.IndexFunc(layers, func(layer string) bool { return strings.HasPrefix(text, layer) })
		if at < 0 {
			return text
		}
		text = text[len(layers[at]):]
	}
}

// plainf is fmt.Sprintf with errors in plain words.
func plainf(format string, arguments ...any) string {
	said := slices.Clone(arguments)
	for i, argument := range said {
		if err, ok := argument.(error); ok {
			said[i] = plain(err)
		}
	}
	return fmt.Sprintf(format, said...)
}
