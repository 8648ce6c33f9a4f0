// Package atomicfile writes files that are there whole or not at all, also after a crash: it writes a temporary file beside the
// target, syncs it, renames it, and syncs the folder. Its errors do not name the file; the caller does.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Create makes a file of mode 0600. It never replaces a file: if path exists, the error is fs.ErrExist, also where another
// process created it at the same time.
func Create(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return cause(err)
	}
	defer os.Remove(file.Name())
	if err := fill(file, content, nil); err != nil {
		return err
	}
	// A link fails if the name is taken, which a rename does not.
	if err := os.Link(file.Name(), path); errors.Is(err, fs.ErrExist) {
		return cause(err)
	} else if err != nil {
		return fmt.Errorf("%w; the folder must be on a file system with hard links", cause(err))
	}
	return SyncName(path)
}

// Replace writes a file in place of the one at path, if any. The new file has mode 0600 until adopt, which may be nil, has given it
// the mode and the owner that it is to have.
func Replace(path string, content []byte, adopt func(*os.File) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return cause(err)
	}
	return rename(file, path, content, adopt)
}

// ReplacePrivate writes a file of mode 0600 in place of the one at path, if any. Only one process may do so at a time. What one left
// unfinished that was killed is removed, so that repeated crashes leave one such file at most.
func ReplacePrivate(path string, content []byte) error {
	unfinished := path + ".new"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cause(err)
	}
	file, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return cause(err)
	}
	return rename(file, path, content, nil)
}

// rename fills a file and gives it its name. It removes the file if that fails.
func rename(file *os.File, path string, content []byte, adopt func(*os.File) error) error {
	err := fill(file, content, adopt)
	if err == nil {
		err = cause(os.Rename(file.Name(), path))
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the first error is the one to report
		return err
	}
	return SyncName(path)
}

// fill writes, syncs and closes a file.
func fill(file *os.File, content []byte, adopt func(*os.File) error) error {
	_, err := file.Write(content)
	if err == nil && adopt != nil {
		err = adopt(file)
	}
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	return cause(err)
}

// SyncName makes the name of a file or folder durable, after it was created or renamed.
func SyncName(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return cause(err)
	}
	err = folder.Sync()
	if closing := folder.Close(); err == nil {
		err = closing
	}
	return cause(err)
}

// cause returns an error without the names of files: the temporary one means nothing to a reader.
func cause(err error) error {
	var one *fs.PathError
	var two *os.LinkError
	switch {
	case errors.As(err, &one):
		return one.Err
	case errors.As(err, &two):
		return two.Err
	}
	return err
}
