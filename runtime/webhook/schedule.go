package webhook

import (
	"encoding/binary"
	"io"
	"time"
)

// pauses are how long after a failed attempt the next one is made: the schedule that Standard Webhooks recommends.
// After as many failures as there are pauses, and one more, the delivery has failed for good.
var pauses = [...]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// maxAttempts is how often a delivery is tried.
const maxAttempts = len(pauses) + 1

// jitterPart is the part of a pause by which it is made shorter or longer at random, so that what failed together is
// not tried again together.
const jitterPart = 10

// next returns when a delivery that has failed so often is tried again, and false where it is not.
func next(at time.Time, failures int, random io.Reader) (time.Time, bool) {
	if failures < 1 || failures > len(pauses) {
		return time.Time{}, false
	}
	pause := pauses[failures-1]
	spread := pause / jitterPart
	return at.Add(pause - spread + jitter(2*spread, random)), true
}

// jitter returns a random time below most; where there is no randomness, half of it.
func jitter(most time.Duration, random io.Reader) time.Duration {
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return most / 2
	}
	return time.Duration(binary.LittleEndian.Uint64(b[:]) % uint64(most))
}
