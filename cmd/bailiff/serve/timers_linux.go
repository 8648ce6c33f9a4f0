package serve

import (
	"debug/buildinfo"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// TimerSlack is by how many nanoseconds the kernel may delay a timer of this process. Go's monitor asks for 20 µs
	// as long as a processor is in a system call, and here one nearly always is, in fdatasync. Each time it takes that
	// processor away, wakes a thread for it, and lets the one that comes back from the disk wait for another: a tenth
	// of a core, and a fourth of the time of a lone denial. Twice the processors make up for one that stays away.
	TimerSlack = 500_000
	// TimersRelaxed marks the second start, so that there is no third, whatever a kernel makes of the slack.
	TimersRelaxed = "BAILIFF_TIMERS_RELAXED"
)

// RelaxTimers starts the process anew with more slack for its timers, unless it has that. Threads take the slack from
// who makes them, and the monitor is made before main; execve(2) keeps it, the process id and all files (prctl(2),
// PR_SET_TIMERSLACK). Nothing may have been done or printed before. Where it does not work, all goes on as it is.
func RelaxTimers() {
	if os.Getenv(TimersRelaxed) != "" {
		os.Unsetenv(TimersRelaxed)
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || slack >= TimerSlack {
		return
	}
	path, err := os.Executable()
	if err != nil || !isThis(path) || unix.Prctl(unix.PR_SET_TIMERSLACK, TimerSlack, 0, 0, 0) != nil {
		return
	}
	var files syscall.Rlimit
	known := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	_ = syscall.Exec(path, os.Args, append(os.Environ(), TimersRelaxed+"=1"))
	if known == nil { // Exec has put it back to what the process was started with, which may be a thousand
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files)
	}
}

// isThis reports whether a file is this program. Where the dynamic loader was told to run it, os.Executable names the
// loader, which would take the first argument for a program.
func isThis(path string) bool {
	there, err := buildinfo.ReadFile(path)
	here, ok := debug.ReadBuildInfo()
	return err == nil && ok && there.Path == here.Path
}
