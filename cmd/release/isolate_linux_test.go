package main

import (
	"os/exec"
	"syscall"
)

// isolate has a command see a folder as its root, and run as the image's user.
func isolate(command *exec.Cmd, root string) {
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: owner, Gid: owner}}
}
