package hook

import (
	"bailiff/cmd/bailiff/cli"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// try tries what the user may do with files. For another user one thread takes on that user's identity, and ends with it.
func (e *eyes) try(paths []string) ([]use, error) {
	if e.self {
		return usesOf(paths), nil
	}
	type result struct {
		uses []use
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with this function
		if err := e.become(); err != nil {
			done <- result{nil, cli.Fail("what %s may do can't be tried: %v; run this as root", e.name, err)}
			return
		}
		done <- result{usesOf(paths), nil}
	}()
	r := <-done
	return r.uses, r.err
}

// become gives this thread alone, by the system's own calls, the identity of the user.
func (e *eyes) become() error {
	var first unsafe.Pointer
	if len(e.groups) > 0 {
		first = unsafe.Pointer(&e.groups[0])
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(e.groups)), uintptr(first), 0); errno != 0 {
		return errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(e.gid), uintptr(e.gid), uintptr(e.gid)); errno != 0 {
		return errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(e.uid), uintptr(e.uid), uintptr(e.uid)); errno != 0 {
		return errno
	}
	return nil
}
