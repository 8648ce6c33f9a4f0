package main

import (
	"os"
	"syscall"
)

// syncData makes what was written to a file durable, as the store's log does: by fdatasync.
func syncData(file *os.File) error { return syscall.Fdatasync(int(file.Fd())) }
