package main

import (
	"syscall"
	"time"
)

// rest sleeps, to some ten microseconds: the runtime's own timers are no finer than a millisecond where nothing else
// is to be done.
func rest(d time.Duration) {
	if d > 0 {
		length := syscall.NsecToTimespec(d.Nanoseconds())
		_ = syscall.Nanosleep(&length, nil) // cut short, the next one is longer
	}
}
