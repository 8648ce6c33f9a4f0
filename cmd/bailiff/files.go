package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"bailiff/grammar"
	"bailiff/runtime/atomicfile"
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

// hidden is the error of a path that can't be looked at: what is there is not known, least of all that nothing is.
func hidden(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	return fail("%s can't be looked at: %v; run this as the service's user, or set SVC_DATA_DIR", path.Path, path.Err)
}

// keepInput refuses to write an output in place of a file that the same command reads: nobody means that, and neither a private
// key nor a policy without its text can be made again.
func keepInput(output, input, what string) error {
	out, err := os.Stat(output)
	if err != nil || !out.Mode().IsRegular() {
		return nil
	}
	if in, err := os.Stat(input); err == nil && os.SameFile(out, in) {
		return usage("%s is %s, and is not overwritten", output, what)
	}
	return nil
}

// writeFile writes an output where the command line wants it: into a device or a pipe that is there, such as /dev/stdout, and
// otherwise as replaceFile does.
func writeFile(path string, content []byte) error {
	if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode().IsRegular() {
		return replaceFile(path, content)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return unwritable(path, err)
	}
	_, err = file.Write(content)
	return unwritable(path, errors.Join(err, file.Close()))
}

// replaceFile writes a file whole or not at all, and keeps the mode of the one it replaces and, where the system lets it, the
// owner: who signs as root a policy that a service reads as a group must not shut it out. A link is followed. A device or
// a pipe is no file that another could stand in place of: root would put one in place of /dev/null.
func replaceFile(path string, content []byte) (err error) {
	defer func() { err = unwritable(path, err) }()
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	before, statErr := os.Stat(path)
	if statErr == nil && !before.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	return atomicfile.Replace(path, content, func(file *os.File) error {
		if statErr != nil {
			return file.Chmod(0o644)
		}
		keepOwner(file, before)
		return file.Chmod(before.Mode().Perm())
	})
}

// unwritable is the error of a file that can't be written, nil for nil. The new file beside it had a name of its own for
// as long as it was written, which tells nobody anything.
func unwritable(path string, err error) error {
	var one *fs.PathError
	var two *os.LinkError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &one):
		err = one.Err
	case errors.As(err, &two):
		err = two.Err
	}
	return fail("%s can't be written: %v", path, err)
}
