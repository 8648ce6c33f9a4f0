//go:build !linux

package serve

import (
	"fmt"
	"syscall"
)

// identityOf says which file a path names: its number.
func identityOf(path string) (string, error) {
	var of syscall.Stat_t
	if err := syscall.Stat(path, &of); err != nil {
		return "", err
	}
	return fmt.Sprint(of.Ino), nil
}
