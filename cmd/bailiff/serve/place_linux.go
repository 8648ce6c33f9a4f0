package serve

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// identityOf says which file a path names: its number, and when it was made, where the file system knows that.
func identityOf(path string) (string, error) {
	var of unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &of); err != nil {
		return "", err
	}
	if of.Mask&unix.STATX_BTIME == 0 {
		of.Btime = unix.StatxTimestamp{}
	}
	return fmt.Sprintf("%d %d.%09d", of.Ino, of.Btime.Sec, of.Btime.Nsec), nil
}
