// Package clock is the only place that reads the machine's clock: everything that needs the time gets it from here. It also
// detects when the clock cannot be relied on.
package clock

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Clock tells the time. It is a parameter wherever time matters, so that tests can hold it.
type Clock func() time.Time

const (
	// MaxBehind is how far the clock may fall behind the wall before it catches up.
	MaxBehind = time.Second
	// maxJump is how far the wall clock may differ from the expected time before decisions stop (decisions, section 7).
	maxJump = 5 * time.Minute
	// doubtEvery is how often a clock in doubt is looked at again.
	doubtEvery = time.Second
)

// Sources are where a clock takes the time from.
type Sources struct {
	// Now reads the wall, and the time that has elapsed since some moment while the machine was awake.
	Now func() (wall time.Time, elapsed time.Duration)
	// Counted reads a clock that cannot be set, and that counts sleep.
	Counted func() time.Duration
	// Synchronised reports whether the kernel says that the wall is kept in step with others.
	Synchronised func() bool
}

// SystemSources are those of the machine.
func SystemSources() Sources {
	start := time.Now()
	return Sources{
		Now: func() (wall time.Time, elapsed time.Duration) {
			now := time.Now()
			return now.Round(0), now.Sub(start)
		},
		Counted:      counted(start),
		Synchronised: func() bool { synchronised, known := Synchronised(); return known && synchronised },
	}
}

// System returns the clock of a command, which takes the wall clock as right.
func System() Clock {
	sources := SystemSources()
	sources.Synchronised = func() bool { return true }
	return NewGuarded(sources).Now
}

// A Guarded starts with the wall and follows the monotonic clock: a wall that is set back cannot give a limit's window,
// a hold or an attestation a second life. Where the wall runs ahead of it, because the machine slept or started with a wrong
// time, it catches up: it only never goes back.
//
// It does not follow a wall that has jumped ahead without confirmation: then, and where the wall is behind what the
// ledger has seen, it is in doubt, which [Guarded.Doubt] tells.
type Guarded struct {
	sources Sources
	at      atomic.Pointer[anchor]
	doubt   atomic.Pointer[Doubt]
	raised  atomic.Pointer[Doubt] // the latest doubt that began and was not asked for

	mu    sync.Mutex
	base  anchor    // what the wall is held against
	floor time.Time // the ledger's latest time, until the wall is known not to be behind it; zero for none
}

// An anchor is the time at a moment.
type anchor struct {
	time    time.Time
	elapsed time.Duration
	counted time.Duration
}

// A Doubt says why a clock cannot be relied on.
type Doubt struct {
	Wall     time.Time
	Expected time.Time     // what it should say, or the ledger's latest time
	Behind   bool          // the wall is behind the ledger; otherwise it has jumped ahead
	looked   time.Duration // when it was looked at last
}

// String describes the fault in words.
func (d *Doubt) String() string {
	off := d.Wall.Sub(d.Expected).Abs().Round(time.Second)
	wall, expected := d.Wall.UTC().Format(time.RFC3339), d.Expected.UTC().Format(time.RFC3339)
	if d.Behind {
		return fmt.Sprintf("the clock says %s, which is %s before the latest record (%s)", wall, off, expected)
	}
	return fmt.Sprintf("the clock says %s, which is %s ahead of the time that has passed (%s), and the system does not report it as synchronised", wall, off, expected)
}

// NewGuarded returns a clock that starts with the wall.
func NewGuarded(sources Sources) *Guarded {
	c := &Guarded{sources: sources}
	wall, elapsed := sources.Now()
	c.base = anchor{wall, elapsed, sources.Counted()}
	start := c.base
	c.at.Store(&start)
	return c
}

// Now tells the time. It is a Clock.
func (c *Guarded) Now() time.Time {
	held := c.at.Load()
	wall, elapsed := c.sources.Now()
	followed := held.time.Add(elapsed - held.elapsed)
	doubt := c.doubt.Load()
	switch {
	case doubt != nil && elapsed-doubt.looked >= doubtEvery:
	case doubt != nil || wall.Sub(followed) <= MaxBehind:
		return followed
	}
	return c.look()
}

// look compares the wall clock with the expected time, catches up where that is right, and tells the time.
func (c *Guarded) look() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, elapsed := c.sources.Now()
	counted := c.sources.Counted()
	expected := c.base.time.Add(counted - c.base.counted)
	held := c.at.Load()
	followed := held.time.Add(elapsed - held.elapsed)
	now := wall
	if wall.Sub(expected) > MaxBehind && c.sources.Synchronised() {
		c.base, expected = anchor{wall, elapsed, counted}, wall
	}
	if wall.Sub(expected) > maxJump {
		now = expected
		c.hold(&Doubt{Wall: wall, Expected: expected, looked: elapsed})
	} else {
		c.hold(c.behind(wall, elapsed))
	}
	if now.Before(followed) {
		now = followed
	}
	c.at.Store(&anchor{now, elapsed, counted})
	return now
}

// hold notes a doubt, or that there is none.
func (c *Guarded) hold(doubt *Doubt) {
	if before := c.doubt.Swap(doubt); doubt != nil && before == nil {
		c.raised.Store(doubt)
	}
}

// Raised returns the latest doubt that began since it was called last, which may have ended by now; nil where none did.
func (c *Guarded) Raised() *Doubt { return c.raised.Swap(nil) }

// behind returns the doubt about a wall that is behind the ledger, nil where it is not.
func (c *Guarded) behind(wall time.Time, elapsed time.Duration) *Doubt {
	if c.floor.Sub(wall) <= maxJump {
		return nil
	}
	return &Doubt{Wall: wall, Expected: c.floor, Behind: true, looked: elapsed}
}

// Doubt returns why the clock cannot be relied on now, nil where it can. It costs no more than a load.
func (c *Guarded) Doubt() *Doubt { return c.doubt.Load() }

// Begin holds the wall against the latest time of the ledger, at start.
func (c *Guarded) Begin(latest time.Time) {
	c.mu.Lock()
	c.floor = latest
	c.mu.Unlock()
	c.look()
}

// Wall returns what the wall says, or the clock where that is later.
func (c *Guarded) Wall() time.Time {
	now := c.Now()
	if wall, _ := c.sources.Now(); wall.After(now) {
		return wall
	}
	return now
}

// AheadOfWall returns how far the clock is ahead of the wall, which was set back since.
func (c *Guarded) AheadOfWall() time.Duration {
	now := c.Now()
	wall, _ := c.sources.Now()
	return now.Sub(wall)
}

// Accept takes the wall as right, and returns the time that it is from then on: it does not go back while it runs.
func (c *Guarded) Accept() time.Time {
	c.mu.Lock()
	wall, elapsed := c.sources.Now()
	c.base = anchor{wall, elapsed, c.sources.Counted()}
	c.floor = time.Time{}
	c.mu.Unlock()
	return c.look()
}

// Moment is the time of Unix nanoseconds, in UTC.
func Moment(nanoseconds int64) time.Time { return time.Unix(0, nanoseconds).UTC() }

// Seconds cuts Unix nanoseconds to seconds.
func Seconds(nanoseconds int64) int64 { return nanoseconds / int64(time.Second) }
