//go:build !unix

package mcpproxy

import "os"

// interrupt asks a process to end, which here is the same as ending it.
func interrupt(process *os.Process) error { return process.Kill() }
