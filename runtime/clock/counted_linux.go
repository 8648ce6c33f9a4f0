package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// counted reads CLOCK_BOOTTIME, which counts sleep and which cannot be set; where that cannot be read, the time since start
// that the machine was awake.
func counted(start time.Time) func() time.Duration {
	read := func() (time.Duration, error) {
		var at unix.Timespec
		err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &at)
		return time.Duration(at.Nano()), err
	}
	if _, err := read(); err != nil {
		return func() time.Duration { return time.Since(start) }
	}
	return func() time.Duration {
		at, _ := read() // it could be read before
		return at
	}
}

// Synchronised reports whether the kernel says that its clock is kept in step by a time service (adjtimex(2), STA_UNSYNC);
// known says that it can be asked.
func Synchronised() (synchronised, known bool) {
	var state unix.Timex
	_, err := unix.Adjtimex(&state)
	return state.Status&unix.STA_UNSYNC == 0, err == nil
}
