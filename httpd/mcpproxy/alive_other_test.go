//go:build !unix

package mcpproxy

import "os"

func alive(*os.Process) bool { return false }
