package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// A clock says how much time has passed since some moment.
type clock func() time.Duration

// Processor time: other programs on a busy machine take none of it, though they empty its caches.
var (
	threadTime  = processorTime(unix.CLOCK_THREAD_CPUTIME_ID)
	processTime = processorTime(unix.CLOCK_PROCESS_CPUTIME_ID)
)

func processorTime(id int32) clock {
	return func() time.Duration {
		var t unix.Timespec
		if err := unix.ClockGettime(id, &t); err != nil {
			panic("the system has no clock of processor time: " + err.Error())
		}
		return time.Duration(t.Nano())
	}
}
