package authority

import (
	"testing"
	"time"
)

// TestClock moves the wall and the time elapsed apart.
func TestClock(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	wall, elapsed := start, time.Duration(0)
	clock := newClock(func() (time.Time, time.Duration) { return wall, elapsed })
	for _, step := range []struct {
		what          string
		wall, elapsed time.Duration // since the start
		want          time.Duration
	}{
		{"both go on", time.Second, time.Second, time.Second},
		{"the wall lags a little", 1900 * time.Millisecond, 2 * time.Second, 2 * time.Second},
		{"the wall is set back an hour", -time.Hour, 3 * time.Second, 3 * time.Second},
		{"the wall is set right, a little ahead", 4500 * time.Millisecond, 4 * time.Second, 4 * time.Second},
		{"the machine sleeps for an hour", time.Hour, 5 * time.Second, time.Hour},
		{"and goes on from there", time.Hour + time.Second, 6 * time.Second, time.Hour + time.Second},
		{"the wall is set back again", 0, 7 * time.Second, time.Hour + 2*time.Second},
	} {
		wall, elapsed = start.Add(step.wall), step.elapsed
		if got := clock().Sub(start); got != step.want {
			t.Errorf("%s: the clock says %v after the start, want %v", step.what, got, step.want)
		}
	}
}
