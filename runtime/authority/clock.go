package authority

import "time"

// Clock tells the time. It is a parameter wherever time matters, so that tests can hold it.
type Clock func() time.Time

// SystemClock returns a clock that reads the wall once, now, and from then on follows the monotonic clock:
// a wall that is set back cannot give a limit's window, a hold or an attestation a second life.
func SystemClock() Clock {
	start := time.Now()
	return func() time.Time { return start.Add(time.Since(start)).Round(0) }
}
