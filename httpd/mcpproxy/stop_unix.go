//go:build unix

package mcpproxy

import (
	"os"
	"syscall"
)

// interrupt asks a process to end.
func interrupt(process *os.Process) error { return process.Signal(syscall.SIGTERM) }
