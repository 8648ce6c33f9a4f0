package attest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"bailiff/runtime/atomicfile"
)

// maxKeyFileBytes bounds how much of a key file is read; a pair of keys takes about 300 bytes.
const maxKeyFileBytes = 64 << 10

// Private reports whether a file with a private key is closed to all but its owner. A file of root's may also be readable by its
// group, for processes that are not root: so an orchestrator hands out secrets to a process whose user owns no files.
func Private(info fs.FileInfo) bool { return private(info, os.Geteuid()) }

// private is [Private] for a process of a user.
func private(info fs.FileInfo, user int) bool {
	of, known := info.Sys().(*syscall.Stat_t)
	handedOut := known && of.Uid == 0 && user != 0
	return info.Mode().Perm()&0o077 == 0 || handedOut && info.Mode().Perm()&0o037 == 0
}

// readPrivate reads a file with a private key. A file that is open to others ([Private]) is refused, since
// its keys have to be taken as known. Permissions are those of the opened file, not of a path.
func readPrivate(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errKeyFile, err)
	}
	defer func() { _ = file.Close() }() // only read from
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errKeyFile, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is not a regular file", errKeyFile, path)
	case !Private(info):
		return nil, fmt.Errorf("%w: %s has mode %04o, open to others than its owner; run chmod 600 %s",
			errKeyFile, path, info.Mode().Perm(), path)
	case info.Size() > maxKeyFileBytes:
		return nil, fmt.Errorf("%w: %s has more than %d bytes", errKeyFile, path, maxKeyFileBytes)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFileBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errKeyFile, path, err)
	}
	return text, nil
}

// writePrivate makes a file of mode 0600 that either is there whole, and durable, or is not there. It never
// replaces a file: where path exists, also because another process was quicker, the error is fs.ErrExist.
func writePrivate(path string, text []byte) error {
	switch err := atomicfile.Create(path, text); {
	case exists(err):
		return fmt.Errorf("%w: %s: %w; keys are never written over: name another file", errKeyFile, path, err)
	case err != nil:
		return fmt.Errorf("%w: %s can't be written: %w", errKeyFile, path, err)
	}
	return nil
}

// privateDir makes the folder with mode 0700, or refuses one in which others can put or replace files.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w: making the key folder: %w", errKeyFile, err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", errKeyFile, err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%w: the key folder %s has mode %04o, writable by others than its owner; run chmod 700 %s",
			errKeyFile, dir, mode, dir)
	}
	return nil
}

func exists(err error) bool  { return errors.Is(err, fs.ErrExist) }
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
