package cli

import (
	"os"
	"syscall"
)

// keepOwner gives a new file the owner and the group of the one that it is to replace, as far as that is allowed: anybody
// but root can give a file to groups of their own only.
func keepOwner(file *os.File, before os.FileInfo) {
	if of, ok := before.Sys().(*syscall.Stat_t); ok && file.Chown(int(of.Uid), int(of.Gid)) != nil {
		_ = file.Chown(-1, int(of.Gid))
	}
}
