package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"bailiff/grammar"
	"bailiff/runtime/atomicfile"
)

// ReadPolicy reads a policy's file, or standard input for "-". It reads no more than shows that a file is too large.
// What can't be read is a fault of the command line.
func ReadPolicy(std Streams, name string) (*grammar.Source, error) {
	text, err := ReadBounded(std, name, grammar.MaxBytes)
	if err != nil {
		return nil, err
	}
	return grammar.NewSource(name, text), nil
}

// ReadBounded reads at most one byte more than bound from a file, or from standard input for "-".
func ReadBounded(std Streams, name string, bound int64) ([]byte, error) {
	if name != "-" {
		return ReadFile(name, bound)
	}
	if in, ok := std.In.(*onceInput); ok && in.taken {
		return nil, Usage("standard input can be read once only: give - for one file, and names for the others")
	} else if ok {
		in.taken = true
	}
	text, err := io.ReadAll(io.LimitReader(std.In, bound+1))
	return text, Unreadable(err)
}

// onceInput is standard input. Who reads it a second time would find it empty, and take that for an empty file.
type onceInput struct {
	io.Reader
	taken bool
}

// ReadFile reads at most one byte more than bound from a file.
func ReadFile(name string, bound int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, Unreadable(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, bound+1))
	return text, Unreadable(err)
}

// Unreadable is the usage error of a file that can't be read, nil for nil.
func Unreadable(err error) error {
	var path *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &path):
		return &Exit{Code: ExitUsage, Message: Plainf("%s can't be read: %v", path.Path, path.Err), missing: errors.Is(err, fs.ErrNotExist)}
	}
	return Usage("%v", err)
}

// Hidden is the error of a path that can't be looked at: what is there is not known, least of all that nothing is.
func Hidden(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	return Fail("%s can't be looked at: %v; run this as the service's user, or set SVC_DATA_DIR", path.Path, path.Err)
}

// KeepInput refuses to write an output in place of a file that the same command reads: that is a mistake, and neither a private
// key nor a policy without its text can be made again.
func KeepInput(output, input, what string) error {
	out, err := os.Stat(output)
	if err != nil || !out.Mode().IsRegular() {
		return nil
	}
	if in, err := os.Stat(input); err == nil && os.SameFile(out, in) {
		return Usage("%s is %s, and is not overwritten", output, what)
	}
	return nil
}

// WriteFile writes an output where the command line wants it: into a device or a pipe that is there, such as /dev/stdout, and
// otherwise as ReplaceFile does.
func WriteFile(path string, content []byte) error {
	if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode().IsRegular() {
		return ReplaceFile(path, content)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return Unwritable(path, err)
	}
	_, err = file.Write(content)
	return Unwritable(path, errors.Join(err, file.Close()))
}

// ReplaceFile writes a file whole or not at all, and keeps the mode of the one it replaces and, where the system lets it, the
// owner: who signs as root a policy that a service reads as a group must not shut it out. A link is followed. A device or
// a pipe is no file that another could be in place of: root would put one in place of /dev/null.
func ReplaceFile(path string, content []byte) (err error) {
	defer func() { err = Unwritable(path, err) }()
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	before, statErr := os.Stat(path)
	if statErr == nil && !before.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	return atomicfile.Replace(path, content, func(file *os.File) error {
		if statErr != nil {
			return file.Chmod(0o644)
		}
		keepOwner(file, before)
		return file.Chmod(before.Mode().Perm())
	})
}

// Unwritable is the error of a file that can't be written, nil for nil. The new file beside it had a name of its own for
// as long as it was written, which reveals nothing.
func Unwritable(path string, err error) error {
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
	return Fail("%s can't be written: %v", path, err)
}

// IsMissing reports whether nothing is at a path.
func IsMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// OfTheSystem reports whether an error is the system's, of files that may be as they were written.
func OfTheSystem(err error) bool {
	for _, cause := range []error{fs.ErrPermission, syscall.EROFS, syscall.EIO, syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}
