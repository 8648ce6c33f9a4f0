//go:build !unix

package mcpproxy

import (
	"errors"
	"io/fs"
)

// private reports what lets others read or write a file, where modes say so.
func private(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	return nil
}

// lockFile does not lock here: of two proxies that pin at the same moment the later one wins.
func lockFile(string) (unlock func(), err error) { return func() {}, nil }
