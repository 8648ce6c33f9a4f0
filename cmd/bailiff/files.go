package main

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"bailiff/grammar"
)

// readPolicy reads a policy's file, or standard input for "-". It reads no more than shows that a file is too large.
// What can't be read is a fault of the command line.
func readPolicy(std streams, name string) (*grammar.Source, error) {
	text, err := readBounded(std, name, grammar.MaxBytes)
	if err != nil {
		return nil, err
	}
	return grammar.NewSource(name, text), nil
}

// readBounded reads at most one byte more than bound from a file, or from standard input for "-".
func readBounded(std streams, name string, bound int64) ([]byte, error) {
	if name != "-" {
		return readFile(name, bound)
	}
	if in, ok := std.in.(*onceInput); ok && in.taken {
		return nil, usage("standard input can be read once only: give - for one file, and names for the others")
	} else if ok {
		in.taken = true
	}
	text, err := io.ReadAll(io.LimitReader(std.in, bound+1))
	return text, unreadable(err)
}

// onceInput is standard input. Who reads it a second time would find it empty, and take that for an empty file.
type onceInput struct {
	io.Reader
	taken bool
}

// readFile reads at most one byte more than bound from a file.
func readFile(name string, bound int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, unreadable(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, bound+1))
	return text, unreadable(err)
}

// unreadable is the usage error of a file that can't be read, nil for nil.
func unreadable(err error) error {
	var path *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &path):
		return usage("%s can't be read: %v", path.Path, path.Err)
	}
	return usage("%v", err)
}
