package pebbleledger

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// privateMode is the mode of every file of the ledger: its records say what agents did, and have the hashes of API keys.
const privateMode = 0o600

// private is the operating system's file system, with files that only their owner can read. A file that Pebble uses again
// keeps its mode.
type private struct{ vfs.FS }

// Create makes a file, and takes it from everybody else before anything is in it.
func (p private) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := p.FS.Create(name, category)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(name, privateMode); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// Lock locks a file, which only its owner can read from the start where there is none yet.
func (p private) Lock(name string) (io.Closer, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, privateMode)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	return p.FS.Lock(name)
}

// Unwrap returns the file system below.
func (p private) Unwrap() vfs.FS { return p.FS }

// makePrivate takes the files that are in a folder already from everybody else: earlier builds left that to the umask.
func makePrivate(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Mode().Perm()&^privateMode == 0 {
			return err
		}
		return os.Chmod(path, privateMode)
	})
}

// Hold takes a directory for this process until what it returns is closed, as Open does, where the record is elsewhere. The error wraps
// ledger.ErrLocked where another process has it.
func Hold(dir string) (io.Closer, error) {
	return lock(dir, &Options{FS: private{vfs.Default}})
}

// lockName is Pebble's name for the file that says who has a directory.
const lockName = "LOCK"

// Held reports whether another process has a directory by Hold. It makes nothing there, and excludes no process.
func Held(dir string) bool {
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	found := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	err = syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &found)
	return err == nil && found.Type != syscall.F_UNLCK
}
