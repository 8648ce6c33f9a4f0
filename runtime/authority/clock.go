package authority

import (
	"sync/atomic"
	"time"
)

// Clock tells the time. It is a parameter wherever time matters, so that tests can hold it.
type Clock func() time.Time

// maxBehind is how far the clock may fall behind the wall before it catches up.
const maxBehind = time.Second

// SystemClock returns a clock that starts with the wall and follows the monotonic clock: a wall that is set back
// cannot give a limit's window, a hold or an attestation a second life. Where the wall runs ahead of it, because the
// machine slept or started with a wrong time, it catches up: it only never goes back.
func SystemClock() Clock {
	start := time.Now()
	return newClock(func() (wall time.Time, elapsed time.Duration) {
		now := time.Now()
		return now.Round(0), now.Sub(start)
	})
}

// newClock is SystemClock over a reading of the wall and of the time that has elapsed since some moment.
func newClock(read func() (wall time.Time, elapsed time.Duration)) Clock {
	type anchor struct {
		wall    time.Time
		elapsed time.Duration
	}
	var current atomic.Pointer[anchor]
	wall, elapsed := read()
	current.Store(&anchor{wall, elapsed})
	return func() time.Time {
		for {
			held := current.Load()
			wall, elapsed := read()
			followed := held.wall.Add(elapsed - held.elapsed)
			if wall.Sub(followed) <= maxBehind {
				return followed
			}
			current.CompareAndSwap(held, &anchor{wall, elapsed})
		}
	}
}
