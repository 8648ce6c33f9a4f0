package hook

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// use is what somebody may do with a file.
type use uint8

const (
	mayRead  use = 1 << iota
	mayWrite     // it, or a folder that it is in, so that another can take its place
	mayUse       // connect to a socket
)

// usesOf tries what this process may do with files. It opens none for writing.
func usesOf(paths []string) []use {
	uses := make([]use, len(paths))
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue // it is not there, or out of reach
		}
		if unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, unix.AT_EACCESS) == nil {
			uses[i] |= mayRead
		}
		if unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS) == nil || replaceable(path) {
			uses[i] |= mayWrite
		}
		if info.Mode().Type() == os.ModeSocket {
			uses[i] &^= mayRead
			if connection, err := net.DialTimeout("unix", path, time.Second); err == nil {
				connection.Close()
				uses[i] |= mayUse
			}
		}
	}
	return uses
}

// replaceable reports whether another file could be put in a file's place: it, or a folder that it is in, can be renamed. Links
// are followed first.
func replaceable(path string) bool {
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path && replaceable(target) {
		return true
	}
	for child := path; child != filepath.Dir(child); child = filepath.Dir(child) {
		parent := filepath.Dir(child)
		if unix.Faccessat(unix.AT_FDCWD, parent, unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil && !sticky(parent, child) {
			return true
		}
	}
	return false
}

// sticky reports whether a folder lets only owners rename what is in it, and this is neither's.
func sticky(parent, child string) bool {
	folder, err := os.Stat(parent)
	if err != nil || folder.Mode()&os.ModeSticky == 0 {
		return false
	}
	for _, path := range []string{parent, child} {
		if info, err := os.Lstat(path); err == nil {
			if owner, known := info.Sys().(*syscall.Stat_t); known && int(owner.Uid) == os.Geteuid() {
				return false
			}
		}
	}
	return true
}
