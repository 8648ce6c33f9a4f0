package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestKeepsOwner holds that a file that root replaces stays whose it was.
func TestKeepsOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a file to others")
	}
	const user, group = 12345, 23456
	path := filepath.Join(t.TempDir(), "warranty.md")
	if err := os.WriteFile(path, []byte("before"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, user, group); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(path, []byte("after")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	of := info.Sys().(*syscall.Stat_t)
	if of.Uid != user || of.Gid != group || info.Mode() != 0o640 {
		t.Errorf("it belongs to %d:%d with mode %s", of.Uid, of.Gid, info.Mode())
	}
}
