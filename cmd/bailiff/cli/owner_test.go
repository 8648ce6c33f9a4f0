package cli

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestKeepsOwner holds that a file that is replaced stays whose it was. Only root can give one to others; anybody else
// to another group of their own, where they have one.
func TestKeepsOwner(t *testing.T) {
	user, group := 12345, 23456
	if os.Getuid() != 0 {
		groups, err := os.Getgroups()
		if err != nil {
			t.Fatal(err)
		}
		user, group = os.Getuid(), slices.Max(append(groups, os.Getgid()))
	}
	path := filepath.Join(t.TempDir(), "warranty.md")
	if err := os.WriteFile(path, []byte("before"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, user, group); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(path, []byte("after")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	of := info.Sys().(*syscall.Stat_t)
	if int(of.Uid) != user || int(of.Gid) != group || info.Mode() != 0o640 {
		t.Errorf("it belongs to %d:%d with mode %s", of.Uid, of.Gid, info.Mode())
	}
}
