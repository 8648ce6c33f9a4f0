//go:build unix

package mcpproxy

import (
	"os"
	"syscall"
)

func alive(process *os.Process) bool { return process.Signal(syscall.Signal(0)) == nil }
